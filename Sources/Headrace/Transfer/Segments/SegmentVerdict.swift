/// What the answer to a request for a part of a file means, of which other connections fetch other parts.
///
/// Pure. It is the verdict on a resumed download, but for this: there is always another way to have the bytes, so that
/// nothing of an answer is used which is not proven, and nothing that is held is given up for it.
enum SegmentVerdict: Sendable, Equatable {
    case accept(BodyPlacement)
    case retryWithoutIfRange
    /// The answer is not the part that was asked for, and why.
    case unusable(String)
    /// The answer is of another version of the file, and how that shows.
    case otherVersion(String)
    /// The host has as many connections as it wants.
    case refused(DownloadError)
    case failed(DownloadError)

    init(_ head: ResponseHead, for rangeRequest: RangeRequest) {
        switch ResponseVerdict.evaluate(head, for: rangeRequest) {
        case .accept(let body): self = Self.isVerified(body, rangeRequest) ? .accept(body) : .unusable(Self.unverified)
        case .restartFromThisBody(let reason, _), .restart(let reason):
            self = reason.isOtherVersion ? .otherVersion(reason.sentence) : .unusable(reason.sentence)
        case .retryWithoutIfRange: self = .retryWithoutIfRange
        case .unchanged, .retryWithoutPrecondition, .complete:
            self = .unusable("The server says that there is nothing more.")
        case .retry(let refusal, let delay):
            let error = refusal.error(retryAfter: delay, isTransient: true)
            switch refusal {
            case .status where head.isHostRefusal: self = .refused(error)
            case .status: self = .failed(error)
            default: self = .unusable(refusal.sentence)
            }
        case .fail(let refusal): self = .unusable(refusal.sentence)
        }
    }

    private static let unverified = "The server sent nothing that proves that the part is of the same version."

    private static func isVerified(_ body: BodyPlacement, _ rangeRequest: RangeRequest) -> Bool {
        switch body.proof {
        case .entityTag, .lastModified, .later(.checksum):
            body.offset == rangeRequest.range?.start && body.overlapBytes == 0
        case .nothingHeld, .later(.overlap): false
        }
    }
}

extension ResponseHead {
    /// Whether the host as a whole asks for fewer requests (RFC 6585, section 4; RFC 9110, section 15.6.4).
    var isHostRefusal: Bool { status == 429 || status == 503 }
}

extension RestartReason {
    /// Whether it shows that the server has another version, and not only that it sends no proper parts.
    var isOtherVersion: Bool {
        switch self {
        case .changedEntityTag, .changedLastModified, .changedLength, .validatorBecameWeak, .preconditionFailed: true
        case .unsatisfiable(let length): length != nil
        default: false
        }
    }
}

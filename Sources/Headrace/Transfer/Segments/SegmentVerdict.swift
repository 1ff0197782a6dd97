/// The meaning of a response to a range request, if several connections fetch the file in parallel.
///
/// Stricter than ``ResponseVerdict``, since other connections can deliver the bytes: a response needs a matching
/// validator, or a checksum that will verify the file. A rejected response never causes received bytes to be
/// discarded. Performs no I/O.
enum SegmentVerdict: Sendable, Equatable {
    case accept(BodyPlacement)
    case retryWithoutIfRange
    /// The response cannot be used for the requested part, for the given reason.
    case unusable(String)
    /// The response is of another version of the file, for the given reason.
    case otherVersion(String)
    /// The host does not accept more connections at the moment.
    case refused(DownloadError)
    case failed(DownloadError)

    init(_ head: ResponseHead, for rangeRequest: RangeRequest) {
        switch ResponseVerdict.evaluate(head, for: rangeRequest) {
        case .accept(let body) where head.ignoresRange(in: body): self = .unusable("\(RestartReason.rangeIgnored)")
        case .accept(let body): self = Self.isVerified(body) ? .accept(body) : .unusable(Self.unverified)
        case .restartFromThisBody(let reason, _), .restart(let reason):
            self = reason.isOtherVersion ? .otherVersion("\(reason)") : .unusable("\(reason)")
        case .retryWithoutIfRange: self = .retryWithoutIfRange
        case .unchanged, .retryWithoutPrecondition, .complete:
            self = .unusable("The server has no further bytes.")
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

    private static let unverified = "The response has no matching validator for the part."

    private static func isVerified(_ body: BodyPlacement) -> Bool {
        switch body.proof {
        case .entityTag, .lastModified, .checksum: true
        case nil, .overlap, .system: false
        }
    }
}

extension ResponseHead {
    /// Whether the response means that the host receives too many requests (RFC 6585, section 4; RFC 9110, section
    /// 15.6.4).
    var isHostRefusal: Bool { status == 429 || status == 503 }

    /// Whether the server ignored the requested range: the body repeats received bytes although it is not a part of the
    /// file, or repeats as many as a connection should have for its share.
    ///
    /// Further connections would then waste more than they gain.
    func ignoresRange(in body: BodyPlacement) -> Bool {
        body.skippedBytes >= SegmentPlanner.minShareBytes || body.skippedBytes > 0 && !isPartial
    }
}

extension RestartReason {
    /// Whether the reason indicates that the server has another version of the file than that of the received bytes.
    var isOtherVersion: Bool {
        switch self {
        case .changedEntityTag, .changedLastModified, .changedLength, .validatorBecameWeak, .preconditionFailed: true
        case .unsatisfiable(let length): length != nil
        default: false
        }
    }
}

/// A request for a file or a range of it, with the state that its response must match.
struct RangeRequest: Sendable, Hashable {
    /// A check that the bytes of a response are of the same version as those received before.
    ///
    /// Used if no validator matches, and done only after the response was accepted.
    enum DeferredVerification: Sendable, Hashable {
        /// A checksum verifies the complete file; entity tags may then differ, as between the nodes of some CDNs.
        case checksum
        /// The requested range begins with bytes that were already received; the transfer compares both copies.
        case overlap

        var proof: ResumeProof {
            switch self {
            case .checksum: .checksum
            case .overlap: .overlap
            }
        }
    }

    /// The requested range; `nil` for the whole file.
    var range: ByteRange?
    /// The validator sent as `If-Range`; `nil` to send none.
    var ifRange: EntityValidator?
    /// The metadata of the version that the received bytes belong to; `nil` if no version is known.
    var known: RepresentationMetadata?
    /// The number of bytes already received, anywhere in the file.
    ///
    /// A request with an overlap counts only the bytes before the end of the overlap. On one of several parallel
    /// connections, this is the position at which the request's range begins, but at least 1.
    var heldBytes: Int64 = 0
    var deferredVerification: DeferredVerification?
    /// The required size of the file in bytes; `nil` if it is unknown.
    var expectedSize: Int64?
    /// The condition that the server's version differs from the local file's; ignored if there is a ``range``.
    var condition: Precondition?
    /// Whether the request only checks that the received bytes, which are all of one response, are the whole file.
    var verifiesEnd = false

    /// The number of received bytes that are requested again for comparison.
    static let overlapBytes: Int64 = 64 << 10

    /// A request for the whole file, whose response need not match anything.
    static let whole = RangeRequest()
}

extension RangeRequest {
    /// Creates a request for more bytes of a partially received version; throws the reason why it cannot be continued.
    init(
        continuing known: RepresentationMetadata,
        with range: ByteRange,
        heldBytes: Int64,
        deferredVerification: DeferredVerification? = nil
    ) throws(RestartReason) {
        guard !known.refusesRanges else { throw .rangesRefused }
        guard !known.hasUnrequestedCoding else { throw .contentCoding }
        let validator = EntityValidator(of: known)
        guard validator != nil || deferredVerification != nil else {
            throw known.entityTag == nil ? .noValidator : .weakValidator
        }
        self.init(
            range: range,
            ifRange: validator,
            known: known,
            heldBytes: heldBytes,
            deferredVerification: deferredVerification
        )
    }

    /// A copy without `If-Range`, for servers that send the whole file only because of it.
    var withoutIfRange: RangeRequest {
        var rangeRequest = self
        rangeRequest.ifRange = nil
        return rangeRequest
    }

    /// Whether `If-Range` has an entity tag, so that the server sends the range only if the tag still matches.
    var isForOneTag: Bool {
        if case .strong? = ifRange { true } else { false }
    }

    /// The fields of the request; `If-Range` is sent only with `Range`, and other conditions only without it (RFC 9110,
    /// section 13.1.5).
    var fields: [HeaderField] {
        guard let range else { return condition.map { [$0.field] } ?? [] }
        return [HeaderField(name: "Range", value: range.headerValue)]
            + (ifRange.map { [HeaderField(name: "If-Range", value: $0.headerValue)] } ?? [])
    }
}

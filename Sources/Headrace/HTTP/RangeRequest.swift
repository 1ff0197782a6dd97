/// What a request asked for, and what its answer has to fit to.
struct RangeRequest: Sendable, Hashable {
    /// What proves at a later time that bytes belong together which no validator proves now.
    enum DeferredVerification: Sendable, Hashable {
        /// The caller gave a checksum of the whole, so entity tags may differ, as they do by node of some networks.
        case checksum
        /// The range begins with bytes that are held, and the driver compares them.
        case overlap
    }

    /// The range that was asked for, nil for the whole.
    var range: ByteRange?
    /// The validator that was sent as `If-Range`.
    var ifRange: EntityValidator?
    /// What is recorded of the version that the held bytes belong to.
    var known: RepresentationMetadata?
    /// How many bytes of the download are held, wherever in the file they are; of an overlap, those before its end.
    var heldBytes: Int64 = 0
    var deferredVerification: DeferredVerification?
    /// How many bytes the file has to have; nil where nobody knows.
    var expectedSize: Int64?
    /// What the whole is asked for under: that it is not the version which is there already.
    var condition: Precondition?
    /// Whether only the end of the file is in doubt: all bytes received so far are of one response, and may be all of it.
    var verifiesEnd = false

    /// How many of the held bytes are fetched again to be compared.
    static let overlapBytes: Int64 = 64 << 10

    /// The whole, with nothing to fit to.
    static let whole = RangeRequest()
}

extension RangeRequest {
    /// Asks for more of a version of which bytes are held; throws where the answer could prove nothing.
    init(
        continuing known: RepresentationMetadata,
        with range: ByteRange,
        heldBytes: Int64,
        deferredVerification: DeferredVerification? = nil
    ) throws(RestartReason) {
        guard !known.refusesRanges else { throw .rangesRefused }
        guard known.contentCoding == nil else { throw .contentCoding }
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

    /// The same without `If-Range`, for the servers that send the whole only because of it.
    var withoutIfRange: RangeRequest {
        var rangeRequest = self
        rangeRequest.ifRange = nil
        return rangeRequest
    }

    /// Whether the range is asked for only of the version with an entity tag.
    var isForOneTag: Bool {
        if case .strong? = ifRange { true } else { false }
    }

    /// The fields of the request; a condition goes only without `Range`, and `If-Range` only together with it (RFC 9110,
    /// section 13.1.5).
    var fields: [HeaderField] {
        guard let range else { return condition.map { [$0.field] } ?? [] }
        return [HeaderField(name: "Range", value: range.headerValue)]
            + (ifRange.map { [HeaderField(name: "If-Range", value: $0.headerValue)] } ?? [])
    }
}

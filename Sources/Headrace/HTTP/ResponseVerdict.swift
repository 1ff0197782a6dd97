/// What the head of an answer means for what was asked (RFC 9110, sections 14 and 15).
enum ResponseVerdict: Sendable, Hashable {
    /// The body is what is wanted, or the first part of it; the rest is to be asked for again.
    case accept(BodyPlacement)
    /// The body is the whole file, to be written from zero in place of what is held.
    case restartFromThisBody(RestartReason, BodyPlacement)
    /// The body is of no use; the file is to be asked for again, all of it.
    case restart(RestartReason)
    /// `If-Range` seems to be why the whole came; the same range is to be asked for once without it.
    case retryWithoutIfRange
    /// The server has the version that is there already.
    case unchanged
    /// The answer to a condition contradicts it; the file is to be asked for without one.
    case retryWithoutPrecondition
    /// All bytes are held already; the size is the argument.
    case complete(totalBytes: Int64)
    /// The same may be asked for again, not before the server's time where it told one.
    case retry(ResponseRejection, after: Duration?)
    /// Asking again would not help.
    case fail(ResponseRejection)
}

/// Which bytes of a body to write, and where.
struct BodyPlacement: Sendable, Hashable {
    /// Where in the file the first byte that is written belongs.
    var offset: Int64
    /// Bytes at the front of the body that are held already and are dropped.
    var skippedBytes: Int64 = 0
    /// Bytes after those that are held as well, and have to be the same before any is written.
    var overlapBytes: Int64 = 0
    /// Bytes to write after those, nil where only the end of the body tells; what follows them is never written.
    var length: Int64?
    /// The size of the file where known.
    var totalBytes: Int64?
    /// Where the body ends.
    var framing: BodyFraming
    /// What to record: the version that the held bytes have, where there is one.
    var representation: RepresentationMetadata
    var proof: RangeRequest.Proof
}

extension BodyPlacement {
    /// The body of a whole file, where nothing is held.
    init(whole representation: RepresentationMetadata, length: Int64?, framing: BodyFraming) {
        self.init(
            offset: 0,
            length: length,
            totalBytes: length,
            framing: framing,
            representation: representation,
            proof: .nothingHeld
        )
    }

    /// Whether only a stream of HTTP/2 marks the end of the body.
    var endsWithStream: Bool { framing == .stream && length == nil }

    /// What is left of the body when all before an offset was written.
    func rest(from offset: Int64) -> BodyPlacement {
        var rest = self
        rest.skippedBytes = 0
        rest.overlapBytes = 0
        rest.length = length.map { $0 - (offset - self.offset) }
        rest.offset = offset
        return rest
    }
}

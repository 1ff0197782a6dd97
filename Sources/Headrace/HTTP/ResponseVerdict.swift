/// How to proceed after a response head (RFC 9110, sections 14 and 15).
enum ResponseVerdict: Sendable, Hashable {
    /// The body is the requested content or its beginning.
    ///
    /// After a beginning, the rest must be requested.
    case accept(BodyPlacement)
    /// The body is the whole file and replaces the received bytes.
    case restartFromThisBody(RestartReason, BodyPlacement)
    /// The body is unusable; the whole file must be requested.
    case restart(RestartReason)
    /// `If-Range` probably made the server send the whole file; the range must be requested again without `If-Range`.
    case retryWithoutIfRange
    /// The existing local file is the server's current version.
    case unchanged
    /// The 304 response is for another version than the local file's; the file must be requested without a condition.
    case retryWithoutPrecondition
    /// All bytes have been received already; the file has this size.
    case complete(totalBytes: Int64)
    /// The request may be repeated after the delay that the server requested, if any.
    case retry(ResponseRejection, after: Duration?)
    /// The response is unusable, and repeating the request would not help.
    case fail(ResponseRejection)
}

/// The bytes of a body to write and their position in the file.
struct BodyPlacement: Sendable, Hashable {
    /// The position in the file of the first byte to write.
    var offset: Int64
    /// The number of bytes at the start of the body that were received before and are skipped.
    var skippedBytes: Int64 = 0
    /// The number of bytes, after the skipped ones, to compare with the bytes that are already in the file.
    ///
    /// Nothing is written until all of them match.
    var overlapBytes: Int64 = 0
    /// The number of bytes to write after the overlap; `nil` if only the end of the body determines it.
    var length: Int64?
    /// The size of the file in bytes, if known.
    var totalBytes: Int64?
    /// How the end of the body is determined.
    var framing: BodyFraming
    /// The metadata to record: that of the received bytes if the body continues them, otherwise that of the response.
    var representation: RepresentationMetadata
    /// The reason why the body is of the same version as the bytes received before; `nil` if it continues none.
    var proof: ResumeProof?
}

extension BodyPlacement {
    /// Creates the placement of a body that is the whole file and is written from its first byte.
    init(whole representation: RepresentationMetadata, length: Int64?, framing: BodyFraming) {
        self.init(
            offset: 0,
            length: length,
            totalBytes: length,
            framing: framing,
            representation: representation,
            proof: nil
        )
    }

    /// Whether only the end of an HTTP/2 stream marks the end of the body.
    var endsWithStream: Bool { framing == .stream && length == nil }

    /// Returns the placement of the rest of the body, once its bytes before `offset` in the file have been written.
    func rest(from offset: Int64) -> BodyPlacement {
        var rest = self
        rest.skippedBytes = 0
        rest.overlapBytes = 0
        rest.length = length.map { $0 - (offset - self.offset) }
        rest.offset = offset
        return rest
    }
}

/// Where the body of an answer ends (RFC 9112, section 6.3).
package enum BodyFraming: Sendable, Hashable {
    /// After so many bytes, zero where there is none.
    case length(Int64)
    /// With the last chunk.
    case delimited
    /// With the connection, so that not every cut can be told from the end.
    case unverified
    /// With the stream of HTTP/2. libcurl reports a stream that was reset with NO_ERROR like one that ended with END_STREAM, so the
    /// end has to be verified in another way (RFC 9113, section 8.1).
    case stream

    /// Reads the framing of an answer; throws where its fields contradict each other or are no numbers.
    init(of head: borrowing ResponseHead) throws(DownloadError) {
        // Some servers still name the one that changes nothing, which RFC 2616 had.
        let codings = head.members("transfer-encoding").filter { $0 != "identity" }
        guard codings.isEmpty else {
            guard codings == ["chunked"], !head.isMultiplexed else {
                throw DownloadError(
                    .protocolViolation,
                    "The server used the transfer coding \(codings.joined(separator: ", ")), which was not asked for."
                )
            }
            self = .delimited
            return
        }
        if let length = try Self.contentLength(head.values("content-length")) {
            self = .length(length)
        } else {
            self = head.isMultiplexed ? .stream : .unverified
        }
    }

    /// One length out of all the fields and lists of them; RFC 9110, section 8.6, allows repetition, not contradiction.
    private static func contentLength(_ values: [String]) throws(DownloadError) -> Int64? {
        var result: Int64?
        for value in values {
            for text in value.members {
                guard let length = Int64(digits: text) else {
                    throw DownloadError(
                        .protocolViolation,
                        "The server sent a Content-Length that is not a number of bytes: \(String(text).printable)."
                    )
                }
                guard result ?? length == length else {
                    throw DownloadError(.protocolViolation, "The server sent two different lengths for one answer.")
                }
                result = length
            }
        }
        return result
    }

    var length: Int64? {
        guard case .length(let length) = self else { return nil }
        return length
    }
}

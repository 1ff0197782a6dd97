/// The way in which the end of a response body is determined (RFC 9112, section 6.3).
package enum BodyFraming: Sendable, Hashable {
    /// The body has this number of bytes; 0 if there is none.
    case length(Int64)
    /// The body is chunked, and its last chunk marks its end.
    case delimited
    /// The body ends when the connection closes, so a truncated body may look complete.
    case unverified
    /// The body ends with the HTTP/2 stream.
    ///
    /// libcurl reports a stream reset with NO_ERROR as a normal end, so completeness must be verified in another way
    /// (RFC 9113, section 8.1).
    case stream

    /// Reads the framing of a response; throws `protocolViolation` if its fields are invalid or contradict each other.
    init(of head: borrowing ResponseHead) throws(DownloadError) {
        // Some servers still send `identity` of RFC 2616, which changes nothing.
        let codings = head.members("transfer-encoding").filter { $0 != "identity" }
        guard codings.isEmpty else {
            guard codings == ["chunked"], !head.isMultiplexed else {
                throw DownloadError(
                    .protocolViolation,
                    "The server used the transfer coding \(codings.joined(separator: ", ")), which was not requested."
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

    /// Returns the length that all `Content-Length` fields state, `nil` if there are none; throws `protocolViolation`
    /// if a length is invalid or two differ (RFC 9110, section 8.6).
    private static func contentLength(_ values: [String]) throws(DownloadError) -> Int64? {
        var result: Int64?
        for value in values {
            for text in value.members {
                guard let length = Int64(digits: text) else {
                    throw DownloadError(
                        .protocolViolation,
                        "The server sent a Content-Length that is not a number: \(String(text).printable)."
                    )
                }
                guard result ?? length == length else {
                    throw DownloadError(.protocolViolation, "The server sent two different lengths for one response.")
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

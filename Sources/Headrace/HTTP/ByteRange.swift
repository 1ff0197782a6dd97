/// The range of bytes in one request: half-open, or up to the end of the representation (RFC 9110, section 14.1.2).
struct ByteRange: Sendable, Hashable {
    /// The position of the first byte.
    let start: Int64
    /// The position after the last byte; `nil` for everything up to the end.
    let end: Int64?

    /// Creates a range; returns `nil` if a position is negative or the range is empty, since neither can be requested.
    init?(from start: Int64, to end: Int64? = nil) {
        guard start >= 0, end.map({ $0 > start }) ?? true else { return nil }
        self.start = start
        self.end = end
    }

    /// The value of the `Range` field, in which the last position is inclusive.
    var headerValue: String {
        guard let end else { return "bytes=\(start)-" }
        return "bytes=\(start)-\(end - 1)"
    }
}

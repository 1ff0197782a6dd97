/// The bytes that one request asks for: half open, or to the end of the representation (RFC 9110, section 14.1.2).
struct ByteRange: Sendable, Hashable {
    /// The first byte.
    let start: Int64
    /// The byte after the last one, nil where all up to the end are wanted.
    let end: Int64?

    /// Nil for a range that no server could send: negative or empty.
    init?(from start: Int64, to end: Int64? = nil) {
        guard start >= 0, end.map({ $0 > start }) ?? true else { return nil }
        self.start = start
        self.end = end
    }

    /// The value of a `Range` field, whose last position is included.
    var headerValue: String {
        guard let end else { return "bytes=\(start)-" }
        return "bytes=\(start)-\(end - 1)"
    }
}

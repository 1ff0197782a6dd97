/// The value of a `Content-Range` field in bytes (RFC 9110, section 14.4).
enum ContentRange: Sendable, Hashable {
    /// The body is this part of a representation, whose total size may be unknown.
    case part(Range<Int64>, total: Int64?)
    /// The requested range cannot be satisfied; the representation has this size.
    case unsatisfied(total: Int64)

    /// Parses `bytes a-b/total`, `bytes a-b/*` and `bytes */total`; returns `nil` for any other or contradictory text.
    ///
    /// Also accepts `=`, `:` or several spaces after the unit, as some servers write.
    init?(parsing text: String) {
        let unit = text.prefix { $0 != " " && $0 != "=" && $0 != ":" }
        let separator = text.dropFirst(unit.count).prefix(1)
        guard unit.lowercased() == "bytes", !separator.isEmpty else { return nil }
        let range = text.dropFirst(unit.count + 1).drop { $0 == " " }
        let sides = range.split(separator: "/", omittingEmptySubsequences: false)
        guard sides.count == 2 else { return nil }
        let total = Int64(digits: sides[1])
        if sides[0] == "*" {
            guard let total else { return nil }
            self = .unsatisfied(total: total)
            return
        }
        guard total != nil || sides[1] == "*" else { return nil }
        let ends = sides[0].split(separator: "-", omittingEmptySubsequences: false)
        // If the last position is `Int64.max`, the position after it cannot be represented.
        guard ends.count == 2, let first = Int64(digits: ends[0]), let last = Int64(digits: ends[1]), first <= last,
            last < total ?? .max
        else { return nil }
        self = .part(first..<last + 1, total: total)
    }
}

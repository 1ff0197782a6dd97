/// What a `Content-Range` field says (RFC 9110, section 14.4), for the unit bytes.
enum ContentRange: Sendable, Hashable {
    /// The body is this part of a representation, whose size may be unknown.
    case part(Range<Int64>, total: Int64?)
    /// No part could be sent; the representation has this size.
    case unsatisfied(total: Int64)

    /// Reads `bytes a-b/total`, `bytes a-b/*` and `bytes */total`; nil for anything else, and for contradictions.
    ///
    /// Behind the unit some servers write `=` or `:`, or several blanks.
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
        // A last position of Int64.max has no end after it.
        guard ends.count == 2, let first = Int64(digits: ends[0]), let last = Int64(digits: ends[1]), first <= last,
            last < total ?? .max
        else { return nil }
        self = .part(first..<last + 1, total: total)
    }
}

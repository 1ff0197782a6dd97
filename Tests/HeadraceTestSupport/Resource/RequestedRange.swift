/// A `Range` field that requests one range of bytes (RFC 9110, section 14.2).
enum RequestedRange: Equatable {
    /// `bytes=N-`
    case from(Int64)
    /// `bytes=N-M`, inclusive.
    case between(Int64, Int64)
    /// `bytes=-N`
    case last(Int64)

    /// Parses the field; `nil` for other units, several ranges or invalid text, all of which an origin may ignore.
    init?(_ field: String) {
        guard field.hasPrefix("bytes=") else { return nil }
        let ends = field.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        switch (Int64(ends[0]), Int64(ends[1])) {
        case (let first?, let last?):
            guard first <= last else { return nil }
            self = .between(first, last)
        case (let first?, nil):
            guard ends[1].isEmpty else { return nil }
            self = .from(first)
        case (nil, let count?):
            guard ends[0].isEmpty else { return nil }
            self = .last(count)
        case (nil, nil):
            return nil
        }
    }

    /// Returns the requested offsets in a representation of this size; `nil` if there are none.
    func range(ofSize size: Int64) -> Range<Int64>? {
        let range =
            switch self {
            case .from(let first): first..<max(first, size)
            case .between(let first, let last): first..<max(first, min(last, size - 1) + 1)
            case .last(let count): max(0, size - count)..<size
            }
        return range.isEmpty ? nil : range
    }
}

/// Expands patterns in URLs as curl does: `{a,b}`, `[1-100]`, `[001-100:10]` and `[a-z]`.
package enum URLPattern {
    /// The maximum number of URLs into which one text may expand.
    package static let maxCount = 100_000

    /// Returns the URLs into which the text expands, in the order in which the last pattern varies fastest.
    ///
    /// Other brackets, such as those of an IPv6 address, are literal.
    /// - Throws: `invalidRequest` if a range is reversed, or if there are more than ``maxCount`` URLs.
    package static func expanded(_ text: String) throws(DownloadError) -> [String] {
        var results = [""]
        var rest = text[...]
        while let first = rest.first {
            let end: Character? = first == "{" ? "}" : first == "[" ? "]" : nil
            if let end, let last = rest.firstIndex(of: end),
                let words = try alternatives(rest[..<last].dropFirst(), in: first, after: results.count)
            {
                results = results.flatMap { result in words.map { result + $0 } }
                rest = rest[rest.index(after: last)...]
            } else {
                let literal = String(first) + rest.dropFirst().prefix { $0 != "{" && $0 != "[" }
                results = results.map { $0 + literal }
                rest = rest.dropFirst(literal.count)
            }
        }
        return results
    }

    /// Returns the alternatives of a pattern, given the text between its brackets; `nil` if the text is not a pattern.
    ///
    /// Throws `invalidRequest` if a range is reversed, or if the alternatives, multiplied by the `count` of URLs so
    /// far, exceed ``maxCount``.
    private static func alternatives(
        _ text: Substring,
        in bracket: Character,
        after count: Int
    ) throws(DownloadError) -> [String]? {
        guard bracket == "[" else {
            let words = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            try check(words.count, after: count)
            return words.count > 1 ? words : nil
        }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let ends = (parts.first ?? "").split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let step = parts.count == 2 ? Int(parts[1]) : 1, step > 0 else { return nil }
        let isNumber = ends.allSatisfy(\.isDigits)
        let isLetter = ends.allSatisfy { $0.utf8.count == 1 && $0.allSatisfy { $0.isASCII && $0.isLetter } }
        let values = ends.compactMap { isNumber ? Int($0) : isLetter ? Int($0.utf8.first ?? 0) : nil }
        guard values.count == 2 else { return nil }
        guard values[0] <= values[1] else {
            throw DownloadError(.invalidRequest, "[\(text.description.printable)]: the range ends before it begins.")
        }
        // Bounded before the addition, which could overflow.
        try check(min((values[1] - values[0]) / step, maxCount) + 1, after: count)
        let width = ends[0].hasPrefix("0") ? ends[0].count : 0
        return stride(from: values[0], through: values[1], by: step).map { value in
            guard isNumber else { return String(UnicodeScalar(UInt8(value))) }
            return value.padded(to: width)
        }
    }

    private static func check(_ count: Int, after other: Int) throws(DownloadError) {
        guard count <= maxCount, count * other <= maxCount else {
            throw DownloadError(.invalidRequest, "A URL stands for more than \(maxCount) URLs.")
        }
    }
}

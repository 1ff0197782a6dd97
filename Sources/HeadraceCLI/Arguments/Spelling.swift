/// Suggests corrections for misspelled commands and options.
enum Spelling {
    /// Returns the known word closest to an unknown `word`; `nil` if none is close, or if several are equally close.
    ///
    /// A word is close if the unknown one is its prefix, or differs in one or two letters that are wrong, missing,
    /// extra or swapped. An unknown word of one letter is close to none.
    static func nearest(to word: some StringProtocol, in known: some Sequence<String>) -> String? {
        let word = Array(word.lowercased())
        guard word.count >= 2 else { return nil }
        let beginning = known.filter { $0.starts(with: word) }
        if beginning.count == 1 { return beginning[0] }
        let maxDistance = max(1, word.count / 3)
        let candidates = known.map { (distance(word, Array($0)), $0) }.filter { $0.0 <= min(2, maxDistance) }
        guard let minDistance = candidates.map(\.0).min() else { return nil }
        let nearest = candidates.filter { $0.0 == minDistance }
        return nearest.count == 1 ? nearest[0].1 : nil
    }

    /// Returns the end of an error message: the suggested word, or the advice if there is no suggestion.
    static func hint(_ suggestion: String?, else advice: String? = nil) -> String {
        (suggestion.map { "did you mean \($0)?" } ?? advice).map { "; \($0)" } ?? ""
    }

    /// Returns the optimal string alignment distance: the minimum number of letters to replace, delete, insert or swap.
    static func distance(_ first: [Character], _ second: [Character]) -> Int {
        var rows = [Array(0...second.count)]
        for (row, letter) in first.enumerated() {
            var next = [row + 1]
            for (column, other) in second.enumerated() {
                var distance = min(
                    rows[row][column] + (letter == other ? 0 : 1),
                    rows[row][column + 1] + 1,
                    next[column] + 1
                )
                if row > 0, column > 0, letter == second[column - 1], first[row - 1] == other {
                    distance = min(distance, rows[row - 1][column - 1] + 1)
                }
                next.append(distance)
            }
            rows.append(next)
        }
        return rows[first.count][second.count]
    }
}

/// Parses the dates of cookies (RFC 6265, section 5.1.1), which have more forms than the dates in other fields.
enum CookieDate {
    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

    /// Returns the seconds since 1970, or `nil` if the text is not a date.
    static func seconds(parsing text: String) -> Int64? {
        var (time, day, month, year) = (Int?.none, Int?.none, Int?.none, Int?.none)
        for token in text.utf8.split(whereSeparator: isDelimiter) {
            let word = Substring(token)
            if time == nil, let found = clock(word) {
                guard let seconds = found.seconds else { return nil }
                time = seconds
            } else if day == nil, let found = number(word, digits: 1...2) {
                day = found
            } else if month == nil, let found = months.firstIndex(of: String(word.prefix(3)).lowercased()) {
                month = found
            } else if year == nil, let found = number(word, digits: 2...4), word.utf8.first?.isDigit == true {
                year = found < 70 ? found + 2000 : found < 100 ? found + 1900 : found
            }
        }
        guard let time, let day, let month, let year, year >= 1601 else { return nil }
        return HTTPDate(year: year, month: month, day: day, time: time)?.seconds
    }

    /// Parses a time such as `8:49:37` into seconds since midnight; returns `nil` if the word is not a time.
    ///
    /// `seconds` is `nil` for an impossible time such as `25:00:00`, which makes the whole date invalid.
    private static func clock(_ word: Substring) -> (seconds: Int?, Void)? {
        let parts = word.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].utf8.allSatisfy(\.isDigit), parts[1].utf8.allSatisfy(\.isDigit),
            let hour = number(parts[0], digits: 1...2), let minute = number(parts[1], digits: 1...2),
            let second = number(parts[2], digits: 1...2)
        else { return nil }
        guard hour < 24, minute < 60, second < 60 else { return (nil, ()) }
        return ((hour * 60 + minute) * 60 + second, ())
    }

    /// Returns the leading digits of a word as a number, or `nil` if their count is not within `digits`.
    private static func number(_ word: Substring, digits: ClosedRange<Int>) -> Int? {
        let number = word.utf8.prefix(while: \.isDigit)
        return digits.contains(number.count) ? Int(Substring(number)) : nil
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2f, 0x3b...0x40, 0x5b...0x60, 0x7b...0x7e: true
        default: false
        }
    }
}

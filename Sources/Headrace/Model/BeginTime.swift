package import HeadracePlatform

/// Parses and formats the time at which a download may start.
///
/// The text is a delay such as `+1h30m`, or an ISO 8601 date. A date without a zone is in local time.
package enum BeginTime {
    /// Parses a date, or a delay that begins at `now`; returns `nil` if the text is neither.
    package static func date(_ text: String, now: Date) -> Date? {
        text.hasPrefix("+") ? span(text).map(now.addingTimeInterval) : moment(text)
    }

    /// Formats a date as ISO 8601 in local time, without the zone.
    ///
    /// The seconds are omitted if they are zero.
    package static func text(_ date: Date) -> String {
        let time = WallTime.parts(of: time_t(date.timeIntervalSince1970.rounded(.down)))
        let parts = [time.tm_year + 1900, time.tm_mon + 1, time.tm_mday, time.tm_hour, time.tm_min, time.tm_sec]
            .map { $0.padded(to: 2) }
        let text = parts[..<3].joined(separator: "-") + "T" + parts[3..<5].joined(separator: ":")
        return time.tm_sec == 0 ? text : "\(text):\(parts[5])"
    }

    private static func span(_ text: String) -> TimeInterval? {
        let pattern = /\+(?:(\d{1,5})d)?(?:(\d{1,6})h)?(?:(\d{1,7})m)?(?:(\d{1,9})s)?/.asciiOnlyDigits()
        guard text != "+", let match = text.wholeMatch(of: pattern)?.output else { return nil }
        func count(_ digits: Substring?) -> TimeInterval { digits.flatMap { TimeInterval($0) } ?? 0 }
        return count(match.1) * 86_400 + count(match.2) * 3600 + count(match.3) * 60 + count(match.4)
    }

    private static func moment(_ text: String) -> Date? {
        let pattern = /(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:(Z)|([+-])(\d\d):?(\d\d))?)?/
            .asciiOnlyDigits()
        guard let match = text.wholeMatch(of: pattern)?.output else { return nil }
        func number(_ digits: Substring?) -> Int32 { digits.flatMap { Int32($0) } ?? 0 }
        var time = tm()
        time.tm_year = number(match.1) - 1900
        time.tm_mon = number(match.2) - 1
        time.tm_mday = number(match.3)
        time.tm_hour = number(match.4)
        time.tm_min = number(match.5)
        time.tm_sec = number(match.6)
        time.tm_isdst = -1
        guard (0...11).contains(time.tm_mon), (1...31).contains(time.tm_mday), (0...23).contains(time.tm_hour),
            (0...59).contains(time.tm_min), (0...59).contains(time.tm_sec), (0...23).contains(number(match.9)),
            (0...59).contains(number(match.10))
        else { return nil }
        let day = time.tm_mday
        let isLocal = match.7 == nil && match.8 == nil
        let seconds = isLocal ? mktime(&time) : timegm(&time)
        // mktime turns a day past the end of a month into one of the next month.
        guard time.tm_mday == day else { return nil }
        let offset = (number(match.9) * 60 + number(match.10)) * (match.8 == "-" ? -60 : 60)
        return Date(timeIntervalSince1970: TimeInterval(seconds - Int(offset)))
    }
}

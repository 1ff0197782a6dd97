extension RateSchedule: LosslessStringConvertible {
    /// The maximum size in bytes of the text of a schedule.
    private static let maxTextBytes = 8192
    private static let otherwiseWord = "else"
    private static let unlimitedWord = "none"

    /// Parses a schedule such as `Mon-Fri 08:00-18:00 1M, else none`.
    ///
    /// Entries are separated by commas. Each consists of days or ranges of days (every day if omitted), hours (all day
    /// if omitted), and `none` or a rate such as `1.5M`, in powers of 1024. The last entry may be `else` and the rate
    /// for all other times; without such an entry, there is no limit at other times.
    /// - Parameter text: The text, which is case-insensitive.
    /// - Throws: `invalidRequest` with the reason.
    public init(parsing text: String) throws(DownloadError) {
        guard text.utf8.count <= Self.maxTextBytes else {
            throw DownloadError(.invalidRequest, "A rate schedule may not be longer than \(Self.maxTextBytes) bytes.")
        }
        var parts = text.split(separator: ",", omittingEmptySubsequences: false).map(Self.words)
        var otherwise: Int64?
        if let last = parts.last, last.first?.lowercased() == Self.otherwiseWord {
            guard last.count == 2 else { throw .malformed(last, "a rate must follow else") }
            otherwise = try Self.rate(last[1])
            parts.removeLast()
        }
        var entries: [Entry] = []
        for words in parts { entries += try Self.entries(words) }
        try self.init(entries, otherwise: otherwise)
    }

    /// Parses a schedule like ``init(parsing:)``, but returns `nil` instead of throwing.
    /// - Parameter description: The text.
    public init?(_ description: String) {
        try? self.init(parsing: description)
    }

    /// The schedule as text, from which ``init(parsing:)`` creates an equal schedule.
    public var description: String {
        (entries.map(\.text) + ["\(Self.otherwiseWord) \(Self.text(otherwise))"]).joined(separator: ", ")
    }

    private static func words(_ part: Substring) -> [Substring] { part.split { $0 == " " || $0 == "\t" } }

    /// Parses the words between two commas, which may name several ranges of hours; returns one ``Entry`` for each
    /// range.
    private static func entries(_ words: [Substring]) throws(DownloadError) -> [Entry] {
        var rest = words[...]
        var days: Set<Weekday> = []
        while let word = rest.first, let some = Weekday.days(word) {
            days.formUnion(some)
            rest.removeFirst()
        }
        var hours: [(Int, Int)] = []
        while let word = rest.first, let some = Self.hours(word) {
            hours.append(some)
            rest.removeFirst()
        }
        guard rest.count == 1, let word = rest.first else {
            throw .malformed(words, "expected days such as Mon-Fri, then hours such as 08:00-18:00, then one rate")
        }
        let rate = try rate(word)
        if hours.isEmpty { hours = [(0, minutesOfDay)] }
        if days.isEmpty { days = Set(Weekday.allCases) }
        return hours.map { Entry(days: days, from: $0.0, to: $0.1, bytesPerSecond: rate) }
    }

    private static func rate(_ word: Substring) throws(DownloadError) -> Int64? {
        guard word.lowercased() != unlimitedWord else { return nil }
        do {
            return try ByteRate(parsing: String(word)).bytesPerSecond
        } catch {
            let problem =
                switch error {
                case .notANumber: "a rate is a number such as 500K or 1.5M, or none"
                case .outOfRange: "the rate is out of range; use none for no limit"
                }
            throw .malformed([word], problem)
        }
    }

    /// Parses hours such as `08:00-18:00` to minutes since midnight; returns `nil` for other text.
    private static func hours(_ word: Substring) -> (Int, Int)? {
        let times = word.split(separator: "-", omittingEmptySubsequences: false).map(minute)
        guard times.count == 2, let start = times[0], let end = times[1] else { return nil }
        return (start, end)
    }

    /// Parses a time such as `8:00` or `08:00`, up to `24:00`, to minutes since midnight; returns `nil` for other text.
    private static func minute(_ time: Substring) -> Int? {
        let parts = time.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, (1...2).contains(parts[0].utf8.count), parts[1].utf8.count == 2,
            let hour = Int64(digits: parts[0]), let minute = Int64(digits: parts[1]), minute < 60
        else { return nil }
        let minutes = Int(hour * 60 + minute)
        return minutes <= minutesOfDay ? minutes : nil
    }

    fileprivate static func text(_ bytesPerSecond: Int64?) -> String {
        bytesPerSecond.flatMap { ByteRate($0)?.description } ?? unlimitedWord
    }
}

extension RateSchedule.Entry {
    fileprivate var text: String {
        var words: [String] = []
        if days.count < RateSchedule.Weekday.allCases.count { words += RateSchedule.Weekday.texts(days) }
        if start != 0 || end != RateSchedule.minutesOfDay { words.append("\(Self.time(start))-\(Self.time(end))") }
        return (words + [RateSchedule.text(bytesPerSecond)]).joined(separator: " ")
    }

    private static func time(_ minute: Int) -> String {
        [minute / 60, minute % 60].map { $0.padded(to: 2) }.joined(separator: ":")
    }
}

extension RateSchedule.Weekday {
    private static let names = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]

    private var name: String { Self.names[rawValue - 1] }

    /// Parses `Mon`, or a range such as `Fri-Mon`, which may span the end of the week; returns `nil` for other text.
    fileprivate static func days(_ word: Substring) -> [Self]? {
        let ends = word.split(separator: "-", omittingEmptySubsequences: false).map { part in
            allCases.first { $0.name.lowercased() == part.lowercased() }
        }
        guard ends.count <= 2, let first = ends.first ?? nil, let last = ends.last ?? nil else { return nil }
        let count = (last.rawValue - first.rawValue + 7) % 7
        return (0...count).map { allCases[(first.rawValue - 1 + $0) % 7] }
    }

    /// Returns the days as words; consecutive days form a range.
    fileprivate static func texts(_ days: Set<Self>) -> [String] {
        var runs: [[Self]] = []
        for day in allCases where days.contains(day) {
            if let last = runs.last?.last, last.rawValue + 1 == day.rawValue {
                runs[runs.count - 1].append(day)
            } else {
                runs.append([day])
            }
        }
        return runs.map { run in
            let (first, last) = (run[0], run[run.count - 1])
            return first == last ? first.name : "\(first.name)-\(last.name)"
        }
    }
}

extension DownloadError {
    fileprivate static func malformed(_ words: [Substring], _ problem: String) -> DownloadError {
        let text = String(words.joined(separator: " ").prefix(80)).printable
        return DownloadError(.invalidRequest, "\"\(text)\" is not a valid entry of a rate schedule: \(problem).")
    }
}

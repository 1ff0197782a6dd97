/// Limits of bytes per second by the hours of the day and the days of the week, as a clock on the wall tells them.
///
/// As text: `Mon-Fri 08:00-18:00 1M, Sat Sun 22:00-06:00 none, else 4M`. Where several entries are for the same minute, the
/// first one counts; where none is, ``otherwise`` does. A schedule without entries is one limit for all times.
public struct RateSchedule: Sendable, Hashable {
    /// A day of the week, with the number that ISO 8601 gives it.
    public enum Weekday: Int, Sendable, Hashable, CaseIterable {
        /// The first day, 1.
        case monday = 1
        /// The second day, 2.
        case tuesday
        /// The third day, 3.
        case wednesday
        /// The fourth day, 4.
        case thursday
        /// The fifth day, 5.
        case friday
        /// The sixth day, 6.
        case saturday
        /// The seventh day, 7.
        case sunday
    }

    /// A limit for some hours of some days.
    public struct Entry: Sendable, Hashable {
        /// The days on which the hours begin; at least one.
        public var days: Set<Weekday>
        /// The first minute, from 0 to 1439 since midnight.
        public var start: Int
        /// The minute after the last, from 0 to 1440; one that is before the first is of the next day.
        public var end: Int
        /// More than nothing, or nil for no limit.
        public var bytesPerSecond: Int64?

        /// Creates an entry; ``RateSchedule/init(_:otherwise:)`` finds what is wrong with it.
        /// - Parameters:
        ///   - days: The days on which the hours begin.
        ///   - start: The first minute since midnight.
        ///   - end: The minute after the last.
        ///   - bytesPerSecond: The limit; nil for none.
        public init(
            days: Set<Weekday> = Set(Weekday.allCases),
            from start: Int = 0,
            to end: Int = 1440,
            bytesPerSecond: Int64?
        ) {
            self.days = days
            self.start = start
            self.end = end
            self.bytesPerSecond = bytesPerSecond
        }
    }

    /// The most entries that a schedule has.
    public static let maxEntries = 100

    /// The entries, of which the first that is for a minute counts.
    public let entries: [Entry]
    /// The limit of all other times; nil for none.
    public let otherwise: Int64?

    /// Creates a schedule.
    /// - Parameters:
    ///   - entries: What limits when, the first before the others.
    ///   - otherwise: The limit of all other times; nil for none.
    /// - Throws: `invalidRequest` for an entry without days or hours, for hours that no day has, for a limit of nothing,
    ///   and for more than ``maxEntries``.
    public init(_ entries: [Entry], otherwise: Int64? = nil) throws(DownloadError) {
        guard entries.count <= Self.maxEntries else {
            throw DownloadError(
                .invalidRequest,
                "A schedule of rates has \(entries.count) entries; \(Self.maxEntries) are the most."
            )
        }
        for entry in entries { try entry.validate() }
        try otherwise?.validateAsRate()
        self.entries = entries
        self.otherwise = otherwise
    }

    /// Tells the limit of a minute; nil is none.
    /// - Parameters:
    ///   - weekday: The day.
    ///   - minuteOfDay: Minutes since midnight; what is not from 0 to 1439 is of the day before or after.
    /// - Returns: Bytes per second.
    public func limit(weekday: Weekday, minuteOfDay: Int) -> Int64? {
        limit(of: Self.minute(of: weekday, minuteOfDay))
    }

    /// Tells when the limit becomes another, counted on a clock that nobody sets.
    /// - Parameters:
    ///   - weekday: The day to begin at.
    ///   - minuteOfDay: Minutes since midnight.
    /// - Returns: The minutes until then, and the limit from then on; nil where it is always the same.
    public func nextChange(after weekday: Weekday, minuteOfDay: Int) -> (minutes: Int, bytesPerSecond: Int64?)? {
        let minute = Self.minute(of: weekday, minuteOfDay)
        let waits = Set(entries.flatMap { [$0.start, $0.end] }).flatMap { edge in
            (0..<7).map { Self.wrapped(edge + $0 * Self.minutesOfDay - minute) }
        }
        for wait in waits.sorted() {
            let next = limit(of: Self.wrapped(minute + wait))
            if next != limit(of: minute) { return (wait, next) }
        }
        return nil
    }

    // MARK: Minutes of the week

    static let minutesOfDay = 1440

    private func limit(of minute: Int) -> Int64? {
        guard let entry = entries.first(where: { $0.contains(minute) }) else { return otherwise }
        return entry.bytesPerSecond
    }

    /// A minute of the week, in a week that begins again when it ends.
    fileprivate static func wrapped(_ minute: Int) -> Int {
        let rest = minute % (7 * minutesOfDay)
        return rest < 0 ? rest + 7 * minutesOfDay : rest
    }

    private static func minute(of weekday: Weekday, _ minuteOfDay: Int) -> Int {
        wrapped((weekday.rawValue - 1) * minutesOfDay + minuteOfDay % (7 * minutesOfDay))
    }
}

extension RateSchedule.Entry {
    fileprivate func contains(_ minute: Int) -> Bool {
        let length = end > start ? end - start : end - start + RateSchedule.minutesOfDay
        return days.contains { day in
            RateSchedule.wrapped(minute - (day.rawValue - 1) * RateSchedule.minutesOfDay - start) < length
        }
    }

    fileprivate func validate() throws(DownloadError) {
        guard !days.isEmpty else {
            throw DownloadError(.invalidRequest, "An entry of a schedule of rates is for no day.")
        }
        guard (0..<RateSchedule.minutesOfDay).contains(start), (0...RateSchedule.minutesOfDay).contains(end) else {
            throw DownloadError(
                .invalidRequest,
                "An entry of a schedule of rates is from minute \(start) to minute \(end); a day has 1440."
            )
        }
        guard start != end else {
            throw DownloadError(
                .invalidRequest,
                "An entry of a schedule of rates ends when it begins; a whole day is from 00:00 to 24:00."
            )
        }
        try bytesPerSecond?.validateAsRate()
    }
}

extension Int64 {
    /// Throws `invalidRequest` for a limit of bytes per second that lets nothing through.
    func validateAsRate() throws(DownloadError) {
        guard self <= 0 else { return }
        throw DownloadError(
            .invalidRequest,
            "A limit of \(self) bytes per second lets nothing through; nil is for no limit."
        )
    }
}

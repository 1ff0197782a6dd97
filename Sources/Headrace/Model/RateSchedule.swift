/// Rate limits by time of day and day of the week, in local time.
///
///     let schedule = try RateSchedule(parsing: "Mon-Fri 08:00-18:00 1M, Sat Sun 22:00-06:00 none, else 4M")
///     manager.setRateSchedule(schedule)
///
/// In each minute, the first entry that contains the minute applies, or ``otherwise`` if no entry does.
public struct RateSchedule: Sendable, Hashable {
    /// A day of the week, numbered as in ISO 8601.
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

    /// A rate limit for a period of the day, on some days of the week.
    public struct Entry: Sendable, Hashable {
        /// The days on which the period begins; at least one.
        public var days: Set<Weekday>
        /// The first minute of the period, from 0 to 1439 after midnight.
        public var start: Int
        /// The first minute after the period, 0 to 1440 after midnight; a value below ``start`` is on the next day.
        public var end: Int
        /// The limit in bytes per second, above zero; `nil` for none.
        public var bytesPerSecond: Int64?

        /// Creates an entry, which ``RateSchedule/init(_:otherwise:)`` validates.
        /// - Parameters:
        ///   - days: The days on which the period begins.
        ///   - start: The first minute of the period, counted from midnight.
        ///   - end: The first minute after the period, counted from midnight; a value below `start` is on the next day.
        ///   - bytesPerSecond: The limit in bytes per second; `nil` for none.
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

    /// The maximum number of entries.
    public static let maxEntries = 100

    /// The entries; the first entry that contains a minute applies to it.
    public let entries: [Entry]
    /// The limit in bytes per second at times that no entry contains; `nil` for none.
    public let otherwise: Int64?

    /// Creates a schedule.
    /// - Parameters:
    ///   - entries: The entries; the first entry that contains a minute applies to it.
    ///   - otherwise: The limit in bytes per second at times that no entry contains; `nil` for none.
    /// - Throws: `invalidRequest` if an entry has no days or an empty or invalid period, if a limit is not above zero,
    ///   or if there are more than ``maxEntries`` entries.
    public init(_ entries: [Entry], otherwise: Int64? = nil) throws(DownloadError) {
        guard entries.count <= Self.maxEntries else {
            throw DownloadError(
                .invalidRequest,
                "A rate schedule has \(entries.count) entries; the maximum is \(Self.maxEntries)."
            )
        }
        for entry in entries { try entry.validate() }
        try otherwise?.validateAsRate()
        self.entries = entries
        self.otherwise = otherwise
    }

    /// Returns the limit that applies in a minute of the week.
    /// - Parameters:
    ///   - weekday: The day.
    ///   - minuteOfDay: The minutes since midnight; a value below 0 or above 1439 is on another day.
    /// - Returns: The limit in bytes per second; `nil` for none.
    public func limit(weekday: Weekday, minuteOfDay: Int) -> Int64? {
        limit(of: Self.minute(of: weekday, minuteOfDay))
    }

    // MARK: Minutes of the week

    static let minutesOfDay = 1440

    private func limit(of minute: Int) -> Int64? {
        guard let entry = entries.first(where: { $0.contains(minute) }) else { return otherwise }
        return entry.bytesPerSecond
    }

    /// Converts minutes since Monday 00:00, which may be negative or more than a week, to a minute of the week.
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
            throw DownloadError(.invalidRequest, "An entry of a rate schedule has no days.")
        }
        guard (0..<RateSchedule.minutesOfDay).contains(start), (0...RateSchedule.minutesOfDay).contains(end) else {
            throw DownloadError(
                .invalidRequest,
                "An entry of a rate schedule is from minute \(start) to minute \(end), but a day has 1440 minutes."
            )
        }
        guard start != end else {
            throw DownloadError(
                .invalidRequest,
                "An entry of a rate schedule has no duration; a whole day is from 00:00 to 24:00."
            )
        }
        try bytesPerSecond?.validateAsRate()
    }
}

extension Int64 {
    /// Throws `invalidRequest` unless this rate limit is above zero.
    func validateAsRate() throws(DownloadError) {
        guard self <= 0 else { return }
        throw DownloadError(
            .invalidRequest,
            "A rate limit must be above zero, not \(self); nil is for no limit."
        )
    }
}

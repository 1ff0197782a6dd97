import HeadracePlatform

/// A day and time of day in the system's time zone.
struct LocalTime: Sendable, Hashable {
    var weekday: RateSchedule.Weekday
    /// Minutes since midnight.
    var minute: Int
    /// Seconds since the start of the minute.
    var second: Int

    init(_ weekday: RateSchedule.Weekday, minute: Int, second: Int = 0) {
        self.weekday = weekday
        self.minute = minute
        self.second = second
    }
}

extension LocalTime {
    /// The current time in the system's time zone.
    static func now() -> LocalTime {
        var seconds = time(nil)
        var parts = tm()
        // Otherwise a change of the time zone would go unnoticed after the first call.
        tzset()
        localtime_r(&seconds, &parts)
        // C counts weekdays from Sunday, which is 0.
        let weekday = RateSchedule.Weekday(rawValue: (Int(parts.tm_wday) + 6) % 7 + 1) ?? .monday
        return LocalTime(weekday, minute: Int(parts.tm_hour) * 60 + Int(parts.tm_min), second: Int(parts.tm_sec))
    }
}

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
    /// Returns the current day and time in the system's time zone.
    static func now() -> LocalTime {
        let parts = WallTime.parts(of: time_t(WallTime.seconds()))
        // C counts days from Sunday, 0, and `Weekday` from Monday, 1.
        return LocalTime(
            RateSchedule.Weekday(rawValue: (Int(parts.tm_wday) + 6) % 7 + 1) ?? .monday,
            minute: Int(parts.tm_hour) * 60 + Int(parts.tm_min),
            second: Int(parts.tm_sec)
        )
    }
}

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
        let time = WallTime.local()
        return LocalTime(
            RateSchedule.Weekday(rawValue: time.weekday) ?? .monday,
            minute: time.minute,
            second: time.second
        )
    }
}

/// The day and the time of day that a clock on the wall shows.
struct LocalTime: Sendable, Hashable {
    var weekday: RateSchedule.Weekday
    /// Minutes since midnight.
    var minute: Int
    /// Seconds since the minute began.
    var second: Int

    /// Creates a time.
    /// - Parameters:
    ///   - weekday: The day.
    ///   - minute: Minutes since midnight.
    ///   - second: Seconds since the minute began.
    init(_ weekday: RateSchedule.Weekday, minute: Int, second: Int = 0) {
        self.weekday = weekday
        self.minute = minute
        self.second = second
    }
}

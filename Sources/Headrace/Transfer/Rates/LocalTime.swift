#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The day and the time of day that a clock on the wall shows.
package struct LocalTime: Sendable, Hashable {
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
    package init(_ weekday: RateSchedule.Weekday, minute: Int, second: Int = 0) {
        self.weekday = weekday
        self.minute = minute
        self.second = second
    }

    /// The time now, in the time zone of the system.
    package static func now() -> LocalTime {
        var seconds = time(nil)
        var parts = tm()
        localtime_r(&seconds, &parts)
        // C counts days from Sunday, 0.
        let weekday = RateSchedule.Weekday(rawValue: (Int(parts.tm_wday) + 6) % 7 + 1) ?? .monday
        return LocalTime(weekday, minute: Int(parts.tm_hour) * 60 + Int(parts.tm_min), second: Int(parts.tm_sec))
    }
}

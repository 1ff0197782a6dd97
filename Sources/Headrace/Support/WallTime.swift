import HeadracePlatform

/// The wall clock, for values that are stored or compared with a date, such as start times, cookies and the order of
/// commands; rate schedules use ``LocalTime``.
enum WallTime {
    /// Returns the time from now until a date; zero if the date has passed, and at most about a hundred years.
    static func duration(until time: Date) -> Duration {
        .seconds(min(max(0, time.timeIntervalSinceNow), 3.2e9))
    }

    /// Returns the date that is `duration` from now, rounded up to the second.
    static func date(after duration: Duration) -> Date {
        let now = Date().timeIntervalSinceReferenceDate
        return Date(timeIntervalSinceReferenceDate: (now + duration / .seconds(1)).rounded(.up))
    }

    static func date(milliseconds: Int64) -> Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }

    /// Returns the current time in milliseconds since 1970.
    static func milliseconds() -> Int64 { Int64(nanoseconds() / 1_000_000) }

    /// Returns the current time in seconds since 1970.
    static func seconds() -> Int64 { Int64(nanoseconds() / 1_000_000_000) }

    /// Returns the current time in nanoseconds since 1970.
    static func nanoseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UInt64(truncatingIfNeeded: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }

    /// Returns the parts of a time, in seconds since 1970, in the system's time zone.
    static func parts(of time: time_t) -> tm {
        var seconds = time
        var parts = tm()
        // Without this, the time zone stays the one of the first call in the process.
        tzset()
        localtime_r(&seconds, &parts)
        return parts
    }
}

import HeadracePlatform

/// The clock on the wall, for the few things that are told by it: when a download may begin, the order in which processes
/// have left commands, and beside this, what a schedule of rates says for now.
enum WallTime {
    /// How long it is until a time; nothing for one that has passed, and at most a hundred years.
    static func duration(until time: Date) -> Duration {
        .seconds(min(max(0, time.timeIntervalSinceNow), 3.2e9))
    }

    /// When a duration will be over, to the second.
    static func date(after duration: Duration) -> Date {
        let now = Date().timeIntervalSinceReferenceDate
        return Date(timeIntervalSinceReferenceDate: (now + duration / .seconds(1)).rounded(.up))
    }

    /// The time in seconds since 1970.
    static func seconds() -> Int64 { Int64(nanoseconds() / 1_000_000_000) }

    /// The time in nanoseconds since 1970.
    static func nanoseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UInt64(truncatingIfNeeded: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }
}

extension LocalTime {
    /// The time now, in the time zone of the system.
    static func now() -> LocalTime {
        var seconds = time(nil)
        var parts = tm()
        // Else the zone stays what it was when somebody asked first.
        tzset()
        localtime_r(&seconds, &parts)
        // C counts days from Sunday, 0.
        let weekday = RateSchedule.Weekday(rawValue: (Int(parts.tm_wday) + 6) % 7 + 1) ?? .monday
        return LocalTime(weekday, minute: Int(parts.tm_hour) * 60 + Int(parts.tm_min), second: Int(parts.tm_sec))
    }
}

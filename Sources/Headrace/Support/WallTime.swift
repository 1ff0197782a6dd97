#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The clock on the wall, for the two things that are told by it: when a download may begin, and the order in which
/// processes have left commands.
enum WallTime {
    /// How long it is until a time; nothing for one that has passed, and at most a hundred years.
    static func duration(until time: Date) -> Duration {
        .seconds(min(max(0, time.timeIntervalSinceNow), 3.2e9))
    }

    /// The time in nanoseconds since 1970.
    static func nanoseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UInt64(truncatingIfNeeded: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }
}

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The clock on the wall, for the one thing that is told by it: when a download may begin.
enum WallTime {
    /// How long it is until a time; nothing for one that has passed, and at most a hundred years.
    static func duration(until time: Date) -> Duration {
        .seconds(min(max(0, time.timeIntervalSinceNow), 3.2e9))
    }
}

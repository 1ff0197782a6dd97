/// Decides when a limit that refusals have lowered is raised again, by one each time.
///
/// The first raise is due after 5 seconds. Each refusal that follows a raise doubles the interval, up to 320 seconds.
struct LimitRecovery: Sendable {
    private static let maxInterval = Duration.seconds(320)

    /// The time of the last refusal; zero if there was none.
    private(set) var lastRefusal = Duration.zero
    /// The time from which the limit may be raised.
    private(set) var nextRaise = Duration.zero
    private var interval = Duration.seconds(5)
    private var isRaised = false

    mutating func refused(at now: Duration) {
        if isRaised { interval = min(interval * 2, Self.maxInterval) }
        isRaised = false
        lastRefusal = now
        nextRaise = now + interval
    }

    /// Records that the limit was raised by one.
    mutating func raised(at time: Duration) {
        isRaised = true
        nextRaise = time + interval
    }
}

import HeadracePlatform

/// The average speed over the last seconds, in bytes per second, computed from byte counts and their times.
///
/// The weight of older bytes halves every ``halfLife``, so that the speed of a stalled transfer falls towards zero.
struct SmoothedSpeed: Sendable {
    /// The age at which a byte counts only half.
    static let halfLife = Duration.seconds(2)

    /// The number of bytes received until ``time``, each weighted by its age.
    private var bytes = 0.0
    /// The number of seconds from the start to ``time``, weighted in the same way.
    private var seconds = 0.0
    private var time: Duration

    init(start: Duration) {
        time = start
    }

    mutating func add(_ count: Int, at now: Duration) {
        advance(to: now)
        bytes += Double(count)
    }

    mutating func bytesPerSecond(at now: Duration) -> Double {
        advance(to: now)
        return seconds > 0 ? bytes / seconds : 0
    }

    private mutating func advance(to now: Duration) {
        guard now > time else { return }
        let elapsed = (now - time) / .seconds(1)
        time = now
        let decay = exp(-Self.rate * elapsed)
        bytes *= decay
        // The integral of the weights over the time that passed, so that a steady speed is reported unchanged.
        seconds = seconds * decay + (1 - decay) / Self.rate
    }

    private static let rate = log(2) / (halfLife / .seconds(1))
}

/// Spaces the retries that all downloads send to a host: a burst first, then one at a time at an even pace.
///
/// This type performs no I/O. For each host, it stores the time at which the next retry would be due at the even pace.
struct HostRetryLimits: Sendable {
    private static let minute = Duration.seconds(60)
    /// The number of tracked hosts above which expired ones are removed.
    private static let sweepThreshold = 64

    /// The maximum time by which a retry may be ahead of the even pace.
    private let burst: Duration
    private let interval: Duration
    private var due: [String: Duration] = [:]

    /// Creates the limits, which are the same for each host.
    /// - Parameter perMinute: The maximum number of retries per minute to one host; `nil` for no limit.
    init(perMinute: Int?) {
        interval = perMinute.map { Self.minute / $0 } ?? .zero
        burst = Self.minute / 6
    }

    /// Reserves a time for a retry to a host, and returns when the retry may begin.
    mutating func begin(of host: String, at now: Duration) -> Duration {
        guard interval > .zero else { return now }
        if due.count > Self.sweepThreshold { due = due.filter { $0.value > now } }
        let even = max(due[host] ?? now, now)
        due[host] = even + interval
        return max(now, even - burst)
    }
}

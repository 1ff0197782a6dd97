/// Spaces the retries to each host over all downloads: a burst first, then one after the other at an even pace.
///
/// This type performs no I/O. It stores when the next retry of each host would be due at the even pace.
struct HostRetryLimits: Sendable {
    private static let minute = Duration.seconds(60)
    /// With more hosts than this, expired ones are removed.
    private static let sweepThreshold = 64

    /// How long before its due time a retry may begin.
    private let burst: Duration
    private let interval: Duration
    private var due: [String: Duration] = [:]

    /// - Parameter perMinute: The maximum number of retries per minute to one host; `nil` for no limit.
    init(perMinute: Int?) {
        interval = perMinute.map { Self.minute / $0 } ?? .zero
        burst = Self.minute / 6
    }

    /// Reserves the next slot of a host and returns when a retry that is due now may begin.
    mutating func begin(of host: String, at now: Duration) -> Duration {
        guard interval > .zero else { return now }
        if due.count > Self.sweepThreshold { due = due.filter { $0.value > now } }
        let even = max(due[host] ?? now, now)
        due[host] = even + interval
        return max(now, even - burst)
    }
}

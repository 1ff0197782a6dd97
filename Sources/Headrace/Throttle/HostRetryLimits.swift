/// When retries go to each host, over all downloads: so many at once, and then one after the other at an even pace.
///
/// Pure. A host is known by the time at which its next retry would be due if they all came evenly.
struct HostRetryLimits: Sendable {
    private static let minute = Duration.seconds(60)
    /// Hosts above this number are looked through for those that are of no meaning any more.
    private static let leastSweep = 64

    /// By how much a retry may come before its even time.
    private let burst: Duration
    private let interval: Duration
    private var due: [String: Duration] = [:]

    /// - Parameter perMinute: How many retries a minute go to one host; nil for as many as there are.
    init(perMinute: Int?) {
        interval = perMinute.map { Self.minute / $0 } ?? .zero
        burst = Self.minute / 6
    }

    /// Says when a retry may begin that is to begin now; to be asked then and not before, since those of a host take turns.
    mutating func begin(of host: String, at now: Duration) -> Duration {
        guard interval > .zero else { return now }
        if due.count > Self.leastSweep { due = due.filter { $0.value > now } }
        let even = max(due[host] ?? now, now)
        due[host] = even + interval
        return max(now, even - burst)
    }
}

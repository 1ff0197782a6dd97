/// Decides what limits the speed of a download.
///
/// Performs no I/O. The connections report when they wait for bytes, wait for a rate limit, handle bytes, and write;
/// the sums of these times distinguish the network, a rate limit and the disk. If the network is the limit, the effect
/// of further connections on the speed distinguishes the line and the server. The result is `nil` if nothing fits
/// clearly.
struct BottleneckDetector: Sendable {
    typealias Bottleneck = DownloadEvent.Bottleneck

    /// The activity of a connection.
    enum Phase: Int, Sendable, CaseIterable {
        case receiving
        case throttled
        /// Hashing, writing, or waiting for a thread.
        case handling
    }

    /// The connections of a download to one host.
    struct Connections: Sendable, Hashable {
        /// The reason why no more connections are opened.
        enum Cap: Sendable, Hashable {
            /// The host has refused further ones.
            case refused
            /// The limit on connections per host is reached.
            case limit
            /// The maximum of the automatic choice is reached.
            case maximum
        }

        /// The effect of the latest change of the number of connections; `nil` if none was measured yet, or if it was
        /// unclear.
        var scaling: ConcurrencyController.Scaling?
        /// `nil` if more connections may still be opened, if none would be useful, or if the number that the caller set
        /// is reached.
        var cap: Cap?
        var roundTrip: Duration
        /// The speed of each connection that receives bytes, in bytes per second.
        var rates: [Double]
        /// Whether all connections have received bytes for long enough to compare their speeds.
        var isSettled: Bool
    }

    /// The interval at which ``evaluate(_:at:)`` decides.
    static let interval = Duration.seconds(1)
    /// The time for which a bottleneck, or the absence of one, must have lasted before it is reported.
    static let minLasting = Duration.seconds(2)

    /// The minimum share of time for a bottleneck.
    ///
    /// The network can be the bottleneck if the connections spend at least this share of their time waiting for bytes.
    /// The disk can be the bottleneck if writes run for at least this share of the elapsed time.
    private static let minShare = 0.8
    private static let minThrottledShare = 0.5
    /// The maximum share of their time that the connections spend waiting for bytes if the disk is the bottleneck.
    private static let maxOtherShare = 0.2
    private static let maxThrottledShare = 0.1
    /// The ratios of the present to the earlier total speed at which the total speed counts as unchanged.
    ///
    /// The earlier speed is that of fewer connections, measured before additional ones brought no gain.
    private static let sameSpeed = 0.7...1.3
    /// The ratios of the present to the earlier average speed per connection at which this average counts as unchanged.
    ///
    /// The earlier average is that of fewer connections, measured before additional ones increased the total speed.
    private static let sameShare = 0.9...1.3
    /// The number of bytes that TCP lets a connection send before the first acknowledgment: ten packets (RFC 6928).
    private static let initialWindow = 14_600.0
    /// The number of bytes in transit that a connection without losses soon exceeds.
    private static let smallWindow = 262_144.0
    /// The minimum round-trip time at which packet losses can limit the speed; TCP recovers quickly from losses if the
    /// round trip is shorter.
    private static let longRoundTrip = Duration.milliseconds(20)
    /// The maximum ratio of the upper to the lower quartile of the connections' speeds if the server limits the rate of
    /// each connection.
    private static let evenRates = 1.25
    /// The minimum ratio of the upper to the lower quartile of the connections' speeds if packet losses limit the
    /// speed.
    private static let unevenRates = 1.5

    /// The number of connections in each phase, and the number of running writes.
    private var active = [Int](repeating: 0, count: Phase.allCases.count)
    private var writers = 0
    /// The time that all connections together spent in each phase since ``start``, and the time since then in which at
    /// least one write was running.
    private var times = [Duration](repeating: .zero, count: Phase.allCases.count)
    private var writing = Duration.zero
    private var start: Duration
    private var last: Duration
    private var reported: Bottleneck?
    /// The bottleneck found last, and the start of the interval in which it was first found.
    private var found: (bottleneck: Bottleneck?, since: Duration)

    init(at now: Duration) {
        (start, last) = (now, now)
        found = (nil, now)
    }

    /// Records that a connection changes its phase; `old` is `nil` when the connection begins, and `new` when it ends.
    mutating func moved(from old: Phase?, to new: Phase?, at now: Duration) {
        advance(to: now)
        if let old { active[old.rawValue] -= 1 }
        if let new { active[new.rawValue] += 1 }
    }

    /// Records that a write begins.
    mutating func beginWrite(at now: Duration) {
        advance(to: now)
        writers += 1
    }

    /// Records that a write has returned.
    mutating func endWrite(at now: Duration) {
        advance(to: now)
        writers -= 1
    }

    private mutating func advance(to now: Duration) {
        let elapsed = max(.zero, now - last)
        last = max(last, now)
        for index in active.indices { times[index] += elapsed * active[index] }
        if writers > 0 { writing += elapsed }
    }

    /// Whether a connection waits for a rate limit.
    var isThrottled: Bool { active[Phase.throttled.rawValue] > 0 }

    /// Whether it is time for ``evaluate(_:at:)``.
    func isDue(at now: Duration) -> Bool { now - start >= Self.interval }

    /// Returns the bottleneck if it has changed and the change has lasted; otherwise returns `nil`.
    ///
    /// A result of `.some(nil)` means that the bottleneck is no longer known. `connections` is `nil` if the file is not
    /// downloaded in segments, or has several sources.
    mutating func evaluate(_ connections: Connections?, at now: Duration) -> Bottleneck?? {
        advance(to: now)
        let bottleneck = bottleneck(connections, over: now - start)
        if bottleneck != found.bottleneck { found = (bottleneck, start) }
        start = now
        for index in times.indices { times[index] = .zero }
        writing = .zero
        guard bottleneck != reported, now - found.since >= Self.minLasting else { return nil }
        reported = bottleneck
        return .some(bottleneck)
    }

    private func bottleneck(_ connections: Connections?, over elapsed: Duration) -> Bottleneck? {
        let all = times.reduce(.zero, +)
        // With less than half a connection open on average, the times say nothing.
        guard elapsed > .zero, all * 2 >= elapsed else { return nil }
        let (receiving, throttled) = (times[Phase.receiving.rawValue] / all, times[Phase.throttled.rawValue] / all)
        if throttled >= Self.minThrottledShare { return .rateLimit }
        guard throttled <= Self.maxThrottledShare else { return nil }
        if receiving >= Self.minShare { return connections.flatMap(Self.networkBottleneck) }
        return receiving <= Self.maxOtherShare && writing / elapsed >= Self.minShare ? .disk : nil
    }

    private static func networkBottleneck(_ connections: Connections) -> Bottleneck? {
        let rate = connections.rates.reduce(0, +)
        guard let scaling = connections.scaling, rate > 0, scaling.rate > 0 else { return nil }
        guard scaling.isClear else { return sameSpeed.contains(rate / scaling.rate) ? .line : nil }
        let each = rate / Double(connections.rates.count)
        guard connections.rates.count > scaling.connections,
            sameShare.contains(each / (scaling.rate / Double(scaling.connections)))
        else { return nil }
        return switch connections.cap {
        case .refused: .refusedConnections
        case .limit: .connectionLimit
        case .maximum: connectionBottleneck(connections, each)
        case nil: nil
        }
    }

    /// Returns what limits each of the connections, which receive `rate` bytes per second on average; `nil` if that is
    /// unclear.
    private static func connectionBottleneck(_ connections: Connections, _ rate: Double) -> Bottleneck? {
        let window = rate * (connections.roundTrip / .seconds(1))
        if window < initialWindow { return .connectionRate }
        guard connections.isSettled, let low = connections.rates.quantile(0.25),
            let high = connections.rates.quantile(0.75), low > 0
        else { return nil }
        if high / low <= evenRates, window < smallWindow { return .connectionRate }
        return high / low >= unevenRates && connections.roundTrip >= longRoundTrip ? .congestionWindow : nil
    }
}

/// Observes the connections of a download of at least 1 MiB, or of unknown size, and publishes what limits its speed.
final class BottleneckMonitor: Sendable {
    private let record: DownloadRecord
    private let clock: AnyClock
    private let detector: Locked<BottleneckDetector>

    init(_ record: DownloadRecord, _ clock: AnyClock) {
        self.record = record
        self.clock = clock
        detector = Locked(BottleneckDetector(at: clock.now()))
    }

    func moved(from old: BottleneckDetector.Phase?, to new: BottleneckDetector.Phase?) {
        let now = clock.now()
        detector.withLock { $0.moved(from: old, to: new, at: now) }
    }

    /// Whether a connection waits for a rate limit.
    var isThrottled: Bool { detector.withLock { $0.isThrottled } }

    fileprivate func beginWrite() {
        let now = clock.now()
        detector.withLock { $0.beginWrite(at: now) }
    }

    fileprivate func endWrite() {
        let now = clock.now()
        detector.withLock { $0.endWrite(at: now) }
    }

    /// Evaluates the connections if an evaluation is due, and publishes the bottleneck if it has changed lastingly.
    func update(_ connections: @autoclosure () -> BottleneckDetector.Connections?, at now: Duration) {
        guard detector.withLock({ $0.isDue(at: now) }) else { return }
        let connections = connections()
        let change = detector.withLock { $0.evaluate(connections, at: now) }
        if case .some(let bottleneck) = change { record.status.publish(.limited(by: bottleneck)) }
    }
}

extension BottleneckMonitor? {
    /// Performs a write, and measures its time if there is a monitor.
    func write<Failure>(_ body: () throws(Failure) -> Void) throws(Failure) {
        self?.beginWrite()
        defer { self?.endWrite() }
        try body()
    }
}

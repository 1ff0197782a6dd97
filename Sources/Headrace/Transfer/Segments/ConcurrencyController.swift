/// Decides how many connections a download uses.
///
/// Performs no I/O. The number is either fixed or automatic. An automatic number changes as follows:
/// - It starts at the number that an earlier download from the host settled on. If there is none, it depends on the
///   missing bytes and the round-trip time.
/// - It is doubled as long as the speed grows with it.
/// - If a doubling brings too little speed, the connections that do not contribute to the gain are dropped. The next
///   doubling is tried after an interval, which becomes twice as long each time.
/// - If the number is already the maximum after the interval, it is halved as long as the speed stays the same.
///
///     settling ── all receive ──▶ growing ──▶ measuring ── gain ──▶ settling with twice as many
///        ▲                           └─ clear gain ─▲    └── no gain, or maximum reached ──▶ holding
///        └────────────────────────────── a longer while ──────────────────────────────────────┘
///
/// Times are measured in round trips, because a new connection needs several of them to reach its full speed. Until
/// then, only a clear gain in speed counts.
struct ConcurrencyController: Sendable {
    enum Mode: Sendable, Hashable {
        case fixed(Int)
        case automatic(max: Int)
    }

    /// The effect of a change of the number of connections on the speed.
    struct Scaling: Sendable, Hashable {
        /// Whether the speed grew with the number of connections; otherwise it stayed the same.
        var isClear: Bool
        /// The smaller number of connections.
        var connections: Int
        /// The speed of the smaller number of connections together, in bytes per second.
        var rate: Double
    }

    /// The number of connections to use, if ``maximum`` allows; if it decreases, surplus connections are dropped.
    private(set) var count: Int

    /// The maximum number of connections; if it is lowered, surplus connections end normally and are not replaced.
    private(set) var maximum: Int
    /// The round-trip time: the time from sending a packet to receiving its acknowledgment.
    private(set) var roundTrip = Duration.zero
    /// The effect of the latest measured change of the number of connections; `nil` if none was measured yet, or if it
    /// was unclear.
    ///
    /// If one halving kept the speed and the next one reduced it, this is the effect of the first.
    private(set) var scaling: Scaling?
    /// The number of connections that the download has settled on, and their speed; `nil` until it has settled, and
    /// always if the number is fixed.
    private(set) var experience: HostExperience?
    private let mode: Mode
    /// The connections that an earlier download from the same host settled on, and their speed; `nil` if unknown.
    private let earlier: HostExperience?
    private var phase = Phase.settling(until: nil)
    /// The number of connections that was measured last, their speed, and whether they had reached their full speed;
    /// `nil` if no number has been measured since the last `holding` phase.
    private var previous: (count: Int, rate: Double, isSettled: Bool)?
    private var hold = ConcurrencyController.firstHold
    /// Whether fewer connections are being tried, because they may be as fast.
    private var isReducing = false

    private enum Phase {
        /// Waiting until all connections receive bytes, and then for the end of the first burst.
        ///
        /// `until` is the end of the second wait; `nil` during the first one.
        case settling(until: Duration?)
        /// New connections may still become faster, so that only a clear gain counts.
        case growing(since: Duration, bytes: Int64)
        case measuring(since: Duration, bytes: Int64)
        case holding(until: Duration)
    }

    /// The minimum time after the first bytes of new connections before a measurement: many servers send a burst first.
    private static let settling = Duration.milliseconds(50)
    /// The number of round trips in which the speed of a new connection grows, TCP's slow start.
    private static let growingRoundTrips = 8
    private static let measuring = Duration.milliseconds(500)
    private static let measuringRoundTrips = 6
    /// The measuring time that suffices if the gain is clear, or if there is no previous measurement to compare with.
    private static let shortMeasuring = Duration.milliseconds(100)
    /// The minimum fraction of the ideal gain for which a short measurement suffices.
    private static let clearGain = 0.6
    private static let firstHold = Duration.seconds(20)
    private static let maxHold = Duration.seconds(600)
    /// The minimum fraction of the ideal gain; after a doubling that brings less, the number is not doubled again for a
    /// while.
    private static let minGain = 0.3
    /// The minimum fraction of the earlier speed at which fewer connections suffice.
    private static let minRemainingSpeed = 0.92
    /// The relative gain in speed that may be due to chance.
    private static let noise = 0.08

    /// The minimum round-trip time for opening further connections before the first measurement.
    ///
    /// With a shorter round-trip time, the measurement is quick, and further connections wait for its result.
    private static let minRoundTrip = Duration.milliseconds(5)
    /// The minimum number of missing bytes per connection before the first measurement.
    ///
    /// A new connection needs about seven round trips to deliver that many bytes.
    private static let firstShareBytes: Int64 = 1 << 20
    /// The maximum number of connections before the first measurement, if the round-trip time is below
    /// ``longRoundTrip``.
    private static let maxFirst = 8
    /// The minimum round-trip time for opening more than ``maxFirst`` connections before the first measurement.
    ///
    /// With such a long round-trip time, waiting for the measurement would take too much of the download's time.
    private static let longRoundTrip = Duration.milliseconds(50)

    init(_ mode: Mode, after earlier: HostExperience? = nil) {
        self.earlier = earlier
        switch mode {
        case .fixed(let number): (count, maximum) = (number, number)
        case .automatic(let max): (count, maximum) = (1, max)
        }
        self.mode = mode
    }

    /// Sets the maximum number of connections to the part of the configured maximum that `share` grants, at least one.
    mutating func limit(_ share: (Int) -> Int) {
        switch mode {
        case .fixed(let number), .automatic(let number): maximum = max(1, min(number, share(number)))
        }
    }

    /// Records the round-trip time once the first response has arrived and, unless the number is fixed, chooses the
    /// number of connections to start with.
    /// - Parameters:
    ///   - missingBytes: The number of bytes to download.
    ///   - roundTrip: The round-trip time.
    mutating func begin(missingBytes: Int64, roundTrip: Duration) {
        self.roundTrip = roundTrip
        guard case .automatic = mode else { return }
        let shares = Int(clamping: missingBytes / Self.firstShareBytes)
        if let earlier, earlier.connections > 0, Double(missingBytes) > earlier.rate {
            // The earlier download found this number useful, so the measurements begin with it.
            count = max(1, min(earlier.connections, maximum, max(shares, 2)))
        } else if roundTrip >= Self.minRoundTrip {
            count = max(1, min(shares, roundTrip < Self.longRoundTrip ? Self.maxFirst : maximum, maximum))
        }
    }

    /// Records the round-trip time of another connection.
    mutating func measured(roundTrip: Duration) { self.roundTrip = roundTrip }

    /// Records the progress and, when a measurement is complete, may change ``count``; does nothing if the number is
    /// fixed.
    /// - Parameters:
    ///   - bytes: The number of needed bytes received so far, except over extra connections; see ``Segment/isExtra``.
    ///   - connections: The number of connections that have received bytes, without extra ones.
    ///   - now: The time.
    mutating func measured(_ bytes: Int64, on connections: Int, at now: Duration) {
        guard case .automatic = mode else { return }
        switch phase {
        case .holding(let end):
            guard now >= end, maximum > 1 else { return }
            previous = nil
            isReducing = count >= maximum
            phase = .settling(until: now)
        // With fewer connections than planned, as at the end of a segment, the speed says nothing about the planned
        // number.
        case _ where connections < count:
            phase = .settling(until: nil)
        case .settling(nil):
            phase = .settling(until: now + Self.settling)
        case .settling(let end?):
            guard now >= end else { return }
            phase = isReducing ? .measuring(since: now, bytes: bytes) : .growing(since: now, bytes: bytes)
        case .growing(let start, let first):
            if now - start >= roundTrip * Self.growingRoundTrips {
                phase = .measuring(since: now, bytes: bytes)
            } else if let rate = rate(of: bytes - first, since: start, at: now), isClear(rate) {
                decide(rate, isSettled: false, at: now)
            }
        case .measuring(let start, let first):
            guard let rate = rate(of: bytes - first, since: start, at: now) else { return }
            let isLong = now - start >= max(Self.measuring, roundTrip * Self.measuringRoundTrips)
            guard isLong || !isReducing && isClear(rate) else { return }
            if isReducing { reduce(rate, at: now) } else { decide(rate, isSettled: true, at: now) }
        }
    }

    /// Returns the speed since `start` in bytes per second; `nil` before ``shortMeasuring`` and one round trip have
    /// passed.
    private func rate(of bytes: Int64, since start: Duration, at now: Duration) -> Double? {
        let elapsed = now - start
        guard elapsed >= max(Self.shortMeasuring, roundTrip) else { return nil }
        return Double(bytes) / (elapsed / .seconds(1))
    }

    private func isClear(_ rate: Double) -> Bool {
        previous.map { rate >= $0.rate * (1 + idealGain(since: $0.count) * Self.clearGain) } ?? true
    }

    /// The relative gain in speed over an earlier number of connections, if all connections were equally fast.
    private func idealGain(since earlier: Int) -> Double { Double(count) / Double(earlier) - 1 }

    /// Doubles, keeps or lowers the number of connections after a measurement of their speed, `rate`.
    ///
    /// `isSettled` is `false` if the connections may still have been gaining speed.
    private mutating func decide(_ rate: Double, isSettled: Bool, at now: Duration) {
        if let previous, rate < previous.rate * (1 + idealGain(since: previous.count) * Self.minGain) {
            // As many connections stay as the gain needs.
            let gain = rate / previous.rate
            let isFull = gain < 1 + Self.noise
            scaling = isFull ? Scaling(isClear: false, connections: previous.count, rate: previous.rate) : nil
            let useful = isFull ? previous.count : Int((Double(previous.count) * gain).rounded(.up)) + 1
            count = max(1, min(count, useful))
            experience = HostExperience(connections: count, rate: max(rate, previous.rate))
            phase = .holding(until: now + hold)
            hold = min(hold * 2, Self.maxHold)
            return
        }
        if let previous {
            let isKnown = previous.isSettled && isClear(rate)
            scaling = isKnown ? Scaling(isClear: true, connections: previous.count, rate: previous.rate) : nil
        }
        previous = (count, rate, isSettled)
        guard count < maximum else {
            experience = HostExperience(connections: count, rate: rate)
            return phase = .holding(until: now + hold)
        }
        count = min(maximum, count * 2)
        phase = .settling(until: nil)
    }

    /// Halves the number of connections after a measurement of their speed, `rate`.
    ///
    /// If the last halving made the download slower, restores the previous number instead.
    private mutating func reduce(_ rate: Double, at now: Duration) {
        let isSlower = previous.map { rate < $0.rate * Self.minRemainingSpeed } ?? false
        if let previous {
            let gain = (previous.rate / rate - 1) / (Double(previous.count) / Double(count) - 1)
            if !isSlower {
                scaling = Scaling(isClear: false, connections: count, rate: rate)
            } else if scaling.map({ $0.isClear || $0.connections != previous.count }) ?? true {
                // Otherwise, `scaling` remains; it records that the previous halving made no difference.
                let isClear = gain >= Self.clearGain
                scaling = isClear ? Scaling(isClear: true, connections: count, rate: rate) : nil
            }
            if isSlower { count = min(maximum, previous.count) }
        }
        guard !isSlower, count > 1 else {
            isReducing = false
            experience = HostExperience(connections: count, rate: max(rate, previous?.rate ?? rate))
            phase = .holding(until: now + hold)
            return hold = min(hold * 2, Self.maxHold)
        }
        previous = (count, max(rate, previous?.rate ?? rate), true)
        count /= 2
        phase = .settling(until: now + Self.settling)
    }
}

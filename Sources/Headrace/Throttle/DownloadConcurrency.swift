/// Decides how many downloads may run at once, in total and per host, from the measurements of their transfers.
///
/// Performs no I/O. The total starts at ``initial``. While the response heads announce small bodies, it grows with each
/// head, and then doubles with each round of completed downloads as long as the goodput grows too. Large bodies keep it
/// low, because a few of them use the whole bandwidth. A refusal limits its host to half of the downloads that ran from
/// it; this limit then grows slowly.
///
///     starting ── a round of completions ──▶ growing ── no gain ──▶ holding the previous number
///                                               ▲                      │
///                                               └──── many rounds ─────┘
struct DownloadConcurrency: Sendable {
    /// The number of downloads that run at once before anything is known.
    static let initial = 16
    /// The number of downloads at once below which slow responses do not reduce the limit.
    private static let modest = 6
    /// The number of downloads to which the limit falls when bodies turn out to be large; it may grow again from there.
    static let ofLargeBodies = 4
    /// The maximum number of downloads from one host over HTTP/2, in which they share connections.
    static let maxMultiplexed = 64
    /// The minimum size in bytes of a large body, which must also take at least ``largeBodyTime`` and many round trips.
    static let largeBodyBytes: Int64 = 1 << 20
    static let largeBodyTime = Duration.seconds(1)

    /// The measurements of one host.
    private struct Host {
        /// The number of downloads that the host accepts, according to its refusals; `nil` if there is no such limit.
        ///
        /// There is none if the host has never refused a download, or if it has accepted the maximum since its last
        /// refusal.
        var accepted: Int?
        /// The number of concurrent downloads at which the host last refused one; ``accepted`` stays below it.
        ///
        /// It is raised by one when a download completes, if a raise is due.
        var excess = Int.max
        /// The number of completed downloads since ``accepted`` was changed.
        var completions = 0
        var recovery = LimitRecovery()
        /// Whether the host uses HTTP/2; `nil` before its first response.
        var isMultiplexed: Bool?
    }

    /// The downloads that complete while the limit stays the same.
    private struct Round {
        var start: Duration
        var bytes: Int64 = 0
        var completions = 0
        var latency = Duration.zero
        /// Whether there were always as many running downloads as the limit allows.
        var isFull = true
    }

    /// The result of a round.
    private struct Result {
        var limit: Int
        var bytesPerSecond: Double
        var completionsPerSecond: Double
    }

    private enum Phase: Sendable {
        case starting
        /// The limit was raised; the next round shows whether that has increased the goodput.
        case growing
        /// The limit stays the same for this number of rounds.
        case holding(rounds: Int)
    }

    private static let firstHeldRounds = 8
    private static let maxHeldRounds = 64
    /// The minimum number of completions in a round.
    private static let minCompletions = 6
    /// The fraction of the ideal gain in goodput that a raised limit must bring; otherwise, the limit is lowered again.
    ///
    /// With the ideal gain, the goodput grows in proportion to the limit.
    private static let minGain = 0.2
    /// The multiple of the lowest latency from which the server or the network counts as overloaded.
    private static let overloadFactor = 8
    /// The least latency that counts as an overload.
    private static let overloadLatency = Duration.milliseconds(200)
    /// The number of tracked hosts above which hosts without recent refusals are forgotten.
    private static let sweepThreshold = 256
    /// The time after which a refusal no longer counts as recent; longer than any interval of ``LimitRecovery``.
    private static let memory = Duration.seconds(3600)

    /// The maximum number of concurrent downloads that the user has set.
    let maximum: Int
    /// The maximum number of downloads from one host over HTTP/1.1, in which each has its own connection.
    private let maxConnectionsPerHost: Int
    /// The maximum number of running downloads; lowering it stops none of them.
    private(set) var limit: Int
    private var hosts: [String: Host] = [:]
    private var phase = Phase.starting
    private var round: Round?
    private var previous: Result?
    private var heldRounds = DownloadConcurrency.firstHeldRounds
    /// The lowest mean latency of a round.
    private var minLatency: Duration?
    /// The fraction of large bodies among the last completions, as a moving average.
    private var largeShare = 0.0
    /// Whether large bodies have lowered the limit, so that response heads do not raise it; `false` again once large
    /// bodies are rare.
    private var hasLargeBodies = false

    init(maximum: Int, maxConnectionsPerHost: Int) {
        self.maximum = max(1, maximum)
        self.maxConnectionsPerHost = max(1, maxConnectionsPerHost)
        limit = min(Self.initial, self.maximum)
    }

    /// Creates the state for a limit of a configuration; returns `nil` if the limit is fixed.
    init?(_ limit: ConcurrencyLimit, _ configuration: DownloadConfiguration) {
        guard limit.isAutomatic else { return nil }
        self.init(maximum: limit.maximum, maxConnectionsPerHost: configuration.maxConnectionsPerHost)
    }

    /// Whether the next download should report its response head, so that the limit can grow early.
    var needsHeads: Bool { if case .starting = phase { limit < maximum && !hasLargeBodies } else { false } }

    /// Returns the maximum number of downloads from a host.
    func limit(of host: String) -> Int {
        let state = hosts[host]
        return max(1, min(maximum, maximum(of: state), state?.accepted ?? .max))
    }

    /// Returns the maximum number of downloads from a host that refuses none.
    private func maximum(of host: Host?) -> Int {
        host?.isMultiplexed == true ? Self.maxMultiplexed : maxConnectionsPerHost
    }

    /// Returns whether a host uses HTTP/2; `nil` before its first response, or if the host has been forgotten.
    func usesHTTP2(_ host: String) -> Bool? { hosts[host]?.isMultiplexed }

    /// Records the first response head of a running download, and may raise ``limit``; `size` is the length of the
    /// body, `nil` if unknown.
    mutating func received(headOf size: Int64?, from host: String, isMultiplexed: Bool) {
        hosts[host, default: Host()].isMultiplexed = isMultiplexed
        guard needsHeads, let size, size < Self.largeBodyBytes else { return }
        // Over HTTP/2, the new downloads share the connections that exist already.
        let most = limit(of: host)
        if limit < most { limit = min(most, maximum, limit + (isMultiplexed ? 7 : 3)) }
    }

    /// Records the end of a run of a download, and adapts the limits to its measurement.
    /// - Parameters:
    ///   - measurement: The measurement of the run.
    ///   - host: The host of the download.
    ///   - load: The number of downloads from the host that are still running, and whether the total limit was reached.
    ///   - now: The time.
    mutating func ended(
        _ measurement: TransferMeasurement,
        from host: String,
        load: (running: Int, isFull: Bool),
        at now: Duration
    ) {
        if hosts.count > Self.sweepThreshold {
            hosts = hosts.filter { $0.value.accepted != nil && now - $0.value.recovery.lastRefusal < Self.memory }
        }
        if let isMultiplexed = measurement.isMultiplexed { hosts[host, default: Host()].isMultiplexed = isMultiplexed }
        if measurement.isRefused {
            refused(by: host, running: load.running, since: measurement.start, at: now)
        } else if measurement.bytes > 0, measurement.latency != nil {
            accepted(by: host, at: now)
            completed(measurement, isFull: load.isFull, at: now)
        }
    }

    // MARK: Refusals

    private mutating func refused(by host: String, running: Int, since start: Duration, at now: Duration) {
        var state = hosts[host] ?? Host()
        defer { hosts[host] = state }
        // Downloads that started before the last refusal say nothing about the present limit.
        guard state.accepted == nil || start > state.recovery.lastRefusal else { return }
        state.recovery.refused(at: now)
        state.excess = min(limit(of: host), running + 1)
        state.accepted = max(1, state.excess / 2)
        state.completions = 0
        round = nil
    }

    /// Returns the time from which ``probe(_:at:)`` raises the limit of a host; `nil` if its refusals have set no limit.
    func nextProbe(of host: String) -> Duration? {
        hosts[host].flatMap { $0.accepted == nil ? nil : $0.recovery.nextRaise }
    }

    /// Raises the limit of a host by one if its refusals have set one and a raise is due; returns whether it was raised.
    ///
    /// A refusal may have been temporary, and a large download may run for hours.
    @discardableResult
    mutating func probe(_ host: String, at now: Duration) -> Bool {
        guard var state = hosts[host], let accepted = state.accepted, now >= state.recovery.nextRaise else {
            return false
        }
        accept(accepted + 1, by: &state)
        state.excess = max(state.excess, accepted + 2)
        state.recovery.raised(at: now)
        hosts[host] = state
        return true
    }

    private func accept(_ count: Int, by host: inout Host) {
        host.accepted = count < maximum(of: host) ? count : nil
    }

    private mutating func accepted(by host: String, at now: Duration) {
        guard var state = hosts[host], let accepted = state.accepted else { return }
        defer { hosts[host] = state }
        state.completions += 1
        if now >= state.recovery.nextRaise {
            state.excess += 1
            state.recovery.raised(at: now)
        }
        guard state.completions >= accepted, accepted + 1 < state.excess else { return }
        state.completions = 0
        accept(accepted + 1, by: &state)
    }

    // MARK: Goodput

    private mutating func completed(_ measurement: TransferMeasurement, isFull: Bool, at now: Duration) {
        // If the round trip is long, small bodies take long too.
        let largeTime = max(Self.largeBodyTime, min(minLatency ?? .seconds(60), measurement.latency ?? .zero) * 16)
        let isLarge = measurement.bytes >= Self.largeBodyBytes && measurement.bodyTime(until: now) >= largeTime
        largeShare += ((isLarge ? 1 : 0) - largeShare) / 8
        var current = round ?? Round(start: measurement.start)
        current.bytes += measurement.bytes
        current.completions += 1
        current.latency += measurement.latency ?? .zero
        current.isFull = current.isFull && isFull
        round = current
        if isLarge, !hasLargeBodies, largeShare >= 0.3 || previous == nil {
            // A few large bodies mostly use the whole bandwidth, and users want one file after the other.
            hasLargeBodies = true
            return restart(at: min(limit, Self.ofLargeBodies), .starting)
        }
        if largeShare < 0.1 { hasLargeBodies = false }
        guard current.completions >= max(Self.minCompletions, limit), now > current.start else { return }
        finish(current, at: now)
        round = Round(start: now)
    }

    private mutating func restart(at limit: Int, _ phase: Phase) {
        self.limit = limit
        self.phase = phase
        previous = nil
        round = nil
    }

    private mutating func finish(_ round: Round, at now: Duration) {
        let seconds = (now - round.start) / .seconds(1)
        let result = Result(
            limit: limit,
            bytesPerSecond: Double(round.bytes) / seconds,
            completionsPerSecond: Double(round.completions) / seconds
        )
        let latency = round.latency / round.completions
        let lowest = minLatency ?? latency
        minLatency = min(lowest, latency)
        if limit > Self.modest, latency > max(lowest * Self.overloadFactor, Self.overloadLatency) {
            return restart(at: max(Self.modest, limit / 2), .holding(rounds: Self.firstHeldRounds))
        }
        // A queue with fewer downloads than the limit says nothing about the limit.
        guard round.isFull else { return }
        switch phase {
        case .starting: grow(after: result)
        case .growing:
            if let previous, !isGain(result, over: previous) {
                limit = previous.limit
                phase = .holding(rounds: heldRounds)
                heldRounds = min(heldRounds * 2, Self.maxHeldRounds)
            } else {
                grow(after: result)
            }
        case .holding(let rounds):
            if rounds > 1 { phase = .holding(rounds: rounds - 1) } else { grow(after: result) }
        }
    }

    private mutating func grow(after result: Result) {
        previous = result
        guard limit < maximum else { return phase = .holding(rounds: Self.firstHeldRounds) }
        limit = min(maximum, limit * 2)
        phase = .growing
    }

    private func isGain(_ result: Result, over previous: Result) -> Bool {
        let gain = 1 + (Double(result.limit) / Double(previous.limit) - 1) * Self.minGain
        return result.bytesPerSecond >= previous.bytesPerSecond * gain
            || result.completionsPerSecond >= previous.completionsPerSecond * gain
    }
}

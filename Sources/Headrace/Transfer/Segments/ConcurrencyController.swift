/// Decides how many connections a download uses.
///
/// Performs no I/O. The number is either fixed or automatic. An automatic number starts at one and is doubled as long
/// as the speed grows with it. A doubling that brings too little speed is undone, and tried again after an interval
/// that doubles each time.
///
///     settling ── a while ──▶ measuring ── gain ──▶ settling with twice as many
///        ▲                        └── no gain, or maximum reached ──▶ holding the previous number
///        └───────────────────────────────── a longer while ────────────┘
struct ConcurrencyController: Sendable {
    enum Mode: Sendable, Hashable {
        case fixed(Int)
        case automatic(max: Int)
    }

    /// The number of connections to use; if it is lowered, surplus connections end normally and are not replaced.
    private(set) var count: Int

    /// The maximum number of connections; if it is lowered, surplus connections end normally and are not replaced.
    private(set) var maximum: Int
    private let mode: Mode
    private var phase = Phase.settling(until: nil)
    /// The number of connections before the last doubling, and their speed; `nil` if it was not measured recently.
    private var previous: (count: Int, rate: Double)?
    private var hold = ConcurrencyController.firstHold

    private enum Phase {
        /// Waiting until this time for new connections to reach their full speed; the time is `nil` until all of them
        /// receive bytes.
        case settling(until: Duration?)
        case measuring(since: Duration, bytes: Int64)
        case holding(until: Duration)
    }

    private static let settling = Duration.milliseconds(100)
    private static let measuring = Duration.milliseconds(500)
    /// The measuring time that suffices if the gain is clear, or if there is no previous measurement to compare with.
    private static let shortMeasuring = Duration.milliseconds(100)
    /// The minimum fraction of the ideal gain for which a short measurement suffices.
    private static let clearGain = 0.6
    private static let firstHold = Duration.seconds(20)
    private static let maxHold = Duration.seconds(600)
    /// The minimum fraction of the ideal gain; a doubling that brings less is undone.
    private static let minGain = 0.3

    init(_ mode: Mode) {
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

    /// Records the progress and, when a measurement is complete, changes ``count``.
    /// - Parameters:
    ///   - bytes: The number of bytes received so far.
    ///   - connections: The number of connections that receive bytes.
    ///   - now: The time.
    mutating func measured(_ bytes: Int64, on connections: Int, at now: Duration) {
        switch phase {
        case .holding(let end):
            guard count < maximum, now >= end else { return }
            previous = nil
            phase = .settling(until: now)
        // With fewer connections than planned, as at the end of a segment, the speed says nothing about the planned
        // number.
        case _ where connections < count:
            phase = .settling(until: nil)
        case .settling(nil):
            phase = .settling(until: now + Self.settling)
        case .settling(let end?):
            if now >= end { phase = .measuring(since: now, bytes: bytes) }
        case .measuring(let start, let first):
            guard now - start >= Self.shortMeasuring else { return }
            let rate = Double(bytes - first) / ((now - start) / .seconds(1))
            guard now - start >= Self.measuring || isClear(rate) else { return }
            decide(rate, at: now)
        }
    }

    private func isClear(_ rate: Double) -> Bool {
        previous.map { rate >= $0.rate * (1 + idealGain(since: $0.count) * Self.clearGain) } ?? true
    }

    /// The relative gain in speed over an earlier number of connections, if all connections were equally fast.
    private func idealGain(since earlier: Int) -> Double { Double(count) / Double(earlier) - 1 }

    private mutating func decide(_ rate: Double, at now: Duration) {
        if let previous {
            guard rate >= previous.rate * (1 + idealGain(since: previous.count) * Self.minGain) else {
                count = previous.count
                phase = .holding(until: now + hold)
                hold = min(hold * 2, Self.maxHold)
                return
            }
        }
        previous = (count, rate)
        guard count < maximum else { return phase = .holding(until: now) }
        count = min(maximum, count * 2)
        phase = .settling(until: nil)
    }
}

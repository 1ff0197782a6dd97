/// Says how many connections a download should have.
///
/// Pure. Either a fixed number, or as many as are worth it: one at first, then twice as many as long as each step brings
/// a good part of what it could. A step that does not is taken back, and tried again after a while that doubles.
///
///     settling ── a while ──▶ measuring ── gain ──▶ settling with twice as many
///        ▲                        └── none, or all there may be ──▶ holding with as many as before
///        └───────────────────────────────── a longer while ────────────┘
struct ConcurrencyController: Sendable {
    enum Mode: Sendable, Hashable {
        case fixed(Int)
        case automatic(max: Int)
    }

    /// How many connections there should be; those above are not ended, but not replaced.
    private(set) var count: Int

    /// How many there may be at the most; those above are not ended, but not replaced.
    private(set) var maximum: Int
    private let mode: Mode
    private var phase = Phase.settling(until: nil)
    /// The count and the speed before the last step; nil where the present count is to be measured first.
    private var before: (count: Int, rate: Double)?
    private var hold = ConcurrencyController.firstHold

    private enum Phase {
        /// New connections need a while to get up to speed; from when all of them have.
        case settling(until: Duration?)
        case measuring(since: Duration, bytes: Int64)
        case holding(until: Duration)
    }

    private static let settling = Duration.milliseconds(100)
    private static let measuring = Duration.milliseconds(500)
    /// A gain that is clear needs no longer look, nor does the speed that the first step is held against.
    private static let glance = Duration.milliseconds(100)
    /// The part of the ideal gain that is clear.
    private static let clearGain = 0.6
    private static let firstHold = Duration.seconds(20)
    private static let maxHold = Duration.seconds(600)
    /// The part of the ideal gain that a step has to bring.
    private static let leastGain = 0.3

    init(_ mode: Mode) {
        switch mode {
        case .fixed(let number): (count, maximum) = (number, number)
        case .automatic(let max): (count, maximum) = (1, max)
        }
        self.mode = mode
    }

    /// Sets the maximum to as many of those of the mode as `share` grants, and at least one.
    mutating func limit(_ share: (Int) -> Int) {
        switch mode {
        case .fixed(let number), .automatic(let number): maximum = max(1, min(number, share(number)))
        }
    }

    /// Takes note of the state.
    /// - Parameters:
    ///   - bytes: All bytes that came so far.
    ///   - connections: How many connections bytes come on.
    ///   - now: The time.
    mutating func measured(_ bytes: Int64, on connections: Int, at now: Duration) {
        switch phase {
        case .holding(let end):
            guard count < maximum, now >= end else { return }
            before = nil
            phase = .settling(until: now)
        // A speed with fewer connections, as at the end of a part, says nothing of the number.
        case _ where connections < count:
            phase = .settling(until: nil)
        case .settling(nil):
            phase = .settling(until: now + Self.settling)
        case .settling(let end?):
            if now >= end { phase = .measuring(since: now, bytes: bytes) }
        case .measuring(let start, let first):
            guard now - start >= Self.glance else { return }
            let rate = Double(bytes - first) / ((now - start) / .seconds(1))
            guard now - start >= Self.measuring || isClear(rate) else { return }
            decide(rate, at: now)
        }
    }

    private func isClear(_ rate: Double) -> Bool {
        before.map { rate >= $0.rate * (1 + idealGain(since: $0.count) * Self.clearGain) } ?? true
    }

    /// What the present number would bring if each connection were worth the same.
    private func idealGain(since earlier: Int) -> Double { Double(count) / Double(earlier) - 1 }

    private mutating func decide(_ rate: Double, at now: Duration) {
        if let before {
            guard rate >= before.rate * (1 + idealGain(since: before.count) * Self.leastGain) else {
                count = before.count
                phase = .holding(until: now + hold)
                hold = min(hold * 2, Self.maxHold)
                return
            }
        }
        before = (count, rate)
        guard count < maximum else { return phase = .holding(until: now) }
        count = min(maximum, count * 2)
        phase = .settling(until: nil)
    }
}

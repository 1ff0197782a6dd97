import Headrace

/// The trace of a simulation, and the violations found in it.
final class SimulationLog: Sendable {
    private struct State {
        var lines: [String] = []
        var violations: [String] = []
    }

    private let state = Locked(State())
    private let clock: TestClock

    init(_ clock: TestClock) {
        self.clock = clock
    }

    var lines: [String] { state.withLock { $0.lines } }
    var violations: [String] { state.withLock { $0.violations } }

    func note(_ line: String) {
        let time = clock.now.offset.formatted
        state.withLock { $0.lines.append("\(time) \(line)") }
    }

    func violation(_ what: String) {
        note("VIOLATION \(what)")
        state.withLock { $0.violations.append(what) }
    }
}

extension Duration {
    /// The seconds, to the millisecond.
    fileprivate var formatted: String {
        let (seconds, attoseconds) = components
        let milliseconds = "\(1000 + attoseconds / 1_000_000_000_000_000)".dropFirst()
        return "\(seconds).\(milliseconds)"
    }
}

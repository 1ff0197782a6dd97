import Headrace

/// Tells the second request to stop from the first.
final class Patience: Sendable {
    private let first = Locked<ContinuousClock.Instant?>(nil)

    /// True when this is not the first call, and not its echo.
    ///
    /// The timeout command and a shell's kill of a group send the same signal twice at once; no hand is that fast.
    func isOver(at now: ContinuousClock.Instant = .now) -> Bool {
        first.withLock { first in
            guard let start = first else {
                first = now
                return false
            }
            return now - start > .milliseconds(100)
        }
    }
}

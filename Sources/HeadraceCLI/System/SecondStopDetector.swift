import Headrace

/// Detects the second stop signal of a user who does not want to wait for a clean shutdown.
final class SecondStopDetector: Sendable {
    private let firstStop = Locked<ContinuousClock.Instant?>(nil)

    /// Records a stop signal; returns whether it is a second one, sent by hand.
    ///
    /// A signal within 0.1 seconds of the first one does not count: `timeout` and shells may send a signal twice, to
    /// the process and to its process group.
    func isSecondStop(at now: ContinuousClock.Instant = .now) -> Bool {
        firstStop.withLock { firstStop in
            guard let start = firstStop else {
                firstStop = now
                return false
            }
            return now - start > .milliseconds(100)
        }
    }
}

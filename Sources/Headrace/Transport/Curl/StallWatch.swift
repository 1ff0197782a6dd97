#if os(Linux)
/// Decides when a silent transfer counts as stalled.
///
/// This type performs no I/O. Once another transfer from the same server has stalled, a silent transfer has only half
/// of its timeout: both stalls probably have the same cause, so waiting for the full timeout again would be pointless.
struct StallWatch: Sendable {
    /// The fraction of the timeout that applies after another transfer's stall.
    private static let reducedFraction = 0.5
    /// The interval for checking a transfer that has no connection yet.
    private static let connectInterval: Duration = .seconds(1)

    /// The maximum time without received data while the reader has room for more.
    let timeout: Duration
    /// The time at which another transfer from the server last stalled.
    private var otherStall: SuspendingClock.Instant?

    init(timeout: Duration) {
        self.timeout = timeout
    }

    mutating func otherStalled(at now: SuspendingClock.Instant) {
        otherStall = now
    }

    /// Returns the time at which a transfer counts as stalled or must be checked again.
    /// - Parameters:
    ///   - start: The start of the silence; `nil` while connecting, for which libcurl has a separate timeout.
    ///   - isPaused: Whether the reader has no room for more data.
    ///   - now: The current time.
    /// - Returns: The time of the stall or of the next check; a time in the past means that the transfer has stalled.
    func deadline(
        silentSince start: SuspendingClock.Instant?,
        isPaused: Bool,
        at now: SuspendingClock.Instant
    ) -> SuspendingClock.Instant {
        if isPaused { return now + timeout }
        guard let start else { return now + min(timeout, Self.connectInterval) }
        let isShort = otherStall.map { start <= $0 } ?? false
        return start + timeout * (isShort ? Self.reducedFraction : 1)
    }
}
#endif

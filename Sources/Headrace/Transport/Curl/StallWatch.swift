#if os(Linux)
/// Decides when a transfer that nothing comes from counts as stalled.
///
/// Pure. Once another transfer from the same server has stalled, one that is silent as well has half of its time-out: what
/// silenced both is one event, and costs one time-out.
struct StallWatch: Sendable {
    /// The part of the time-out that a transfer has when another one's stall counts for it.
    private static let part = 0.5
    /// How often a transfer is checked that has no connection yet.
    private static let connectInterval: Duration = .seconds(1)

    /// How long nothing may come while the reader has room.
    let timeout: Duration
    /// When another transfer from the server last stalled.
    private var otherStall: SuspendingClock.Instant?

    init(timeout: Duration) {
        self.timeout = timeout
    }

    mutating func otherStalled(at now: SuspendingClock.Instant) {
        otherStall = now
    }

    /// When the transfer counts as stalled, or has to be checked again.
    /// - Parameters:
    ///   - start: Since when nothing has come; `nil` while the connection is made, for which libcurl has a time-out of its own.
    ///   - isPaused: Whether the reader has no room.
    ///   - now: The present time.
    /// - Returns: A time that may have passed.
    func deadline(
        silentSince start: SuspendingClock.Instant?,
        isPaused: Bool,
        at now: SuspendingClock.Instant
    ) -> SuspendingClock.Instant {
        if isPaused { return now + timeout }
        guard let start else { return now + min(timeout, Self.connectInterval) }
        let isShort = otherStall.map { start <= $0 } ?? false
        return start + timeout * (isShort ? Self.part : 1)
    }
}
#endif

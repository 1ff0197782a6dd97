/// A type-erased clock, so that its users need not be generic; it expresses times as durations since its creation.
struct AnyClock: Sendable {
    /// Returns the time elapsed since this clock was created.
    let now: @Sendable () -> Duration
    /// Suspends until ``now`` reaches the given time; throws `CancellationError` if the task is cancelled first.
    let sleep: @Sendable (_ until: Duration) async throws -> Void

    /// The latest time to sleep until; some clocks cannot represent later times.
    private static let never = Duration.seconds(Int64(1) << 40)

    /// Wraps a clock; its current time becomes zero.
    init(_ clock: some Clock<Duration>) {
        let start = clock.now
        if clock is ContinuousClock, let start = start as? ContinuousClock.Instant {
            // The default clock is read a dozen times for each file, so this closure avoids generic code.
            now = { start.duration(to: .now) }
        } else {
            now = { start.duration(to: clock.now) }
        }
        sleep = { try await clock.sleep(until: start.advanced(by: min($0, Self.never)), tolerance: nil) }
    }
}

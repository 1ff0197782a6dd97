/// A clock opened once, so that no type is generic over it: times are durations since the opening.
struct AnyClock: Sendable {
    /// The time since the clock was opened.
    let now: @Sendable () -> Duration
    /// Returns at that time; throws `CancellationError` when the task is cancelled before.
    let sleep: @Sendable (_ until: Duration) async throws -> Void

    /// More than any clock counts to; later times may be none that it has.
    private static let never = Duration.seconds(Int64(1) << 40)

    /// Opens a clock.
    /// - Parameter clock: The clock, whose instants are durations apart.
    init(_ clock: some Clock<Duration>) {
        let start = clock.now
        now = { start.duration(to: clock.now) }
        sleep = { try await clock.sleep(until: start.advanced(by: min($0, Self.never)), tolerance: nil) }
    }
}

import Headrace

/// A clock that stands still until a test moves it, and on which a test can wait for a timer to be armed.
package final class TestClock: Clock {
    /// A time since the clock's start.
    package struct Instant: InstantProtocol {
        /// The time since the clock's start.
        package let offset: Duration

        /// Creates the instant that lies so far behind the clock's start.
        /// - Parameter offset: The time since the start.
        package init(_ offset: Duration) {
            self.offset = offset
        }

        /// Returns the instant that lies so much later.
        package func advanced(by duration: Duration) -> Instant {
            Instant(offset + duration)
        }

        /// Returns the distance to another instant.
        package func duration(to other: Instant) -> Duration {
            other.offset - offset
        }

        /// Orders instants by time.
        package static func < (left: Instant, right: Instant) -> Bool {
            left.offset < right.offset
        }
    }

    private let state = Locked(TestClockState())

    /// Creates a clock at offset zero.
    package init() {}

    /// The present time, which only `advance` changes.
    package var now: Instant {
        state.withLock { $0.now }
    }

    /// The clock is exact.
    package var minimumResolution: Duration {
        .nanoseconds(1)
    }

    /// The deadlines of all that sleep at this moment, the earliest first.
    package var deadlines: [Instant] {
        state.withLock { $0.deadlines }
    }

    /// Suspends until the clock has been moved to the deadline.
    /// - Parameters:
    ///   - deadline: The instant at which to go on; one that has passed returns at once.
    ///   - tolerance: Ignored.
    /// - Throws: `CancellationError` at once when the task is cancelled.
    package func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try await suspend { state, id, continuation in state.arm(id, deadline, continuation) }
    }

    /// Moves the clock and wakes all whose deadline is reached, the earliest deadline first.
    ///
    /// What a woken task arms anew counts from the new time, so move in steps to see every tick of a repeating timer.
    /// - Parameter duration: How far to move.
    package func advance(by duration: Duration) {
        state.withLock { $0.advance(by: duration) }.resumeAll()
    }

    /// Suspends until somebody sleeps on this clock, and returns the earliest deadline.
    /// - Throws: `CancellationError` when the waiting task is cancelled.
    @discardableResult
    package func sleeperArmed() async throws -> Instant {
        while true {
            try await sleepers { !$0.isEmpty }
            // Between the signal and this line the sleeper may have been cancelled: then the wait goes on.
            if let earliest = deadlines.first { return earliest }
        }
    }

    /// Suspends until somebody sleeps with exactly this deadline.
    /// - Parameter deadline: The deadline to wait for.
    /// - Throws: `CancellationError` when the waiting task is cancelled.
    package func sleeperArmed(until deadline: Instant) async throws {
        try await sleepers { $0.contains(deadline) }
    }

    /// Suspends until somebody sleeps who will wake after exactly this time from now.
    /// - Parameter duration: The distance from the present time of the clock.
    /// - Throws: `CancellationError` when the waiting task is cancelled.
    package func sleeperArmed(for duration: Duration) async throws {
        try await sleeperArmed(until: now.advanced(by: duration))
    }

    /// Suspends until the deadlines of those who sleep satisfy a condition.
    /// - Parameter condition: Judges the deadlines, the earliest first; called on any thread, under the clock's lock.
    /// - Throws: `CancellationError` when the waiting task is cancelled.
    package func sleepers(satisfy condition: @escaping @Sendable ([Instant]) -> Bool) async throws {
        try await suspend { state, id, continuation in state.watch(id, condition, continuation) }
    }

    private func suspend(
        _ register: (inout TestClockState, Int, TestClockState.Continuation) -> TestClockState.Wakings
    ) async throws {
        let id = state.withLock { $0.nextID() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                state.withLock { register(&$0, id, continuation) }.resumeAll()
            }
        } onCancel: {
            state.withLock { $0.cancel(id) }.resumeAll()
        }
    }
}

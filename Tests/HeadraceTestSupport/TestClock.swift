import Headrace

/// A clock that only moves when a test advances it, and lets a test wait until a timer is armed.
package final class TestClock: Clock {
    /// A time since the clock's start.
    package struct Instant: InstantProtocol {
        /// The time since the clock's start.
        package let offset: Duration

        /// Creates the instant at an offset from the clock's start.
        /// - Parameter offset: The time since the start.
        package init(_ offset: Duration) {
            self.offset = offset
        }

        /// Returns the instant that is later by the duration.
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

    /// The current time, which only `advance` changes.
    package var now: Instant {
        state.withLock { $0.now }
    }

    /// The clock is exact.
    package var minimumResolution: Duration {
        .nanoseconds(1)
    }

    /// The deadlines of all current sleepers, the earliest first.
    package var deadlines: [Instant] {
        state.withLock { $0.deadlines }
    }

    /// Suspends until the clock reaches the deadline.
    /// - Parameters:
    ///   - deadline: The instant to wake at; a past one returns at once.
    ///   - tolerance: Ignored.
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    package func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try await suspend { state, id, continuation in state.arm(id, deadline, continuation) }
    }

    /// Moves the clock and wakes all sleepers whose deadline is reached, the earliest first.
    ///
    /// Timers that woken tasks arm count from the new time, so advance in steps to see every tick of a repeating timer.
    /// - Parameter duration: How far to move.
    package func advance(by duration: Duration) {
        state.withLock { $0.advance(by: duration) }.resumeAll()
    }

    /// Suspends until a task sleeps on this clock, and returns the earliest deadline.
    /// - Throws: `CancellationError` if the waiting task is cancelled.
    @discardableResult
    package func sleeperArmed() async throws -> Instant {
        while true {
            try await sleepers { !$0.isEmpty }
            // The sleeper may be cancelled before this line: then wait for another.
            if let earliest = deadlines.first { return earliest }
        }
    }

    /// Suspends until a task sleeps with exactly this deadline.
    /// - Parameter deadline: The deadline to wait for.
    /// - Throws: `CancellationError` if the waiting task is cancelled.
    package func sleeperArmed(until deadline: Instant) async throws {
        try await sleepers { $0.contains(deadline) }
    }

    /// Suspends until a task sleeps whose deadline is exactly this far from now.
    /// - Parameter duration: The distance from the clock's current time.
    /// - Throws: `CancellationError` if the waiting task is cancelled.
    package func sleeperArmed(for duration: Duration) async throws {
        try await sleeperArmed(until: now.advanced(by: duration))
    }

    /// Suspends until the sleepers' deadlines satisfy a condition.
    /// - Parameter condition: Receives the deadlines, the earliest first; called on any thread, under the clock's lock.
    /// - Throws: `CancellationError` if the waiting task is cancelled.
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

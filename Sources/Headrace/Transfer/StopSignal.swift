/// A request to one run of a download to stop, with the reason.
///
/// If there are several requests, the first reason applies, except that cancellation overrides any other.
final class StopSignal: Sendable {
    enum Reason: Sendable, Hashable {
        case cancelled
        case paused
        /// The download must wait for a slot again: a limit was lowered, or a more urgent download needs the slot.
        case demoted
        /// The connections do not work on the present network.
        case networkChanged
        case shutDown
        case timedOut(after: Duration)
    }

    private struct State {
        var reason: Reason?
        var cancel: (@Sendable () -> Void)?
        var publish: (@Sendable (Reason) -> Void)?
    }

    private let state = Locked(State())

    var reason: Reason? { state.withLock { $0.reason } }

    func stop(_ reason: Reason) {
        // Called under the lock: after it is released, the task may end and become invalid. Cancelling does not call
        // back into this object.
        state.withLock { state in
            if state.reason == nil || reason == .cancelled { state.reason = reason }
            state.cancel?()
            if let reason = state.reason { state.publish?(reason) }
        }
    }

    /// Sets a handler that is called with the reason to stop; called at once if the download has already been stopped.
    ///
    /// The handler must not call this object.
    func follow(_ publish: (@Sendable (Reason) -> Void)?) {
        state.withLock { state in
            state.publish = publish
            if let reason = state.reason { publish?(reason) }
        }
    }

    /// Runs `body`, and cancels the task of `body` when the download must stop.
    ///
    /// Uses one task per download; a task group would need two more, for `body` and for waiting for the signal.
    func cancellingTask<Result: Sendable>(_ body: @Sendable () async -> Result) async -> Result {
        await withUnsafeCurrentTask { task in
            // Valid until the closure returns, and cancelling is allowed from any thread.
            nonisolated(unsafe) let task = task
            state.withLock { state in
                state.cancel = { task?.cancel() }
                if state.reason != nil { task?.cancel() }
            }
            defer { state.withLock { $0.cancel = nil } }
            return await body()
        }
    }
}

/// Requests that one run of a download, or one of its connections, stops; stores the reason.
///
/// If a stop is requested several times, the first reason applies, but `cancelled` overrides any other.
final class StopSignal: Sendable {
    enum Reason: Sendable, Hashable {
        case cancelled
        case paused
        /// The download must wait for a slot again: a limit was lowered, or a more urgent download needs the slot.
        case demoted
        /// The network has changed, and the download's connections do not work on the present network.
        case networkChanged
        /// The download has a new URL.
        case relinked
        case shutDown
        case timedOut(after: Duration)
    }

    private struct State {
        var reason: Reason?
        var cancel: (@Sendable () -> Void)?
        var publish: (@Sendable (Reason) -> Void)?
    }

    private let state = Locked(State(), rank: .stopSignal)

    var reason: Reason? { state.withLock { $0.reason } }

    func stop(_ reason: Reason) {
        // `cancel` is called under the lock: once the lock is released, the task may end, and the reference to the task
        // become invalid. Cancelling does not call back into this object.
        state.withLock { state in
            if state.reason == nil || reason == .cancelled { state.reason = reason }
            state.cancel?()
            if let reason = state.reason { state.publish?(reason) }
        }
    }

    /// Sets a handler, which is called with the present reason after each request to stop; `nil` removes the handler.
    ///
    /// The handler is called at once if a stop was already requested. It must not call this object.
    func follow(_ publish: (@Sendable (Reason) -> Void)?) {
        state.withLock { state in
            state.publish = publish
            if let reason = state.reason { publish?(reason) }
        }
    }

    /// Runs `body` in the current task, and cancels this task if a stop is requested before `body` returns.
    ///
    /// Creates no task; a task group would need two, for `body` and for waiting for the signal.
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

/// Tells one run of a download from outside that it has to stop, and why.
///
/// The first reason holds, except that a download which is cancelled is wanted no more, whatever was asked before.
final class StopSignal: Sendable {
    enum Reason: Sendable, Hashable {
        case cancelled
        case paused
        /// It has to wait again, since a limit was lowered or another one is more urgent.
        case demoted
        /// Its connections are of no use on the network as it is.
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
        // Under the lock, since the task may end as soon as it is free. Cancelling does not come back here.
        state.withLock { state in
            if state.reason == nil || reason == .cancelled { state.reason = reason }
            state.cancel?()
            if let reason = state.reason { state.publish?(reason) }
        }
    }

    /// Has each reason to stop told, also one that is there already, to what must not come back here; nil ends that.
    func follow(_ publish: (@Sendable (Reason) -> Void)?) {
        state.withLock { state in
            state.publish = publish
            if let reason = state.reason { publish?(reason) }
        }
    }

    /// Runs `body`, and cancels the task it runs in when the download has to stop.
    ///
    /// One task a download, where a group would need two more, one to work and one to wait for the signal.
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

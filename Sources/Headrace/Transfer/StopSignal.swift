import Synchronization

/// Tells one running download from outside that it has to stop, and why; the first reason holds.
final class StopSignal: Sendable {
    enum Reason: Sendable {
        case cancelled
        case shutDown
    }

    private struct State {
        var reason: Reason?
        var isAbandoned = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    var reason: Reason? { state.withLock { $0.reason } }

    func stop(_ reason: Reason) {
        let waiter = state.withLock { state in
            if state.reason == nil { state.reason = reason }
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Returns when the download has to stop, or when the waiting task is cancelled.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mustWait = state.withLock { state in
                    guard state.reason == nil, !state.isAbandoned else { return false }
                    state.waiter = continuation
                    return true
                }
                if !mustWait { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.isAbandoned = true
                return state.waiter.take()
            }
            waiter?.resume()
        }
    }
}

/// A one-time event that a single task can wait for.
package final class Latch: Sendable {
    private enum State {
        case closed
        case awaited(CheckedContinuation<Void, Never>)
        case open
    }

    private let state = Locked(State.closed)

    /// Creates a closed latch.
    package init() {}

    /// Opens the latch and resumes the task that waits for it, if any; does nothing if the latch is already open.
    package func open() {
        let waiting: CheckedContinuation<Void, Never>? = state.withLock { state in
            defer { state = .open }
            return if case .awaited(let continuation) = state { continuation } else { nil }
        }
        waiting?.resume()
    }

    /// Suspends until the latch is open; cancelling the task opens the latch, unless `evenIfCancelled` is `true`.
    ///
    /// Must be called only once.
    package func wait(evenIfCancelled: Bool) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOpen = state.withLock { state in
                    if case .open = state { return true }
                    state = .awaited(continuation)
                    return false
                }
                if isOpen { continuation.resume() }
            }
        } onCancel: {
            if !evenIfCancelled { open() }
        }
    }
}

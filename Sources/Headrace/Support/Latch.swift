/// Something that happens once, and the one task that waits for it.
final class Latch: Sendable {
    private enum State {
        case closed
        case awaited(CheckedContinuation<Void, Never>)
        case open
    }

    private let state = Locked(State.closed)

    /// Lets the one who waits go on; does nothing to a latch that is open.
    func open() {
        let waiting: CheckedContinuation<Void, Never>? = state.withLock { state in
            defer { state = .open }
            return if case .awaited(let continuation) = state { continuation } else { nil }
        }
        waiting?.resume()
    }

    /// Returns when the latch is open; also as soon as the task is cancelled, unless `evenIfCancelled`.
    ///
    /// To be called once.
    func wait(evenIfCancelled: Bool) async {
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

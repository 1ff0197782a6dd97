/// Performs syncs and writes of the resume record in the background of a transfer, one at a time and in order.
final class Checkpointer: Sendable {
    private struct State {
        var actions: [CheckpointPolicy.Action] = []
        var isBusy = false
        var syncResult: Bool?
    }

    private let state = Locked(State())

    func add(_ actions: [CheckpointPolicy.Action]) {
        guard !actions.isEmpty else { return }
        state.withLock { $0.actions += actions }
    }

    /// Returns the actions not begun; called at the end, when no work is running.
    func takeActions() -> [CheckpointPolicy.Action] {
        state.withLock { state in
            defer { state.actions = [] }
            return state.actions
        }
    }

    /// The result of the last sync, returned only once.
    func takeSyncResult() -> Bool? {
        state.withLock { $0.syncResult.take() }
    }

    /// Whether a sync has succeeded since the last call; a failure is thrown, and left for ``takeSyncResult()`` at the end.
    func takeSyncSuccess(orThrow failure: @autoclosure () -> DownloadError) throws(DownloadError) -> Bool {
        try state.withLock { state throws(DownloadError) in
            guard state.syncResult != false else { throw failure() }
            return state.syncResult.take() != nil
        }
    }

    /// The next action, to be performed on another thread; `nil` while one runs or if there is none.
    func next(in session: borrowing PartialDownload) -> (@Sendable () -> Void)? {
        let action: CheckpointPolicy.Action? = state.withLock { state in
            guard !state.isBusy, !state.actions.isEmpty else { return nil }
            state.isBusy = true
            return state.actions.removeFirst()
        }
        guard let action else { return nil }
        let work = session.work(for: action)
        return { [self] in
            let success = work()
            state.withLock { state in
                state.isBusy = false
                if action == .startSync { state.syncResult = success }
            }
        }
    }
}

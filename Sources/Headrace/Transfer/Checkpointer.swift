/// Syncs the partial file and writes the resume record while the transfer continues, one action at a time and in order.
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

    /// Removes and returns the actions that have not been started; called when no action is running.
    func takeActions() -> [CheckpointPolicy.Action] {
        state.withLock { state in
            defer { state.actions = [] }
            return state.actions
        }
    }

    /// Removes and returns the result of the last sync: whether it succeeded; `nil` if no result is stored.
    func takeSyncResult() -> Bool? {
        state.withLock { $0.syncResult.take() }
    }

    /// Removes the result of a successful sync and returns `true`; returns `false` if no result is stored.
    ///
    /// If the sync failed, throws `failure` and keeps the result for ``takeSyncResult()``.
    func takeSyncSuccess(orThrow failure: @autoclosure () -> DownloadError) throws(DownloadError) -> Bool {
        try state.withLock { state throws(DownloadError) in
            guard state.syncResult != false else { throw failure() }
            return state.syncResult.take() != nil
        }
    }

    /// Removes the next action and returns a function that performs it, to be called on another thread; returns `nil`
    /// while another action is running, or if there is no action.
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

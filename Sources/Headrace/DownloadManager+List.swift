import HeadracePlatform

/// Verbs on many downloads at once; each is decided in one step, so that nothing of a selection starts in between.
///
/// Those that wait for what they stop do so also where the task is cancelled. In a hook of a download, such as
/// ``RetryPolicy/decide``, and in tasks that it starts, they do not wait for that one, and for others only until it is told to
/// stop as well.
extension DownloadManager {
    /// The downloads of a selection, in the order of the list.
    /// - Parameter selection: Which ones.
    /// - Returns: A handle on each.
    /// - Throws: `unknownDownload` where an identity of the selection is not in the list.
    public nonisolated func downloads(_ selection: DownloadSelection) throws(DownloadError) -> [Download] {
        try list.records(selection).map { Download(manager: self, record: $0) }
    }

    /// The download of an identity; nil where it is not in the list.
    public nonisolated subscript(id: DownloadID) -> Download? {
        list[id].map { Download(manager: self, record: $0) }
    }

    /// Stops downloads until they are resumed; returns when those that ran have ended.
    /// - Parameter selection: Which ones; those that have ended stay as they are.
    /// - Throws: `unknownDownload` where an identity of the selection is not in the list, and nothing changes.
    public nonisolated func pause(_ selection: DownloadSelection) async throws(DownloadError) {
        try await list.pause(selection).wait(evenIfCancelled: Self.outwaitsTask)
    }

    /// Has the paused ones of a selection wait for their turn again; one that is to begin later still does.
    /// - Parameter selection: Which ones; all but the paused stay as they are.
    /// - Throws: `unknownDownload` where an identity of the selection is not in the list, and nothing changes.
    public nonisolated func resume(_ selection: DownloadSelection) throws(DownloadError) {
        try list.resume(selection, only: .paused)
    }

    /// Has the failed ones of a selection wait for their turn again; they keep their places and their bytes.
    /// - Parameter selection: Which ones; all but the failed stay as they are.
    /// - Throws: `unknownDownload` where an identity of the selection is not in the list, and nothing changes.
    public nonisolated func retry(_ selection: DownloadSelection) throws(DownloadError) {
        try list.resume(selection, only: .failed)
    }

    /// Cancels downloads and removes their partial files; returns when those that ran have ended.
    /// - Parameter selection: Which ones; those that are finished or cancelled stay as they are.
    /// - Throws: `unknownDownload` where an identity of the selection is not in the list, and nothing changes.
    public nonisolated func cancel(_ selection: DownloadSelection) async throws(DownloadError) {
        try await list.cancel(selection).wait(evenIfCancelled: Self.outwaitsTask)
    }

    /// Takes downloads out of the list, whatever they do; returns when those that ran have ended.
    /// - Parameters:
    ///   - selection: Which ones.
    ///   - deletingFiles: Whether their files, finished or not, go as well; those that were there before and were skipped stay.
    /// - Throws: `unknownDownload` where an identity of the selection is not in the list, and nothing changes.
    public nonisolated func remove(
        _ selection: DownloadSelection,
        deletingFiles: Bool = false
    ) async throws(DownloadError) {
        try await list.remove(selection, deletingFiles: deletingFiles).wait(evenIfCancelled: Self.outwaitsTask)
    }

    /// Whether a verb waits also where its task is cancelled; by their hooks two downloads would wait for each other.
    private static var outwaitsTask: Bool { DownloadQueue.transferring == nil }

    /// Pauses all that wait or run; returns when none runs.
    public nonisolated func pauseAll() async { try? await pause(.all) }

    /// Has all that are paused wait for their turn again.
    public nonisolated func resumeAll() { try? resume(.all) }

    /// Cancels all that are not finished, those that failed among them; returns when none runs.
    public nonisolated func cancelAll() async { try? await cancel(.all) }

    /// Takes the finished ones out of the list; their files stay.
    public nonisolated func removeFinished() async { try? await remove(.state(.finished)) }

    /// Has all that failed wait for their turn again.
    public nonisolated func retryFailed() { try? retry(.all) }
}

/// What follows the list as a whole. A slow or abandoned reader costs a fixed amount of memory and holds up nobody.
extension DownloadManager {
    /// What happens to the list from now on, until the manager is shut down.
    ///
    /// Each access is a stream of its own. A reader that is more than a thousand events behind misses the oldest.
    public nonisolated var events: AsyncStream<Event> { list.observers.events() }

    /// The whole list in its order: now, and then at most ten times a second while something changes, until the manager is
    /// shut down.
    ///
    /// Each access is a sequence of its own. A slow reader gets the newest list.
    public nonisolated var snapshots: some AsyncSequence<[DownloadSnapshot], Never> & Sendable {
        ThrottledValues(changes: list.observers.changes(), clock: clock) { [list] in (list.snapshots(), false) }
    }

    /// How far a group is: now, and then at most ten times a second while something changes, until all of it has ended.
    ///
    /// Ends at once where nothing is of the group, and when the manager is shut down.
    /// - Parameter group: The group's name, as in ``DownloadRequest/group``.
    /// - Returns: A sequence of its own at each call.
    public nonisolated func progress(
        ofGroup group: String
    ) -> some AsyncSequence<GroupProgress, Never> & Sendable {
        ThrottledValues(changes: list.observers.changes(), clock: clock) { [list] in
            let progress = GroupProgress(of: list.snapshots(group: group))
            return (progress, progress.isEnded)
        }
    }
}

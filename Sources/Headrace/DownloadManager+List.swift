import HeadracePlatform

/// Operations on many downloads. Each is atomic: no selected download starts while the operation is applied.
///
/// Operations that stop downloads return only when those downloads have stopped, even if the calling task is cancelled.
/// Exception: an operation that is called from a download's own hook, such as ``RetryPolicy/decide``, or from a task
/// that the hook started, does not wait for that download; if the operation stops that download, it also stops waiting
/// for the others.
extension DownloadManager {
    /// Returns the downloads of a selection, in queue order.
    /// - Parameter selection: The downloads to return.
    /// - Returns: A handle on each.
    /// - Throws: `unknownDownload` if an identity of the selection is not in the queue.
    public nonisolated func downloads(_ selection: DownloadSelection) throws(DownloadError) -> [Download] {
        try queue.records(selection).map { Download(manager: self, record: $0) }
    }

    /// The download with this identity; `nil` if it is not in the queue.
    public nonisolated subscript(id: DownloadID) -> Download? {
        queue[id].map { Download(manager: self, record: $0) }
    }

    /// Pauses downloads until they are resumed; returns once the running ones have stopped.
    /// - Parameter selection: The downloads to pause; those that are finished, failed or cancelled do not change.
    /// - Throws: `unknownDownload` if an identity of the selection is not in the queue; nothing changes then.
    public nonisolated func pause(_ selection: DownloadSelection) async throws(DownloadError) {
        try await queue.pause(selection).wait(evenIfCancelled: Self.waitsEvenIfCancelled)
    }

    /// Queues the paused downloads of a selection again; each still waits for its ``DownloadRequest/earliestBegin``.
    /// - Parameter selection: The downloads to resume; those that are not paused do not change.
    /// - Throws: `unknownDownload` if an identity of the selection is not in the queue; nothing changes then.
    public nonisolated func resume(_ selection: DownloadSelection) throws(DownloadError) {
        try queue.resume(selection, only: .paused)
    }

    /// Retries the failed downloads of a selection; they retain their positions and their bytes.
    /// - Parameter selection: The downloads to retry; those that have not failed do not change.
    /// - Throws: `unknownDownload` if an identity of the selection is not in the queue; nothing changes then.
    public nonisolated func retry(_ selection: DownloadSelection) throws(DownloadError) {
        try queue.resume(selection, only: .failed)
    }

    /// Cancels downloads and deletes their partial files; returns once the running ones have stopped.
    /// - Parameter selection: The downloads to cancel; those that are finished or cancelled do not change.
    /// - Throws: `unknownDownload` if an identity of the selection is not in the queue; nothing changes then.
    public nonisolated func cancel(_ selection: DownloadSelection) async throws(DownloadError) {
        try await queue.cancel(selection).wait(evenIfCancelled: Self.waitsEvenIfCancelled)
    }

    /// Removes downloads from the queue, in any state; returns once the running ones have stopped.
    /// - Parameters:
    ///   - selection: The downloads to remove.
    ///   - deletingFiles: Whether to delete their finished or partial files as well. Files that already existed
    ///     and were therefore not downloaded remain.
    /// - Throws: `unknownDownload` if an identity of the selection is not in the queue; nothing changes then.
    public nonisolated func remove(
        _ selection: DownloadSelection,
        deletingFiles: Bool = false
    ) async throws(DownloadError) {
        try await queue.remove(selection, deletingFiles: deletingFiles).wait(evenIfCancelled: Self.waitsEvenIfCancelled)
    }

    /// Whether an operation waits even if its task is cancelled; `false` inside a hook, since the hooks of two
    /// downloads could wait for each other.
    private static var waitsEvenIfCancelled: Bool { DownloadQueue.transferring == nil }

    /// Pauses all waiting and running downloads; returns once they have stopped.
    public nonisolated func pauseAll() async { try? await pause(.all) }

    /// Resumes all paused downloads, as soon as the limits allow.
    public nonisolated func resumeAll() { try? resume(.all) }

    /// Cancels all unfinished downloads, including failed ones; returns once they have stopped.
    public nonisolated func cancelAll() async { try? await cancel(.all) }

    /// Removes the finished downloads from the queue; their files remain.
    public nonisolated func removeFinished() async { try? await remove(.state(.finished)) }

    /// Retries all failed downloads, at their old positions in the queue.
    public nonisolated func retryFailed() { try? retry(.all) }
}

/// Streams of the whole queue; a slow or abandoned reader uses a bounded amount of memory and delays no download.
extension DownloadManager {
    /// The events of the queue from now on, until the manager is shut down.
    ///
    ///     for await event in manager.events {
    ///         if case .stateChanged(let id, .finished(let file)) = event { print(id, file.path()) }
    ///     }
    ///
    /// Each access returns a new stream. A reader that is more than a thousand events behind misses the oldest.
    public nonisolated var events: AsyncStream<Event> { queue.observers.events() }

    /// Snapshots of the whole queue in order: one now, then at most ten per second as it changes, until the manager is
    /// shut down.
    ///
    /// Each access returns a new sequence. A slow reader gets the latest snapshot.
    public nonisolated var snapshots: some AsyncSequence<[DownloadSnapshot], Never> & Sendable {
        ThrottledValues(changes: queue.observers.changes(), clock: clock) { [queue] in (queue.snapshots(), false) }
    }

    /// The combined progress of a group: one value now, then at most ten per second as it changes.
    ///
    /// The sequence finishes when no download of the group is waiting, running or paused, or when the manager is shut
    /// down.
    /// - Parameter group: The name of the group; see ``DownloadRequest/group``.
    /// - Returns: A new sequence.
    public nonisolated func progress(
        ofGroup group: String
    ) -> some AsyncSequence<GroupProgress, Never> & Sendable {
        ThrottledValues(changes: queue.observers.changes(), clock: clock) { [queue] in
            let progress = GroupProgress(of: queue.snapshots(group: group))
            return (progress, progress.isEnded)
        }
    }
}

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
    public func downloads(_ selection: DownloadSelection) throws(DownloadError) -> [Download] {
        try queue.ids(selection).compactMap { self[$0] }
    }

    /// The download with this identity; `nil` if it is not in the queue.
    public subscript(id: DownloadID) -> Download? {
        queue.records[id].map { Download(manager: self, record: $0) }
    }

    /// Pauses downloads until they are resumed; returns once the running ones have stopped.
    /// - Parameter selection: The downloads to pause; those that are finished, failed or cancelled do not change.
    /// - Throws: `unknownDownload` if an identity of the selection is not in the queue; nothing changes then.
    public func pause(_ selection: DownloadSelection) async throws(DownloadError) {
        await waitForStop(of: try startPausing(selection))
    }

    /// Queues the paused downloads of a selection again; each still waits for its ``DownloadRequest/earliestBegin``.
    /// - Parameter selection: The downloads to resume; those that are not paused do not change.
    /// - Throws: `unknownDownload` if an identity of the selection is not in the queue; nothing changes then.
    public func resume(_ selection: DownloadSelection) throws(DownloadError) {
        try requeue(selection, only: .paused)
    }

    /// Retries the failed downloads of a selection; they retain their positions and their bytes.
    /// - Parameter selection: The downloads to retry; those that have not failed do not change.
    /// - Throws: `unknownDownload` if an identity of the selection is not in the queue; nothing changes then.
    public func retry(_ selection: DownloadSelection) throws(DownloadError) {
        try requeue(selection, only: .failed)
    }

    /// Cancels downloads and deletes their partial files; returns once the running ones have stopped.
    /// - Parameter selection: The downloads to cancel; those that are finished or cancelled do not change.
    /// - Throws: `unknownDownload` if an identity of the selection is not in the queue; nothing changes then.
    public func cancel(_ selection: DownloadSelection) async throws(DownloadError) {
        await waitForStop(of: try startCancelling(selection))
    }

    /// Removes downloads from the queue, in any state; returns once the running ones have stopped.
    /// - Parameters:
    ///   - selection: The downloads to remove.
    ///   - deletingFiles: Whether to delete their finished or partial files as well. Files that already existed
    ///     and were therefore not downloaded remain.
    /// - Throws: `unknownDownload` if an identity of the selection is not in the queue; nothing changes then.
    public func remove(
        _ selection: DownloadSelection,
        deletingFiles: Bool = false
    ) async throws(DownloadError) {
        await waitForStop(of: try startRemoving(selection, deletingFiles: deletingFiles))
    }

    /// Pauses all waiting and running downloads; returns once they have stopped.
    public func pauseAll() async { try? await pause(.all) }

    /// Resumes all paused downloads, as soon as the limits allow.
    public func resumeAll() { try? resume(.all) }

    /// Cancels all unfinished downloads, including failed ones; returns once they have stopped.
    public func cancelAll() async { try? await cancel(.all) }

    /// Removes the finished downloads from the queue; their files remain.
    public func removeFinished() async { try? await remove(.state(.finished)) }

    /// Retries all failed downloads, at their old positions in the queue.
    public func retryFailed() { try? retry(.all) }
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
    public nonisolated var events: AsyncStream<Event> { observers.events() }

    /// Snapshots of the whole queue in order: one now, then at most ten per second as it changes, until the manager is
    /// shut down.
    ///
    /// Each access returns a new sequence. A slow reader gets the latest snapshot.
    public nonisolated var snapshots: some AsyncSequence<[DownloadSnapshot], Never> & Sendable {
        ThrottledValues(changes: observers.changes(), clock: clock) { [weak self] in
            guard let self else { return nil }
            return (await currentSnapshots(), false)
        }
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
        ThrottledValues(changes: observers.changes(), clock: clock) { [weak self] in
            guard let self else { return nil }
            let progress = GroupProgress(of: await currentSnapshots(group: group))
            return (progress, progress.isEnded)
        }
    }

    func currentSnapshots(group: String? = nil) -> [DownloadSnapshot] {
        queue.snapshots(group: group, at: clock.now())
    }
}

/// Operations whose effects may take a while; each returns the downloads that have not stopped yet.
extension DownloadManager {
    /// Whether the transfer of a cancelled or removed download has not stopped, or its files are not deleted yet.
    private func isStopping(_ record: DownloadRecord) -> Bool {
        !record.status.state.isEnded || removing[record.id] != nil
    }

    func startPausing(
        _ selection: DownloadSelection,
        skippingUnknown: Bool = false
    ) throws(DownloadError) -> [DownloadRecord] {
        try apply(selection, skippingUnknown: skippingUnknown) { queue, id, _ in queue.pause(id) }
            .filter { queue.scheduler.isPausing($0.id) }
    }

    /// Cancels downloads, which stop once their transfers have stopped and their partial files are deleted.
    func startCancelling(
        _ selection: DownloadSelection,
        skippingUnknown: Bool = false
    ) throws(DownloadError) -> [DownloadRecord] {
        try apply(selection, skippingUnknown: skippingUnknown) { queue, id, _ in queue.cancel(id) }
            .filter(isStopping)
    }

    /// Removes downloads, which stop once their transfers have stopped and, with `deletingFiles`, their files are deleted.
    func startRemoving(
        _ selection: DownloadSelection,
        deletingFiles: Bool,
        skippingUnknown: Bool = false
    ) throws(DownloadError) -> [DownloadRecord] {
        try apply(selection, skippingUnknown: skippingUnknown) { queue, id, _ in
            queue.remove(id, deletingFile: deletingFiles)
        }
        .filter(isStopping)
    }
}

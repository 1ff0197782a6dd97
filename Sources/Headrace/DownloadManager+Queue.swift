import HeadracePlatform

/// Operations on many downloads. Each is atomic: no selected download starts while the operation is applied.
///
/// Operations that stop downloads return only when those downloads have stopped and the files to delete are deleted,
/// even if the calling task is cancelled.
///
/// There is one exception: calls from a download's hook, such as ``RetryPolicy/decide``, or from a task that the hook
/// started. They do not wait for that download, because it cannot stop before the hook returns. They wait for other
/// downloads only until their own task is cancelled, which happens to the hook's task when its download is stopped.
extension DownloadManager {
    /// All downloads in queue order: the order in which they were added, unless some were moved.
    public var downloads: [Download] { queue.scheduler.ids.compactMap { self[$0] } }

    /// Returns the downloads of a selection: in queue order or, if they are selected by identity, in the given order.
    /// - Parameter selection: The downloads to return.
    /// - Returns: A handle on each.
    /// - Throws: `unknownDownload` if an identity of the selection is not in the queue.
    public func downloads(_ selection: DownloadSelection) throws(DownloadError) -> [Download] {
        try queue.ids(selection).compactMap { self[$0] }
    }

    /// The download with this identity; `nil` if it is not in the queue.
    public subscript(id: DownloadID) -> Download? { queue.records[id].map { Download(manager: self, record: $0) } }

    /// Adds the valid requests in this order, and returns an error for each invalid one.
    ///
    ///     for result in try await manager.downloadValid(requests) {
    ///         if case .failure(let error) = result { print(error.message) }
    ///     }
    ///
    /// - Parameter requests: The files to download and their destinations.
    /// - Returns: For each request, a handle on its download or the error `invalidRequest`, in the same order.
    /// - Throws: `shutDown` after ``shutdown()``, and any error from writing the registry. Downloads that were saved
    ///   before the error remain in the queue.
    @discardableResult
    public func downloadValid(
        _ requests: [DownloadRequest]
    ) async throws(DownloadError) -> [Result<Download, DownloadError>] {
        var results: [Result<Download, DownloadError>?] = []
        var valid: [DownloadRequest] = []
        for request in requests {
            do throws(DownloadError) {
                try request.validate()
                try queue.journal?.check([request])
                valid.append(request)
                results.append(nil)
            } catch {
                results.append(.failure(error))
            }
        }
        var added = try await downloadEach(valid[...]).makeIterator()
        return results.compactMap { $0 ?? added.next() }
    }

    /// Adds requests together; if one of them is invalid, adds each half of them on its own, in the same way.
    ///
    /// Thus the valid requests are added, and each invalid one gets an error.
    private func downloadEach(
        _ requests: ArraySlice<DownloadRequest>
    ) async throws(DownloadError) -> [Result<Download, DownloadError>] {
        do throws(DownloadError) {
            return try await download(Array(requests)).map { .success($0) }
        } catch  where error.code == .invalidRequest {
            guard requests.count > 1 else { return [.failure(error)] }
            let half = requests.count / 2
            return try await downloadEach(requests.prefix(half)) + downloadEach(requests.dropFirst(half))
        }
    }

    /// Sorts the queue; running downloads continue, and waiting ones start in the new order within their priorities.
    ///
    ///     await manager.sort { ($0.progress.totalBytes ?? .max) < ($1.progress.totalBytes ?? .max) }
    ///
    /// - Parameter areInIncreasingOrder: Returns whether its first argument comes before its second one. Downloads of
    ///   which neither comes before the other retain their order.
    public func sort(by areInIncreasingOrder: @Sendable (DownloadSnapshot, DownloadSnapshot) -> Bool) {
        let old = queue.scheduler.ids
        let new = currentSnapshots().sorted(by: areInIncreasingOrder).map(\.id)
        guard new != old else { return }
        change { $0.reorder(new, at: clock.now()) }
        for (id, previous) in zip(new, old) where id != previous { observers.publish(.moved(id)) }
    }

    /// Pauses downloads until they are resumed; returns once the running ones have stopped.
    /// - Parameter selection: The downloads to pause; those that are finished, failed or cancelled do not change.
    /// - Throws: `unknownDownload` if an identity of the selection is not in the queue; nothing changes then.
    public func pause(_ selection: DownloadSelection) async throws(DownloadError) {
        await ChildTasks.waitForStop(of: try stop(selection, .pause), in: self)
    }

    /// Queues the paused downloads of a selection again; each still waits for its ``DownloadRequest/earliestBegin``.
    /// - Parameter selection: The downloads to resume; those that are neither paused nor being paused do not change.
    /// - Throws: `unknownDownload` if an identity of the selection is not in the queue; nothing changes then.
    public func resume(_ selection: DownloadSelection) throws(DownloadError) {
        perform(try queue.requeue(selection, only: .paused, at: clock.now()))
    }

    /// Retries the failed downloads of a selection; they retain their positions and their bytes.
    /// - Parameter selection: The downloads to retry. Those that have not failed do not change, nor do those whose file
    ///   is being downloaded by another download of the queue.
    /// - Throws: `unknownDownload` if an identity of the selection is not in the queue; nothing changes then.
    public func retry(_ selection: DownloadSelection) throws(DownloadError) {
        perform(try queue.requeue(selection, only: .failed, at: clock.now()))
    }

    /// Cancels downloads and deletes their partial files; returns once the running ones have stopped and the files are
    /// deleted.
    ///
    /// If the registry cannot be written, the files remain, as for ``Download/cancel()``.
    /// - Parameter selection: The downloads to cancel; those that are finished or cancelled do not change.
    /// - Throws: `unknownDownload` if an identity of the selection is not in the queue; nothing changes then.
    public func cancel(_ selection: DownloadSelection) async throws(DownloadError) {
        await ChildTasks.waitForStop(of: try stop(selection, .cancel), in: self)
    }

    /// Removes downloads from the queue, in any state; returns once the running ones have stopped and the files to
    /// delete are deleted.
    /// - Parameters:
    ///   - selection: The downloads to remove.
    ///   - deletingFiles: Whether to delete their finished and partial files as well. Finished files remain if they
    ///     existed before the downloads, or were changed since. If the registry cannot be written, all files remain.
    ///     But if the reason is a full disk, the files on the registry's disk are deleted, to make room.
    /// - Throws: `unknownDownload` if an identity of the selection is not in the queue; nothing changes then.
    public func remove(_ selection: DownloadSelection, deletingFiles: Bool = false) async throws(DownloadError) {
        await ChildTasks.waitForStop(of: try stop(selection, .remove(deletingFiles: deletingFiles)), in: self)
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

/// The state of the queue; a slow or abandoned reader of a stream uses a bounded amount of memory and delays no
/// download.
extension DownloadManager {
    /// The events of the queue from now on, until the manager is shut down.
    ///
    ///     for await event in manager.events {
    ///         if case .stateChanged(let id, .finished(let file)) = event { print(id, file.path()) }
    ///     }
    ///
    /// Each access returns a new stream, which begins with the ``QueueEvent/registryDamaged(_:)`` events so far, up to
    /// 100. A reader that is more than a thousand events behind misses the oldest.
    public nonisolated var events: AsyncStream<QueueEvent> { observers.events() }

    /// Snapshots of the whole queue in order: one at first, then at most ten per second as it changes, until the
    /// manager is shut down.
    ///
    /// Each access returns a new sequence. A slow reader gets the latest snapshot.
    public nonisolated var snapshots: some AsyncSequence<[DownloadSnapshot], Never> & Sendable {
        ThrottledValues(changes: observers.changes(), clock: clock) { [weak self] in
            guard let self else { return nil }
            return (await currentSnapshots(), false)
        }
    }

    /// The combined progress of a group: one value at first, then at most ten per second as it changes.
    ///
    /// The sequence finishes when no download of the group is waiting, running or paused, or when the manager is shut
    /// down.
    /// - Parameter group: The name of the group; see ``DownloadRequest/group``.
    /// - Returns: A new sequence.
    public nonisolated func progress(ofGroup group: String) -> some AsyncSequence<GroupProgress, Never> & Sendable {
        ThrottledValues(changes: observers.changes(), clock: clock) { [weak self] in
            guard let self else { return nil }
            let progress = GroupProgress(of: await currentSnapshots(group: group))
            return (progress, progress.isEnded)
        }
    }

    func currentSnapshots(group: String? = nil) -> [DownloadSnapshot] {
        var snapshots = queue.snapshots(group: group, at: clock.now())
        guard let partials = environment.configuration.partialsDirectory else { return snapshots }
        for index in snapshots.indices { snapshots[index].partialsDirectory = partials }
        return snapshots
    }

    /// Waits until no download is waiting or running, including those added meanwhile.
    ///
    /// Also waits until the files of removed and cancelled downloads are deleted. Returns early if the calling task is
    /// cancelled.
    public func waitUntilIdle() async {
        guard !performer.isIdle(queue) else { return }
        let (subscriber, stream) = performer.followIdle()
        for await _ in stream {}
        performer.endFollowingIdle(subscriber)
    }

    /// Saves the queue and the state of each running download now, so that nothing is lost if the process is killed.
    ///
    /// Call it when the app enters the background, where the system may suspend the process and then terminate it
    /// without notice. Downloads continue meanwhile.
    ///
    /// First, within milliseconds, the queue and the resume records are written, so that they survive the end of the
    /// process. Then, with ``DownloadConfiguration/Durability/full``, bytes and resume records are synced, so that on
    /// return they survive a power failure too. If the registry cannot be written, ``QueueEvent/registryFailed(_:)`` is
    /// published. If a resume record cannot be written, the download tries again later.
    public func prepareForSuspension() async {
        let records = queue.runningRecords
        await executor.run { for record in records { record.save(syncing: false) } }
        await journalWriter.flushOrReport(self)
        await executor.run { for record in records { record.save(syncing: true) } }
        await saveHSTS()
    }
}

/// Other processes that use the registry; see ``DownloadRegistry``.
extension DownloadManager {
    /// Carries out the commands of other processes that wait in the registry's directory.
    ///
    /// Returns once all of them are done, or when the task is cancelled. A command is deleted once its effects survive
    /// a power failure, for any ``DownloadConfiguration/durability-swift.property``. A command that is damaged or
    /// invalid is renamed, and reported as ``QueueEvent/registryDamaged(_:)``. Does nothing without a registry.
    ///
    /// The manager does the same when it starts, but waits at most a second for the downloads that a command stops.
    /// Later commands on the same downloads are then left for the next call.
    /// - Throws: Any error from reading the directory or writing the registry, such as `fileSystem` after the directory
    ///   was deleted, moved or replaced. `shutDown` after ``shutdown()``. Commands that were not carried out stay in
    ///   the directory.
    public func takeCommands() async throws(DownloadError) { try await commandServer.takeCommands(for: self) }

    /// Carries out the commands of other processes as they arrive, until the manager is shut down or the task is
    /// cancelled.
    ///
    ///     try await manager.serveCommands(untilIdle: true)
    ///     await manager.shutdown()
    ///
    /// A command is noticed within milliseconds if the file system reports new files, and within half a second
    /// otherwise. After a failure, the manager polls less often until a poll succeeds; of several failures in a row,
    /// only the first is published as ``QueueEvent/registryFailed(_:)``. Without a registry, there are no commands.
    ///
    /// Call it from one task at a time: a second call makes the first one forget which downloads were paused.
    /// - Parameter untilIdle: Whether to return also when nothing is left to do: no download is waiting or running, and
    ///   a last poll has failed or found no further work. A download that was paused during the call still counts as
    ///   work, because it may be resumed.
    /// - Throws: `fileSystem` if the registry is lost for good, because its directory was deleted, moved or replaced.
    public nonisolated func serveCommands(untilIdle: Bool = false) async throws(DownloadError) {
        try await commandServer.serve(self, untilIdle: untilIdle)
    }

    /// The number of times that a download failed, was cancelled or entered the state `waiting` again.
    package var turnCount: Int { performer.turnCount }

    /// Whether the last write of the registry succeeded; `true` without a registry.
    package var isSaved: Bool { queue.journal?.isBehind != true }

    /// The number of downloads for which ``serveCommands(untilIdle:)`` waits although they are paused.
    package var pausedWhileServing: Int { performer.pausedWhileServing.count }
}

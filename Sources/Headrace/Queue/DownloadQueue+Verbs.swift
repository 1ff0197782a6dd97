import HeadracePlatform

/// The operations that the manager, its downloads and their transfers perform on the queue.
extension DownloadQueue {
    /// Restores the downloads of an earlier process; must be called before any other operation.
    func restore(_ list: RestoredQueue) {
        let now = clock.now()
        perform(state.withLock { $0.restore(list, observers: observers, at: now) })
    }

    /// Adds downloads; returns, for each request, the new download or the active download of the same file.
    ///
    /// Throws after the shutdown, or if the expected size or hashes of a request contradict another download.
    ///
    /// If there is a journal, blocks until it has recorded the downloads; if that fails, nothing is added.
    func add(_ requests: [DownloadRequest]) throws(DownloadError) -> [DownloadRecord] {
        if let journal {
            for request in requests where request.isLong(maxBytes: RegistryEncoder.leastCheckedBytes) {
                try RegistryEncoder.check(RegistryRequest(request, bases: journal.bases))
            }
        }
        return try add(requests.map { QueueState.Addition(request: $0) }, skippingInvalid: false)
    }

    /// Adds downloads that another process posted; invalid requests are always skipped without an error.
    ///
    /// If the expected size or hashes of a request contradict another download, throws and adds nothing. With
    /// `skippingInvalid`, such a request is skipped too: its error is published, and the other requests are added.
    func add(_ entries: [RegistryEntry], skippingInvalid: Bool) throws(DownloadError) {
        guard let journal else { return }
        _ = try add(
            entries.compactMap { entry in
                guard let request = entry.request.downloadRequest(in: journal.bases),
                    (try? request.validate()) != nil
                else { return nil }
                return QueueState.Addition(
                    id: DownloadID(rawValue: entry.id),
                    request: request,
                    withoutSecrets: entry.request.lacksSecrets ? entry.request : nil
                )
            },
            skippingInvalid: skippingInvalid
        )
    }

    private func add(
        _ additions: [QueueState.Addition],
        skippingInvalid: Bool
    ) throws(DownloadError) -> [DownloadRecord] {
        let now = clock.now()
        let added: QueueState.Added? = state.withLock { state in
            guard !state.scheduler.isShutDown else { return nil }
            let added = state.add(additions, skippingInvalid: skippingInvalid, observers: observers, at: now)
            if !added.new.isEmpty { observers.publish(.added(added.new)) }
            return added
        }
        guard let added else { throw .shutDown() }
        do throws(DownloadError) {
            for refusal in added.refusals {
                guard skippingInvalid else { throw refusal }
                observers.publish(finding: "An addition by another process was skipped: \(refusal.message)")
            }
            try flush()
        } catch {
            _ = try? apply(.downloads(added.new), skippingUnknown: true) { queue, id, _ in
                queue.remove(id, deletingFile: false)
            }
            for effect in added.effects {
                if case .start(let run, _) = effect {
                    // A failed download that was revived stays in the queue and fails with this error.
                    _ = ended(run.record, .failed(error), taskIsCancelled: true)
                } else {
                    perform([effect])
                }
            }
            throw error
        }
        perform(added.effects)
        return added.records
    }

    /// The downloads of a pause operation, whose transfers may still be stopping.
    struct Pausing: Sendable {
        let records: [DownloadRecord]
        /// The downloads whose transfers are still stopping: a download has stopped once its published state has a
        /// sequence number above `sequence`.
        let stopping: [DownloadRecord]
        fileprivate let sequence: UInt64

        /// Waits until all downloads except ``DownloadQueue/transferring`` have stopped.
        ///
        /// If the task is cancelled, returns at once unless `evenIfCancelled` is `true`.
        func wait(evenIfCancelled: Bool = false) async {
            for record in stopping where record !== DownloadQueue.transferring {
                await record.status.waitForState(after: sequence, evenIfCancelled: evenIfCancelled)
            }
        }
    }

    /// Pauses the selected downloads; returns while transfers are still stopping.
    func pause(_ selection: DownloadSelection, skippingUnknown: Bool = false) throws(DownloadError) -> Pausing {
        let records = try apply(selection, skippingUnknown: skippingUnknown) { queue, id, _ in queue.pause(id) }.records
        return state.withLock { state in
            let stopping = records.filter { state.scheduler.isPausing($0.id) }
            return Pausing(records: records, stopping: stopping, sequence: state.sequence)
        }
    }

    /// Requeues the selected downloads that are in the given phase, in one step; their start times still apply.
    ///
    /// A download whose transfer is stopping for a pause counts as paused.
    func resume(
        _ selection: DownloadSelection,
        only phase: Scheduler.Phase,
        skippingUnknown: Bool = false
    ) throws(DownloadError) {
        try requeue(selection, skippingUnknown: skippingUnknown) { state, id, now in
            let isStopping = phase == .paused && state.scheduler.isPausing(id)
            guard state.scheduler.phase(of: id) == phase || isStopping else { return [] }
            let begin = state.records[id]?.requested { $0.notBefore(at: now) }
            return state.scheduler.resume(id, at: now, notBefore: begin)
        }
    }

    /// Requeues a download and removes its start time, so that it may start at once.
    func resume(_ id: DownloadID) {
        try? requeue(.downloads([id]), skippingUnknown: true) { state, id, now in
            state.removeStartTime(of: id)
            return state.scheduler.resume(id, at: now)
        }
    }

    /// Requeues a finished download, so that its file is downloaded again.
    func restart(_ id: DownloadID) {
        try? requeue(.downloads([id]), skippingUnknown: true) { $0.scheduler.restart($1, at: $2) }
    }

    func preempt(for id: DownloadID) {
        apply { $0.preempt(for: id) }
    }

    /// The downloads of a cancellation or removal, whose transfers may still be stopping.
    struct Stopping: Sendable {
        let records: [DownloadRecord]
        /// The sequence number of the operation: a download has stopped once its published state has a higher number.
        fileprivate let sequence: UInt64
        /// A latch that opens once the files of downloads without a transfer are deleted; `nil` if there are none.
        fileprivate let removal: Latch?

        /// Whether transfers still have to stop, or files of downloads without a transfer have to be deleted.
        var isPending: Bool { removal != nil || records.contains { !$0.status.state.isEnded } }

        /// Waits until the files of downloads without a transfer are deleted; returns the downloads still stopping.
        ///
        /// If the task is cancelled, returns without waiting unless `evenIfCancelled` is `true`.
        func stillStopping(evenIfCancelled: Bool = false) async -> [DownloadRecord] {
            await removal?.wait(evenIfCancelled: evenIfCancelled)
            // The caller must not wait for a download that has ended: it may have started again.
            return records.filter { !$0.status.state.isEnded }
        }

        /// Waits until all files are deleted and all downloads except ``DownloadQueue/transferring`` have stopped.
        ///
        /// If the task is cancelled, returns at once unless `evenIfCancelled` is `true`.
        func wait(evenIfCancelled: Bool = false) async {
            let records = await stillStopping(evenIfCancelled: evenIfCancelled)
            for record in records where record !== DownloadQueue.transferring {
                await record.status.waitForEnd(orStateAfter: sequence, evenIfCancelled: evenIfCancelled)
            }
        }
    }

    /// Cancels the selected downloads; returns while transfers are still stopping and files are being deleted.
    func cancel(_ selection: DownloadSelection, skippingUnknown: Bool = false) throws(DownloadError) -> Stopping {
        let (records, removal, sequence) = try apply(selection, skippingUnknown: skippingUnknown) { queue, id, _ in
            queue.cancel(id)
        }
        return Stopping(records: records, sequence: sequence, removal: removal)
    }

    /// Removes the selected downloads from the queue; returns while transfers are still stopping.
    ///
    /// With `deletingFiles`, the partial and finished files of the downloads are deleted too.
    func remove(
        _ selection: DownloadSelection,
        deletingFiles: Bool,
        skippingUnknown: Bool = false
    ) throws(DownloadError) -> Stopping {
        let (records, removal, sequence) = try apply(selection, skippingUnknown: skippingUnknown) { queue, id, _ in
            queue.remove(id, deletingFile: deletingFiles)
        }
        return Stopping(records: records, sequence: sequence, removal: removal)
    }

    /// The phase of a download; `nil` if it is not in the queue.
    func phase(of id: DownloadID) -> Scheduler.Phase? {
        state.withLock { $0.scheduler.phase(of: id) }
    }

    /// Moves a download, if it is in the queue.
    ///
    /// Throws `unknownDownload` if `position` is an index out of range, or relative to a download that is not queued.
    func move(_ id: DownloadID, to position: QueuePosition) throws(DownloadError) {
        let now = clock.now()
        try state.withLock { state throws(DownloadError) in
            guard state.records[id] != nil else { return }
            switch position {
            case .before(let other), .after(let other):
                guard state.records[other] != nil else { throw .unknown(other) }
                guard other != id else { return }
            case .index(let index):
                guard state.records.count > index, index >= 0 else {
                    throw DownloadError(
                        .unknownDownload,
                        "The queue has no position \(index): it has \(state.records.count) downloads, counted from 0."
                    )
                }
            case .first, .last: break
            }
            state.move(id, to: position, at: now)
            observers.publish(.moved(id))
        }
        scheduleFlush()
    }

    func setPriority(_ priority: DownloadPriority, of id: DownloadID) {
        let now = clock.now()
        state.withLock { state in
            guard state.records[id] != nil else { return }
            state.setPriority(priority.rawValue, of: id, at: now)
            observers.publish(.priorityChanged(id, priority))
        }
        scheduleFlush()
    }

    /// Sets the rate limit of a download in bytes per second, if the download is in the queue; `nil` for no limit.
    func setRateLimit(_ bytesPerSecond: Int64?, of id: DownloadID) {
        guard state.withLock({ $0.setRateLimit(bytesPerSecond, of: id) }) else { return }
        scheduleFlush()
    }

    /// Saves the state of a download's background task, if the download is in the queue; `nil` if it has no task.
    func setBackgroundNote(_ note: BackgroundTaskState?, of id: DownloadID) {
        guard state.withLock({ $0.setBackgroundNote(note, of: id) }) else { return }
        scheduleFlush()
    }

    func setLimit(_ limit: Int) {
        // A limit of 0 belongs to a manager that starts nothing, and is never raised.
        apply { $0.limit == 0 ? [] : $0.setLimit(limit) }
        limitsChanged()
    }

    func setHostLimit(_ limit: Int?) {
        apply { $0.setHostLimit(limit) }
        limitsChanged()
    }

    private func limitsChanged() {
        state.withLock {
            observers.publish(.limitsChanged(downloads: $0.scheduler.limit, perHost: $0.scheduler.hostLimit))
        }
    }

    func setPath(_ path: NetworkPath?) {
        apply { $0.setPath(path) }
    }

    func tick() {
        let now = clock.now()
        perform(state.withLock { $0.tick(at: now) })
    }

    func shutDown() {
        perform(state.withLock { $0.effects(of: $0.scheduler.shutDown()) })
    }

    /// Processes the outcome of a transfer.
    ///
    /// Returns the download that the transfer's task must run next; `nil` if none may start or the task is cancelled.
    func ended(_ record: DownloadRecord, _ outcome: TransferOutcome, taskIsCancelled: Bool) -> Run? {
        let now = clock.now()
        var effects = state.withLock { $0.ended(record.id, outcome, at: now) }
        let next = effects.firstIndex { if case .start = $0 { true } else { false } }
        guard !taskIsCancelled, let next, case .start(let run, let stateChange) = effects.remove(at: next) else {
            perform(effects, isFromTransfer: true)
            return nil
        }
        perform(effects, isFromTransfer: true)
        publish(run.record, stateChange)
        return run
    }
}

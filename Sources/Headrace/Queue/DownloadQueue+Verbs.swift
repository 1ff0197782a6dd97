import HeadracePlatform

/// The operations that the manager, its downloads and their transfers perform on the queue.
extension DownloadQueue {
    /// Restores the downloads of an earlier process; called before any other operation.
    func restore(_ list: RestoredQueue) {
        let now = clock.now()
        perform(state.withLock { $0.restore(list, observers: observers, at: now) })
    }

    /// Adds downloads; for a request of the same file as an active download, returns that one.
    ///
    /// Throws after the shutdown.
    ///
    /// If there is a journal, blocks until it has recorded the downloads; if that fails, nothing is added.
    func add(_ requests: [DownloadRequest]) throws(DownloadError) -> [DownloadRecord] {
        if let journal {
            for request in requests where request.isLong(maxBytes: RegistryEncoder.leastCheckedBytes) {
                try RegistryEncoder.check(RegistryRequest(request, bases: journal.bases))
            }
        }
        return try add(requests.map { QueueState.Addition(request: $0) }, skippingUnknown: false)
    }

    /// Adds downloads that another process posted, except for invalid requests.
    ///
    /// With `skippingUnknown`, contradictory checksums are published; otherwise they are thrown.
    func add(_ entries: [RegistryEntry], skippingUnknown: Bool) throws(DownloadError) {
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
            skippingUnknown: skippingUnknown
        )
    }

    private func add(
        _ additions: [QueueState.Addition],
        skippingUnknown: Bool
    ) throws(DownloadError) -> [DownloadRecord] {
        let now = clock.now()
        let added: QueueState.Added? = state.withLock { state in
            guard !state.scheduler.isShutDown else { return nil }
            let added = state.add(additions, skippingUnknown: skippingUnknown, observers: observers, at: now)
            if !added.new.isEmpty { observers.publish(.added(added.new)) }
            return added
        }
        guard let added else { throw .shutDown() }
        do throws(DownloadError) {
            for refusal in added.refusals {
                guard skippingUnknown else { throw refusal }
                observers.publish(finding: "An addition by another process was skipped: \(refusal.message)")
            }
            try flush()
        } catch {
            _ = try? apply(.downloads(added.new), skippingUnknown: true) { queue, id, _ in
                queue.remove(id, deletingFile: false)
            }
            for effect in added.effects {
                if case .start(let run, _) = effect {
                    // A revived download stays in the queue and fails with this error.
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

    /// Downloads that are being paused.
    struct Pausing: Sendable {
        let records: [DownloadRecord]
        /// The downloads that have yet to stop: each of them has stopped when a state with a sequence number above
        /// `sequence` is published.
        let stopping: [DownloadRecord]
        fileprivate let sequence: UInt64

        /// Returns when all downloads except ``DownloadQueue/transferring`` have stopped, or when the task is
        /// cancelled, unless `evenIfCancelled` is set.
        func wait(evenIfCancelled: Bool = false) async {
            for record in stopping where record !== DownloadQueue.transferring {
                await record.status.waitForState(after: sequence, evenIfCancelled: evenIfCancelled)
            }
        }
    }

    /// Pauses downloads.
    func pause(_ selection: DownloadSelection, skippingUnknown: Bool = false) throws(DownloadError) -> Pausing {
        let records = try apply(selection, skippingUnknown: skippingUnknown) { queue, id, _ in queue.pause(id) }.records
        return state.withLock { state in
            let stopping = records.filter { state.scheduler.isPausing($0.id) }
            return Pausing(records: records, stopping: stopping, sequence: state.sequence)
        }
    }

    /// Requeues the selected downloads that are in the given phase, in one step; their start times still apply.
    ///
    /// Downloads that are stopping for a pause count as paused.
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

    /// Requeues a download and removes its start time.
    func resume(_ id: DownloadID) {
        try? requeue(.downloads([id]), skippingUnknown: true) { state, id, now in
            state.forgetBegin(of: id)
            return state.scheduler.resume(id, at: now)
        }
    }

    /// Downloads a finished file again.
    func restart(_ id: DownloadID) {
        try? requeue(.downloads([id]), skippingUnknown: true) { $0.scheduler.restart($1, at: $2) }
    }

    func preempt(for id: DownloadID) {
        apply { $0.preempt(for: id) }
    }

    /// Downloads that are being cancelled or removed.
    struct Stopping: Sendable {
        let records: [DownloadRecord]
        /// The sequence number of the removal: an active download has stopped when a state with a higher one is
        /// published.
        fileprivate let sequence: UInt64
        /// Opens when the files of idle downloads have been deleted; `nil` if there are none to delete.
        fileprivate let removal: Latch?

        /// Whether any downloads have to stop, or files of idle downloads have to be deleted.
        var isPending: Bool { removal != nil || records.contains { !$0.status.state.isEnded } }

        /// Waits until the files of idle downloads are deleted, then returns the downloads that are still stopping.
        ///
        /// If the task is cancelled, returns without waiting unless `evenIfCancelled` is `true`.
        func thoseToStop(evenIfCancelled: Bool = false) async -> [DownloadRecord] {
            await removal?.wait(evenIfCancelled: evenIfCancelled)
            // The others have ended, and may have started again by the time the caller waits for them.
            return records.filter { !$0.status.state.isEnded }
        }

        /// Returns when all downloads except ``DownloadQueue/transferring`` have stopped and files are deleted, or when
        /// the task is cancelled, unless `evenIfCancelled` is set.
        func wait(evenIfCancelled: Bool = false) async {
            let records = await thoseToStop(evenIfCancelled: evenIfCancelled)
            for record in records where record !== DownloadQueue.transferring {
                await record.status.waitForEnd(orStateAfter: sequence, evenIfCancelled: evenIfCancelled)
            }
        }
    }

    /// Cancels downloads.
    func cancel(_ selection: DownloadSelection, skippingUnknown: Bool = false) throws(DownloadError) -> Stopping {
        let (records, removal, sequence) = try apply(selection, skippingUnknown: skippingUnknown) { queue, id, _ in
            queue.cancel(id)
        }
        return Stopping(records: records, sequence: sequence, removal: removal)
    }

    /// Removes downloads from the queue.
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

    /// Moves a download, if it is in the queue; throws `unknownDownload` if the position refers to a download that is
    /// not.
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

    /// Sets the rate limit of a download, if it is in the queue; `nil` for none.
    func setRateLimit(_ bytesPerSecond: Int64?, of id: DownloadID) {
        guard state.withLock({ $0.setRateLimit(bytesPerSecond, of: id) }) else { return }
        scheduleFlush()
    }

    /// Saves the state of a download's background task, if the download is in the queue.
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
    /// Returns the download that the same task runs next; `nil` if there is none or the task is cancelled.
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

import HeadracePlatform

/// What the manager, its downloads and their transfers say to the list.
extension DownloadQueue {
    /// Takes over what an earlier run left; before anything else.
    func restore(_ list: RestoredQueue) {
        let now = clock.now()
        perform(state.withLock { $0.restore(list, observers: observers, at: now) })
    }

    /// Adds downloads, or finds those that have the same file; throws after the shutdown.
    ///
    /// Blocks where there is a journal: nothing starts before it is known to outlive the process, and where that cannot
    /// be, nothing is added.
    func add(_ requests: [DownloadRequest]) throws(DownloadError) -> [DownloadRecord] {
        if let journal {
            for request in requests where request.isLong(maxBytes: RegistryEncoder.leastCheckedBytes) {
                try RegistryEncoder.check(RegistryRequest(request, bases: journal.bases))
            }
        }
        return try add(requests.map { QueueState.Addition(request: $0) }, skippingUnknown: false)
    }

    /// Adds what another process has named; passes over what cannot be, but for checksums that contradict each other, of which
    /// it is told instead where nobody waits for it.
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
            guard !state.queue.isShutDown else { return nil }
            let added = state.add(additions, skippingUnknown: skippingUnknown, observers: observers, at: now)
            if !added.new.isEmpty { observers.publish(.added(added.new)) }
            return added
        }
        guard let added else { throw .shutDown() }
        do throws(DownloadError) {
            for refusal in added.refusals {
                guard skippingUnknown else { throw refusal }
                observers.publish(finding: "What another process has added is passed over: \(refusal.message)")
            }
            try flush()
        } catch {
            _ = try? apply(.downloads(added.new), skippingUnknown: true) { queue, id, _ in
                queue.remove(id, deletingFile: false)
            }
            for effect in added.effects {
                if case .start(let run, _) = effect {
                    // One that was taken over stays in the list, and tells what kept it from the disk.
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

    /// Downloads that were told to pause.
    struct Pausing: Sendable {
        let records: [DownloadRecord]
        /// Those of them that have yet to stop; the next state that is told of each, after this turn, is its end.
        let stopping: [DownloadRecord]
        fileprivate let turn: UInt64

        /// Returns when all have stopped but ``DownloadQueue/transferring``; also when the task is cancelled, unless
        /// `evenIfCancelled`.
        func wait(evenIfCancelled: Bool = false) async {
            for record in stopping where record !== DownloadQueue.transferring {
                await record.status.waitForState(after: turn, evenIfCancelled: evenIfCancelled)
            }
        }
    }

    /// Pauses downloads.
    func pause(_ selection: DownloadSelection, skippingUnknown: Bool = false) throws(DownloadError) -> Pausing {
        let records = try apply(selection, skippingUnknown: skippingUnknown) { queue, id, _ in queue.pause(id) }.records
        return state.withLock { state in
            let stopping = records.filter { state.queue.isPausing($0.id) }
            return Pausing(records: records, stopping: stopping, turn: state.turn)
        }
    }

    /// Has downloads of a phase wait for their turn again, as one decision; those that are to begin later still do.
    ///
    /// Those that have yet to stop for a pause are paused ones.
    func resume(
        _ selection: DownloadSelection,
        only phase: Scheduler.Phase,
        skippingUnknown: Bool = false
    ) throws(DownloadError) {
        try requeue(selection, skippingUnknown: skippingUnknown) { state, id, now in
            let isStopping = phase == .paused && state.queue.isPausing(id)
            guard state.queue.phase(of: id) == phase || isStopping else { return [] }
            let begin = state.records[id]?.requested { $0.notBefore(at: now) }
            return state.queue.resume(id, at: now, notBefore: begin)
        }
    }

    /// Has a download wait for its turn again, and for nothing else.
    func resume(_ id: DownloadID) {
        try? requeue(.downloads([id]), skippingUnknown: true) { state, id, now in
            state.forgetBegin(of: id)
            return state.queue.resume(id, at: now)
        }
    }

    /// Fetches a finished download again.
    func restart(_ id: DownloadID) {
        try? requeue(.downloads([id]), skippingUnknown: true) { $0.queue.restart($1, at: $2) }
    }

    func preempt(for id: DownloadID) {
        apply { $0.preempt(for: id) }
    }

    /// Downloads that were told to go.
    struct Stopping: Sendable {
        let records: [DownloadRecord]
        /// The next state that is told of each that has not ended, after this turn, is its end.
        fileprivate let turn: UInt64
        /// Opens with the removal of files, where some are removed at once; one can wait for it.
        fileprivate let removal: Latch?

        /// Whether there is something to wait for.
        var isPending: Bool { removal != nil || records.contains { !$0.status.state.isEnded } }

        /// Returns when the files are gone that are removed at once, those that have yet to stop.
        ///
        /// Does not wait where the task is cancelled, unless `evenIfCancelled`.
        func thoseToStop(evenIfCancelled: Bool = false) async -> [DownloadRecord] {
            await removal?.wait(evenIfCancelled: evenIfCancelled)
            // The others have ended, and may be begun again by the time somebody waits for them.
            return records.filter { !$0.status.state.isEnded }
        }

        /// Returns when all have gone but ``DownloadQueue/transferring``; also when the task is cancelled, unless
        /// `evenIfCancelled`.
        func wait(evenIfCancelled: Bool = false) async {
            let records = await thoseToStop(evenIfCancelled: evenIfCancelled)
            for record in records where record !== DownloadQueue.transferring {
                await record.status.waitForEnd(orStateAfter: turn, evenIfCancelled: evenIfCancelled)
            }
        }
    }

    /// Cancels downloads.
    func cancel(_ selection: DownloadSelection, skippingUnknown: Bool = false) throws(DownloadError) -> Stopping {
        let (records, removal, turn) = try apply(selection, skippingUnknown: skippingUnknown) { queue, id, _ in
            queue.cancel(id)
        }
        return Stopping(records: records, turn: turn, removal: removal)
    }

    /// Takes downloads out.
    func remove(
        _ selection: DownloadSelection,
        deletingFiles: Bool,
        skippingUnknown: Bool = false
    ) throws(DownloadError) -> Stopping {
        let (records, removal, turn) = try apply(selection, skippingUnknown: skippingUnknown) { queue, id, _ in
            queue.remove(id, deletingFile: deletingFiles)
        }
        return Stopping(records: records, turn: turn, removal: removal)
    }

    /// What a download does; nil where it is not in the list.
    func phase(of id: DownloadID) -> Scheduler.Phase? {
        state.withLock { $0.queue.phase(of: id) }
    }

    /// Throws `unknownDownload` for a place that is not there; does nothing to a download that is not.
    func move(_ id: DownloadID, to place: QueuePosition) throws(DownloadError) {
        let now = clock.now()
        try state.withLock { state throws(DownloadError) in
            guard state.records[id] != nil else { return }
            switch place {
            case .before(let other), .after(let other):
                guard state.records[other] != nil else { throw .unknown(other) }
                guard other != id else { return }
            case .index(let index):
                guard state.records.count > index, index >= 0 else {
                    throw DownloadError(
                        .unknownDownload,
                        "The list has no place \(index): it has \(state.records.count) downloads, counted from 0."
                    )
                }
            case .first, .last: break
            }
            state.move(id, to: place, at: now)
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

    /// Does nothing to a download that is not in the list.
    func setRateLimit(_ bytesPerSecond: Int64?, of id: DownloadID) {
        guard state.withLock({ $0.setRateLimit(bytesPerSecond, of: id) }) else { return }
        scheduleFlush()
    }

    /// Keeps what the system has of a download, where it is in the list.
    func setBackgroundNote(_ note: BackgroundTaskState?, of id: DownloadID) {
        guard state.withLock({ $0.setBackgroundNote(note, of: id) }) else { return }
        scheduleFlush()
    }

    func setLimit(_ limit: Int) {
        // A list that is only kept starts nothing, whatever its limit.
        apply { $0.limit == 0 ? [] : $0.setLimit(limit) }
        limitsChanged()
    }

    func setHostLimit(_ limit: Int?) {
        apply { $0.setHostLimit(limit) }
        limitsChanged()
    }

    private func limitsChanged() {
        state.withLock {
            observers.publish(.limitsChanged(downloads: $0.queue.limit, perHost: $0.queue.hostLimit))
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
        perform(state.withLock { $0.effects(of: $0.queue.shutDown()) })
    }

    /// Enters the outcome; returns the download that the ending task goes on with, unless it is cancelled.
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

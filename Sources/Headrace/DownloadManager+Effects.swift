import HeadracePlatform

/// The steps of the manager: each changes the queue and performs the effects before the next suspension, so that the
/// effects have the order of the decisions.
extension DownloadManager {
    /// The download whose transfer runs the current task; set inside user hooks, which must not wait for that transfer.
    @TaskLocal static var transferring: DownloadRecord?

    /// Whether no download is waiting, running or about to have its files deleted.
    var isIdle: Bool { queue.open.isEmpty && removing.isEmpty }

    // MARK: Decisions

    /// Adds downloads; returns, for each addition, the new download or the active download of the same file.
    ///
    /// With a registry, returns and lets the downloads start once the journal has them. If the journal cannot be written,
    /// or with `skippingInvalid` = `false` if the expected size or hashes of a request contradict another download, throws
    /// and adds nothing. With `skippingInvalid`, such a request is skipped, and its error is published.
    func add(
        _ additions: [QueueState.Addition],
        skippingInvalid: Bool
    ) async throws(DownloadError) -> [DownloadRecord] {
        guard !queue.scheduler.isShutDown else { throw .shutDown() }
        let added = queue.add(additions, skippingInvalid: skippingInvalid, observers: observers, at: clock.now())
        if !added.new.isEmpty {
            if let background = environment.background {
                for id in added.new { if let record = queue.records[id] { background.entered(record, .waiting) } }
            }
            observers.publish(.added(added.new))
        }
        perform(added.effects)
        do throws(DownloadError) {
            for refusal in added.refusals {
                guard skippingInvalid else { throw refusal }
                observers.publish(finding: "An addition by another process was skipped: \(refusal.message)")
            }
            try await flush()
        } catch {
            _ = try? apply(.downloads(added.new), skippingUnknown: true) { queue, id, _ in
                queue.remove(id, deletingFile: false)
            }
            for id in added.revived { perform(queue.failed(id, error)) }
            throw error
        }
        if registry != nil { perform(queue.saved(added.new + added.revived, at: clock.now())) }
        return added.records
    }

    typealias Verb = (inout Scheduler, DownloadID, Duration) -> [Scheduler.Action]

    /// Applies an operation to each download of a selection, in one step; changes nothing after the shutdown.
    /// - Returns: The selected downloads.
    func apply(
        _ selection: DownloadSelection,
        skippingUnknown: Bool = false,
        _ verb: Verb
    ) throws(DownloadError) -> [DownloadRecord] {
        let ids = try queue.ids(selection, skippingUnknown: skippingUnknown)
        let records = ids.compactMap { queue.records[$0] }
        guard !queue.scheduler.isShutDown else { return records }
        let now = clock.now()
        perform(queue.effects(of: ids.flatMap { verb(&queue.scheduler, $0, now) }))
        return records
    }

    /// Requeues the selected downloads whose files no other download uses, each by a call of `verb`, and then starts
    /// downloads in free slots.
    func requeue(
        _ selection: DownloadSelection,
        skippingUnknown: Bool = false,
        _ verb: (inout QueueState, DownloadID, Duration) -> [Scheduler.Action]
    ) throws(DownloadError) {
        let ids = try queue.ids(selection, skippingUnknown: skippingUnknown)
        guard !queue.scheduler.isShutDown else { return }
        let now = clock.now()
        queue.scheduler.isGathering = true
        // One at a time, because two of the downloads may use the same file.
        var effects = ids.flatMap { id in queue.mayReopen(id) ? queue.effects(of: verb(&queue, id, now)) : [] }
        queue.scheduler.isGathering = false
        effects += queue.effects(of: queue.scheduler.startNext())
        perform(effects)
    }

    /// Requeues the selected downloads that are in the given phase, in one step; their start times still apply.
    ///
    /// A download whose transfer is stopping for a pause counts as paused.
    func requeue(
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

    func apply(_ verb: (inout Scheduler) -> [Scheduler.Action]) {
        perform(queue.effects(of: verb(&queue.scheduler)))
    }

    /// Changes the queue and schedules the writing of the change.
    func change(_ change: @Sendable (inout QueueState) -> Void) {
        change(&queue)
        scheduleFlush()
    }

    func tick() {
        perform(queue.tick(at: clock.now()))
    }

    func setPath(_ path: NetworkPath?) {
        perform(queue.setPath(path))
    }

    /// Processes the first response head of a transfer; `size` is the length of its body, `nil` if unknown.
    func received(headOf size: Int64?, of id: DownloadID, isMultiplexed: Bool) {
        apply { $0.received(headOf: size, of: id, isMultiplexed: isMultiplexed) }
    }

    /// Processes the outcome of a transfer.
    ///
    /// Deletes the files of a cancelled download before it returns, even after the shutdown, which waits for the transfer.
    /// - Returns: The download that the transfer's task must run next; `nil` if none may start or the task is cancelled.
    func ended(
        _ run: QueueState.Run,
        _ outcome: TransferOutcome,
        _ measurement: TransferMeasurement?,
        taskIsCancelled: Bool
    ) async -> QueueState.Run? {
        var effects = queue.ended(run.record.id, outcome, measurement, at: clock.now())
        var next: QueueState.Run?
        let removes = effects.contains { if case .remove = $0 { true } else { false } }
        if !taskIsCancelled, !removes {
            let index = effects.firstIndex { if case .start = $0 { true } else { false } }
            if let index, case .start(let run) = effects.remove(at: index) { next = run }
        }
        let removals = performAll(effects)
        if let next { begin(next) }
        environment.background?.ended(run.record.id)
        if !removals.isEmpty { await carryOut(removals) }
        return next
    }

    // MARK: Effects

    /// Performs the effects of a decision; child tasks delete files.
    func perform(_ effects: [QueueState.Effect]) {
        let removals = performAll(effects)
        if !removals.isEmpty { work.yield(.removals(removals)) }
    }

    /// Performs the effects of a decision, except for the removals, which it returns.
    private func performAll(_ effects: [QueueState.Effect]) -> [QueueState.Removal] {
        var removals: [QueueState.Removal] = []
        for effect in effects {
            switch effect {
            case .start(let run):
                begin(run)
                work.yield(.transfer(run))
            case .stop(let signal, let reason): signal.stop(reason)
            case .publish(let record, let change): publish(record, change)
            case .remove(let removal):
                removals.append(removal)
                environment.background?.left(removal.record)
            case .alarm(let time): work.yield(.alarm(time))
            case .release(let waiting): for latch in waiting { latch.open() }
            }
        }
        for removal in removals { removing[removal.record.id, default: 0] += 1 }
        scheduleFlush()
        publishIdle()
        return removals
    }

    private func begin(_ run: QueueState.Run) {
        // A retry is not reported as another start.
        publish(run.record, QueueState.StateChange(.running, run.attempts == nil ? .started : nil))
    }

    /// Publishes a state change, and resumes the tasks that wait for the download to stop.
    private func publish(_ record: DownloadRecord, _ change: QueueState.StateChange) {
        record.enter(change.state, change.event)
        environment.background?.entered(record, change.state)
        switch change.state {
        case .paused, .failed, .cancelled: environment.claims.release(record)
        // Only the name of a file that is replaced if the server's version changes stays reserved.
        case .finished: if record.requested({ $0.refetchPolicy != .ifChanged }) { environment.claims.release(record) }
        case .waiting, .running, nil: break
        }
        if change.event == .removed {
            environment.claims.release(record)
            environment.background?.left(record)
            observers.publish(.removed(record.id))
        }
        guard removing[record.id] == nil else { return }
        for latch in stops.removeValue(forKey: record.id) ?? [] { latch.open() }
        for item in commands.stopped(record.id) { work.yield(.carriedOut(item)) }
    }

    /// Publishes the event ``QueueEvent/idle`` if no download is waiting or running any more.
    private func publishIdle() {
        guard isIdle else { return isBusy = true }
        guard isBusy else { return }
        isBusy = false
        observers.publish(.idle)
        for continuation in idleSubscribers.removeAll() { continuation.finish() }
    }

    // MARK: Waiting

    /// Waits until the downloads have stopped, except for ``transferring``.
    ///
    /// A hook of a download does not wait if its task is cancelled, since the hooks of two downloads could wait for each
    /// other.
    func waitForStop(of records: some Sequence<DownloadRecord>) async {
        var waits: [(id: DownloadID, latch: Latch)] = []
        for record in records where record !== Self.transferring {
            let latch = Latch()
            stops[record.id, default: []].append(latch)
            waits.append((record.id, latch))
        }
        for (id, latch) in waits {
            await latch.wait(evenIfCancelled: Self.transferring == nil)
            // A download may take long to stop, and many tasks may wait for it and be cancelled.
            if Task.isCancelled { stops[id]?.removeAll { $0 === latch } }
        }
    }

    // MARK: Removals

    /// Writes the removals to the journal, then deletes the files and publishes the new states.
    ///
    /// A crash before the deletion leaves files without a download, but never a download without its bytes. If the
    /// journal cannot be written, the files are retained, unless they are on the journal's disk and it is full.
    func carryOut(_ removals: [QueueState.Removal]) async {
        let environment = environment
        do throws(DownloadError) {
            try await flush()
            await executor.run { for removal in removals { removal.removeFiles(environment) } }
        } catch {
            // Files on the journal's full disk are deleted anyway: nothing else would make room for the journal.
            let isFull = error.code == .diskFull
            let hasMadeRoom = await executor.run {
                let filling = isFull ? removals.filter { $0.sharesDisk(environment) } : []
                for removal in filling { removal.removeFiles(environment) }
                return !filling.isEmpty
            }
            if hasMadeRoom { await flushOrReport() } else { observers.publish(.registryFailed(error)) }
        }
        for removal in removals {
            let count = removing[removal.record.id, default: 1] - 1
            removing[removal.record.id] = count > 0 ? count : nil
            publish(removal.record, removal.stateChange)
            if removal.partial { for latch in queue.removed(removal.record) { latch.open() } }
        }
        publishIdle()
    }

    // MARK: The journal

    func scheduleFlush() {
        // After the shutdown, closing the registry writes the remaining changes.
        if queue.journal?.claimFlush() == true { work.yield(.flush) }
    }

    /// Writes all decisions so far to the journal.
    ///
    /// With `syncing`, the decisions also survive a power cut if the configuration requires it or `always` is `true`. If a
    /// write fails, the next one writes the whole queue instead of the changes.
    func flush(syncing: Bool = true, always: Bool = false) async throws(DownloadError) {
        guard let file = registry?.file else { return }
        while isFlushing {
            let latch = Latch()
            flushWaiters.append(latch)
            await latch.wait(evenIfCancelled: true)
        }
        isFlushing = true
        defer {
            isFlushing = false
            if !flushWaiters.isEmpty { flushWaiters.removeFirst().open() }
        }
        var next = queue.takeChanges(syncing: syncing, always: always)
        while let write = next {
            do throws(DownloadError) {
                switch try await queueExecutor.run({ () throws(DownloadError) in try write.perform(on: file) }) {
                case .recorded: next = nil
                case .recordedAndDue: next = queue.takeAll(isOptional: true)
                case .wholeListNeeded: next = queue.takeAll(isOptional: false)
                }
            } catch {
                queue.journal?.failed(write)
                guard write.isOptional else { throw error }
                return
            }
        }
    }

    /// Like ``flush(syncing:always:)``, but publishes a failure instead of throwing it; the next flush tries again.
    func flushOrReport(syncing: Bool = true) async {
        do throws(DownloadError) {
            try await flush(syncing: syncing)
        } catch {
            observers.publish(.registryFailed(error))
        }
    }

    /// Records that a transfer is about to give a complete file its final name, and writes that to the journal.
    func willRename(_ id: DownloadID, _ path: String, _ stamp: FileStamp) async {
        guard let bases = queue.journal?.bases else { return }
        queue.journal?.note(id, .finishing(RelocatablePath(path, bases: bases), stamp))
        await flushOrReport(syncing: false)
    }
}

extension QueueState.Removal {
    /// Deletes the files; blocks.
    fileprivate func removeFiles(_ environment: TransferEnvironment) {
        if partial {
            var session = PartialDownload(record, environment)
            session.removeLeftovers()
            record.status.forgetBytes()
        }
        // A file that existed before the download, or has replaced the downloaded file since, is not deleted.
        guard let file, !file.wasThere, let status = try? environment.files.status(file.url.filePath),
            file.stamp == FileStamp(status)
        else { return }
        try? environment.files.remove(file.url.filePath)
    }

    /// Whether the files to delete are on the same file system as the journal; blocks.
    fileprivate func sharesDisk(_ environment: TransferEnvironment) -> Bool {
        guard let directory = environment.configuration.registryDirectory else { return false }
        let path = file?.url.filePath ?? record.names.partialPath
        let journal = "\(directory.filePath)/\(RegistryStore.fileName)"
        let files = environment.files
        return (try? files.status(path))?.device == (try? files.status(journal))?.device
    }
}

extension TransferEnvironment {
    /// Returns an environment whose transfers report to a manager with a registry.
    func storing(
        in registry: OpenedRegistry,
        _ system: (any BackgroundSystem)?,
        _ reference: ManagerReference
    ) -> TransferEnvironment {
        TransferEnvironment(
            self,
            background: system.map { BackgroundTransfers($0, configuration, files, clock) },
            versions: registry.versions
        ) { id, path, stamp throws(DownloadError) in
            // Without the record, the next manager would not know that the download is finished.
            guard let manager = reference.manager else { throw .shutDown() }
            await manager.willRename(id, path, stamp)
        }
    }
}

import HeadracePlatform

/// The downloads of a manager and their states; turns the scheduler's decisions into effects on downloads.
///
/// A value that the manager owns; it performs no I/O and never blocks.
struct QueueState: Sendable {
    var scheduler: Scheduler
    /// The changes that are still to be written to the queue's journal on the disk; `nil` if the queue is not stored.
    var journal: QueueJournal?
    /// Whether finished downloads stay in the queue.
    private let keepsFinished: Bool
    private(set) var downloads: DownloadTable
    /// The stop signals of the running downloads.
    private var signals: [DownloadID: StopSignal] = [:]
    /// The transfer states of downloads that are waiting for a retry.
    private(set) var attempts: [DownloadID: TransferState] = [:]
    /// The waiting and running downloads.
    private(set) var open: Set<DownloadID> = []
    private(set) var partialFiles = PartialFileUsers()
    /// The times for which a call of ``tick(at:)`` is scheduled.
    private var alarms: Set<Duration> = []

    init(scheduler: Scheduler, journal: QueueJournal?, keepsFinished: Bool = true, random: RandomSource = .system) {
        self.scheduler = scheduler
        self.journal = journal
        self.keepsFinished = keepsFinished
        downloads = DownloadTable(random: random)
    }

    /// The downloads by their identities.
    var records: [DownloadID: DownloadRecord] { downloads.records }

    // MARK: Inputs

    /// Restores the downloads of an earlier process; returns the effects to perform.
    mutating func restore(_ list: RestoredQueue, observers: QueueObservers, at now: Duration) -> [QueueEffect] {
        var items: [Scheduler.Item] = []
        let numbers = list.members.map(\.entry.number) + list.leftOut.map(\.number)
        downloads.reserve(numbers.compactMap(\.self))
        let restored = list.members.map { member in
            let number = member.entry.number ?? downloads.nextNumber
            let record = DownloadRecord(member, number: number, observers: observers)
            insert(record)
            if let file = member.file { record.finish(with: file) }
            // Before the loop below: there, a waiting download of the same file replaces the failed one.
            if case .failed = member.state { partialFiles.failed(record) }
            return record
        }
        for (member, record) in zip(list.members, restored) {
            var item = Scheduler.Item(record, at: now)
            item.phase = member.state.phase
            item.label = member.entry.label
            if !member.state.isEnded { activate(record) }
            if member.state == .waiting { reopen(record) }
            items.append(item)
        }
        let actions = scheduler.add(items, at: now)
        for change in list.changes { journal?.note(change) }
        // A damaged journal may give two downloads the same label.
        if list.members.contains(where: { $0.entry.label != scheduler.order.label(of: $0.id) }) { recordAllLabels() }
        return effects(of: actions)
    }

    /// Starts the downloads whose start time has been reached, while slots are free, and retries a failed write of the
    /// journal if that is due.
    mutating func tick(at now: Duration) -> [QueueEffect] {
        alarms = alarms.filter { $0 > now }
        journal?.retry(at: now)
        return effects(of: scheduler.tick(at: now))
    }

    /// Records that a partial file was deleted; returns the latches of the downloads that may start now, or none if
    /// another removal of the file is pending.
    mutating func removed(_ record: DownloadRecord) -> [Latch] { partialFiles.endRemoval(record) }

    /// Applies a change of the network path (`nil` if unknown).
    mutating func setPath(_ path: NetworkPath?) -> [QueueEffect] {
        let blocked = scheduler.waiting.blockers
        let effects = effects(of: scheduler.setPath(path))
        for id in blocked.keys where scheduler.networkBlocker(of: id) == nil { records[id]?.status.unblock() }
        return effects
    }

    /// Interrupts all downloads that have not ended, and prevents further starts.
    mutating func shutDown() -> [QueueEffect] { effects(of: scheduler.shutDown()) }

    /// Processes the outcome of a transfer; downloads that waited for the transfer's partial file may start.
    mutating func ended(
        _ id: DownloadID,
        _ outcome: TransferOutcome,
        _ measurement: TransferMeasurement? = nil,
        at now: Duration
    ) -> [QueueEffect] {
        let (signal, record) = (signals[id], records[id])
        var effects = settled(id, outcome, measurement, at: now)
        if signals[id] === signal { signals[id] = nil }
        // After the signal is gone: removing a download that has a signal would set its state to `cancelled`.
        if !keepsFinished, scheduler.phase(of: id) == .finished {
            effects += self.effects(of: scheduler.remove(id, deletingFile: false))
        }
        let waiting = record.map { partialFiles.stopped($0) } ?? []
        if !waiting.isEmpty { effects.append(.release(waiting)) }
        return effects
    }

    private mutating func settled(
        _ id: DownloadID,
        _ outcome: TransferOutcome,
        _ measurement: TransferMeasurement?,
        at now: Duration
    ) -> [QueueEffect] {
        if isOutdated(outcome, of: id) { return effects(of: scheduler.ended(id, .retry(at: now), at: now)) }
        if case .retry(let attempts, _) = outcome { self.attempts[id] = attempts }
        return effects(of: scheduler.ended(id, outcome.schedulerOutcome, measurement, at: now), outcome)
    }

    /// Whether the outcome of a transfer is outdated, so that the download must run again at once.
    ///
    /// This is so if the transfer failed or requested a retry, and its URL was replaced or its missing credentials were
    /// supplied meanwhile.
    private func isOutdated(_ outcome: TransferOutcome, of id: DownloadID) -> Bool {
        guard let record = records[id] else { return false }
        return switch outcome {
        case .retry(let attempts, _): attempts.sources.origin != record.request.url
        case .failed(let error):
            error.code == .credentialsMissing && !record.lacksSecrets
                || signals[id]?.reason == .relinked && record.request.mayRepeat
        case .finished, .stopped: false
        }
    }

    // MARK: Effects

    /// Applies the scheduler's actions to the downloads, and returns the effects to perform, including an alarm if the
    /// next tick is not scheduled yet; `outcome` is the result of a transfer that has just ended.
    mutating func effects(of actions: [Scheduler.Action], _ outcome: TransferOutcome? = nil) -> [QueueEffect] {
        var effects = actions.compactMap { effect(of: $0, outcome) }
        if let time = scheduler.nextTick(), !alarms.contains(where: { $0 <= time }) {
            alarms.insert(time)
            effects.append(.alarm(time))
        }
        return effects
    }

    private mutating func effect(of action: Scheduler.Action, _ outcome: TransferOutcome?) -> QueueEffect? {
        switch action {
        case .start(let id): return records[id].map { .start(start($0)) }
        case .stop(let id, let reason):
            if scheduler.isLeaving(id), let record = records[id] { depart(record) }
            return signals[id].map { .stop($0, reason) }
        case .hold(let id, let blocker):
            return records[id].map { .publish($0, DownloadStateChange(.waiting, .waitingForNetwork(blocker))) }
        case .enter(let id, let phase, let discardingBytes):
            guard let record = records[id] else { return nil }
            // Evaluated first, since `enter` lets another download use the path.
            let removesPartial = discardingBytes && partialFiles.mayRemove(record)
            let stateChange = enter(phase, record, outcome)
            return removesPartial ? removal(record, stateChange) : .publish(record, stateChange)
        case .remove(let id, let deletingFile):
            return remove(id).map { effect(ofRemoving: $0, outcome, deletingFile: deletingFile) }
        }
    }

    private mutating func start(_ record: DownloadRecord) -> DownloadRun {
        let signal = StopSignal()
        signals[record.id] = signal
        let earlier = attempts.removeValue(forKey: record.id)
        // A retry is not another start.
        let time = earlier == nil ? record.status.recordStart() : nil
        journal?.note(record.id, .running, at: time)
        return DownloadRun(
            record: record,
            stop: signal,
            earlier: earlier.map { .some($0) } ?? .none,
            removal: partialFiles.follow(record),
            reportsHead: scheduler.limits.concurrency?.needsHeads ?? false,
            mayShareConnection: scheduler.mayShareConnection(record.id)
        )
    }

    /// Records the end of a download that is not in the queue any more; returns the effect of its removal.
    private mutating func effect(
        ofRemoving record: DownloadRecord,
        _ outcome: TransferOutcome?,
        deletingFile: Bool
    ) -> QueueEffect {
        let file = if case .finished(let file) = outcome { file } else { record.finishedFile }
        // A finished download has no partial file: a partial file with its name belongs to a later download of
        // another queue or of the command-line tool.
        let hasPartial = file == nil && partialFiles.mayRemove(record)
        let signal = signals[record.id]
        // A download that has ended keeps its state.
        let isOpen = partialFiles.isActive(record) || signal != nil
        close(record)
        let stateChange = DownloadStateChange(isOpen ? .cancelled : nil, .removed)
        // The partial file of a cancelled transfer is deleted even if `deletingFile` is `false`.
        if hasPartial, deletingFile || signal?.reason == .cancelled { return removal(record, stateChange) }
        guard deletingFile else { return .publish(record, stateChange) }
        return .remove(FileRemoval(record: record, partial: false, file: file, stateChange: stateChange))
    }

    private mutating func removal(_ record: DownloadRecord, _ stateChange: DownloadStateChange) -> QueueEffect {
        partialFiles.beginRemoval(record)
        return .remove(FileRemoval(record: record, partial: true, file: nil, stateChange: stateChange))
    }

    private mutating func remove(_ id: DownloadID) -> DownloadRecord? {
        guard let record = downloads.remove(id) else { return nil }
        attempts.discard(id)
        journal?.note(.removed([id.rawValue]))
        return record
    }

    private mutating func enter(
        _ phase: Scheduler.Phase,
        _ record: DownloadRecord,
        _ outcome: TransferOutcome?
    ) -> DownloadStateChange {
        if phase != .waiting { attempts.discard(record.id) }
        record.forgetFinishedFile()
        let isOpen = [.waiting, .running, .paused].contains(phase)
        let end = isOpen ? nil : record.status.recordEnd()
        if !isOpen { close(record) }
        switch phase {
        case .running: return DownloadStateChange(nil, nil)
        case .waiting:
            journal?.note(record.id, record.status.progress == DownloadProgress() ? .waiting : .requeued)
            reopen(record)
            return DownloadStateChange(.waiting, nil)
        case .paused:
            journal?.note(record.id, .paused)
            open.remove(record.id)
            return DownloadStateChange(.paused, .paused)
        case .finished:
            guard case .finished(let file) = outcome else { return DownloadStateChange(nil, nil) }
            record.finish(with: file)
            journal?.note(file, of: record.id, at: end)
            return DownloadStateChange(.finished(file.url), nil)
        case .failed:
            guard case .failed(let error) = outcome else { return DownloadStateChange(nil, nil) }
            let named = error.about(record.request.url)
            journal?.note(record.id, RegistryEntry.State(named), at: end)
            partialFiles.failed(record)
            return DownloadStateChange(.failed(named), .failed(named))
        case .cancelled:
            journal?.note(record.id, .cancelled, at: end)
            return DownloadStateChange(.cancelled, .cancelled)
        case .interrupted:
            // The journal keeps the earlier state, so that the next manager resumes the download.
            let error = DownloadError.shutDown(record.request.url)
            return DownloadStateChange(.failed(error), .failed(error))
        }
    }

    // MARK: States

    mutating func insert(_ record: DownloadRecord) { downloads.insert(record) }

    /// Counts a download as waiting or running, and as the user of its partial file.
    mutating func reopen(_ record: DownloadRecord) {
        activate(record)
        partialFiles.reopened(record)
        open.insert(record.id)
    }

    mutating func activate(_ record: DownloadRecord) {
        // If the process is killed before the other download has stopped, the next manager must restore only this one
        // as active.
        if let other = partialFiles.activate(record) { journal?.note(other, .cancelled, at: WallTime.milliseconds()) }
    }

    /// Releases the partial file of `record`, a running download that is being cancelled or removed.
    ///
    /// A new download of the same file can then be added; its transfer waits until `record` has stopped.
    ///
    /// If an earlier removal of the file is pending, the cancellation is recorded in the journal now. Otherwise it is
    /// recorded once another download of the file becomes active, or once `record` has stopped.
    private mutating func depart(_ record: DownloadRecord) {
        guard partialFiles.isActive(record) else { return }
        if !partialFiles.depart(record) { journal?.note(record.id, .cancelled, at: WallTime.milliseconds()) }
    }

    /// Forgets the state of a download that waits for a retry; returns `false` if it does not wait for one.
    mutating func discardAttempts(of id: DownloadID) -> Bool { attempts.removeValue(forKey: id) != nil }

    /// Records that a download has ended.
    private mutating func close(_ record: DownloadRecord) {
        partialFiles.ended(record)
        open.remove(record.id)
    }
}

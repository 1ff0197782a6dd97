import HeadracePlatform

/// The downloads of a manager and their states; turns the scheduler's decisions into effects on downloads.
///
/// A value that the manager owns; it performs no I/O and never blocks.
struct QueueState: Sendable {
    var scheduler: Scheduler
    /// The decisions to write to the disk; `nil` if the queue is not stored.
    var journal: QueueJournal?
    private(set) var records: [DownloadID: DownloadRecord] = [:]
    /// The download numbers in use, including those of journal entries that cannot become downloads in this process.
    private var numbers = DownloadNumbers()
    /// The stop signals of the running downloads.
    private var signals: [DownloadID: StopSignal] = [:]
    /// The transfer states of downloads that are waiting for a retry.
    private(set) var attempts: [DownloadID: TransferState] = [:]
    /// The downloads that have not ended and are not being cancelled or removed, by their distinct partial-file paths.
    private var active: [String: DownloadRecord] = [:]
    /// For each partial-file path, the last failed download; it may resume from that partial file.
    private var failed: [String: DownloadID] = [:]
    /// The waiting and running downloads.
    private(set) var open: Set<DownloadID> = []
    private var groups: [String: Set<DownloadID>] = [:]
    private var removals = PartialRemovals()
    /// The times for which a call of ``tick(at:)`` is scheduled.
    private var alarms: Set<Duration> = []

    init(scheduler: Scheduler, journal: QueueJournal?) {
        self.scheduler = scheduler
        self.journal = journal
    }

    // MARK: Lookup

    /// Returns the selected downloads: those selected by identity in the given order, others in queue order.
    ///
    /// Throws `unknownDownload` for an unknown identity, unless `skippingUnknown` is set.
    func ids(_ selection: DownloadSelection, skippingUnknown: Bool = false) throws(DownloadError) -> [DownloadID] {
        switch selection {
        case .all: return scheduler.ids
        case .downloads(let ids) where skippingUnknown: return ids.filter { records[$0] != nil }
        case .downloads(let ids):
            for id in ids where records[id] == nil { throw .unknown(id) }
            return ids
        case .group(let group):
            let ids = groups[group, default: []]
            return ids.count < 2 ? Array(ids) : scheduler.order.sorted(ids)
        case .url(let url): return scheduler.ids.filter { records[$0]?.requested { $0.url } == url }
        case .state(let kind): return scheduler.ids.filter { records[$0]?.status.state.kind == kind }
        }
    }

    /// Whether a download may be requeued; `false` while another download uses the same file.
    func mayReopen(_ id: DownloadID) -> Bool {
        guard let record = records[id] else { return false }
        return active[record.names.partialPath, default: record] === record
    }

    // MARK: Adding and changing

    /// Restores the downloads of an earlier process; returns the effects to perform.
    mutating func restore(_ list: RestoredQueue, observers: QueueObservers, at now: Duration) -> [Effect] {
        var items: [Scheduler.Item] = []
        numbers = DownloadNumbers((list.members.map(\.number) + list.leftOut.map(\.number)).compactMap(\.self))
        for member in list.members {
            let record = DownloadRecord(member, number: member.number ?? numbers.next, observers: observers)
            insert(record)
            if let file = member.file { record.finish(with: file) }
            var item = Scheduler.Item(record, at: now)
            item.phase = member.state.phase
            item.label = member.label
            if !member.state.isEnded { active[record.names.partialPath] = record }
            if case .failed = member.state { failed[record.names.partialPath] = record.id }
            if member.state == .waiting { reopen(record) }
            items.append(item)
        }
        let actions = scheduler.add(items, at: now)
        for change in list.changes { journal?.note(change) }
        // A damaged journal may give two downloads the same label.
        if list.members.contains(where: { $0.label != scheduler.order.label(of: $0.id) }) { recordAllLabels() }
        return effects(of: actions)
    }

    /// Adds downloads, or merges a request for the file of an active download into that download.
    ///
    /// A download that failed for lack of credentials or a link provider is revived by a matching request that supplies
    /// them. An addition with the `id` of an active download only merges its expected size and hashes. An addition with
    /// the `id` of an ended download is ignored unless it adds an expected size or hash.
    ///
    /// With `skippingInvalid`, invalid additions are skipped; otherwise one invalid addition rejects the whole batch.
    ///
    /// With a journal, the new downloads do not start before ``saved(_:at:)``.
    mutating func add(
        _ additions: [Addition],
        skippingInvalid: Bool,
        observers: QueueObservers,
        at now: Duration
    ) -> Added {
        var items: [Scheduler.Item] = []
        var reopenings: [Effect] = []
        var revived: [DownloadID] = []
        var (additions, refusals) = additions.divided { active[$0] }
        if !skippingInvalid, !refusals.isEmpty { additions = [] }
        scheduler.isGathering = true
        let records = additions.map { addition in
            let known = addition.id.flatMap { self.records[$0] }
            if let known {
                if active[known.names.partialPath] === known {
                    join(addition.request, to: known, &refusals)
                    return known
                }
                // The known download has ended and is not verified again: only new expectations need a new download.
                guard addition.request.expectations.addInformation(than: known.request.expectations) else {
                    return known
                }
            }
            let state: DownloadState = addition.request.startsPaused ? .paused : .waiting
            let record = DownloadRecord(
                id: known == nil ? addition.id ?? newID() : newID(),
                number: numbers.next,
                request: addition.request,
                withoutSecrets: addition.withoutSecrets,
                state: state,
                observers: observers
            )
            if addition.id == nil, let id = twinToReopen(of: record) {
                revived.append(id)
                reopenings += reopen(id, for: record.request, at: now)
            }
            if let twin = active[record.names.partialPath] {
                if addition.withoutSecrets == nil { twin.supplySecrets(of: addition.request) }
                twin.takeVolatile(of: addition.request)
                join(addition.request, to: twin, &refusals)
                return twin
            }
            insert(record)
            if state == .waiting { reopen(record) } else { activate(record) }
            items.append(Scheduler.Item(record, at: now))
            return record
        }
        scheduler.isGathering = false
        let relabellings = scheduler.relabellings
        let actions = scheduler.add(items, isSaved: journal == nil, at: now)
        if scheduler.relabellings != relabellings { recordAllLabels() }
        let new = items.map(\.id)
        if journal != nil, !new.isEmpty {
            let members = new.compactMap { member($0) }
            journal?.note(added: members)
        }
        return Added(
            records: records,
            new: new,
            revived: revived,
            effects: reopenings + effects(of: actions),
            refusals: refusals
        )
    }

    /// Lets added and revived downloads start, because the journal has them now.
    mutating func saved(_ ids: [DownloadID], at now: Duration) -> [Effect] {
        effects(of: scheduler.saved(ids, at: now))
    }

    /// Fails a revived download again, because the journal could not be written.
    mutating func failed(_ id: DownloadID, _ error: DownloadError) -> [Effect] {
        effects(of: scheduler.failUnsaved(id), .failed(error))
    }

    /// Returns a failed download of the same file, if the request of `record` supplies the missing secrets or link
    /// provider and agrees with its expected size and hashes.
    private func twinToReopen(of record: DownloadRecord) -> DownloadID? {
        guard !failed.isEmpty else { return nil }
        let (path, request) = (record.names.partialPath, record.request)
        guard active[path] == nil, let id = failed[path], let twin = records[id], twin.canContinue(with: request),
            (try? twin.expectations(joinedBy: request.expectations)) != nil
        else { return nil }
        return id
    }

    /// Requeues a failed download, or pauses it if the request that revives it starts paused.
    private mutating func reopen(_ id: DownloadID, for request: DownloadRequest, at now: Duration) -> [Effect] {
        if journal != nil { scheduler.markUnsaved(id) }
        let begin = records[id]?.requested { $0.notBefore(at: now) }
        let actions = scheduler.resume(id, at: now, notBefore: begin)
        return effects(of: actions + (request.startsPaused ? scheduler.pause(id) : []))
    }

    /// Adds the expectations of another request to those of a download; appends the error to `refusals` if they
    /// contradict each other.
    private mutating func join(_ request: DownloadRequest, to twin: DownloadRecord, _ refusals: inout [DownloadError]) {
        do throws(DownloadError) {
            if try twin.takeExpectations(of: request) { recordRequest(of: twin.id) }
        } catch {
            // The file was verified after the additions were checked.
            refusals.append(error)
        }
    }

    /// Changes the position of a download in the queue, and records the change in the journal.
    mutating func move(_ id: DownloadID, to position: QueuePosition, at now: Duration) {
        let relabellings = scheduler.relabellings
        scheduler.move(id, to: position, at: now)
        if scheduler.relabellings != relabellings {
            recordAllLabels()
        } else if let label = scheduler.order.label(of: id) {
            journal?.note(.moved(id.rawValue, label: label))
        }
    }

    /// Changes the priority of a download, and records the change in the journal.
    mutating func setPriority(_ priority: Int, of id: DownloadID, at now: Duration) {
        guard let record = records[id] else { return }
        record.status.priority = DownloadPriority(rawValue: priority)
        scheduler.setPriority(priority, of: id, at: now)
        journal?.note(.priority(id.rawValue, priority))
    }

    /// Records a changed request in the journal.
    mutating func recordRequest(of id: DownloadID) {
        if let member = member(id) { journal?.recordRequest(of: member) }
    }

    private mutating func recordAllLabels() {
        guard journal != nil else { return }
        let labels = scheduler.ids.map { ($0.rawValue, scheduler.order.label(of: $0) ?? 0) }
        journal?.note(.relabelled(Dictionary(uniqueKeysWithValues: labels)))
    }

    private mutating func insert(_ record: DownloadRecord) {
        records[record.id] = record
        numbers.take(record.number)
        if let group = record.requested({ $0.group }) { groups[group, default: []].insert(record.id) }
    }

    private func newID() -> DownloadID {
        var id: DownloadID
        repeat { id = .random() } while records[id] != nil
        return id
    }

    // MARK: Decisions

    /// Converts the scheduler's actions to effects; `outcome` is the result of a transfer that has just ended.
    mutating func effects(of actions: [Scheduler.Action], _ outcome: TransferOutcome? = nil) -> [Effect] {
        var effects = actions.compactMap { effect(of: $0, outcome) }
        if let time = scheduler.nextTick(), !alarms.contains(where: { $0 <= time }) {
            alarms.insert(time)
            effects.append(.alarm(time))
        }
        return effects
    }

    /// Processes the outcome of a transfer; downloads that waited for the transfer's partial file may start.
    mutating func ended(
        _ id: DownloadID,
        _ outcome: TransferOutcome,
        _ measurement: TransferMeasurement? = nil,
        at now: Duration
    ) -> [Effect] {
        let (signal, path) = (signals[id], records[id]?.names.partialPath)
        defer { if signals[id] === signal { signals[id] = nil } }
        var effects = settled(id, outcome, measurement, at: now)
        let waiting = path.map { removals.ended($0, id) } ?? []
        if !waiting.isEmpty { effects.append(.release(waiting)) }
        return effects
    }

    private mutating func settled(
        _ id: DownloadID,
        _ outcome: TransferOutcome,
        _ measurement: TransferMeasurement?,
        at now: Duration
    ) -> [Effect] {
        if case .retry(let attempts, _) = outcome { self.attempts[id] = attempts }
        if case .failed(let error) = outcome, error.code == .credentialsMissing, records[id]?.lacksSecrets != true {
            // The credentials were supplied after the transfer had looked for them.
            return effects(of: scheduler.ended(id, .retry(at: now), at: now))
        }
        return effects(of: scheduler.ended(id, outcome.schedulerOutcome, measurement, at: now), outcome)
    }

    /// Starts the downloads whose start time has been reached, while slots are free.
    mutating func tick(at now: Duration) -> [Effect] {
        alarms = alarms.filter { $0 > now }
        return effects(of: scheduler.tick(at: now))
    }

    /// Records that a partial file was deleted; returns the latches to open, or none if another removal is pending.
    mutating func removed(_ record: DownloadRecord) -> [Latch] { removals.end(record.names.partialPath) }

    /// Whether a removal of the download's partial file is pending, for which the download must wait before it starts.
    func isRemoving(_ record: DownloadRecord) -> Bool {
        removals.isRemoving(record.names.partialPath, before: record.id)
    }

    /// Applies a change of the network path (`nil` if unknown).
    mutating func setPath(_ path: NetworkPath?) -> [Effect] {
        let blocked = scheduler.blockers
        let effects = effects(of: scheduler.setPath(path))
        for id in blocked.keys where scheduler.networkBlocker(of: id) == nil { records[id]?.status.unblock() }
        return effects
    }

    /// Interrupts all downloads that have not ended, and prevents further starts.
    mutating func shutDown() -> [Effect] { effects(of: scheduler.shutDown()) }

    private mutating func effect(of action: Scheduler.Action, _ outcome: TransferOutcome?) -> Effect? {
        switch action {
        case .start(let id):
            guard let record = records[id] else { return nil }
            let signal = StopSignal()
            signals[id] = signal
            journal?.note(id, .running)
            let removal = removals.follow(record.names.partialPath, before: id)
            return .start(
                Run(
                    record: record,
                    stop: signal,
                    attempts: attempts.removeValue(forKey: id),
                    removal: removal,
                    reportsHead: scheduler.needsHeads,
                    mayShareConnection: scheduler.mayShareConnection(id)
                )
            )
        case .stop(let id, let reason):
            if scheduler.isLeaving(id), let record = records[id] { yieldPath(record) }
            return signals[id].map { .stop($0, reason) }
        case .hold(let id, let blocker):
            return records[id].map { .publish($0, StateChange(.waiting, .waitingForNetwork(blocker))) }
        case .enter(let id, let phase, let discardingBytes):
            guard let record = records[id] else { return nil }
            // Evaluated first, since `enter` lets another download use the path.
            let removesPartial = discardingBytes && mayRemovePartial(of: record)
            let stateChange = enter(phase, record, outcome)
            return removesPartial ? removal(record, stateChange) : .publish(record, stateChange)
        case .remove(let id, let deletingFile):
            guard let record = remove(id) else { return nil }
            let file = if case .finished(let file) = outcome { file } else { record.finishedFile }
            // A finished download has no partial file: a partial file with its name belongs to a later download of
            // another queue or of the command-line tool.
            let hasPartial = file == nil && mayRemovePartial(of: record)
            // A download that has ended keeps its state.
            let isOpen = active[record.names.partialPath] === record || signals[id] != nil
            close(record)
            let stateChange = StateChange(isOpen ? .cancelled : nil, .removed)
            // The partial file of a cancelled transfer is deleted even if `deletingFile` is `false`.
            guard deletingFile else {
                let isAbandoned = hasPartial && signals[id]?.reason == .cancelled
                return isAbandoned ? removal(record, stateChange) : .publish(record, stateChange)
            }
            guard !hasPartial else { return removal(record, stateChange) }
            return .remove(Removal(record: record, partial: false, file: file, stateChange: stateChange))
        }
    }

    /// Whether a download's partial file may be removed: no other download uses it or may resume from it.
    private func mayRemovePartial(of record: DownloadRecord) -> Bool {
        let (path, id) = (record.names.partialPath, record.id)
        if let owner = removals.owner(of: path) { return owner == id }
        return active[path, default: record] === record && failed[path, default: id] == id
    }

    private mutating func removal(_ record: DownloadRecord, _ stateChange: StateChange) -> Effect {
        removals.begin(record.names.partialPath)
        return .remove(Removal(record: record, partial: true, file: nil, stateChange: stateChange))
    }

    private mutating func remove(_ id: DownloadID) -> DownloadRecord? {
        guard let record = records.removeValue(forKey: id) else { return nil }
        numbers.release(record.number)
        attempts.discard(id)
        journal?.note(.removed([id.rawValue]))
        if let group = record.requested({ $0.group }) {
            groups[group]?.remove(id)
            if groups[group]?.isEmpty == true { groups[group] = nil }
        }
        return record
    }

    private mutating func enter(
        _ phase: Scheduler.Phase,
        _ record: DownloadRecord,
        _ outcome: TransferOutcome?
    ) -> StateChange {
        if phase != .waiting { attempts.discard(record.id) }
        record.forgetFinishedFile()
        if phase != .waiting, phase != .running, phase != .paused { close(record) }
        switch phase {
        case .running: return StateChange(nil, nil)
        case .waiting:
            journal?.note(record.id, record.status.progress == DownloadProgress() ? .waiting : .requeued)
            reopen(record)
            return StateChange(.waiting, nil)
        case .paused:
            journal?.note(record.id, .paused)
            open.remove(record.id)
            return StateChange(.paused, .paused)
        case .finished:
            guard case .finished(let file) = outcome else { return StateChange(nil, nil) }
            record.finish(with: file)
            if let bases = journal?.bases {
                let path = RelocatablePath(file.url.filePath, bases: bases)
                // The stamp of a file that could not be inspected matches no file.
                let stamp = file.stamp ?? FileStamp(size: -1, modified: 0, inode: 0)
                journal?.note(record.id, file.wasThere ? .skipped(path, stamp) : .finished(path, stamp))
            }
            return StateChange(.finished(file.url), nil)
        case .failed:
            guard case .failed(let error) = outcome else { return StateChange(nil, nil) }
            let named = error.about(record.request.url)
            journal?.note(record.id, RegistryEntry.State(named))
            failed[record.names.partialPath] = record.id
            return StateChange(.failed(named), .failed(named))
        case .cancelled:
            journal?.note(record.id, .cancelled)
            return StateChange(.cancelled, .cancelled)
        case .interrupted:
            // The journal keeps the earlier state, so that the next manager resumes the download.
            let error = DownloadError.shutDown(record.request.url)
            return StateChange(.failed(error), .failed(error))
        }
    }

    /// Counts a download as waiting or running, and as the user of its partial file.
    private mutating func reopen(_ record: DownloadRecord) {
        activate(record)
        failed.discard(record.names.partialPath)
        open.insert(record.id)
    }

    private mutating func activate(_ record: DownloadRecord) {
        let path = record.names.partialPath
        active[path] = record
        // If the process is killed before the other download has stopped, the next manager must resume this one.
        if let other = removals.owner(of: path) { journal?.note(other, .cancelled) }
    }

    /// Allows another download of the same file to be added; it starts once this download has stopped.
    private mutating func yieldPath(_ record: DownloadRecord) {
        let path = record.names.partialPath
        guard active[path] === record else { return }
        active[path] = nil
        if !removals.yieldPath(path, record.id) { journal?.note(record.id, .cancelled) }
    }

    /// Records that a download has ended, so that its file can be downloaded again.
    private mutating func close(_ record: DownloadRecord) {
        let path = record.names.partialPath
        if let index = active.index(forKey: path), active.values[index] === record { active.remove(at: index) }
        if !failed.isEmpty, failed[path] == record.id { failed[path] = nil }
        open.remove(record.id)
    }
}

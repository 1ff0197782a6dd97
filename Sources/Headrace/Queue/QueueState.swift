import HeadracePlatform

/// The downloads of a manager and how they stand: what its scheduler decides, in terms of downloads.
///
/// A value behind the lock of ``DownloadQueue``; nothing in it waits or touches the disk.
struct QueueState {
    var queue: Scheduler
    var idleSubscribers = Subscribers<Never>()
    private(set) var records: [DownloadID: DownloadRecord] = [:]
    /// Those of the downloads, and of what is in the journal alone.
    private var numbers = DownloadNumbers()
    /// How many wait or run, and how many did so and have not been told yet that they do no more.
    private(set) var openCount = 0
    /// The signals of those that run.
    private var signals: [DownloadID: StopSignal] = [:]
    /// What is known of those that wait to be tried again.
    private(set) var attempts: [DownloadID: TransferState] = [:]
    /// Those that have not ended nor been told to for good, by the path of their partial: one file has one download.
    private var active: [String: DownloadRecord] = [:]
    /// The last of those that failed, by the path of their partial, which may go on with its bytes.
    private var failed: [String: DownloadID] = [:]
    /// Those that wait or run.
    private var open: Set<DownloadID> = []
    private var groups: [String: Set<DownloadID>] = [:]
    /// The finished files as they were when they got their names.
    private var finished: [DownloadID: FinishedFile] = [:]
    var removals = PartialRemovals()
    private(set) var turn: UInt64 = 0
    /// The times at which somebody calls ``tick(at:)``.
    private var alarms: Set<Duration> = []
    private let journal: QueueJournal?

    init(queue: Scheduler, journal: QueueJournal?) {
        self.queue = queue
        self.journal = journal
    }

    // MARK: Looking up

    /// The downloads that a verb is for, in the order of the list; throws `unknownDownload` for one that is not there,
    /// unless those are passed over.
    func ids(_ selection: DownloadSelection, skippingUnknown: Bool = false) throws(DownloadError) -> [DownloadID] {
        switch selection {
        case .all: return queue.ids
        case .downloads(let ids) where skippingUnknown: return ids.filter { records[$0] != nil }
        case .downloads(let ids):
            for id in ids where records[id] == nil { throw .unknown(id) }
            return ids
        case .group(let group):
            let ids = groups[group, default: []]
            return ids.count < 2 ? Array(ids) : queue.order.sorted(ids)
        case .url(let url): return queue.ids.filter { records[$0]?.requested { $0.url } == url }
        case .state(let kind): return queue.ids.filter { records[$0]?.status.state.kind == kind }
        }
    }

    /// Whether a download may wait for its turn again: not while another one has its file.
    func mayReopen(_ id: DownloadID) -> Bool {
        guard let record = records[id] else { return false }
        return active[record.names.partialPath, default: record] === record
    }

    func stamp(of id: DownloadID) -> FileStamp? { finished[id]?.stamp }

    // MARK: Coming in

    /// Takes over what an earlier run left.
    mutating func restore(_ list: RestoredQueue, observers: QueueObservers, at now: Duration) -> [Effect] {
        var items: [Scheduler.Item] = []
        numbers = DownloadNumbers((list.members.map(\.number) + list.leftOut.map(\.number)).compactMap(\.self))
        for member in list.members {
            let record = DownloadRecord(member, number: member.number ?? numbers.next, observers: observers)
            insert(record)
            finished[record.id] = member.file
            if let file = member.file { record.finished(with: file) }
            var item = Scheduler.Item(record, at: now)
            item.phase = member.state.phase
            item.label = member.label
            if !member.state.isEnded { active[record.names.partialPath] = record }
            if case .failed = member.state { failed[record.names.partialPath] = record.id }
            if member.state == .waiting { reopen(record) }
            items.append(item)
        }
        let actions = queue.add(items, at: now)
        for change in list.changes { journal?.note(change) }
        // A list that was damaged may have two downloads in one place.
        if list.members.contains(where: { $0.label != queue.order.label(of: $0.id) }) { recordAllLabels() }
        return effects(of: actions)
    }

    /// Adds downloads, or finds those that have the same file, which take over what they did not know of it.
    ///
    /// One that has failed without its secrets, or at the end of its link without a provider, is taken over by a request of this
    /// process, which may give them, and waits again.
    /// An identity that is given is that of one which another process has named, and is not added twice. Where one cannot be,
    /// nothing is changed; or all others are added, where it is passed over.
    mutating func add(
        _ additions: [Addition],
        skippingUnknown: Bool,
        observers: QueueObservers,
        at now: Duration
    ) -> Added {
        var items: [Scheduler.Item] = []
        var reopenings: [Effect] = []
        var (additions, refusals) = additions.divided { active[$0] }
        if !skippingUnknown, !refusals.isEmpty { additions = [] }
        queue.isGathering = true
        let records = additions.map { addition in
            let known = addition.id.flatMap { self.records[$0] }
            if let known {
                if active[known.names.partialPath] === known {
                    join(addition.request, to: known, &refusals)
                    return known
                }
                // It has ended since it was named, and is not compared any more.
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
            if addition.id == nil { reopenings += reopenTwin(of: record, at: now) }
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
        queue.isGathering = false
        let relabellings = queue.relabellings
        let actions = queue.add(items, at: now)
        if queue.relabellings != relabellings { recordAllLabels() }
        let new = items.map(\.id)
        if let journal, !new.isEmpty { journal.note(added: new.compactMap { member($0) }) }
        return Added(records: records, new: new, effects: reopenings + effects(of: actions), refusals: refusals)
    }

    /// Has the download of a file wait again, or be paused, that has failed without what the request brings; not where what is
    /// told of the file is another now.
    private mutating func reopenTwin(of record: DownloadRecord, at now: Duration) -> [Effect] {
        guard !failed.isEmpty else { return [] }
        let (path, request) = (record.names.partialPath, record.request)
        guard active[path] == nil, let id = failed[path], let twin = records[id], twin.canContinue(with: request),
            (try? twin.expectations(joinedBy: request.expectations)) != nil
        else { return [] }
        let actions = queue.resume(id, at: now, notBefore: twin.requested { $0.notBefore(at: now) })
        return effects(of: actions + (request.startsPaused ? queue.pause(id) : []))
    }

    /// Has a download take over what another request tells that its file has to be.
    private func join(_ request: DownloadRequest, to twin: DownloadRecord, _ refusals: inout [DownloadError]) {
        do throws(DownloadError) {
            if try twin.takeExpectations(of: request) { recordRequest(of: twin.id) }
        } catch {
            // Its file was compared a moment ago.
            refusals.append(error)
        }
    }

    /// Changes the place of a download that is in the list.
    mutating func move(_ id: DownloadID, to place: QueuePosition, at now: Duration) {
        let relabellings = queue.relabellings
        queue.move(id, to: place, at: now)
        if queue.relabellings != relabellings {
            recordAllLabels()
        } else if let label = queue.order.label(of: id) {
            journal?.note(.moved(id.rawValue, label: label))
        }
    }

    /// Changes the priority of a download that is in the list.
    mutating func setPriority(_ priority: Int, of id: DownloadID, at now: Duration) {
        queue.setPriority(priority, of: id, at: now)
        journal?.note(.priority(id.rawValue, priority))
    }

    /// Notes a request that is another one now.
    func recordRequest(of id: DownloadID) {
        if let member = member(id) { journal?.recordRequest(of: member) }
    }

    private func recordAllLabels() {
        guard let journal else { return }
        let labels = queue.ids.map { ($0.rawValue, queue.order.label(of: $0) ?? 0) }
        journal.note(.relabelled(Dictionary(uniqueKeysWithValues: labels)))
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

    /// What the queue's actions mean for the downloads; `outcome` is that of the transfer which has just ended.
    mutating func effects(of actions: [Scheduler.Action], _ outcome: TransferOutcome? = nil) -> [Effect] {
        var effects = actions.compactMap { effect(of: $0, outcome) }
        if let time = queue.nextTick(), !alarms.contains(where: { $0 <= time }) {
            alarms.insert(time)
            effects.append(.alarm(time))
        }
        return effects
    }

    /// Takes note of how a transfer ended.
    mutating func ended(_ id: DownloadID, _ outcome: TransferOutcome, at now: Duration) -> [Effect] {
        let (signal, path) = (signals[id], records[id]?.names.partialPath)
        defer { if signals[id] === signal { signals[id] = nil } }
        var effects = settled(id, outcome, at: now)
        let waiting = path.map { removals.ended($0, id) } ?? []
        if !waiting.isEmpty { effects.append(.release(waiting)) }
        return effects
    }

    private mutating func settled(_ id: DownloadID, _ outcome: TransferOutcome, at now: Duration) -> [Effect] {
        if case .retry(let attempts, _) = outcome { self.attempts[id] = attempts }
        if case .failed(let error) = outcome, error.code == .credentialsMissing, records[id]?.lacksSecrets != true {
            // They have been given since the transfer looked.
            return effects(of: queue.ended(id, .retry(at: now), at: now))
        }
        return effects(of: queue.ended(id, outcome.forQueue, at: now), outcome)
    }

    /// Takes note that time has passed.
    mutating func tick(at now: Duration) -> [Effect] {
        alarms = alarms.filter { $0 > now }
        return effects(of: queue.tick(at: now))
    }

    /// Takes note that a download was told that it waits or runs no more; true when it was the last one.
    mutating func closed() -> Bool {
        openCount -= 1
        return openCount == 0
    }

    private mutating func effect(of action: Scheduler.Action, _ outcome: TransferOutcome?) -> Effect? {
        switch action {
        case .start(let id):
            guard let record = records[id] else { return nil }
            let signal = StopSignal()
            signals[id] = signal
            journal?.note(id, .running)
            let run = Run(record: record, stop: signal, attempts: attempts.removeValue(forKey: id))
            // What was begun before and tried again goes on, and does not start.
            return .start(run, stateChange(.running, run.attempts == nil ? .started : nil))
        case .stop(let id, let reason):
            if queue.isLeaving(id), let record = records[id] { makeWay(record) }
            return signals[id].map { .stop($0, reason) }
        case .hold(let id, let blocker):
            return records[id].map { .publish($0, stateChange(.waiting, .waitingForNetwork(blocker))) }
        case .enter(let id, let phase, let discardingBytes):
            guard let record = records[id] else { return nil }
            // Before the path is free for another one.
            let removesPartial = discardingBytes && mayRemovePartial(of: record)
            let stateChange = enter(phase, record, outcome)
            return removesPartial ? removal(record, stateChange) : .publish(record, stateChange)
        case .remove(let id, let deletingFile):
            let file = if case .finished(let file) = outcome { file } else { finished[id] }
            guard let record = remove(id) else { return nil }
            // What has finished has none: the one of this name is of a download that another list or the tool has begun since.
            let hasPartial = file == nil && mayRemovePartial(of: record)
            // One that has ended stays what it became.
            let isOpen = active[record.names.partialPath] === record || signals[id] != nil
            let stateChange = close(record, stateChange(isOpen ? .cancelled : nil, .removed))
            // Bytes that its transfer was told to give up go in any case.
            guard deletingFile else {
                let isAbandoned = hasPartial && signals[id]?.reason == .cancelled
                return isAbandoned ? removal(record, stateChange) : .publish(record, stateChange)
            }
            return hasPartial ? removal(record, stateChange) : .remove(record, partial: false, file, stateChange)
        }
    }

    /// Whether no other download has its bytes in the same partial, or may go on with them.
    private func mayRemovePartial(of record: DownloadRecord) -> Bool {
        let (path, id) = (record.names.partialPath, record.id)
        if let owner = removals.owner(of: path) { return owner == id }
        return active[path, default: record] === record && failed[path, default: id] == id
    }

    private mutating func remove(_ id: DownloadID) -> DownloadRecord? {
        guard let record = records.removeValue(forKey: id) else { return nil }
        numbers.release(record.number)
        attempts.discard(id)
        finished.discard(id)
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
        finished.discard(record.id)
        switch phase {
        case .running: return stateChange(nil, nil)
        case .waiting:
            journal?.note(record.id, record.status.progress == DownloadProgress() ? .waiting : .requeued)
            reopen(record)
            return stateChange(.waiting, nil)
        case .paused:
            journal?.note(record.id, .paused)
            var stateChange = stateChange(.paused, .paused)
            stateChange.closes = open.remove(record.id) != nil
            return stateChange
        case .finished:
            guard case .finished(let file) = outcome else { return close(record, stateChange(nil, nil)) }
            finished[record.id] = file
            record.finished(with: file)
            if let journal {
                let path = RelocatablePath(file.url.filePath, bases: journal.bases)
                // Of a file that could not be looked at nothing is known later either.
                let stamp = file.stamp ?? FileStamp(size: -1, modified: 0, inode: 0)
                journal.note(record.id, file.wasThere ? .skipped(path, stamp) : .finished(path, stamp))
            }
            return close(record, stateChange(.finished(file.url), nil))
        case .failed:
            guard case .failed(let error) = outcome else { return close(record, stateChange(nil, nil)) }
            let named = error.about(record.request.url)
            journal?.note(record.id, RegistryEntry.State(named))
            defer { failed[record.names.partialPath] = record.id }
            return close(record, stateChange(.failed(named), .failed(named)))
        case .cancelled:
            journal?.note(record.id, .cancelled)
            return close(record, stateChange(.cancelled, .cancelled))
        case .interrupted:
            // In the journal it stays what it was, to be gone on with by the next manager.
            let error = DownloadError.shutDown(record.request.url)
            return close(record, stateChange(.failed(error), .failed(error)))
        }
    }

    /// Counts a download among those that wait or run.
    private mutating func reopen(_ record: DownloadRecord) {
        activate(record)
        failed.discard(record.names.partialPath)
        if open.insert(record.id).inserted { openCount += 1 }
    }

    private mutating func activate(_ record: DownloadRecord) {
        let path = record.names.partialPath
        active[path] = record
        // The next manager is to go on with this one, if this run is killed before that has ended.
        if let other = removals.owner(of: path) { journal?.note(other, .cancelled) }
    }

    /// Leaves room for another download of the same file, which begins when this one has ended.
    private mutating func makeWay(_ record: DownloadRecord) {
        let path = record.names.partialPath
        guard active[path] === record else { return }
        active[path] = nil
        if !removals.makeWay(path, record.id) { journal?.note(record.id, .cancelled) }
    }

    /// Leaves room for another download of the same file.
    private mutating func close(_ record: DownloadRecord, _ stateChange: StateChange) -> StateChange {
        let path = record.names.partialPath
        if let index = active.index(forKey: path), active.values[index] === record { active.remove(at: index) }
        if !failed.isEmpty, failed[path] == record.id { failed[path] = nil }
        var stateChange = stateChange
        stateChange.closes = open.remove(record.id) != nil
        return stateChange
    }

    private mutating func stateChange(_ state: DownloadState?, _ event: DownloadEvent?) -> StateChange {
        turn += 1
        return StateChange(state: state, event: event, turn: turn)
    }
}

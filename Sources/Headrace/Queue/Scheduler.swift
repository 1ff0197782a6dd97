/// Decides which downloads run: limits for all and for each host, priorities, the order of the list, not-before times, and
/// the network.
///
/// The one gate: whatever starts, starts here, so that no verb can go over a limit. The verbs are those of a user and of
/// the transfers; each returns what is to be done, in order. Time comes in as the time since a fixed moment.
///
///     waiting ──── a place is free ───▶ running ── ended ──▶ finished, failed
///       ▲ │                              │   │
///       │ └─ pause ──▶ paused ◀── pause ─┘   ├─ demoted, to be tried again later ──▶ waiting
///       └─ resume ─────┘                     └─ cancel ──▶ cancelled
///
/// A download that is told to stop keeps its place among the running until its transfer has ended, so that the next one
/// never runs beside it.
struct Scheduler: Sendable {
    typealias ID = DownloadID

    private(set) var limit: Int
    private(set) var hostLimit: Int?
    private(set) var order = QueueOrder()
    private(set) var isShutDown = false
    /// How often all labels of the order have become new ones.
    private(set) var relabellings = 0
    /// Whether several verbs are one decision, after which ``startNext()`` follows.
    var isGathering = false
    private(set) var entries: [ID: Entry] = [:]
    /// The times that downloads wait for; apart from the entries, since few do.
    private(set) var notBefore: [ID: Duration] = [:]
    /// The running ones, with the order in which they began.
    private var startNumbers: [ID: Int] = [:]
    private var starts = 0
    private var lastGeneration: UInt64 = 0
    /// What was put into the heaps since they were last rid of what is void.
    private var insertions = 0
    /// Those that may run as soon as there is a place.
    private var ready = Heap<Candidate>()
    /// Those that were next, but for their host, which has as many as it may.
    private var held: [Hosts.Number: Heap<Candidate>] = [:]
    private var delayed = Heap<Delayed>()
    private var gate: NetworkAdmission
    /// Those that were next, but for the network.
    private var barred: [Candidate] = []
    /// What keeps each of those.
    private(set) var blockers: [ID: NetworkBlocker] = [:]
    private var hosts = Hosts()
    let descriptors: DescriptorShare

    init(
        limit: Int,
        hostLimit: Int? = nil,
        gate: NetworkAdmission = NetworkAdmission(),
        descriptors: DescriptorShare = .unlimited
    ) {
        self.limit = limit
        self.hostLimit = hostLimit
        self.gate = gate
        self.descriptors = descriptors
    }

    var ids: [ID] { order.ids }
    var running: Set<ID> { Set(startNumbers.keys) }

    /// What the heaps hold, with what is void of it.
    var candidateCount: Int { ready.count + delayed.count + barred.count + held.values.reduce(0) { $0 + $1.count } }

    /// How many hosts are known.
    var hostCount: Int { hosts.count }

    func phase(of id: ID) -> Phase? { entries[id]?.phase }
    func isPausing(_ id: ID) -> Bool { entries[id]?.intent == .pause }
    /// Whether it runs only until it has stopped for good.
    func isLeaving(_ id: ID) -> Bool { entries[id]?.intent.map { $0 >= .cancel } ?? false }
    func priority(of id: ID) -> Int? { entries[id]?.priority }
    func networkBlocker(of id: ID) -> NetworkBlocker? { blockers[id] }
    func waitEnd(of id: ID) -> Duration? { entries[id]?.phase == .waiting ? notBefore[id] : nil }

    // MARK: The list

    mutating func add(_ items: [Item], at now: Duration) -> [Action] {
        for item in items where entries[item.id] == nil {
            entries[item.id] = Entry(
                priority: item.priority,
                host: hosts.added(item.host),
                phase: item.phase,
                need: item.need
            )
            if let time = item.notBefore { notBefore[item.id] = time }
            if order.append(item.id, label: item.label) {
                relabelled(at: now)
            } else {
                enqueue(item.id, at: now)
            }
        }
        return startNext()
    }

    /// Changes the place in the list, and with it when the download runs; one that runs goes on.
    mutating func move(_ id: ID, to place: QueuePosition, at now: Duration) {
        guard entries[id] != nil else { return }
        if order.insert(id, at: place) {
            relabelled(at: now)
        } else {
            enqueue(id, at: now)
        }
    }

    /// All that wait are looked for under other labels.
    private mutating func relabelled(at now: Duration) {
        relabellings += 1
        for id in order.ids { enqueue(id, at: now) }
    }

    mutating func setPriority(_ priority: Int, of id: ID, at now: Duration) {
        guard entries[id] != nil else { return }
        entries[id]?.priority = priority
        enqueue(id, at: now)
    }

    /// Takes a download out of the list, whatever it does.
    mutating func remove(_ id: ID, deletingFile: Bool) -> [Action] {
        guard let entry = entries[id] else { return [] }
        guard entry.phase != .running else { return stop(id, .remove(deletingFile: deletingFile)) }
        return forget(id, deletingFile: deletingFile)
    }

    // MARK: What the user wants of a download

    mutating func pause(_ id: ID) -> [Action] {
        switch entries[id]?.phase {
        case .waiting: enter(.paused, id)
        case .running: stop(id, .pause)
        default: []
        }
    }

    /// Has a download wait for its turn, also one that failed or was cancelled.
    ///
    /// Of one that waits for a time, the time has come. Its place in the list stays.
    mutating func resume(_ id: ID, at now: Duration, notBefore: Duration? = nil) -> [Action] {
        switch entries[id]?.phase {
        case .running:
            // Before it has stopped, the pause can be taken back; the transfer ends all the same.
            if isPausing(id), !isShutDown { entries[id]?.intent = .requeue }
            return []
        case .waiting, .paused, .failed, .cancelled, .interrupted:
            return requeue(id, notBefore: notBefore, at: now)
        case .finished, nil:
            return []
        }
    }

    /// Fetches a finished download again.
    mutating func restart(_ id: ID, at now: Duration) -> [Action] {
        entries[id]?.phase == .finished ? requeue(id, at: now) : []
    }

    /// Cancels a download, which is no failure; does nothing to one that is finished.
    mutating func cancel(_ id: ID) -> [Action] {
        switch entries[id]?.phase {
        case .running: stop(id, .cancel)
        case .waiting, .paused, .failed, .interrupted: enter(.cancelled, id, discardingBytes: true)
        case .finished, .cancelled, nil: []
        }
    }

    // MARK: Limits, time and the network

    /// Changes the limit for all together; where it is lowered, the newest of the running ones go back to waiting.
    mutating func setLimit(_ limit: Int) -> [Action] {
        self.limit = max(1, limit)
        return demote(from: active, to: self.limit) + startNext()
    }

    /// Changes the limit for each host; nil is none.
    mutating func setHostLimit(_ limit: Int?) -> [Action] {
        hostLimit = limit.map { max(1, $0) }
        for host in Array(held.keys) { release(host) }
        guard let hostLimit else { return startNext() }
        let ofHosts = Dictionary(grouping: active) { entries[$0]?.host ?? 0 }
        return ofHosts.sorted { $0.key < $1.key }.flatMap { demote(from: $0.value, to: hostLimit) } + startNext()
    }

    /// Takes over the path of the network: those that may not run on it any more wait, and those whose connections may be of
    /// no use on it make new ones.
    mutating func setPath(_ path: NetworkPath?) -> [Action] {
        let needsConnections = gate.update(path)
        let stopped = active.filter { id in
            guard let need = entries[id]?.need else { return false }
            return gate.blocker(for: need) != nil || needsConnections && !need.isLoopback
        }
        let actions = stopped.flatMap { stop($0, .requeue, because: .networkChanged) }
        for candidate in barred { ready.insert(candidate) }
        barred = []
        blockers = blockers.filter { id, blocker in
            entries[id].map { gate.blocker(for: $0.need) } == blocker
        }
        return actions + startNext()
    }

    /// Takes note that time has passed.
    mutating func tick(at now: Duration) -> [Action] {
        admitDelayed(at: now)
        return startNext()
    }

    /// Those whose time has come wait for nothing but a place.
    private mutating func admitDelayed(at now: Duration) {
        while let first = delayed.min, first.time <= now {
            _ = delayed.popMin()
            guard entries[first.id]?.generation == first.generation else { continue }
            notBefore[first.id] = nil
            enqueue(first.id, at: now)
        }
    }

    /// When ``tick(at:)`` is wanted next; nil where nobody waits for a time.
    mutating func nextTick() -> Duration? {
        while let first = delayed.min {
            if entries[first.id]?.generation == first.generation { return first.time }
            _ = delayed.popMin()
        }
        return nil
    }

    // MARK: What transfers tell

    /// Takes note that a transfer has ended; does nothing for one that does not run.
    mutating func ended(_ id: ID, _ outcome: Outcome, at now: Duration) -> [Action] {
        guard startNumbers.removeValue(forKey: id) != nil, let entry = entries[id] else { return [] }
        if entry.intent != nil { entries[id]?.intent = nil }
        descriptors.transferEnded()
        hosts[entry.host] -= 1
        release(entry.host)
        admitDelayed(at: now)
        return settle(id, entry.intent, outcome, at: now) + startNext()
    }

    private mutating func settle(_ id: ID, _ intent: Intent?, _ outcome: Outcome, at now: Duration) -> [Action] {
        switch (intent, outcome) {
        case (.remove(let deletingFile), _): return forget(id, deletingFile: deletingFile)
        case (_, .finished): return enter(.finished, id)
        case (.cancel, .stopped(keptBytes: false)), (nil, .stopped): return enter(.cancelled, id)
        case (.cancel, _): return enter(.cancelled, id, discardingBytes: true)
        case (.interrupt, _): return enter(.interrupted, id)
        case (.pause, _): return enter(.paused, id) + (isShutDown ? enter(.interrupted, id) : [])
        case (.requeue, .failed), (nil, .failed): return enter(.failed, id)
        case (.requeue, .retry(let time)), (nil, .retry(let time)): return requeue(id, notBefore: time, at: now)
        case (.requeue, .stopped): return requeue(id, at: now)
        }
    }

    /// Ends all that has not ended; nothing starts any more, and what is to be paused stays so for the next manager.
    mutating func shutDown() -> [Action] {
        isShutDown = true
        let idle = order.ids.filter { entries[$0]?.phase == .waiting || entries[$0]?.phase == .paused }
        let running = inOrderOfStart(startNumbers.keys.filter { !isPausing($0) })
        return idle.flatMap { enter(.interrupted, $0) } + running.flatMap { stop($0, .interrupt) }
    }

    // MARK: Steps

    /// The running ones that have not been told to stop.
    var active: [ID] { inOrderOfStart(startNumbers.keys.filter { entries[$0]?.intent == nil }) }

    private func inOrderOfStart(_ ids: some Sequence<ID>) -> [ID] {
        ids.sorted { startNumbers[$0, default: 0] < startNumbers[$1, default: 0] }
    }

    private mutating func enter(_ phase: Phase, _ id: ID, discardingBytes: Bool = false) -> [Action] {
        setPhase(phase, of: id)
        notBefore.discard(id)
        return [.enter(id, phase, discardingBytes: discardingBytes)]
    }

    private mutating func setPhase(_ phase: Phase, of id: ID) {
        lastGeneration += 1
        entries[id]?.enter(phase, generation: lastGeneration)
        blockers.discard(id)
    }

    private mutating func requeue(_ id: ID, notBefore time: Duration? = nil, at now: Duration) -> [Action] {
        let actions = entries[id]?.phase == .waiting ? [] : enter(.waiting, id)
        notBefore[id] = time
        enqueue(id, at: now)
        return actions + startNext()
    }

    /// Tells a running download to stop; what outranks this was asked already, and holds.
    mutating func stop(
        _ id: ID,
        _ intent: Intent,
        because reason: StopSignal.Reason = .demoted
    ) -> [Action] {
        guard let entry = entries[id], entry.intent.map({ !(intent < $0) && $0 != intent }) ?? true else { return [] }
        entries[id]?.intent = intent
        switch intent {
        case .requeue: return [.stop(id, reason)]
        case .pause, .remove(deletingFile: false): return [.stop(id, .paused)]
        case .interrupt: return [.stop(id, .shutDown)]
        case .cancel, .remove(deletingFile: true): return [.stop(id, .cancelled)]
        }
    }

    private mutating func demote(from candidates: [ID], to limit: Int) -> [Action] {
        candidates.dropFirst(limit).reversed().flatMap { stop($0, .requeue) }
    }

    private mutating func forget(_ id: ID, deletingFile: Bool) -> [Action] {
        // What the heaps have of it is void, also for the next host of that number.
        if let entry = entries.removeValue(forKey: id), hosts.removed(entry.host) { held[entry.host] = nil }
        notBefore.discard(id)
        blockers.discard(id)
        order.remove(id)
        return [.remove(id, deletingFile: deletingFile)]
    }

    /// Puts a waiting download where it is looked for, in place of where it was.
    private mutating func enqueue(_ id: ID, at now: Duration) {
        guard var entry = entries[id], entry.phase == .waiting, let label = order.label(of: id) else { return }
        lastGeneration += 1
        entry.generation = lastGeneration
        if let time = notBefore[id], time > now {
            delayed.insert(Delayed(time: time, id: id, generation: entry.generation))
        } else {
            notBefore.discard(id)
            ready.insert(Candidate(id, entry, label: label))
        }
        entries[id] = entry
        insertions += 1
        if insertions > 2 * entries.count + 1000 { dropVoid() }
    }

    private func isCurrent(_ candidate: Candidate) -> Bool {
        entries[candidate.id]?.generation == candidate.generation
    }

    /// Bounds what a download costs whose priority changes all the time.
    private mutating func dropVoid() {
        let entries = entries
        let isCurrent: (Candidate) -> Bool = { entries[$0.id]?.generation == $0.generation }
        ready.filter(isCurrent)
        barred = barred.filter(isCurrent)
        for host in Array(held.keys) {
            held[host]?.filter(isCurrent)
            release(host)
        }
        delayed.filter { entries[$0.id]?.generation == $0.generation }
        insertions = 0
    }

    /// Starts those whose turn it is, as far as there are places.
    mutating func startNext() -> [Action] {
        guard !isShutDown, !isGathering else { return [] }
        var actions: [Action] = []
        while startNumbers.count < limit, let candidate = ready.popMin() {
            guard let entry = entries[candidate.id], entry.generation == candidate.generation else {
                // It may have been the one that its host had room for.
                release(candidate.host)
                continue
            }
            if let blocker = gate.blocker(for: entry.need) {
                barred.append(candidate)
                release(candidate.host)
                if blockers.updateValue(blocker, forKey: candidate.id) != blocker {
                    actions.append(.hold(candidate.id, blocker))
                }
                continue
            }
            guard hosts[entry.host] < hostLimit ?? .max else {
                held[entry.host, default: Heap()].insert(candidate)
                continue
            }
            guard descriptors.admit(isOnly: startNumbers.isEmpty) else {
                ready.insert(candidate)
                break
            }
            starts += 1
            startNumbers[candidate.id] = starts
            setPhase(.running, of: candidate.id)
            hosts[entry.host] += 1
            actions.append(.start(candidate.id))
        }
        return actions
    }

    /// Lets the first of those that were held for their host try again, as many as there is room for.
    private mutating func release(_ host: Hosts.Number) {
        guard var waiting = held[host] else { return }
        var room = (hostLimit ?? .max) - hosts[host]
        while room > 0, let candidate = waiting.popMin() {
            guard isCurrent(candidate) else { continue }
            ready.insert(candidate)
            room -= 1
        }
        held[host] = waiting.count == 0 ? nil : waiting
    }
}

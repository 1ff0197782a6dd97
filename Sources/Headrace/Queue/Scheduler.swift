/// Decides which downloads run, by the total and per-host limits, priorities, queue order, start times and the network.
///
/// Every start of a download is decided here, so that no operation can exceed a limit. Each operation returns the
/// actions to perform, in order. Times are durations since the origin of the manager's clock.
///
///     waiting ──── a slot is free ────▶ running ── ended ──▶ finished, failed
///       ▲ │                              │   │
///       │ └─ pause ──▶ paused ◀── pause ─┘   ├─ demoted, or to be retried ──▶ waiting
///       └─ resume ─────┘                     └─ cancel ──▶ cancelled
///
/// A download that is being stopped occupies its slot until its transfer has stopped, so that the limits still hold.
struct Scheduler: Sendable {
    typealias ID = DownloadID

    private(set) var limits: RunningLimits
    private(set) var order = QueueOrder()
    private(set) var isShutDown = false
    /// The number of times that all downloads got new labels in ``order``.
    private(set) var relabellings = 0
    /// Whether several operations are combined into one decision: while this is `true`, no download starts.
    var isGathering = false
    private(set) var entries: [ID: Entry] = [:]
    private(set) var waiting = WaitingDownloads()
    /// For each running download, the number of its start, counted over all downloads.
    private(set) var startNumbers: [ID: Int] = [:]
    private var starts = 0
    private(set) var gate: NetworkAdmission
    private(set) var hosts = QueueHosts()
    let descriptors: DescriptorShare

    init(_ limits: RunningLimits, gate: NetworkAdmission, descriptors: DescriptorShare = .unlimited) {
        (self.limits, self.gate, self.descriptors) = (limits, gate, descriptors)
    }

    // MARK: The queue

    /// Adds downloads; those that are not saved yet start only after ``saved(_:at:)``.
    mutating func add(_ items: [Item], isSaved: Bool = true, at now: Duration) -> [Action] {
        for item in items where entries[item.id] == nil {
            entries[item.id] = Entry(
                priority: item.priority,
                host: hosts.added(item.host),
                phase: item.phase,
                need: item.need,
                mayRepeat: item.mayRepeat,
                isSaved: isSaved
            )
            if let time = item.notBefore { waiting.startTimes[item.id] = time }
            if order.append(item.id, label: item.label) { relabelled(at: now) } else { enqueue(item.id, at: now) }
        }
        return startNext()
    }

    /// Prevents a failed download that is about to be requeued from starting before ``saved(_:at:)``.
    mutating func markUnsaved(_ id: ID) { entries[id]?.isSaved = false }

    /// Fails a revived download that could not be saved, if it is still waiting or paused.
    mutating func failUnsaved(_ id: ID) -> [Action] {
        guard let entry = entries[id], !entry.isSaved else { return [] }
        entries[id]?.isSaved = true
        return [.waiting, .paused].contains(entry.phase) ? enter(.failed, id) : []
    }

    /// Lets downloads start that could not start because they were not saved.
    mutating func saved(_ ids: [ID], at now: Duration) -> [Action] {
        for id in ids where entries[id]?.isSaved == false {
            entries[id]?.isSaved = true
            enqueue(id, at: now)
        }
        return startNext()
    }

    /// Changes the position of a download in the queue; a running download continues.
    mutating func move(_ id: ID, to position: QueuePosition, at now: Duration) {
        guard entries[id] != nil else { return }
        if order.insert(id, at: position) { relabelled(at: now) } else { enqueue(id, at: now) }
    }

    /// Inserts all waiting downloads again, because their labels in ``order`` have changed.
    private mutating func relabelled(at now: Duration) {
        relabellings += 1
        for id in order.ids { enqueue(id, at: now) }
    }

    mutating func setPriority(_ priority: Int, of id: ID, at now: Duration) {
        entries[id]?.priority = priority
        enqueue(id, at: now)
    }

    /// Applies the host and the network requirement of a download's new URL; a running download restarts with that URL.
    mutating func relink(_ id: ID, to name: String, _ need: NetworkRequirement, at now: Duration) -> [Action] {
        guard let entry = entries[id] else { return [] }
        entries[id]?.need = need
        entries[id]?.nextHost = hosts.added(name)
        if let unused = entry.nextHost { leave(unused) }
        guard entry.phase != .running else { return entry.intent == nil ? stop(id, .requeue, because: .relinked) : [] }
        changeHost(of: id)
        enqueue(id, at: now)
        return startNext()
    }

    /// Replaces a download's host with that of its new URL, if a new one is pending.
    ///
    /// Must not be called during a transfer from the old host.
    private mutating func changeHost(of id: ID) {
        guard let entry = entries[id], let host = entry.nextHost else { return }
        entries[id]?.host = host
        entries[id]?.nextHost = nil
        leave(entry.host)
    }

    /// Records that a host has one download fewer, and lets its other downloads use free slots.
    private mutating func leave(_ host: QueueHosts.Number) {
        // The number of a host without downloads is reused: the next host must not inherit the stale heap elements.
        if hosts.removed(host) { waiting.removeHost(host) } else { release(host) }
    }

    /// Removes a download from the queue; a running download is stopped first.
    mutating func remove(_ id: ID, deletingFile: Bool) -> [Action] {
        guard let entry = entries[id] else { return [] }
        guard entry.phase != .running else { return stop(id, .remove(deletingFile: deletingFile)) }
        return forget(id, deletingFile: deletingFile)
    }

    // MARK: User operations

    mutating func pause(_ id: ID) -> [Action] {
        switch entries[id]?.phase {
        case .waiting: enter(.paused, id)
        case .running: stop(id, .pause)
        default: []
        }
    }

    /// Requeues a waiting, paused, failed, cancelled or interrupted download at its position.
    ///
    /// Replaces the download's start time with `notBefore`; with `nil`, the download may start at once.
    ///
    /// A running download that is stopping for a pause is requeued once its transfer has stopped. Other running
    /// downloads, and finished ones, do not change.
    mutating func resume(_ id: ID, at now: Duration, notBefore: Duration? = nil) -> [Action] {
        switch entries[id]?.phase {
        case .running:
            // A download that is stopping for a pause is requeued once its transfer has stopped.
            if isPausing(id), !isShutDown { entries[id]?.intent = .requeue }
            return []
        case .waiting, .paused, .failed, .cancelled, .interrupted:
            return requeue(id, notBefore: notBefore, at: now)
        case .finished, nil:
            return []
        }
    }

    /// Requeues a finished download, so that its file is downloaded again.
    mutating func restart(_ id: ID, at now: Duration) -> [Action] {
        entries[id]?.phase == .finished ? requeue(id, at: now) : []
    }

    /// Cancels a download; does nothing if it has finished.
    mutating func cancel(_ id: ID) -> [Action] {
        switch entries[id]?.phase {
        case .running: stop(id, .cancel)
        case .waiting, .paused, .failed, .interrupted: enter(.cancelled, id, discardingBytes: true)
        case .finished, .cancelled, nil: []
        }
    }

    /// Requeues a running download of lower priority if the download `id` is waiting only for a free slot.
    ///
    /// Chooses the one with the lowest priority or, if several have it, the one that started last. Skips downloads
    /// whose request must not be repeated.
    mutating func preempt(for id: ID) -> [Action] {
        guard let entry = entries[id], entry.phase == .waiting, waiting.startTimes[id] == nil,
            networkBlocker(of: id) == nil
        else { return [] }
        let isHostFull = active.count { entries[$0]?.host == entry.host } >= limit(of: entry.host)
        guard isHostFull || active.count >= limits.total || descriptors.isFull else { return [] }
        // If the host is at its limit, only a slot of the same host helps.
        let victims = active.filter(mayRequeue).reversed().filter { id in
            guard let other = entries[id], !isHostFull || other.host == entry.host else { return false }
            return other.priority < entry.priority
        }
        let victim = victims.min { entries[$0]?.priority ?? 0 < entries[$1]?.priority ?? 0 }
        return victim.map { stop($0, .requeue) } ?? []
    }

    // MARK: Limits, time and the network

    /// Changes the limit of running downloads to at least 1; if it is lowered, the downloads that started last are
    /// requeued, except for requests that must not be repeated.
    ///
    /// With `concurrency`, the limit is chosen automatically, up to the given one.
    mutating func setLimit(_ limit: Int, _ concurrency: DownloadConcurrency? = nil) -> [Action] {
        limits.maximum = max(1, limit)
        limits.concurrency = concurrency
        releaseHosts()
        return demote(from: active, to: limits.maximum) + startNext()
    }

    /// Changes the limit of running downloads per host (`nil` for none) like ``setLimit(_:_:)``.
    mutating func setHostLimit(_ limit: Int?) -> [Action] {
        limits.perHost = limit.map { max(1, $0) }
        releaseHosts()
        guard let limit = limits.perHost else { return startNext() }
        let ofHosts = Dictionary(grouping: active) { entries[$0]?.host ?? 0 }
        return ofHosts.sorted { $0.key < $1.key }.flatMap { demote(from: $0.value, to: limit) } + startNext()
    }

    /// Applies a change of the network path (`nil` if unknown): requeues the running downloads that the network does
    /// not admit, or whose connections the change may have broken.
    mutating func setPath(_ path: NetworkPath?) -> [Action] {
        let needsConnections = gate.update(path)
        let stopped = active.filter { id in
            guard let entry = entries[id] else { return false }
            let blocker = gate.blocker(for: entry.need)
            // Another request must not replace a connection that may have survived.
            guard entry.mayRepeat else { return ![nil, .offline].contains(blocker) }
            return blocker != nil || needsConnections && !entry.need.isLoopback
        }
        let actions = stopped.flatMap { stop($0, .requeue, because: .networkChanged) }
        waiting.networkChanged { [entries, gate] id, blocker in
            entries[id].map { gate.blocker(for: $0.need) } == blocker
        }
        return actions + startNext()
    }

    /// Starts the downloads whose start time has been reached, or whose host may accept more again, while slots are free.
    mutating func tick(at now: Duration) -> [Action] {
        for host in waiting.hosts where limits.concurrency?.probe(hosts.name(host), at: now) == true { release(host) }
        waiting.admitDelayed(at: now)
        return startNext()
    }

    /// Returns the time at which ``tick(at:)`` must be called next; `nil` if no download waits for a time.
    mutating func nextTick() -> Duration? {
        [waiting.nextStartTime(), limits.nextProbe(of: waiting.hosts.map(hosts.name))].compactMap(\.self).min()
    }

    // MARK: Transfers

    /// Processes the first response head of a running download; `size` is the length of its body, `nil` if unknown.
    mutating func received(headOf size: Int64?, of id: ID, isMultiplexed: Bool) -> [Action] {
        guard startNumbers[id] != nil, let host = entries[id]?.host else { return [] }
        limits.concurrency?.received(headOf: size, from: hosts.name(host), isMultiplexed: isMultiplexed)
        release(host)
        return startNext()
    }

    /// Processes the outcome of a transfer; does nothing if the download is not running.
    mutating func ended(
        _ id: ID,
        _ outcome: Outcome,
        _ measurement: TransferMeasurement? = nil,
        at now: Duration
    ) -> [Action] {
        let isFull = startNumbers.count >= limits.total
        guard startNumbers.removeValue(forKey: id) != nil, let entry = entries[id] else { return [] }
        if entry.intent != nil { entries[id]?.intent = nil }
        descriptors.transferEnded()
        hosts[entry.host] -= 1
        if let measurement {
            let (host, load) = (hosts.name(entry.host), (running: hosts[entry.host], isFull: isFull))
            limits.concurrency?.ended(measurement, from: host, load: load, at: now)
        }
        release(entry.host)
        changeHost(of: id)
        waiting.admitDelayed(at: now)
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

    /// Interrupts all downloads that have not ended, and prevents further starts.
    ///
    /// Downloads that are being paused are recorded as paused for the next run.
    mutating func shutDown() -> [Action] {
        isShutDown = true
        let idle = order.ids.filter { entries[$0]?.phase == .waiting || entries[$0]?.phase == .paused }
        let running = inOrderOfStart(startNumbers.keys.filter { !isPausing($0) })
        return idle.flatMap { enter(.interrupted, $0) } + running.flatMap { stop($0, .interrupt) }
    }

    // MARK: Steps

    /// The running downloads that are not being stopped, in the order in which they started.
    var active: [ID] { inOrderOfStart(startNumbers.keys.filter { entries[$0]?.intent == nil }) }

    private func inOrderOfStart(_ ids: some Sequence<ID>) -> [ID] {
        ids.sorted { startNumbers[$0, default: 0] < startNumbers[$1, default: 0] }
    }

    private mutating func enter(_ phase: Phase, _ id: ID, discardingBytes: Bool = false) -> [Action] {
        setPhase(phase, of: id)
        return [.enter(id, phase, discardingBytes: discardingBytes)]
    }

    private mutating func setPhase(_ phase: Phase, of id: ID) {
        entries[id]?.phase = phase
        waiting.remove(id)
    }

    private mutating func requeue(_ id: ID, notBefore time: Duration? = nil, at now: Duration) -> [Action] {
        let actions = entries[id]?.phase == .waiting ? [] : enter(.waiting, id)
        waiting.startTimes[id] = time
        enqueue(id, at: now)
        return actions + startNext()
    }

    /// Stops a running download, unless it is already being stopped for the same or a higher-ranking intent.
    private mutating func stop(_ id: ID, _ intent: Intent, because reason: StopSignal.Reason = .demoted) -> [Action] {
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
        candidates.filter(mayRequeue).suffix(max(0, candidates.count - limit)).reversed().flatMap { stop($0, .requeue) }
    }

    /// Whether the request of a running download may be sent again.
    private func mayRequeue(_ id: ID) -> Bool { entries[id]?.mayRepeat ?? false }

    private mutating func forget(_ id: ID, deletingFile: Bool) -> [Action] {
        waiting.remove(id)
        order.remove(id)
        if let entry = entries.removeValue(forKey: id) { leave(entry.host) }
        return [.remove(id, deletingFile: deletingFile)]
    }

    /// Inserts a download into ``waiting`` at its present priority and position, if it is waiting and saved.
    private mutating func enqueue(_ id: ID, at now: Duration) {
        guard let entry = entries[id], entry.phase == .waiting, entry.isSaved, let label = order.label(of: id) else {
            return
        }
        waiting.insert(.init(id, priority: entry.priority, label: label, host: entry.host), at: now)
        guard waiting.isCluttered else { return }
        waiting.removeStaleElements()
        releaseHosts()
    }

    /// Starts the next downloads while slots are free.
    mutating func startNext() -> [Action] {
        guard !isShutDown, !isGathering else { return [] }
        var actions: [Action] = []
        while startNumbers.count < limits.total, let candidate = waiting.popReady() {
            guard waiting.isCurrent(candidate), let entry = entries[candidate.id] else {
                // The stale candidate may have been released for a free slot of its host, which another can use.
                release(candidate.host)
                continue
            }
            if let blocker = gate.blocker(for: entry.need) {
                if waiting.waitForNetwork(candidate, blocker) { actions.append(.hold(candidate.id, blocker)) }
                release(candidate.host)
                continue
            }
            guard hosts[entry.host] < limit(of: entry.host) else {
                waiting.waitForHost(candidate)
                continue
            }
            guard descriptors.admit(isOnly: startNumbers.isEmpty) else {
                waiting.waitForSlot(candidate)
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

    private func limit(of host: QueueHosts.Number) -> Int { limits.limit(of: hosts.name(host)) }

    private mutating func releaseHosts() {
        for host in waiting.hosts { release(host) }
    }

    /// Lets downloads that wait for a slot of a host wait for any free slot, as many as the host's limit allows.
    private mutating func release(_ host: QueueHosts.Number) {
        waiting.release(limit(of: host) - hosts[host], of: host)
    }
}

/// The waiting downloads of a scheduler, in one collection for each thing to wait for.
///
/// They wait for a free slot, a slot of the host, the network, or the start time. Those that wait for a slot are sorted
/// by priority and position.
///
/// An element whose download was removed or inserted again is stale: it stays where it is until it is skipped, or until
/// many stale elements are removed at once.
struct WaitingDownloads: Sendable {
    /// A waiting download as an element of a heap.
    struct Candidate: Comparable, Sendable {
        let id: DownloadID
        let priority: Int
        let label: QueueOrder.Label
        let host: QueueHosts.Number
        fileprivate var generation: UInt64 = 0

        init(_ id: DownloadID, priority: Int, label: QueueOrder.Label, host: QueueHosts.Number) {
            (self.id, self.priority, self.label, self.host) = (id, priority, label, host)
        }

        static func < (lhs: Candidate, rhs: Candidate) -> Bool {
            lhs.priority != rhs.priority ? lhs.priority > rhs.priority : lhs.label < rhs.label
        }
    }

    private struct Delayed: Comparable {
        let time: Duration
        let candidate: Candidate

        static func < (lhs: Delayed, rhs: Delayed) -> Bool { lhs.time < rhs.time }
    }

    /// The start times of waiting downloads; stored separately, since few downloads have one.
    var startTimes: [DownloadID: Duration] = [:]
    /// The reasons why the network does not admit downloads that would have started.
    private(set) var blockers: [DownloadID: NetworkBlocker] = [:]
    /// The downloads that may run as soon as a slot is free.
    private var ready = Heap<Candidate>()
    /// For each host at its limit, the downloads that would otherwise have started.
    private var ofHosts: [QueueHosts.Number: Heap<Candidate>] = [:]
    private var ofNetwork: [Candidate] = []
    private var delayed = Heap<Delayed>()
    /// For each download, the number of its last insertion; elements with another number are stale.
    private var generations: [DownloadID: UInt64] = [:]
    private var lastGeneration: UInt64 = 0
    /// The number of insertions since ``removeStaleElements()`` was called last.
    private var insertions = 0

    /// The number of all elements, including stale ones.
    var count: Int { ready.count + delayed.count + ofNetwork.count + ofHosts.values.reduce(0) { $0 + $1.count } }

    /// The hosts at their limit, for whose slots downloads are waiting.
    var hosts: [QueueHosts.Number] { ofHosts.keys.sorted() }

    /// Whether there may be enough stale elements to make removing them worthwhile.
    var isCluttered: Bool { insertions > 2 * generations.count + 1000 }

    /// Returns the approximate number of downloads that wait for a slot of the host or for any free slot.
    func count(for host: QueueHosts.Number) -> Int { ready.count + (ofHosts[host]?.count ?? 0) }

    func isCurrent(_ candidate: Candidate) -> Bool { generations[candidate.id] == candidate.generation }

    /// Adds a download, or replaces it: it waits for its start time if that is in the future, otherwise for a slot.
    mutating func insert(_ candidate: Candidate, at now: Duration) {
        lastGeneration += 1
        insertions += 1
        var candidate = candidate
        candidate.generation = lastGeneration
        generations[candidate.id] = lastGeneration
        if let time = startTimes[candidate.id], time > now {
            delayed.insert(Delayed(time: time, candidate: candidate))
        } else {
            startTimes.discard(candidate.id)
            ready.insert(candidate)
        }
    }

    /// Removes a download that does not wait any more.
    mutating func remove(_ id: DownloadID) {
        generations.discard(id)
        startTimes.discard(id)
        blockers.discard(id)
    }

    /// Removes and returns the first download that waits for a slot; it may be stale.
    mutating func popReady() -> Candidate? { ready.popMin() }

    // MARK: Waiting for something else than a slot

    /// Makes a download wait for a slot of its host.
    mutating func waitForHost(_ candidate: Candidate) { ofHosts[candidate.host, default: Heap()].insert(candidate) }

    /// Makes a download wait for the network; returns `false` if it has already been waiting for the same reason.
    mutating func waitForNetwork(_ candidate: Candidate, _ blocker: NetworkBlocker) -> Bool {
        ofNetwork.append(candidate)
        return blockers.updateValue(blocker, forKey: candidate.id) != blocker
    }

    /// Makes a download wait for a slot again.
    mutating func waitForSlot(_ candidate: Candidate) { ready.insert(candidate) }

    /// Lets up to `count` downloads that wait for a slot of a host wait for any free slot instead.
    mutating func release(_ count: Int, of host: QueueHosts.Number) {
        guard count > 0, var waiting = ofHosts.removeValue(forKey: host) else { return }
        var rest = count
        while rest > 0, let candidate = waiting.popMin() {
            guard isCurrent(candidate) else { continue }
            ready.insert(candidate)
            rest -= 1
        }
        if waiting.count > 0 { ofHosts[host] = waiting }
    }

    /// Removes a host whose last download left the queue, because another host may get its number.
    mutating func removeHost(_ host: QueueHosts.Number) { ofHosts[host] = nil }

    /// Makes all downloads that were waiting for the network wait for a slot instead, because the network has changed.
    ///
    /// The network may block them again. The reasons for which `isUnchanged` returns `true` remain in ``blockers``, so
    /// that they are not reported again.
    mutating func networkChanged(_ isUnchanged: (DownloadID, NetworkBlocker) -> Bool) {
        for candidate in ofNetwork { ready.insert(candidate) }
        ofNetwork = []
        blockers = blockers.filter { isUnchanged($0.key, $0.value) }
    }

    /// Makes the downloads whose start time has been reached wait for a slot.
    mutating func admitDelayed(at now: Duration) {
        while let first = delayed.min, first.time <= now {
            _ = delayed.popMin()
            guard isCurrent(first.candidate) else { continue }
            startTimes[first.candidate.id] = nil
            ready.insert(first.candidate)
        }
    }

    /// Returns the earliest start time; `nil` if no download waits for one.
    mutating func nextStartTime() -> Duration? {
        while let first = delayed.min {
            if isCurrent(first.candidate) { return first.time }
            _ = delayed.popMin()
        }
        return nil
    }

    mutating func removeStaleElements() {
        let generations = generations
        let isCurrent: (Candidate) -> Bool = { generations[$0.id] == $0.generation }
        ready.filter(isCurrent)
        ofNetwork = ofNetwork.filter(isCurrent)
        for host in hosts { ofHosts[host]?.filter(isCurrent) }
        delayed.filter { isCurrent($0.candidate) }
        insertions = 0
    }
}

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The downloads of a manager and how they stand: what its scheduler decides, in terms of downloads.
///
/// A value behind the lock of ``DownloadList``; nothing in it waits or touches the disk.
struct ListState {
    /// What is to be done about a decision, without the lock.
    enum Effect {
        case start(Run, Telling)
        case stop(StopSignal, StopSignal.Reason)
        case tell(DownloadRecord, Telling)
        case remove(DownloadRecord, URL?, Telling)
        case alarm(Duration)
    }

    /// A download whose turn it is.
    struct Run: Sendable {
        let record: DownloadRecord
        let stop: StopSignal
        /// What there is of earlier attempts.
        let attempts: Attempts?
    }

    /// A state that a download is told after what goes before it is done.
    struct Telling: Sendable {
        var state: DownloadState?
        var event: DownloadEvent?
        /// Of two states the later one holds, whichever is told last.
        var turn: UInt64
        /// Whether the download was among those that wait or run, and is no more.
        var closes = false
    }

    var queue: DownloadQueue
    var idleSubscribers = Subscribers<Never>()
    private(set) var records: [Download.ID: DownloadRecord] = [:]
    /// How many wait or run, and how many did so and have not been told yet that they do no more.
    private(set) var openCount = 0
    /// The signals of those that run.
    private var signals: [Download.ID: StopSignal] = [:]
    /// What is known of those that wait to be tried again.
    private var attempts: [Download.ID: Attempts] = [:]
    /// Those that have not ended, by the path of their partial: one file has one download.
    private var active: [String: DownloadRecord] = [:]
    /// Those that wait or run.
    private var open: Set<Download.ID> = []
    private var groups: [String: Set<Download.ID>] = [:]
    private var turn: UInt64 = 0
    private var alarm: Duration?

    init(queue: DownloadQueue) {
        self.queue = queue
    }

    // MARK: Looking up

    /// The downloads that a verb is for, in the order of the list; throws `unknownDownload` for one that is not there.
    func ids(_ selection: DownloadSelection) throws(DownloadError) -> [Download.ID] {
        switch selection {
        case .all: return queue.ids
        case .downloads(let ids):
            for id in ids where records[id] == nil { throw .unknown(id) }
            return ids
        case .group(let group):
            let ids = groups[group, default: []]
            return ids.count < 2 ? Array(ids) : queue.order.sorted(ids)
        case .url(let url): return queue.ids.filter { records[$0]?.request.url == url }
        case .state(let kind): return queue.ids.filter { records[$0]?.status.state.kind == kind }
        }
    }

    func snapshot(of id: Download.ID) -> DownloadSnapshot? {
        guard let record = records[id] else { return nil }
        let (state, progress) = record.status.now
        let priority = DownloadPriority(rawValue: queue.priority(of: id) ?? 0)
        return DownloadSnapshot(
            id: id,
            request: record.request,
            state: state,
            priority: priority,
            progress: progress
        )
    }

    /// Whether a download may wait for its turn again: not while another one has its file.
    func mayReopen(_ id: Download.ID) -> Bool {
        guard let record = records[id] else { return false }
        return active[record.names.partialPath, default: record] === record
    }

    // MARK: Coming in

    /// Adds downloads, or finds those that have the same file; returns those that are new as well.
    mutating func add(
        _ requests: [DownloadRequest],
        observers: ListObservers,
        at now: Duration
    ) -> (records: [DownloadRecord], new: [Download.ID], effects: [Effect]) {
        var items: [DownloadQueue.Item] = []
        let records = requests.map { request in
            let record = DownloadRecord(id: newID(), request: request, observers: observers)
            if let twin = active[record.names.partialPath] { return twin }
            insert(record)
            reopen(record)
            items.append(DownloadQueue.Item(record, at: now))
            return record
        }
        return (records, items.map(\.id), effects(of: queue.add(items, at: now)))
    }

    private mutating func insert(_ record: DownloadRecord) {
        records[record.id] = record
        if let group = record.request.group { groups[group, default: []].insert(record.id) }
    }

    private func newID() -> Download.ID {
        var id: Download.ID
        repeat { id = Download.ID(rawValue: .random(in: .min ... .max)) } while records[id] != nil
        return id
    }

    // MARK: Decisions

    /// What the queue's actions mean for the downloads; `outcome` is that of the transfer which has just ended.
    mutating func effects(of actions: [DownloadQueue.Action], _ outcome: TransferOutcome? = nil) -> [Effect] {
        var effects = actions.compactMap { effect(of: $0, outcome) }
        if let time = queue.nextTick(), alarm.map({ time < $0 }) ?? true {
            alarm = time
            effects.append(.alarm(time))
        }
        return effects
    }

    /// Takes note of how a transfer ended.
    mutating func ended(_ id: Download.ID, _ outcome: TransferOutcome, at now: Duration) -> [Effect] {
        signals[id] = nil
        if case .retry(let attempts, _) = outcome { self.attempts[id] = attempts }
        return effects(of: queue.ended(id, outcome.forQueue, at: now), outcome)
    }

    /// Takes note that time has passed.
    mutating func tick(at now: Duration) -> [Effect] {
        alarm = nil
        return effects(of: queue.tick(at: now))
    }

    /// Takes note that a download was told that it waits or runs no more; true when it was the last one.
    mutating func closed() -> Bool {
        openCount -= 1
        return openCount == 0
    }

    private mutating func effect(of action: DownloadQueue.Action, _ outcome: TransferOutcome?) -> Effect? {
        switch action {
        case .start(let id):
            guard let record = records[id] else { return nil }
            let signal = StopSignal()
            signals[id] = signal
            let run = Run(record: record, stop: signal, attempts: attempts.removeValue(forKey: id))
            // What was begun before and tried again goes on, and does not start.
            return .start(run, telling(.running, run.attempts == nil ? .started : nil))
        case .stop(let id, let reason):
            return signals[id].map { .stop($0, reason) }
        case .enter(let id, let phase, let discardingBytes):
            guard let record = records[id] else { return nil }
            let telling = enter(phase, record, outcome)
            return discardingBytes ? .remove(record, nil, telling) : .tell(record, telling)
        case .remove(let id, let deletingFile):
            guard let record = remove(id) else { return nil }
            // One that has ended stays what it became.
            let isActive = active[record.names.partialPath] === record
            let telling = close(record, telling(isActive ? .cancelled : nil, .removed))
            guard deletingFile else { return .tell(record, telling) }
            let file: URL? =
                switch (outcome, record.status.state) {
                case (.finished(let file), _), (nil, .finished(let file)): file
                default: nil
                }
            return .remove(record, file, telling)
        }
    }

    private mutating func remove(_ id: Download.ID) -> DownloadRecord? {
        guard let record = records.removeValue(forKey: id) else { return nil }
        attempts[id] = nil
        if let group = record.request.group {
            groups[group]?.remove(id)
            if groups[group]?.isEmpty == true { groups[group] = nil }
        }
        return record
    }

    private mutating func enter(
        _ phase: DownloadQueue.Phase,
        _ record: DownloadRecord,
        _ outcome: TransferOutcome?
    ) -> Telling {
        if phase != .waiting { attempts[record.id] = nil }
        switch phase {
        case .running: return telling(nil, nil)
        case .waiting:
            reopen(record)
            return telling(.waiting, nil)
        case .paused:
            var telling = telling(.paused, .paused)
            telling.closes = open.remove(record.id) != nil
            return telling
        case .finished:
            guard case .finished(let file) = outcome else { return close(record, telling(nil, nil)) }
            return close(record, telling(.finished(file), nil))
        case .failed:
            guard case .failed(let error) = outcome else { return close(record, telling(nil, nil)) }
            let named = error.about(record.request.url)
            return close(record, telling(.failed(named), .failed(named)))
        case .cancelled:
            return close(record, telling(.cancelled, .cancelled))
        case .interrupted:
            let error = DownloadError.shutDown(record.request.url)
            return close(record, telling(.failed(error), .failed(error)))
        }
    }

    /// Counts a download among those that wait or run.
    private mutating func reopen(_ record: DownloadRecord) {
        active[record.names.partialPath] = record
        if open.insert(record.id).inserted { openCount += 1 }
    }

    /// Leaves room for another download of the same file.
    private mutating func close(_ record: DownloadRecord, _ telling: Telling) -> Telling {
        if active[record.names.partialPath] === record { active[record.names.partialPath] = nil }
        var telling = telling
        telling.closes = open.remove(record.id) != nil
        return telling
    }

    private mutating func telling(_ state: DownloadState?, _ event: DownloadEvent?) -> Telling {
        turn += 1
        return Telling(state: state, event: event, turn: turn)
    }
}

extension DownloadQueue.Item {
    fileprivate init(_ record: DownloadRecord, at now: Duration) {
        let request = record.request
        self.init(
            id: record.id,
            host: request.url.host() ?? "",
            priority: request.priority.rawValue,
            startsPaused: request.startsPaused,
            notBefore: request.earliestBegin.map { now + WallTime.duration(until: $0) }
        )
    }
}

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The downloads of a manager and what runs of them: the state behind the lock that every verb takes.
///
/// A verb is decided in one step, with nothing awaited, and performed after it, without the lock.
final class DownloadList: Sendable {
    /// What a task of the manager is to do.
    enum Work: Sendable {
        case transfer(DownloadRecord, StopSignal)
        case removal(Removal)
        /// Call ``tick()`` at that time.
        case alarm(Duration)
    }

    /// To remove what is on the disk of a download, and then to tell what became of it.
    struct Removal: Sendable {
        var record: DownloadRecord
        /// The finished file, where it has to go as well.
        var file: URL?
        fileprivate var telling: Telling
        /// Finished when all is done, and also when nobody is left to do it.
        fileprivate var done: AsyncStream<Never>.Continuation
    }

    /// A state that a download is told after what goes before it is done.
    struct Telling: Sendable {
        fileprivate var state: DownloadState?
        fileprivate var event: DownloadEvent?
        /// Of two states the later one holds, whichever is told last.
        fileprivate var turn: UInt64
        /// Whether the download was among those that wait or run, and is no more.
        fileprivate var closes: Bool
    }

    private enum Effect {
        case start(DownloadRecord, StopSignal, Telling)
        case stop(StopSignal, StopSignal.Reason)
        case tell(DownloadRecord, Telling)
        case remove(DownloadRecord, URL?, Telling)
        case alarm(Duration)
    }

    private struct State {
        var queue: DownloadQueue
        var records: [Download.ID: DownloadRecord] = [:]
        /// The signals of those that run.
        var signals: [Download.ID: StopSignal] = [:]
        /// Those that have not ended, by the path of their partial: one file has one download.
        var active: [String: DownloadRecord] = [:]
        /// Those that wait or run.
        var open: Set<Download.ID> = []
        /// How many of these there are, and of those that were and have not been told yet.
        var openCount = 0
        var turn: UInt64 = 0
        var alarm: Duration?
        var idleSubscribers = Subscribers<Never>()

        func newID() -> Download.ID {
            var id: Download.ID
            repeat { id = Download.ID(rawValue: .random(in: .min ... .max)) } while records[id] != nil
            return id
        }

        /// Counts a download among those that wait or run.
        mutating func reopen(_ record: DownloadRecord) {
            active[record.names.partialPath] = record
            if open.insert(record.id).inserted { openCount += 1 }
        }

        /// What the queue's actions mean for the downloads; `outcome` is that of the transfer which has just ended.
        mutating func effects(of actions: [DownloadQueue.Action], _ outcome: TransferOutcome? = nil) -> [Effect] {
            var effects = actions.compactMap { effect(of: $0, outcome) }
            if let time = queue.nextTick(), alarm.map({ time < $0 }) ?? true {
                alarm = time
                effects.append(.alarm(time))
            }
            return effects
        }

        private mutating func effect(of action: DownloadQueue.Action, _ outcome: TransferOutcome?) -> Effect? {
            switch action {
            case .start(let id):
                guard let record = records[id] else { return nil }
                let signal = StopSignal()
                signals[id] = signal
                return .start(record, signal, telling(.running, .started))
            case .stop(let id, let reason):
                return signals[id].map { .stop($0, reason) }
            case .enter(let id, let phase, let discardingBytes):
                guard let record = records[id] else { return nil }
                let telling = enter(phase, record, outcome)
                return discardingBytes ? .remove(record, nil, telling) : .tell(record, telling)
            case .remove(let id, let deletingFile):
                guard let record = records.removeValue(forKey: id) else { return nil }
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

        private mutating func enter(
            _ phase: DownloadQueue.Phase,
            _ record: DownloadRecord,
            _ outcome: TransferOutcome?
        ) -> Telling {
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

        /// Leaves room for another download of the same file.
        private mutating func close(_ record: DownloadRecord, _ telling: Telling) -> Telling {
            if active[record.names.partialPath] === record { active[record.names.partialPath] = nil }
            var telling = telling
            telling.closes = open.remove(record.id) != nil
            return telling
        }

        private mutating func telling(_ state: DownloadState?, _ event: DownloadEvent?) -> Telling {
            turn += 1
            return Telling(state: state, event: event, turn: turn, closes: false)
        }
    }

    private let state: Locked<State>
    private let clock: ClockWitness
    /// Has a task do the work; false once none does any more.
    private let begin: @Sendable (Work) -> Bool

    init(limit: Int, clock: ClockWitness, begin: @escaping @Sendable (Work) -> Bool) {
        state = Locked(State(queue: DownloadQueue(limit: limit)))
        self.clock = clock
        self.begin = begin
    }

    /// All downloads in their order.
    var records: [DownloadRecord] {
        state.withLock { state in state.queue.ids.compactMap { state.records[$0] } }
    }

    /// Adds downloads, or finds those that have the same file; throws after the shutdown.
    func add(_ requests: [DownloadRequest]) throws(DownloadError) -> [DownloadRecord] {
        let now = clock.now()
        let (records, effects): ([DownloadRecord]?, [Effect]) = state.withLock { state in
            guard !state.queue.isShutDown else { return (nil, []) }
            var items: [DownloadQueue.Item] = []
            let records = requests.map { request in
                let record = DownloadRecord(id: state.newID(), request: request)
                if let twin = state.active[record.names.partialPath] { return twin }
                state.records[record.id] = record
                state.reopen(record)
                items.append(DownloadQueue.Item(id: record.id, host: request.url.host() ?? ""))
                return record
            }
            return (records, state.effects(of: state.queue.add(items, at: now)))
        }
        perform(effects)
        guard let records else { throw .shutDown() }
        return records
    }

    func pause(_ id: Download.ID) {
        apply { $0.pause(id) }
    }

    func resume(_ id: Download.ID) {
        requeue(id) { $0.resume(id, at: $1) }
    }

    func restart(_ id: Download.ID) {
        requeue(id) { $0.restart(id, at: $1) }
    }

    /// Does nothing where another download has the file meanwhile.
    private func requeue(_ id: Download.ID, _ verb: (inout DownloadQueue, Duration) -> [DownloadQueue.Action]) {
        let now = clock.now()
        perform(
            state.withLock { state in
                guard let record = state.records[id], !state.queue.isShutDown else { return [] }
                guard state.active[record.names.partialPath, default: record] === record else { return [] }
                return state.effects(of: verb(&state.queue, now))
            }
        )
    }

    func preempt(for id: Download.ID) {
        apply { $0.preempt(for: id) }
    }

    /// Returns when the files are gone that this removes at once; those of a running download go when it has stopped.
    func cancel(_ id: Download.ID) async {
        for removal in apply({ $0.isShutDown ? [] : $0.cancel(id) }) { for await _ in removal {} }
    }

    /// Returns when the files are gone that this removes at once; those of a running download go when it has stopped.
    func remove(_ id: Download.ID, deletingFile: Bool) async {
        for removal in apply({ $0.isShutDown ? [] : $0.remove(id, deletingFile: deletingFile) }) {
            for await _ in removal {}
        }
    }

    /// Whether a download runs only until it has stopped for a pause.
    func isPausing(_ id: Download.ID) -> Bool {
        state.withLock { $0.queue.isPausing(id) }
    }

    func move(_ id: Download.ID, to place: ListPlace) {
        let now = clock.now()
        apply { queue in
            queue.move(id, to: place, at: now)
            return []
        }
    }

    func setPriority(_ priority: Int, of id: Download.ID) {
        let now = clock.now()
        apply { queue in
            queue.setPriority(priority, of: id, at: now)
            return []
        }
    }

    func setLimit(_ limit: Int) {
        apply { $0.setLimit(limit) }
    }

    func setHostLimit(_ limit: Int?) {
        apply { $0.setHostLimit(limit) }
    }

    func tick() {
        let now = clock.now()
        perform(
            state.withLock { state in
                state.alarm = nil
                return state.effects(of: state.queue.tick(at: now))
            }
        )
    }

    func shutDown() {
        apply { $0.shutDown() }
    }

    /// Enters the outcome; returns the download that the ending task goes on with, unless it is cancelled.
    func ended(
        _ record: DownloadRecord,
        _ outcome: TransferOutcome,
        taskIsCancelled: Bool
    ) -> (DownloadRecord, StopSignal)? {
        let now = clock.now()
        var effects = state.withLock { state in
            state.signals[record.id] = nil
            return state.effects(of: state.queue.ended(record.id, outcome.forQueue(at: now), at: now), outcome)
        }
        let next = effects.firstIndex { if case .start = $0 { true } else { false } }
        guard !taskIsCancelled, let next, case .start(let record, let signal, let telling) = effects.remove(at: next)
        else {
            perform(effects)
            return nil
        }
        perform(effects)
        tell(record, telling)
        return (record, signal)
    }

    // MARK: Waiting

    /// Returns when nothing runs and nothing waits, or when the task is cancelled.
    func waitUntilIdle() async {
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        let subscriber: Int? = state.withLock { $0.openCount == 0 ? nil : $0.idleSubscribers.add(continuation) }
        guard let subscriber else { return }
        for await _ in stream {}
        state.withLock { $0.idleSubscribers.remove(subscriber) }
    }

    // MARK: Effects

    @discardableResult
    private func apply(_ verb: (inout DownloadQueue) -> [DownloadQueue.Action]) -> [AsyncStream<Never>] {
        perform(state.withLock { $0.effects(of: verb(&$0.queue)) })
    }

    /// Returns a stream for each removal of files, which ends with it.
    @discardableResult
    private func perform(_ effects: [Effect]) -> [AsyncStream<Never>] {
        var removals: [AsyncStream<Never>] = []
        for effect in effects {
            switch effect {
            case .start(let record, let signal, let telling):
                tell(record, telling)
                guard !begin(.transfer(record, signal)) else { continue }
                _ = ended(record, .stopped(keptBytes: true), taskIsCancelled: true)
            case .stop(let signal, let reason):
                signal.stop(reason)
            case .tell(let record, let telling):
                tell(record, telling)
            case .remove(let record, let file, let telling):
                let (removal, done) = AsyncStream.makeStream(of: Never.self)
                removals.append(removal)
                // After the shutdown nobody touches the disk any more.
                let work = Removal(record: record, file: file, telling: telling, done: done)
                if !begin(.removal(work)) { ended(work) }
            case .alarm(let time):
                _ = begin(.alarm(time))
            }
        }
        return removals
    }

    /// Takes note that the files are gone.
    func ended(_ removal: Removal) {
        tell(removal.record, removal.telling)
        removal.done.finish()
    }

    /// Tells a download its state, and those who wait for the last one.
    private func tell(_ record: DownloadRecord, _ telling: Telling) {
        record.status.enter(telling.state, telling.event, turn: telling.turn)
        guard telling.closes else { return }
        let waiting: [AsyncStream<Never>.Continuation] = state.withLock { state in
            state.openCount -= 1
            return state.openCount == 0 ? state.idleSubscribers.removeAll() : []
        }
        for continuation in waiting { continuation.finish() }
    }
}

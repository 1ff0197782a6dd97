import Synchronization

/// The downloads of a manager and what runs of them: the state behind the lock that every verb takes.
///
/// A verb is decided in one step, with nothing awaited.
final class DownloadList: Sendable {
    private struct State {
        var scheduler: Scheduler
        var order: [Download.ID] = []
        var records: [Download.ID: DownloadRecord] = [:]
        /// Those that have not ended, by the path of their partial: one file has one download.
        var active: [String: DownloadRecord] = [:]
        var isShutDown = false
        var idleSubscribers = Subscribers<Never>()

        /// What the scheduler's actions mean for the downloads; those that end leave room for another of the same file.
        mutating func effects(of actions: [Scheduler.Action]) -> [Effect] {
            actions.compactMap { action in
                switch action {
                case .start(let id): records[id].map(Effect.start)
                case .stop(let id, let reason): records[id].map { .stop($0, reason) }
                case .end(let id, let reason):
                    records[id].map { record in
                        active[record.names.partialPath] = nil
                        return .end(record, reason)
                    }
                }
            }
        }
    }

    /// An action of the scheduler with the download in place of its identity.
    private enum Effect {
        case start(DownloadRecord)
        case stop(DownloadRecord, StopSignal.Reason)
        case end(DownloadRecord, StopSignal.Reason)
    }

    private let state: Locked<State>
    /// Downloads that have not been told their end; what the scheduler has let go of may still be among them.
    private let openCount = Atomic(0)
    /// Begins a transfer in a task of its own; false once none is begun any more.
    private let start: @Sendable (DownloadRecord) -> Bool

    init(limit: Int, start: @escaping @Sendable (DownloadRecord) -> Bool) {
        state = Locked(State(scheduler: Scheduler(limit: limit)))
        self.start = start
    }

    /// All downloads in the order of adding.
    var records: [DownloadRecord] {
        state.withLock { state in state.order.compactMap { state.records[$0] } }
    }

    private var isIdle: Bool { openCount.load(ordering: .acquiring) == 0 }

    /// Returns when all downloads have ended, or when the task is cancelled.
    func waitUntilIdle() async {
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        let subscriber: Int? = state.withLock { isIdle ? nil : $0.idleSubscribers.add(continuation) }
        guard let subscriber else { return }
        for await _ in stream {}
        state.withLock { $0.idleSubscribers.remove(subscriber) }
    }

    /// Adds downloads, or finds those that have the same file; throws after the shutdown.
    func add(_ requests: [DownloadRequest]) throws(DownloadError) -> [DownloadRecord] {
        let (records, effects): ([DownloadRecord]?, [Effect]) = state.withLock { state in
            guard !state.isShutDown else { return (nil, []) }
            var added: [Download.ID] = []
            let records = requests.map { request in
                let record = DownloadRecord(id: Self.newID(in: state), request: request)
                if let twin = state.active[record.names.partialPath] { return twin }
                state.active[record.names.partialPath] = record
                state.records[record.id] = record
                state.order.append(record.id)
                openCount.add(1, ordering: .relaxed)
                added.append(record.id)
                return record
            }
            return (records, state.effects(of: state.scheduler.add(added)))
        }
        perform(effects)
        guard let records else { throw .shutDown() }
        return records
    }

    func cancel(_ id: Download.ID) {
        perform(state.withLock { $0.effects(of: $0.scheduler.cancel(id)) })
    }

    func shutDown() {
        let effects = state.withLock { state in
            state.isShutDown = true
            return state.effects(of: state.scheduler.shutDown())
        }
        perform(effects)
    }

    /// Enters the outcome; returns the download that the ending task goes on with, unless it is cancelled.
    func ended(_ record: DownloadRecord, _ outcome: TransferOutcome, taskIsCancelled: Bool) -> DownloadRecord? {
        var effects = state.withLock { state in
            state.active[record.names.partialPath] = nil
            return state.effects(of: state.scheduler.ended(record.id))
        }
        end(record, outcome)
        guard !taskIsCancelled, case .start(let next) = effects.first else {
            perform(effects)
            return nil
        }
        effects.removeFirst()
        perform(effects)
        next.status.enter(.running, .started)
        return next
    }

    /// Tells the downloads; without the lock, which is held for the decisions only.
    private func perform(_ effects: [Effect]) {
        for effect in effects {
            switch effect {
            case .start(let record):
                record.status.enter(.running, .started)
                if !start(record) { end(record, .stopped(.shutDown)) }
            case .stop(let record, let reason): record.stop.stop(reason)
            case .end(let record, let reason): end(record, .stopped(reason))
            }
        }
    }

    /// Tells a download its end, and those who wait for the last one.
    private func end(_ record: DownloadRecord, _ outcome: TransferOutcome) {
        record.end(with: outcome)
        guard openCount.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
        let waiting = state.withLock { isIdle ? $0.idleSubscribers.removeAll() : [] }
        for continuation in waiting { continuation.finish() }
    }

    private static func newID(in state: borrowing State) -> Download.ID {
        var id: Download.ID
        repeat { id = Download.ID(rawValue: .random(in: .min ... .max)) } while state.records[id] != nil
        return id
    }
}

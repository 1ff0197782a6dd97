#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The downloads of a manager and what runs of them: the state behind the lock that every verb takes.
///
/// A verb is decided in one step, with nothing awaited, and performed after it, without the lock.
final class DownloadList: Sendable {
    typealias Run = ListState.Run

    /// What a task of the manager is to do.
    enum Work: Sendable {
        case transfer(Run)
        case removal(Removal)
        /// Call ``tick()`` at that time.
        case alarm(Duration)
        /// Call ``flush()``.
        case flush
    }

    /// To remove what is on the disk of a download, and then to tell what became of it.
    struct Removal: Sendable {
        var record: DownloadRecord
        /// Whether the partial is this download's.
        var partial: Bool
        /// The finished file, where it has to go as well.
        var file: FinishedFile?
        fileprivate var telling: ListState.Telling
        /// Finished when all is done, and also when nobody is left to do it.
        fileprivate var done: AsyncStream<Never>.Continuation
    }

    let observers: ListObservers
    /// Nil where the list ends with the process.
    let journal: ListJournal?
    private let state: Locked<ListState>
    private let clock: ClockWitness
    /// Has a task do the work; false once none does any more.
    private let begin: @Sendable (Work) -> Bool

    init(
        _ queue: DownloadQueue,
        journal: ListJournal?,
        observers: ListObservers,
        clock: ClockWitness,
        begin: @escaping @Sendable (Work) -> Bool
    ) {
        state = Locked(ListState(queue: queue, journal: journal))
        self.journal = journal
        self.observers = observers
        self.clock = clock
        self.begin = begin
    }

    // MARK: Looking up

    subscript(id: Download.ID) -> DownloadRecord? {
        state.withLock { $0.records[id] }
    }

    /// All downloads in their order.
    var records: [DownloadRecord] {
        state.withLock { state in state.queue.ids.compactMap { state.records[$0] } }
    }

    /// The downloads of a selection in their order.
    func records(
        _ selection: DownloadSelection,
        passingOver: Bool = false
    ) throws(DownloadError) -> [DownloadRecord] {
        try state.withLock { state throws(DownloadError) in
            try state.ids(selection, passingOver: passingOver).compactMap { state.records[$0] }
        }
    }

    var isShutDown: Bool { state.withLock { $0.queue.isShutDown } }

    /// How the downloads of a group, or all of them, stand.
    func snapshots(group: String? = nil) -> [DownloadSnapshot] {
        state.withLock { state in
            let ids = try? state.ids(group.map { .group($0) } ?? .all)
            return (ids ?? []).compactMap { state.snapshot(of: $0) }
        }
    }

    func priority(of id: Download.ID) -> Int? {
        state.withLock { $0.queue.priority(of: id) }
    }

    func networkObstacle(of id: Download.ID) -> NetworkObstacle? {
        state.withLock { $0.queue.networkObstacle(of: id) }
    }

    /// A finished file as it was when it got its name.
    func stamp(of id: Download.ID) -> FileStamp? {
        state.withLock { $0.stamp(of: id) }
    }

    // MARK: Verbs

    /// Takes over what an earlier run left; before anything else.
    func restore(_ list: RestoredList) {
        let now = clock.now()
        perform(state.withLock { $0.restore(list, observers: observers, at: now) })
    }

    /// Adds downloads, or finds those that have the same file; throws after the shutdown.
    ///
    /// Blocks where there is a journal: nothing starts before it is known to outlive the process, and where that cannot
    /// be, nothing is added.
    func add(_ requests: [DownloadRequest]) throws(DownloadError) -> [DownloadRecord] {
        if let journal {
            for request in requests where request.isLong(maxBytes: RegistryEncoder.leastCheckedBytes) {
                try RegistryEncoder.check(RegistryRequest(request, bases: journal.bases))
            }
        }
        return try add(requests.map { ListState.Addition(request: $0) })
    }

    /// Adds what another process has named; passes over what cannot be.
    func add(_ entries: [RegistryEntry]) throws(DownloadError) {
        guard let journal else { return }
        _ = try add(
            entries.compactMap { entry in
                guard let request = entry.request.downloadRequest(in: journal.bases),
                    (try? request.validate()) != nil
                else { return nil }
                return ListState.Addition(
                    id: Download.ID(rawValue: entry.id),
                    request: request,
                    withoutSecrets: entry.request.lacksSecrets ? entry.request : nil
                )
            }
        )
    }

    private func add(_ additions: [ListState.Addition]) throws(DownloadError) -> [DownloadRecord] {
        let now = clock.now()
        let added: ListState.Added? = state.withLock { state in
            guard !state.queue.isShutDown else { return nil }
            let added = state.add(additions, observers: observers, at: now)
            if !added.new.isEmpty { observers.tell(.added(added.new)) }
            return added
        }
        guard let added else { throw .shutDown() }
        do throws(DownloadError) {
            if let refusal = added.refusal { throw refusal }
            try flush()
        } catch {
            _ = try? apply(.downloads(added.new), passingOver: true) { queue, id, _ in
                queue.remove(id, deletingFile: false)
            }
            for effect in added.effects {
                if case .start(let run, _) = effect {
                    _ = ended(run.record, .stopped(keptBytes: false), taskIsCancelled: true)
                } else {
                    perform([effect])
                }
            }
            throw error
        }
        perform(added.effects)
        return added.records
    }

    /// Pauses downloads; returns those that have yet to stop.
    func pause(_ selection: DownloadSelection, passingOver: Bool = false) throws(DownloadError) -> [DownloadRecord] {
        let records = try records(selection, passingOver: passingOver)
        try apply(.downloads(records.map(\.id)), passingOver: true) { queue, id, _ in queue.pause(id) }
        return records.filter { isPausing($0.id) }
    }

    /// Has downloads of a phase wait for their turn again, as one decision; those that are to begin later still do.
    func resume(
        _ selection: DownloadSelection,
        only phase: DownloadQueue.Phase,
        passingOver: Bool = false
    ) throws(DownloadError) {
        try requeue(selection, passingOver: passingOver) { state, id, now in
            guard state.queue.phase(of: id) == phase else { return [] }
            return state.queue.resume(id, at: now, notBefore: state.delay(of: id).map { now + $0 })
        }
    }

    /// Has a download wait for its turn again, and for nothing else.
    func resume(_ id: Download.ID) {
        try? requeue(.downloads([id]), passingOver: true) { state, id, now in
            state.forgetBegin(of: id)
            return state.queue.resume(id, at: now)
        }
    }

    /// Fetches a finished download again.
    func restart(_ id: Download.ID) {
        try? requeue(.downloads([id]), passingOver: true) { $0.queue.restart($1, at: $2) }
    }

    func preempt(for id: Download.ID) {
        apply { $0.preempt(for: id) }
    }

    /// Cancels downloads; returns when the files are gone that this removes at once, those that have yet to stop.
    func cancel(
        _ selection: DownloadSelection,
        passingOver: Bool = false
    ) async throws(DownloadError) -> [DownloadRecord] {
        let records = try records(selection, passingOver: passingOver)
        let ids = records.map(\.id)
        let removals = try apply(.downloads(ids), passingOver: true) { queue, id, _ in queue.cancel(id) }
        for removal in removals { for await _ in removal {} }
        return records
    }

    /// Takes downloads out; returns when the files are gone that this removes at once, those that have yet to stop.
    func remove(
        _ selection: DownloadSelection,
        deletingFiles: Bool,
        passingOver: Bool = false
    ) async throws(DownloadError) -> [DownloadRecord] {
        let records = try records(selection, passingOver: passingOver)
        let removals = try apply(.downloads(records.map(\.id)), passingOver: true) { queue, id, _ in
            queue.remove(id, deletingFile: deletingFiles)
        }
        for removal in removals { for await _ in removal {} }
        return records
    }

    /// Whether a download runs only until it has stopped for a pause.
    func isPausing(_ id: Download.ID) -> Bool {
        state.withLock { $0.queue.isPausing(id) }
    }

    /// Throws `unknownDownload` for a place that is not there; does nothing to a download that is not.
    func move(_ id: Download.ID, to place: ListPlace) throws(DownloadError) {
        let now = clock.now()
        try state.withLock { state throws(DownloadError) in
            guard state.records[id] != nil else { return }
            switch place {
            case .before(let other), .after(let other):
                guard state.records[other] != nil else { throw .unknown(other) }
                guard other != id else { return }
            case .index(let index):
                guard state.records.count > index, index >= 0 else {
                    throw DownloadError(
                        .unknownDownload,
                        "The list has no place \(index): it has \(state.records.count) downloads, counted from 0."
                    )
                }
            case .first, .last: break
            }
            state.move(id, to: place, at: now)
            observers.tell(.moved(id))
        }
        scheduleFlush()
    }

    func setPriority(_ priority: DownloadPriority, of id: Download.ID) {
        let now = clock.now()
        state.withLock { state in
            guard state.records[id] != nil else { return }
            state.setPriority(priority.rawValue, of: id, at: now)
            observers.tell(.priorityChanged(id, priority))
        }
        scheduleFlush()
    }

    /// Does nothing to a download that is not in the list.
    func setRateLimit(_ bytesPerSecond: Int64?, of id: Download.ID) {
        guard state.withLock({ $0.setRateLimit(bytesPerSecond, of: id) }) else { return }
        scheduleFlush()
    }

    /// Keeps what the system has of a download, where it is in the list.
    func setBackgroundNote(_ note: BackgroundNote?, of id: Download.ID) {
        guard state.withLock({ $0.setBackgroundNote(note, of: id) }) else { return }
        scheduleFlush()
    }

    func setLimit(_ limit: Int) {
        // A list that is only kept starts nothing, whatever its limit.
        apply { $0.limit == 0 ? [] : $0.setLimit(limit) }
        limitsChanged()
    }

    func setHostLimit(_ limit: Int?) {
        apply { $0.setHostLimit(limit) }
        limitsChanged()
    }

    private func limitsChanged() {
        state.withLock {
            observers.tell(.limitsChanged(downloads: $0.queue.limit, perHost: $0.queue.hostLimit))
        }
    }

    func setPath(_ path: NetworkPath?) {
        apply { $0.setPath(path) }
    }

    func tick() {
        let now = clock.now()
        perform(state.withLock { $0.tick(at: now) })
    }

    func shutDown() {
        perform(state.withLock { $0.effects(of: $0.queue.shutDown()) })
    }

    /// Enters the outcome; returns the download that the ending task goes on with, unless it is cancelled.
    func ended(_ record: DownloadRecord, _ outcome: TransferOutcome, taskIsCancelled: Bool) -> Run? {
        let now = clock.now()
        var effects = state.withLock { $0.ended(record.id, outcome, at: now) }
        let next = effects.firstIndex { if case .start = $0 { true } else { false } }
        guard !taskIsCancelled, let next, case .start(let run, let telling) = effects.remove(at: next) else {
            perform(effects)
            return nil
        }
        perform(effects)
        tell(run.record, telling)
        return run
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

    private typealias Verb = (inout DownloadQueue, Download.ID, Duration) -> [DownloadQueue.Action]

    /// Does a verb to each download of a selection, in one step; nothing after the shutdown.
    @discardableResult
    private func apply(
        _ selection: DownloadSelection,
        passingOver: Bool,
        _ verb: Verb
    ) throws(DownloadError) -> [AsyncStream<Never>] {
        let now = clock.now()
        return perform(
            try state.withLock { state throws(DownloadError) in
                let ids = try state.ids(selection, passingOver: passingOver)
                guard !state.queue.isShutDown else { return [] }
                return state.effects(of: ids.flatMap { verb(&state.queue, $0, now) })
            }
        )
    }

    /// Has downloads wait again whose file no other one has, and then starts those whose turn it is.
    private func requeue(
        _ selection: DownloadSelection,
        passingOver: Bool,
        _ verb: (inout ListState, Download.ID, Duration) -> [DownloadQueue.Action]
    ) throws(DownloadError) {
        let now = clock.now()
        perform(
            try state.withLock { state throws(DownloadError) in
                let ids = try state.ids(selection, passingOver: passingOver)
                guard !state.queue.isShutDown else { return [] }
                state.queue.isGathering = true
                // One after the other, since two of them may be of the same file.
                var effects = ids.flatMap { id in
                    state.mayReopen(id) ? state.effects(of: verb(&state, id, now)) : []
                }
                state.queue.isGathering = false
                effects += state.effects(of: state.queue.startNext())
                return effects
            }
        )
    }

    private func apply(_ verb: (inout DownloadQueue) -> [DownloadQueue.Action]) {
        perform(state.withLock { $0.effects(of: verb(&$0.queue)) })
    }

    /// Returns a stream for each removal of files, which ends with it.
    @discardableResult
    private func perform(_ effects: [ListState.Effect]) -> [AsyncStream<Never>] {
        var removals: [AsyncStream<Never>] = []
        for effect in effects {
            switch effect {
            case .start(let run, let telling):
                tell(run.record, telling)
                guard !begin(.transfer(run)) else { continue }
                _ = ended(run.record, .stopped(keptBytes: true), taskIsCancelled: true)
            case .stop(let signal, let reason):
                signal.stop(reason)
            case .tell(let record, let telling):
                tell(record, telling)
            case .remove(let record, let partial, let file, let telling):
                let (removal, done) = AsyncStream.makeStream(of: Never.self)
                removals.append(removal)
                // After the shutdown nobody touches the disk any more.
                let work = Removal(record: record, partial: partial, file: file, telling: telling, done: done)
                if !begin(.removal(work)) { ended(work) }
            case .alarm(let time):
                _ = begin(.alarm(time))
            }
        }
        scheduleFlush()
        return removals
    }

    // MARK: The journal

    private func scheduleFlush() {
        guard let journal, journal.takesFlush() else { return }
        // After the shutdown its end writes the rest.
        _ = begin(.flush)
    }

    /// Writes to the disk what was decided so far; blocks.
    func flush(syncing: Bool = true) throws(DownloadError) {
        try journal?.flush(syncing: syncing) { atomically in
            state.withLock { state in
                atomically()
                return state.members
            }
        }
    }

    /// Brings the records of the running downloads, and the journal, up to date; blocks.
    ///
    /// What outlives the process comes first, since it is quick; what outlives a power cut too follows.
    func save() {
        let records = records
        for record in records { record.save(syncing: false) }
        flushOrTell()
        for record in records { record.save(syncing: true) }
    }

    /// As ``flush(syncing:)``, for those who can do nothing about a failure but tell it; what could not be written is
    /// written the next time.
    func flushOrTell(syncing: Bool = true) {
        do throws(DownloadError) {
            try flush(syncing: syncing)
        } catch {
            observers.tell(.registryFailed(error))
        }
    }

    /// Takes note that the files are gone.
    func ended(_ removal: Removal) {
        tell(removal.record, removal.telling)
        let waiting = removal.partial ? state.withLock { $0.removed(removal.record) } : []
        for continuation in waiting { continuation.finish() }
        removal.done.finish()
    }

    /// Returns when nobody removes the partial of a download any more, which was another one's before.
    func waitForRemoval(before record: DownloadRecord) async {
        guard state.withLock({ $0.isRemoving(record) }) else { return }
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        guard state.withLock({ $0.follow(continuation, removalFor: record) }) else { return }
        for await _ in stream {}
    }

    /// Tells a download its state, and those who wait for the last one.
    private func tell(_ record: DownloadRecord, _ telling: ListState.Telling) {
        record.enter(telling.state, telling.event, turn: telling.turn)
        if telling.event == .removed { observers.tell(.removed(record.id)) }
        guard telling.closes else { return }
        let waiting: [AsyncStream<Never>.Continuation]? = state.withLock { state in
            state.closed() ? state.idleSubscribers.removeAll() : nil
        }
        guard let waiting else { return }
        observers.tell(.idle)
        for continuation in waiting { continuation.finish() }
    }
}

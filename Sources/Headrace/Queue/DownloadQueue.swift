import HeadracePlatform

/// The downloads of a manager and what runs of them: the state behind the lock that every verb takes.
///
/// A verb is decided in one step, with nothing awaited, and performed after it, without the lock.
final class DownloadQueue: Sendable {
    typealias Run = QueueState.Run

    /// What a task of the manager is to do.
    enum Work: Sendable {
        case transfer(Run)
        case removals(Removals)
        /// Call ``tick()`` at that time.
        case alarm(Duration)
        /// Call ``flush()``.
        case flush
        /// Wait for what a command still waits for, and take note of it.
        case end(@Sendable () async -> Void)
        /// Remove the file of a command that has ended.
        case ended(CommandSpool.Item)
    }

    /// To remove what is on the disk of a download, and then to tell what became of it.
    struct Removal: Sendable {
        var record: DownloadRecord
        /// Whether the partial is this download's.
        var partial: Bool
        /// The finished file, where it has to go as well.
        var file: FinishedFile?
        fileprivate var stateChange: QueueState.StateChange
    }

    /// What one decision removes.
    struct Removals: Sendable {
        let items: [Removal]
        /// Opened when all is done.
        fileprivate let done = Latch()
    }

    /// Whose transfer the task is part of, as in a hook, which that transfer waits for; nil elsewhere.
    @TaskLocal static var transferring: DownloadRecord?

    let observers: QueueObservers
    /// Nil where the list ends with the process.
    let journal: QueueJournal?
    let state: Locked<QueueState>
    /// What was there before the list: nothing in it leads back here.
    let environment: TransferEnvironment
    /// Has a task do the work; false once none does any more.
    private let begin: @Sendable (Work) -> Bool

    init(
        _ queue: Scheduler,
        journal: QueueJournal?,
        observers: QueueObservers,
        environment: TransferEnvironment,
        begin: @escaping @Sendable (Work) -> Bool
    ) {
        state = Locked(QueueState(queue: queue, journal: journal))
        self.journal = journal
        self.observers = observers
        self.environment = environment
        self.begin = begin
    }

    var clock: AnyClock { environment.clock }

    // MARK: Looking up

    subscript(id: DownloadID) -> DownloadRecord? {
        state.withLock { $0.records[id] }
    }

    /// All downloads in their order.
    var records: [DownloadRecord] {
        state.withLock { state in state.queue.ids.compactMap { state.records[$0] } }
    }

    /// The downloads of a selection in their order.
    func records(
        _ selection: DownloadSelection,
        skippingUnknown: Bool = false
    ) throws(DownloadError) -> [DownloadRecord] {
        try state.withLock { state throws(DownloadError) in
            try state.ids(selection, skippingUnknown: skippingUnknown).compactMap { state.records[$0] }
        }
    }

    var isShutDown: Bool { state.withLock { $0.queue.isShutDown } }

    /// How the downloads of a group, or all of them, stand.
    func snapshots(group: String? = nil) -> [DownloadSnapshot] {
        let now = clock.now()
        return state.withLock { state in
            let ids = try? state.ids(group.map { .group($0) } ?? .all)
            return (ids ?? []).compactMap { state.snapshot(of: $0, at: now) }
        }
    }

    func priority(of id: DownloadID) -> Int? {
        state.withLock { $0.queue.priority(of: id) }
    }

    func networkBlocker(of id: DownloadID) -> NetworkBlocker? {
        state.withLock { $0.queue.networkBlocker(of: id) }
    }

    /// A finished file as it was when it got its name.
    func stamp(of id: DownloadID) -> FileStamp? {
        state.withLock { $0.stamp(of: id) }
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

    /// Has a task wait for the end of a command that was decided, and take note of it; false after the shutdown.
    func follow(_ end: PendingCommand, of item: CommandSpool.Item, in journal: QueueJournal) -> Bool {
        journal.recordDecided(item, end)
        let isFollowed = begin(
            .end { [self] in
                await end.wait()
                // By a shutdown nothing is carried out, and the next manager may have the list.
                journal.recordEnd(of: item, isCarriedOut: !isShutDown)
                _ = begin(.ended(item))
            }
        )
        if !isFollowed { journal.recordEnd(of: item, isCarriedOut: false) }
        return isFollowed
    }

    // MARK: Effects

    typealias Verb = (inout Scheduler, DownloadID, Duration) -> [Scheduler.Action]

    /// Does a verb to each download of a selection, in one step; nothing after the shutdown.
    /// - Returns: The downloads of the selection, what opens with the removal of files, where some are removed, and the last turn
    ///   of what was decided.
    @discardableResult
    func apply(
        _ selection: DownloadSelection,
        skippingUnknown: Bool,
        _ verb: Verb
    ) throws(DownloadError) -> (records: [DownloadRecord], removal: Latch?, turn: UInt64) {
        let now = clock.now()
        let (records, effects, turn) = try state.withLock { state throws(DownloadError) in
            let ids = try state.ids(selection, skippingUnknown: skippingUnknown)
            let records = ids.compactMap { state.records[$0] }
            guard !state.queue.isShutDown else { return (records, [QueueState.Effect](), state.turn) }
            let effects = state.effects(of: ids.flatMap { verb(&state.queue, $0, now) })
            return (records, effects, state.turn)
        }
        return (records, perform(effects), turn)
    }

    /// Has downloads wait again whose file no other one has, and then starts those whose turn it is.
    func requeue(
        _ selection: DownloadSelection,
        skippingUnknown: Bool,
        _ verb: (inout QueueState, DownloadID, Duration) -> [Scheduler.Action]
    ) throws(DownloadError) {
        let now = clock.now()
        perform(
            try state.withLock { state throws(DownloadError) in
                let ids = try state.ids(selection, skippingUnknown: skippingUnknown)
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

    func apply(_ verb: (inout Scheduler) -> [Scheduler.Action]) {
        perform(state.withLock { $0.effects(of: verb(&$0.queue)) })
    }

    /// Does what was decided; `isFromTransfer` where a task of the manager calls, which its shutdown waits for and may block.
    /// - Returns: What opens with the removal of files, where there are some to remove.
    @discardableResult
    func perform(_ effects: [QueueState.Effect], isFromTransfer: Bool = false) -> Latch? {
        var removals: [Removal] = []
        for effect in effects {
            switch effect {
            case .start(let run, let stateChange):
                publish(run.record, stateChange)
                guard !begin(.transfer(run)) else { continue }
                _ = ended(run.record, .stopped(keptBytes: true), taskIsCancelled: true)
            case .stop(let signal, let reason):
                signal.stop(reason)
            case .publish(let record, let stateChange):
                publish(record, stateChange)
            case .remove(let record, let partial, let file, let stateChange):
                removals.append(Removal(record: record, partial: partial, file: file, stateChange: stateChange))
            case .alarm(let time):
                _ = begin(.alarm(time))
            case .release(let waiting):
                for latch in waiting { latch.open() }
            }
        }
        scheduleFlush()
        guard !removals.isEmpty else { return nil }
        let work = Removals(items: removals)
        if !begin(.removals(work)) {
            // After the shutdown nobody touches the disk any more; a transfer that was cancelled before ends during it.
            if isFromTransfer { carryOut(work) } else { ended(work) }
        }
        return work.done
    }

    // MARK: The journal

    func scheduleFlush() {
        guard let journal, journal.takesFlush() else { return }
        // After the shutdown its end writes the rest.
        _ = begin(.flush)
    }

    /// Writes to the disk what was decided so far, with `always` so that it outlives a power cut in any case; blocks.
    func flush(syncing: Bool = true, always: Bool = false) throws(DownloadError) {
        try journal?.flush(syncing: syncing, always: always) { atomically in
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
        flushOrReport()
        for record in records { record.save(syncing: true) }
    }

    /// As ``flush(syncing:always:)``, for those who can do nothing about a failure but tell it; what could not be written is
    /// written the next time.
    func flushOrReport(syncing: Bool = true) {
        do throws(DownloadError) {
            try flush(syncing: syncing)
        } catch {
            observers.publish(.registryFailed(error))
        }
    }

    /// Removes the file of a command that has ended, once what it changed outlives a power cut; blocks.
    ///
    /// Not every program looks for commands after its start, and the next start would do it again.
    func ended(_ item: CommandSpool.Item) {
        // A look does so for all of its commands together.
        guard let journal, journal.isCarriedOut(item), !journal.requestPoll() else { return }
        do throws(DownloadError) {
            try flush(always: true)
            try journal.done([item])
        } catch {
            observers.publish(.registryFailed(error))
        }
    }

    /// Takes note that the files are gone, or stay.
    func ended(_ removals: Removals) {
        for removal in removals.items {
            publish(removal.record, removal.stateChange)
            let waiting = removal.partial ? state.withLock { $0.removed(removal.record) } : []
            for latch in waiting { latch.open() }
        }
        removals.done.open()
    }

    /// Returns when nobody has or removes the partial of a download any more, which was another one's before.
    /// - Returns: False where it has been stopped, or has made way for the next one, meanwhile: the partial is none of its own.
    func waitForRemoval(before record: DownloadRecord) async -> Bool {
        guard state.withLock({ $0.isRemoving(record) }) else { return true }
        let latch = Latch()
        if state.withLock({ $0.follow(latch, removalFor: record) }) {
            await latch.wait(evenIfCancelled: false)
            state.withLock { $0.endFollowing(removalFor: record) }
        }
        return !Task.isCancelled && state.withLock { !$0.queue.isLeaving(record.id) }
    }

    /// Tells a download its state, and those who wait for the last one.
    func publish(_ record: DownloadRecord, _ stateChange: QueueState.StateChange) {
        record.enter(stateChange.state, stateChange.event, turn: stateChange.turn) { state in
            // Not by one that is told late: the next run may have claimed the name again.
            switch state {
            case .paused, .failed, .cancelled: environment.claims.release(record)
            // Only a file that is kept up to date stays its download's.
            case .finished:
                if record.requested({ $0.refetchPolicy != .ifChanged }) { environment.claims.release(record) }
            case .waiting, .running: break
            }
        }
        if stateChange.event == .removed {
            environment.claims.release(record)
            observers.publish(.removed(record.id))
        }
        guard stateChange.closes else { return }
        let waiting: [AsyncStream<Never>.Continuation]? = state.withLock { state in
            state.closed() ? state.idleSubscribers.removeAll() : nil
        }
        guard let waiting else { return }
        observers.publish(.idle)
        for continuation in waiting { continuation.finish() }
    }
}

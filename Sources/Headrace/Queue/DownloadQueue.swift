import HeadracePlatform

/// The downloads of a manager, behind the lock that every operation takes.
///
/// An operation is decided in one step under the lock; its effects are performed afterwards, without the lock.
final class DownloadQueue: Sendable {
    typealias Run = QueueState.Run

    /// Work that the queue delegates to a new task of the manager.
    enum Work: Sendable {
        case transfer(Run)
        case removals(Removals)
        /// Call ``tick()`` at this time.
        case alarm(Duration)
        /// Call ``flush()``.
        case flush
        /// Wait until a command of another process is carried out, and record its completion.
        case end(@Sendable () async -> Void)
        /// Remove the file of a completed command.
        case ended(CommandSpool.Item)
    }

    /// The files of one removed or cancelled download to delete, and the state change to publish afterwards.
    struct Removal: Sendable {
        var record: DownloadRecord
        /// Whether the partial file is deleted; `true` only if no other download uses that file.
        var partial: Bool
        /// The finished file, if it is deleted too; otherwise `nil`.
        var file: FinishedFile?
        fileprivate var stateChange: QueueState.StateChange
    }

    /// All removals that one operation causes.
    struct Removals: Sendable {
        let items: [Removal]
        /// The latch that opens when all removals are complete.
        fileprivate let done = Latch()
    }

    /// The download whose transfer runs the current task; set inside user hooks, which must not wait for that transfer.
    @TaskLocal static var transferring: DownloadRecord?

    let observers: QueueObservers
    /// The journal that stores the queue on the disk; `nil` if the queue is not stored.
    let journal: QueueJournal?
    let state: Locked<QueueState>
    /// The services that all transfers use; none of them references the queue.
    let environment: TransferEnvironment
    /// Starts a task for the work; returns `false` after the shutdown.
    private let begin: @Sendable (Work) -> Bool

    init(
        _ queue: Scheduler,
        journal: QueueJournal?,
        observers: QueueObservers,
        environment: TransferEnvironment,
        begin: @escaping @Sendable (Work) -> Bool
    ) {
        state = Locked(QueueState(scheduler: queue, journal: journal))
        self.journal = journal
        self.observers = observers
        self.environment = environment
        self.begin = begin
    }

    var clock: AnyClock { environment.clock }

    // MARK: Lookup

    subscript(id: DownloadID) -> DownloadRecord? {
        state.withLock { $0.records[id] }
    }

    /// All downloads in queue order.
    var records: [DownloadRecord] {
        state.withLock { state in state.scheduler.ids.compactMap { state.records[$0] } }
    }

    /// Returns the selected downloads, in the order of ``QueueState/ids(_:skippingUnknown:)``.
    func records(
        _ selection: DownloadSelection,
        skippingUnknown: Bool = false
    ) throws(DownloadError) -> [DownloadRecord] {
        try state.withLock { state throws(DownloadError) in
            try state.ids(selection, skippingUnknown: skippingUnknown).compactMap { state.records[$0] }
        }
    }

    var isShutDown: Bool { state.withLock { $0.scheduler.isShutDown } }

    /// Returns snapshots of the downloads of a group, or of all downloads if `group` is `nil`, in queue order.
    func snapshots(group: String? = nil) -> [DownloadSnapshot] {
        let now = clock.now()
        return state.withLock { state in
            let ids = try? state.ids(group.map { .group($0) } ?? .all)
            return (ids ?? []).compactMap { state.snapshot(of: $0, at: now) }
        }
    }

    func priority(of id: DownloadID) -> Int? {
        state.withLock { $0.scheduler.priority(of: id) }
    }

    func networkBlocker(of id: DownloadID) -> NetworkBlocker? {
        state.withLock { $0.scheduler.networkBlocker(of: id) }
    }

    /// Returns the stamp of a download's file, taken when it was renamed to its final name; `nil` if there is none.
    func stamp(of id: DownloadID) -> FileStamp? {
        state.withLock { $0.stamp(of: id) }
    }

    // MARK: Waiting

    /// Waits until no download is waiting or running, or until the task is cancelled.
    func waitUntilIdle() async {
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        let subscriber: Int? = state.withLock { $0.openCount == 0 ? nil : $0.idleSubscribers.add(continuation) }
        guard let subscriber else { return }
        for await _ in stream {}
        state.withLock { $0.idleSubscribers.remove(subscriber) }
    }

    /// Records a pending command, and starts a task that waits until the command completes and records that too.
    /// - Returns: `false` after the shutdown, when no task can be started.
    func follow(_ end: PendingCommand, of item: CommandSpool.Item, in journal: QueueJournal) -> Bool {
        journal.recordDecided(item, end)
        let isFollowed = begin(
            .end { [self] in
                await end.wait()
                // A shutdown does not carry out the command, and the next manager may own the queue by now.
                journal.recordEnd(of: item, isCarriedOut: !isShutDown)
                _ = begin(.ended(item))
            }
        )
        if !isFollowed { journal.recordEnd(of: item, isCarriedOut: false) }
        return isFollowed
    }

    // MARK: Effects

    typealias Verb = (inout Scheduler, DownloadID, Duration) -> [Scheduler.Action]

    /// Applies an operation to each download of a selection, in one step; changes nothing after the shutdown.
    /// - Returns: The selected downloads, a latch that opens when their files are deleted (`nil` if there are none to
    ///   delete), and the sequence number of the last state change.
    @discardableResult
    func apply(
        _ selection: DownloadSelection,
        skippingUnknown: Bool,
        _ verb: Verb
    ) throws(DownloadError) -> (records: [DownloadRecord], removal: Latch?, sequence: UInt64) {
        let now = clock.now()
        let (records, effects, sequence) = try state.withLock { state throws(DownloadError) in
            let ids = try state.ids(selection, skippingUnknown: skippingUnknown)
            let records = ids.compactMap { state.records[$0] }
            guard !state.scheduler.isShutDown else { return (records, [QueueState.Effect](), state.sequence) }
            let effects = state.effects(of: ids.flatMap { verb(&state.scheduler, $0, now) })
            return (records, effects, state.sequence)
        }
        return (records, perform(effects), sequence)
    }

    /// Requeues the selected downloads whose files no other download uses, each by a call of `verb`, and then starts
    /// downloads in free slots.
    func requeue(
        _ selection: DownloadSelection,
        skippingUnknown: Bool,
        _ verb: (inout QueueState, DownloadID, Duration) -> [Scheduler.Action]
    ) throws(DownloadError) {
        let now = clock.now()
        perform(
            try state.withLock { state throws(DownloadError) in
                let ids = try state.ids(selection, skippingUnknown: skippingUnknown)
                guard !state.scheduler.isShutDown else { return [] }
                state.scheduler.isGathering = true
                // One at a time, because two of the downloads may use the same file.
                var effects = ids.flatMap { id in
                    state.mayReopen(id) ? state.effects(of: verb(&state, id, now)) : []
                }
                state.scheduler.isGathering = false
                effects += state.effects(of: state.scheduler.startNext())
                return effects
            }
        )
    }

    func apply(_ verb: (inout Scheduler) -> [Scheduler.Action]) {
        perform(state.withLock { $0.effects(of: verb(&$0.scheduler)) })
    }

    /// Performs the effects of a decision.
    ///
    /// `isFromTransfer` is `true` if the calling task may block and the shutdown waits for it.
    /// - Returns: A latch that opens when files are deleted; `nil` if there are none to delete.
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
            // The shutdown waits for tasks of transfers; no other task may access the disk after it.
            if isFromTransfer { carryOut(work) } else { ended(work) }
        }
        return work.done
    }

    // MARK: The journal

    func scheduleFlush() {
        guard let journal, journal.claimFlush() else { return }
        // After the shutdown, closing the journal writes the remaining changes.
        _ = begin(.flush)
    }

    /// Writes all decisions so far to the journal; blocks.
    ///
    /// With `syncing`, the decisions also survive a power cut if the configuration requires it or `always` is `true`.
    func flush(syncing: Bool = true, always: Bool = false) throws(DownloadError) {
        try journal?.flush(syncing: syncing, always: always) { atomically in
            state.withLock { state in
                atomically()
                return state.members
            }
        }
    }

    /// Saves the resume records of the running downloads, and the journal; blocks.
    ///
    /// The first pass does not sync: it is quick, and its records survive the end of the process. The second pass syncs
    /// the records, so that they also survive a power cut.
    func save() {
        let records = records
        for record in records { record.save(syncing: false) }
        flushOrReport()
        for record in records { record.save(syncing: true) }
    }

    /// Like ``flush(syncing:always:)``, but publishes a failure instead of throwing it; the next flush tries again.
    func flushOrReport(syncing: Bool = true) {
        do throws(DownloadError) {
            try flush(syncing: syncing)
        } catch {
            observers.publish(.registryFailed(error))
        }
    }

    /// Syncs the changes of a completed command, then removes the command's file; blocks.
    ///
    /// The next poll would do the same, but not every program polls after its start, and another process would repeat a
    /// command whose file remains.
    func ended(_ item: CommandSpool.Item) {
        // A running poll syncs the changes of all its commands and removes their files together.
        guard let journal, journal.isCarriedOut(item), !journal.requestPoll() else { return }
        do throws(DownloadError) {
            try flush(always: true)
            try journal.done([item])
        } catch {
            observers.publish(.registryFailed(error))
        }
    }

    /// Publishes the states after removals, and releases the downloads that waited for a partial file to be deleted.
    func ended(_ removals: Removals) {
        for removal in removals.items {
            publish(removal.record, removal.stateChange)
            let waiting = removal.partial ? state.withLock { $0.removed(removal.record) } : []
            for latch in waiting { latch.open() }
        }
        removals.done.open()
    }

    /// Waits until no earlier download uses or is about to delete the partial file of this download.
    /// - Returns: `false` if this download was stopped or replaced meanwhile, so that it must not use the partial file.
    func waitForRemoval(before record: DownloadRecord) async -> Bool {
        guard state.withLock({ $0.isRemoving(record) }) else { return true }
        let latch = Latch()
        if state.withLock({ $0.follow(latch, removalFor: record) }) {
            await latch.wait(evenIfCancelled: false)
            state.withLock { $0.endFollowing(removalFor: record) }
        }
        return !Task.isCancelled && state.withLock { !$0.scheduler.isLeaving(record.id) }
    }

    /// Publishes a state change and, if no download is waiting or running any more, the event ``QueueEvent/idle``.
    func publish(_ record: DownloadRecord, _ stateChange: QueueState.StateChange) {
        record.enter(stateChange.state, stateChange.event, sequence: stateChange.sequence) { state in
            // Not called for an outdated state: the next run may have reserved the file name again.
            switch state {
            case .paused, .failed, .cancelled: environment.claims.release(record)
            // Only the name of a file that is replaced if the server's version changes stays reserved.
            case .finished:
                if record.requested({ $0.refetchPolicy != .ifChanged }) { environment.claims.release(record) }
            case .waiting, .running: break
            }
        }
        if stateChange.event == .removed {
            environment.claims.release(record)
            observers.publish(.removed(record.id))
        }
        guard stateChange.leavesOpenSet else { return }
        let waiting: [AsyncStream<Never>.Continuation]? = state.withLock { state in
            state.closed() ? state.idleSubscribers.removeAll() : nil
        }
        guard let waiting else { return }
        observers.publish(.idle)
        for continuation in waiting { continuation.finish() }
    }
}

/// Performs the effects of the queue's decisions, in the order of the decisions, and resumes tasks that wait for these
/// effects.
///
/// The manager stores this value, and performs the effects of each decision before its next suspension.
struct EffectPerformer: Sendable {
    private let environment: TransferEnvironment
    private let observers: QueueObservers
    /// Delegates work to a child task.
    let work: AsyncStream<ChildWork>.Continuation
    /// The commands of other processes that are being carried out.
    var commands = PendingCommands()
    /// The downloads that were paused since ``CommandServer/serve(_:untilIdle:)`` began, and still are.
    ///
    /// Another process may resume them, so serving until idle continues while there are any.
    var pausedWhileServing: Set<DownloadID> = []
    /// The number of times that a download failed, was cancelled or entered the state `waiting` again.
    private(set) var turnCount = 0
    /// The latches of the tasks that wait for a download to stop, by its identity.
    private var stops: [DownloadID: [Latch]] = [:]
    /// The removed and cancelled downloads whose files are being deleted, each with the number of its pending removals.
    private var removing: [DownloadID: Int] = [:]
    /// Whether the queue has been busy since the last event ``QueueEvent/idle``, so that another one is due.
    private var isBusy = false
    private var idleSubscribers = Subscribers<Never>()

    init(_ environment: TransferEnvironment, _ observers: QueueObservers, _ work: AsyncStream<ChildWork>.Continuation) {
        (self.environment, self.observers, self.work) = (environment, observers, work)
    }

    /// Performs the effects of a decision about the queue, except for the removals of files, which it returns.
    mutating func perform(_ effects: [QueueEffect], on queue: inout QueueState) -> [FileRemoval] {
        var removals: [FileRemoval] = []
        for effect in effects {
            switch effect {
            case .start(let run):
                begin(run)
                work.yield(.transfer(run))
            case .stop(let signal, let reason): signal.stop(reason)
            case .publish(let record, let change): publish(record, change)
            case .remove(let removal):
                removals.append(removal)
                environment.background?.left(removal.record)
            case .alarm(let time): work.yield(.alarm(time))
            case .release(let waiting): for latch in waiting { latch.open() }
            }
        }
        for removal in removals { removing[removal.record.id, default: 0] += 1 }
        // Removals of files begin with a write of the journal.
        if removals.isEmpty { scheduleFlush(of: &queue) }
        publishIdle(queue)
        return removals
    }

    /// Schedules a write of the journal, if one is needed and none is scheduled yet.
    func scheduleFlush(of queue: inout QueueState) {
        // After the shutdown, closing the registry writes the remaining changes.
        if queue.journal?.claimFlush() == true { work.yield(.flush) }
    }

    /// Publishes that downloads were added.
    func publish(_ added: QueueAdditions) {
        guard !added.newRecords.isEmpty else { return }
        if let background = environment.background {
            for record in added.newRecords { background.entered(record, .waiting) }
        }
        observers.publish(.added(added.new))
    }

    /// Publishes that a run of a download begins.
    mutating func begin(_ run: DownloadRun) {
        // A retry is not reported as another start.
        publish(run.record, DownloadStateChange(.running, run.earlier.state == nil ? .started : nil))
    }

    /// Publishes the new state of a download whose files have been removed, unless it was queued again meanwhile.
    mutating func ended(_ removal: FileRemoval, in queue: QueueState) {
        let (record, id) = (removal.record, removal.record.id)
        let count = removing[id, default: 1] - 1
        removing[id] = count > 0 ? count : nil
        let isRequeued = queue.records[id] === record && queue.scheduler.phase(of: id) != .cancelled
        publish(record, isRequeued ? DownloadStateChange(nil, nil) : removal.stateChange)
    }

    /// Publishes a state change; unless the download's files are still being deleted, also resumes the tasks that wait
    /// for the download to stop.
    private mutating func publish(_ record: DownloadRecord, _ change: DownloadStateChange) {
        if change.state == .paused {
            pausedWhileServing.insert(record.id)
        } else if !pausedWhileServing.isEmpty, change.state != nil || change.event == .removed {
            pausedWhileServing.remove(record.id)
        }
        record.enter(change.state, change.event)
        if [.failed, .cancelled, .waiting].contains(change.state?.kind) { turnCount += 1 }
        environment.background?.entered(record, change.state)
        switch change.state {
        case .paused, .failed, .cancelled: environment.claims.release(record)
        // With `ifChanged`, the name stays reserved: another download of that name would replace the finished file.
        case .finished: if record.requested({ $0.refetchPolicy != .ifChanged }) { environment.claims.release(record) }
        case .waiting, .running, nil: break
        }
        if change.event == .removed {
            environment.claims.release(record)
            environment.background?.left(record)
            observers.publish(.removed(record.id))
        }
        guard removing[record.id] == nil else { return }
        for latch in stops.removeValue(forKey: record.id) ?? [] { latch.open() }
        for item in commands.stopped(record.id) { work.yield(.carriedOut(item)) }
    }

    /// Stops the running downloads of a manager that is being released; publishes that all unfinished ones have failed.
    func performLast(_ effects: [QueueEffect], running: [DownloadRecord]) {
        for effect in effects {
            switch effect {
            case .stop(let signal, let reason): signal.stop(reason)
            case .publish(let record, let change): record.enter(change.state, change.event)
            case .start, .remove, .alarm, .release: break
            }
        }
        // Their transfers are stopping, but there is no manager to publish their states later.
        for record in running {
            let error = DownloadError.shutDown(record.request.url)
            record.enter(.failed(error), .failed(error))
        }
    }

    // MARK: Waiting

    /// Whether a cancelled or removed download is still stopping: its transfer still runs, or its files still exist.
    func isStopping(_ record: DownloadRecord) -> Bool { !record.status.state.isEnded || removing[record.id] != nil }

    /// Returns a latch that opens when the download has stopped.
    mutating func follow(_ id: DownloadID) -> Latch {
        let latch = Latch()
        stops[id, default: []].append(latch)
        return latch
    }

    /// Forgets the latch of a cancelled wait, so that latches do not accumulate while a download takes long to stop.
    mutating func endFollowing(_ id: DownloadID, _ latch: Latch) { stops[id]?.removeAll { $0 === latch } }

    /// Whether no download is waiting, running or about to have its files deleted.
    func isIdle(_ queue: QueueState) -> Bool { queue.open.isEmpty && removing.isEmpty }

    /// Returns a stream that finishes the next time that the queue becomes idle.
    mutating func followIdle() -> (subscriber: Int, stream: AsyncStream<Never>) {
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        return (idleSubscribers.add(continuation), stream)
    }

    mutating func endFollowingIdle(_ subscriber: Int) { idleSubscribers.remove(subscriber) }

    /// If the queue has become idle, publishes ``QueueEvent/idle`` and resumes the tasks that wait for that.
    mutating func publishIdle(_ queue: QueueState) {
        guard isIdle(queue) else { return isBusy = true }
        guard isBusy else { return }
        isBusy = false
        observers.publish(.idle)
        for continuation in idleSubscribers.removeAll() { continuation.finish() }
    }
}

/// Decides about the downloads that the system fetches for the app in a background session, also while the app is not there.
///
/// Pure. A run of a download ``fetch(_:note:at:)``es it and is told its end once; the system's tasks carry the identity of their
/// download, outlive the process, and call back in an order of their own:
///
///     nothing ── fetch, tasks listed ──▶ task ── file, or its end ──▶ outcome ── to the run that waits ──▶ nothing
///                                         └── stop, keeping ──▶ pausing ── data and end ──▶ nothing
///
/// An outcome that no run waits for is kept for the next one. A task of which nobody wants to know more is stale: what it
/// still tells is passed over, its file too.
struct BackgroundMachine: Sendable {
    typealias ID = DownloadID

    private enum Phase {
        case fetching
        /// Whether the task has ended, and whether the system has answered the call for data.
        case pausing(hasEnded: Bool, hasAnswered: Bool)
    }

    private struct Entry {
        var task: BackgroundTask?
        var phase = Phase.fetching
        var isAwaited = false
        /// Whether the run that waits has asked to stop.
        var isStopping = false
        var receivedBytes: Int64 = 0
        /// Whether the task goes on with an earlier one's bytes.
        var isResumed = false
        /// What the list had when the run came, or has since.
        var note: BackgroundTaskState?
        /// Which no run has taken yet.
        var outcome: Outcome?

        mutating func beginPause() {
            phase = .pausing(hasEnded: false, hasAnswered: false)
            // What the task began with is used up.
            note = nil
        }
    }

    private let sizeLimit: SizeLimit
    private var entries: [ID: Entry] = [:]
    /// Whether the tasks of earlier processes are known.
    private var isListed = false
    private var isInvalid = false
    /// Tasks that have yet to end, and whose end changes nothing.
    private var stale: Set<BackgroundTask> = []
    /// Those that ended before all were listed, and may be in the list all the same.
    private var ended: Set<BackgroundTask> = []
    /// Downloads whose file is there, and has not been found wrong since.
    private var taken: Set<ID> = []
    /// Those of them that a run is checking and naming, or is about to.
    private var naming: Set<ID> = []
    private var handlers: [BackgroundHandler] = []
    /// Whether the system has told all events of its last wake; one handler may come late, the first of the process.
    private var hasReportedAll = false
    private var hadHandler = false

    init(_ sizeLimit: SizeLimit = SizeLimit(maxBytes: nil)) {
        self.sizeLimit = sizeLimit
    }

    // MARK: Runs

    /// A run wants the download; it is told ``Effect/end(_:_:)`` once.
    mutating func fetch(_ id: ID, note: BackgroundTaskState?, at now: Int64) -> [Effect] {
        guard !isInvalid else { return [.end(id, .failed(.sessionInvalid))] }
        var entry = entries[id] ?? Entry()
        precondition(!entry.isAwaited, "Two runs of one download")
        naming.remove(id)
        if let outcome = entry.outcome.take() {
            entries[id] = nil
            return deliver(id, outcome)
        }
        taken.remove(id)
        entry.isAwaited = true
        if entry.task == nil { entry.note = note } else if case .resumable = note { entry.isResumed = true }
        entries[id] = entry
        return entry.task == nil && isListed ? start(id, at: now) : []
    }

    /// The task that was asked for is there.
    mutating func made(_ task: BackgroundTask) -> [Effect] {
        entries[task.download]?.task = task
        return [.resume(task)]
    }

    /// The run that waits has to stop; does nothing where none waits.
    mutating func stop(_ id: ID, _ stop: Stop) -> [Effect] {
        guard var entry = entries[id], entry.isAwaited else { return [] }
        switch (stop, entry.task) {
        case (.keeping, let task?):
            entry.isStopping = true
            var effects: [Effect] = []
            if case .fetching = entry.phase {
                entry.beginPause()
                effects = [.cancelForData(task)]
            }
            entries[id] = entry
            return effects
        case (.leaving, .some):
            // What a pause brings is waited for: nobody tells it again.
            guard !entry.isStopping else { return [] }
            entry.isAwaited = false
            entries[id] = entry
            return [.end(id, .stopped)]
        case (.discarding, let task?):
            entries[id] = nil
            stale.insert(task)
            return [.cancel(task), .save(id, nil), .end(id, .stopped)]
        case (.discarding, nil):
            entries[id] = nil
            return [.save(id, nil), .end(id, .stopped)]
        case (.keeping, nil), (.leaving, nil):
            entries[id] = nil
            return [.end(id, .stopped)]
        }
    }

    /// The run of a download is about to end, whatever it made of the outcome.
    mutating func left(_ id: ID) {
        if entries[id]?.task == nil, entries[id]?.isAwaited == false { entries[id] = nil }
    }

    /// The list knows of the run's end; where the download runs again, the next one has what came meanwhile.
    mutating func ended(_ id: ID, _ standing: Standing) -> [Effect] {
        guard standing != .running else { return [] }
        naming.remove(id)
        return callHandlers()
    }

    // MARK: The system's tasks

    /// All tasks of the session were listed; those that are not wanted are stopped, of two for one download the lesser.
    mutating func listed(_ tasks: [Listed], at now: Int64) -> [Effect] {
        guard !isListed, !isInvalid else { return [] }
        isListed = true
        var effects: [Effect] = []
        for listed in tasks.sorted(by: { $0.receivedBytes > $1.receivedBytes })
        where !stale.contains(listed.task) && !ended.contains(listed.task) {
            let id = listed.task.download
            guard listed.standing != .unwanted, entries[id]?.task == nil, !taken.contains(id) else {
                stale.insert(listed.task)
                effects.append(.cancel(listed.task))
                continue
            }
            entries[id, default: Entry()].task = listed.task
            entries[id]?.receivedBytes = listed.receivedBytes
            guard listed.standing == .kept else { continue }
            entries[id]?.beginPause()
            effects.append(.cancelForData(listed.task))
        }
        ended = []
        for (id, entry) in entries.sorted(by: { $0.key.rawValue < $1.key.rawValue })
        where entry.isAwaited && entry.task == nil {
            effects += start(id, at: now)
        }
        return effects
    }

    /// Bytes have come.
    mutating func wrote(_ task: BackgroundTask, receivedBytes: Int64, totalBytes: Int64?) -> [Effect] {
        let id = task.download
        guard let entry = entries[id], entry.task == task else { return [] }
        entries[id]?.receivedBytes = receivedBytes
        do throws(DownloadError) {
            try sizeLimit.check(max(receivedBytes, totalBytes ?? 0))
            return [.progress(id, receivedBytes: receivedBytes, totalBytes: totalBytes)]
        } catch {
            stale.insert(task)
            return [.cancel(task), .save(id, nil)] + conclude(id, .failed(error), .waiting)
        }
    }

    /// A task goes on behind the bytes that were there.
    mutating func resumed(_ task: BackgroundTask, from offset: Int64) -> [Effect] {
        guard entries[task.download]?.task == task else { return [] }
        entries[task.download]?.receivedBytes = offset
        return [.resumed(task.download, from: offset)]
    }

    /// A task has its file, which is there until the callback returns, unless it was purged before.
    mutating func finished(_ task: BackgroundTask, _ standing: Standing, hasFile: Bool) -> [Effect] {
        let id = task.download
        guard mayEnd(task, standing) else { return [] }
        guard !hasFile else { return [.takeOver(task)] }
        let wasted = entries[id]?.receivedBytes ?? 0
        return settle(task)
            + [.save(id, nil), .restarted(id, .filePurged, wastedBytes: wasted)] + conclude(id, .again, standing)
    }

    /// The file of a task is the partial, or was refused for what it is.
    mutating func tookOver(
        _ task: BackgroundTask,
        _ result: Result<DeliveredFile, DownloadError>,
        _ standing: Standing
    ) -> [Effect] {
        let outcome: Outcome
        switch result {
        case .success(let file):
            outcome = .file(file)
            taken.insert(task.download)
        case .failure(let error): outcome = .failed(error)
        }
        return settle(task) + [.save(task.download, nil)] + conclude(task.download, outcome, standing)
    }

    /// The system's answer to the call for data of a task that was cancelled, before or after its end; nil for none.
    mutating func gave(_ task: BackgroundTask, _ data: ResumeData?, at now: Int64) -> [Effect] {
        let id = task.download
        guard let entry = entries[id], entry.task == task, case .pausing(let hasEnded, _) = entry.phase else {
            return []
        }
        entries[id]?.phase = .pausing(hasEnded: hasEnded, hasAnswered: true)
        return save(data, of: id, at: now) + endPause(id, at: now)
    }

    /// A task has ended; after ``finished(_:_:hasFile:)`` this tells nothing new.
    mutating func completed(_ task: BackgroundTask, _ standing: Standing, _ end: End, at now: Int64) -> [Effect] {
        let id = task.download
        guard mayEnd(task, standing) else {
            stale.remove(task)
            if !isListed { ended.insert(task) }
            return []
        }
        if case .pausing(_, let hasAnswered) = entries[id]?.phase, entries[id]?.task == task {
            entries[id]?.phase = .pausing(hasEnded: true, hasAnswered: hasAnswered)
            return save(end.resumeData, of: id, at: now) + endPause(id, at: now)
        }
        if !isListed { ended.insert(task) }
        let received = max(end.receivedBytes, entries[id]?.receivedBytes ?? 0)
        let data = end.resumeData.flatMap { $0.problem(at: now) == nil ? $0 : nil }
        if let current = entries[id]?.task, current != task {
            // One that began anew in ignorance of this one, which has more.
            guard let data, let entry = entries[id], end.receivedBytes > entry.receivedBytes, entry.isAwaited,
                case .fetching = entry.phase
            else { return [] }
            stale.insert(current)
            entries[id]?.note = .resumable(data)
            return [.cancel(current), .save(id, .resumable(data))] + start(id, at: now)
        }
        if entries[id]?.isAwaited == true, entries[id]?.task == nil {
            // It is started when all tasks are listed.
            guard let data else { return [] }
            entries[id]?.note = .resumable(data)
            return [.save(id, .resumable(data))]
        }
        let outcome = end.failure?.error.map { Outcome.failed($0) } ?? .again
        if let data { return [.save(id, .resumable(data))] + conclude(id, outcome, standing) }
        // Of one from an earlier process the list may know better.
        guard entries[id]?.task == task else { return conclude(id, outcome, standing) }
        return lost(id, standing, end.failure, received: received)
    }

    // MARK: The app's wakes

    /// The system has woken the app for the session, and wants to be called when all is done.
    mutating func woken(_ handler: BackgroundHandler) -> [Effect] {
        handlers.append(handler)
        if hadHandler { hasReportedAll = false }
        hadHandler = true
        return isInvalid ? call() : callHandlers()
    }

    /// The system has told all events of a wake.
    mutating func reportedAll() -> [Effect] {
        hasReportedAll = true
        return callHandlers()
    }

    /// The session is of no use any more, and tells nothing more.
    mutating func invalidated() -> [Effect] {
        isInvalid = true
        let waiting = entries.filter(\.value.isAwaited).keys.sorted { $0.rawValue < $1.rawValue }
        (entries, stale, ended, taken, naming) = ([:], [], [], [], [])
        return waiting.map { .end($0, .failed(.sessionInvalid)) } + call()
    }

    private mutating func callHandlers() -> [Effect] {
        hasReportedAll && naming.isEmpty ? call() : []
    }

    private mutating func call() -> [Effect] {
        guard !handlers.isEmpty else { return [] }
        defer { (handlers, hasReportedAll) = ([], false) }
        return [.call(handlers)]
    }

    // MARK: Steps

    private mutating func start(_ id: ID, at now: Int64) -> [Effect] {
        var (effects, data): ([Effect], ResumeData?) = ([], nil)
        switch entries[id]?.note {
        case nil: break
        case .started: effects.append(.restarted(id, .taskLost, wastedBytes: 0))
        case .resumable(let found):
            if let problem = found.problem(at: now) {
                effects.append(.restarted(id, problem, wastedBytes: 0))
            } else {
                data = found
            }
        }
        entries[id]?.isResumed = data != nil
        entries[id]?.receivedBytes = 0
        // What goes on is in the list as it was until it has ended: the system may lose the task.
        if data == nil { effects.append(.save(id, .started)) }
        return effects + [.make(id, from: data)]
    }

    /// Whether the end of a task is of interest, known so far or not.
    private func mayEnd(_ task: BackgroundTask, _ standing: Standing) -> Bool {
        let id = task.download
        guard !isInvalid, !stale.contains(task) else { return false }
        if entries[id]?.task == task { return true }
        return standing != .unwanted && !taken.contains(id)
    }

    /// What a task still tells is of no interest, and nothing else is fetched.
    private mutating func settle(_ task: BackgroundTask) -> [Effect] {
        stale.insert(task)
        guard let other = entries[task.download]?.task, other != task else { return [] }
        stale.insert(other)
        return [.cancel(other)]
    }

    /// A task has ended, and nothing is left of its bytes.
    private mutating func lost(
        _ id: ID,
        _ standing: Standing,
        _ failure: BackgroundFailure?,
        received: Int64
    ) -> [Effect] {
        let reason: BackgroundRestart? =
            switch failure {
            case nil: .filePurged
            case .file where entries[id]?.isResumed == true: .resumeDataRefused
            case .some: received > 0 ? .noResumeData : nil
            }
        let told = reason.map { [Effect.restarted(id, $0, wastedBytes: received)] } ?? []
        // What could not be gone on with says nothing of the disk.
        let error = reason == .resumeDataRefused ? nil : failure?.error
        return [.save(id, nil)] + told + conclude(id, error.map { .failed($0) } ?? .again, standing)
    }

    private mutating func save(_ data: ResumeData?, of id: ID, at now: Int64) -> [Effect] {
        guard let data, data.problem(at: now) == nil else { return [] }
        entries[id]?.note = .resumable(data)
        entries[id]?.isResumed = true
        return [.save(id, .resumable(data))]
    }

    /// Ends a pause when the task has ended and what there is to go on with is known.
    private mutating func endPause(_ id: ID, at now: Int64) -> [Effect] {
        guard let entry = entries[id], case .pausing(true, let hasAnswered) = entry.phase else { return [] }
        var effects: [Effect] = []
        if case .resumable = entry.note {
        } else {
            guard hasAnswered else { return [] }
            entries[id]?.note = nil
            effects.append(.save(id, nil))
            if entry.receivedBytes > 0 {
                effects.append(.restarted(id, .noResumeData, wastedBytes: entry.receivedBytes))
            }
        }
        entries[id]?.task = nil
        entries[id]?.phase = .fetching
        // Somebody may have resumed it meanwhile.
        if entry.isAwaited, !entry.isStopping { return effects + start(id, at: now) }
        return effects + conclude(id, .stopped, .kept)
    }

    private mutating func conclude(_ id: ID, _ outcome: Outcome, _ standing: Standing) -> [Effect] {
        guard let entry = entries.removeValue(forKey: id), entry.isAwaited else {
            guard outcome != .again, standing == .running || standing == .waiting else { return [] }
            entries[id] = Entry(outcome: outcome)
            // Who waits to run may do so for days: the system is not to wait for that.
            if case .file = outcome, standing == .running { naming.insert(id) }
            return []
        }
        return deliver(id, entry.isStopping ? .stopped : outcome)
    }

    private mutating func deliver(_ id: ID, _ outcome: Outcome) -> [Effect] {
        if case .file = outcome { naming.insert(id) }
        return [.end(id, outcome)]
    }
}

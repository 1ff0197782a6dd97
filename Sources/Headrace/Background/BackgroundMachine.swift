/// The state machine for downloads in a background session, which the system continues while the app is not running.
///
/// It performs no I/O. A run of a download calls ``fetch(_:note:at:)`` and receives one outcome. The system's tasks
/// carry the identity of their download, outlive the process, and report their events in no particular order:
///
///     nothing ── fetch, tasks listed ──▶ task ── file, or its end ──▶ outcome ── to the run that waits ──▶ nothing
///                                         └── stop, keeping ──▶ pausing ── data and end ──▶ nothing
///
/// An outcome that no run awaits is stored for the next run of a running or waiting download; but ``Outcome/again`` is
/// never stored. A task whose result is not needed any more is stale: its events, including its file, are ignored.
struct BackgroundMachine: Sendable {
    typealias ID = DownloadID

    private enum Phase {
        case fetching
        /// The task is being cancelled for its resume data.
        ///
        /// `hasEnded`: it has completed. `hasResponded`: the system has returned the data or reported that it has none.
        case pausing(hasEnded: Bool, hasResponded: Bool)
    }

    private struct Entry {
        var task: BackgroundTask?
        var phase = Phase.fetching
        var isAwaited = false
        /// Whether the run that awaits the outcome has requested a stop.
        var isStopping = false
        var receivedBytes: Int64 = 0
        /// Whether the task was created from resume data, so that it continues an earlier task.
        var isResumed = false
        /// The saved state of an earlier task, from which the next task is created; `nil` if there is none to use.
        var note: BackgroundTaskState?
        /// An outcome that arrived while no run awaited it; `nil` if there is none.
        var outcome: Outcome?

        mutating func beginPause() {
            phase = .pausing(hasEnded: false, hasResponded: false)
            // The resume data from which the task was created cannot be used twice.
            note = nil
        }
    }

    private let sizeLimit: SizeLimit
    private var entries: [ID: Entry] = [:]
    /// Whether the system has listed the tasks of earlier processes.
    private var isListed = false
    private var isInvalid = false
    /// The tasks whose events are ignored until they complete.
    private var stale: Set<BackgroundTask> = []
    /// The tasks that completed before the system listed its tasks, so that the list may still contain them.
    private var ended: Set<BackgroundTask> = []
    /// The downloads whose file was delivered, until a run fetches the file anew.
    private var delivered: Set<ID> = []
    /// The downloads in ``delivered`` whose run is verifying and renaming the file, or will do so next.
    private var finalizing: Set<ID> = []
    private var handlers: [BackgroundHandler] = []
    /// Whether the system has reported all events of the wake-up that belongs to the last of ``handlers``.
    private var hasReportedAll = false
    /// Whether the system has reported all events of a wake-up whose handler the app has not passed yet.
    private var hasReportedEarly = false

    init(_ sizeLimit: SizeLimit = SizeLimit(maxBytes: nil)) { self.sizeLimit = sizeLimit }

    // MARK: Runs

    /// Starts or continues the fetch of a download for a run, which receives exactly one ``Effect/end(_:_:)``.
    ///
    /// `note` is the task's state as saved in the queue; `now` is the time in milliseconds since 1970, as in all calls.
    mutating func fetch(_ id: ID, note: BackgroundTaskState?, at now: Int64) -> [Effect] {
        guard !isInvalid else { return [.end(id, .failed(.sessionInvalid))] }
        var entry = entries[id] ?? Entry()
        precondition(!entry.isAwaited, "Two runs of one download")
        finalizing.remove(id)
        if let outcome = entry.outcome.take() {
            entries[id] = nil
            return deliver(id, outcome)
        }
        delivered.remove(id)
        entry.isAwaited = true
        if entry.task == nil { entry.note = note } else if case .resumable = note { entry.isResumed = true }
        entries[id] = entry
        return entry.task == nil && isListed ? start(id, at: now) : []
    }

    /// Records that a task was created for a fetch, and starts the task.
    mutating func made(_ task: BackgroundTask) -> [Effect] {
        entries[task.download]?.task = task
        return [.resume(task)]
    }

    /// Stops the fetch of a download; does nothing if no run awaits the outcome.
    mutating func stop(_ id: ID, _ stop: Stop) -> [Effect] {
        guard var entry = entries[id], entry.isAwaited else { return [] }
        switch (stop, entry.task) {
        case (.keeping, let task?):
            entry.isStopping = true
            defer { entries[id] = entry }
            guard case .fetching = entry.phase else { return [] }
            entry.beginPause()
            return [.cancelForData(task)]
        case (.leaving, .some):
            // The fetch waits for the end of a pause in progress, because the system reports the resume data only once.
            guard !entry.isStopping else { return [] }
            entry.isAwaited = false
            entries[id] = entry
            return [.end(id, .stopped)]
        case (.discarding, let task):
            entries[id] = nil
            if let task { stale.insert(task) }
            return (task.map { [.cancel($0)] } ?? []) + [.save(id, nil), .end(id, .stopped)]
        case (.keeping, nil), (.leaving, nil):
            entries[id] = nil
            return [.end(id, .stopped)]
        }
    }

    /// Records that a download which no run fetches was paused, or is not wanted any more; stops its task.
    mutating func withdrawn(_ id: ID, _ status: Status) -> [Effect] {
        guard let entry = entries[id], let task = entry.task, !entry.isAwaited, case .fetching = entry.phase else {
            return []
        }
        if status == .kept {
            entries[id]?.beginPause()
            return [.cancelForData(task)]
        }
        entries[id] = nil
        stale.insert(task)
        return [.cancel(task)]
    }

    /// Records that the run of a download has returned; discards an outcome that arrived after it had stopped waiting.
    mutating func runLeft(_ id: ID) {
        if entries[id]?.task == nil, entries[id]?.isAwaited == false { entries[id] = nil }
    }

    /// Records that the queue has processed the end of a download's run, for which the app's handlers may have waited.
    ///
    /// Does nothing if the download is running again. Keeps an outcome that arrived after ``runLeft(_:)``, for the next
    /// run.
    mutating func ended(_ id: ID, _ status: Status) -> [Effect] {
        guard status != .running else { return [] }
        finalizing.remove(id)
        return callHandlers()
    }

    // MARK: The system's tasks

    /// Records the existing tasks of the session, and starts the fetches that waited for them.
    ///
    /// Cancels the tasks of ``Status/unwanted`` and ``delivered`` downloads. Cancels those of ``Status/kept`` downloads
    /// to get their resume data. If a download has several tasks, keeps the one with the most bytes.
    mutating func listed(_ tasks: [Listed], at now: Int64) -> [Effect] {
        guard !isListed, !isInvalid else { return [] }
        isListed = true
        var effects: [Effect] = []
        for listed in tasks.sorted(by: { $0.receivedBytes > $1.receivedBytes })
        where !stale.contains(listed.task) && !ended.contains(listed.task) {
            let id = listed.task.download
            guard listed.status != .unwanted, entries[id]?.task == nil, !delivered.contains(id) else {
                stale.insert(listed.task)
                effects.append(.cancel(listed.task))
                continue
            }
            entries[id, default: Entry()].task = listed.task
            entries[id]?.receivedBytes = listed.receivedBytes
            if listed.status == .kept { effects += withdrawn(id, .kept) }
        }
        ended = []
        for (id, entry) in entries.sorted(by: { $0.key.rawValue < $1.key.rawValue })
        where entry.isAwaited && entry.task == nil {
            effects += start(id, at: now)
        }
        return effects
    }

    /// Records the received bytes of a task; if the file exceeds the size limit, cancels the task and fails the fetch.
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

    /// Records that a task, which was created from resume data, continues from an offset.
    mutating func resumed(_ task: BackgroundTask, from offset: Int64) -> [Effect] {
        guard entries[task.download]?.task == task else { return [] }
        entries[task.download]?.receivedBytes = offset
        return [.resumed(task.download, from: offset)]
    }

    /// Records that a task has delivered its file, which exists only until the system's callback returns.
    ///
    /// `hasFile` is `false` if the system has purged the file.
    mutating func finished(_ task: BackgroundTask, _ status: Status, hasFile: Bool) -> [Effect] {
        if handlers.isEmpty { hasReportedEarly = false }
        let id = task.download
        guard mayEnd(task, status) else { return [] }
        guard !hasFile else { return [.takeOver(task)] }
        let wasted = entries[id]?.receivedBytes ?? 0
        return settle(task)
            + [.save(id, nil), .restarted(id, .filePurged, wastedBytes: wasted)] + conclude(id, .again, status)
    }

    /// Records whether the file of a task was moved to the partial file (success) or rejected (failure).
    mutating func movedFile(
        _ task: BackgroundTask,
        _ result: Result<DeliveredFile, DownloadError>,
        _ status: Status
    ) -> [Effect] {
        let outcome: Outcome
        switch result {
        case .success(let file):
            outcome = .file(file)
            delivered.insert(task.download)
        case .failure(let error): outcome = .failed(error)
        }
        return settle(task) + [.save(task.download, nil)] + conclude(task.download, outcome, status)
    }

    /// Records the resume data of a cancelled task, before or after it completes; `nil` if the system has none.
    mutating func receivedResumeData(_ task: BackgroundTask, _ data: ResumeData?, at now: Int64) -> [Effect] {
        let id = task.download
        guard let entry = entries[id], entry.task == task, case .pausing(let hasEnded, _) = entry.phase else {
            return []
        }
        entries[id]?.phase = .pausing(hasEnded: hasEnded, hasResponded: true)
        return save(data, of: id, at: now) + endPause(id, at: now)
    }

    /// Records that the system has ended a task, possibly with an error; ignores a result that is not needed any more.
    mutating func completed(_ task: BackgroundTask, _ status: Status, _ end: End, at now: Int64) -> [Effect] {
        if handlers.isEmpty { hasReportedEarly = false }
        let id = task.download
        guard mayEnd(task, status) else {
            stale.remove(task)
            if !isListed { ended.insert(task) }
            return []
        }
        if case .pausing(_, let hasResponded) = entries[id]?.phase, entries[id]?.task == task {
            entries[id]?.phase = .pausing(hasEnded: true, hasResponded: hasResponded)
            return save(end.resumeData, of: id, at: now) + endPause(id, at: now)
        }
        if !isListed { ended.insert(task) }
        let received = max(end.receivedBytes, entries[id]?.receivedBytes ?? 0)
        let data = end.resumeData.flatMap { $0.problem(at: now) == nil ? $0 : nil }
        if let current = entries[id]?.task, current != task {
            // This task of an earlier process became known only after the current one was created. If it has more
            // bytes, its resume data replaces the current task.
            guard let data, let entry = entries[id], end.receivedBytes > entry.receivedBytes, entry.isAwaited,
                case .fetching = entry.phase
            else { return [] }
            stale.insert(current)
            entries[id]?.note = .resumable(data)
            return [.cancel(current), .save(id, .resumable(data))] + start(id, at: now)
        }
        if entries[id]?.isAwaited == true, entries[id]?.task == nil {
            // The fetch starts once the system has listed all tasks.
            guard let data else { return [] }
            entries[id]?.note = .resumable(data)
            return [.save(id, .resumable(data))]
        }
        let outcome = end.failure?.error.map { Outcome.failed($0) } ?? .again
        if let data { return [.save(id, .resumable(data))] + conclude(id, outcome, status) }
        // The task of an earlier process does not replace the state saved in the queue, which may be newer.
        guard entries[id]?.task == task else { return conclude(id, outcome, status) }
        return lost(id, status, end.failure, received: received)
    }

    // MARK: The app's wakes

    /// Stores the app's completion handler, to be called when all events of a wake-up are processed.
    mutating func woken(_ handler: BackgroundHandler) -> [Effect] {
        handlers.append(handler)
        hasReportedAll = hasReportedEarly
        hasReportedEarly = false
        return isInvalid ? call() : callHandlers()
    }

    /// Records that the system has reported all events of a wake-up.
    mutating func reportedAll() -> [Effect] {
        if handlers.isEmpty || hasReportedAll { hasReportedEarly = true } else { hasReportedAll = true }
        return callHandlers()
    }

    /// Records that the session is invalid and reports no further events; fails all fetches, and calls the handlers.
    mutating func invalidated() -> [Effect] {
        isInvalid = true
        let waiting = entries.filter(\.value.isAwaited).keys.sorted { $0.rawValue < $1.rawValue }
        (entries, stale, ended, delivered, finalizing) = ([:], [], [], [], [])
        return waiting.map { .end($0, .failed(.sessionInvalid)) } + call()
    }

    private mutating func callHandlers() -> [Effect] { hasReportedAll && finalizing.isEmpty ? call() : [] }

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
        // Resume data stays in the queue until the task completes, because the system may lose the task.
        if data == nil { effects.append(.save(id, .started)) }
        return effects + [.make(id, from: data)]
    }

    /// Returns whether the result of a task, which an earlier process may have created, is still needed.
    private func mayEnd(_ task: BackgroundTask, _ status: Status) -> Bool {
        let id = task.download
        guard !isInvalid, !stale.contains(task) else { return false }
        if entries[id]?.task == task { return true }
        return status != .unwanted && !delivered.contains(id)
    }

    /// Ignores all further events of a task, and cancels any other task of the same download.
    private mutating func settle(_ task: BackgroundTask) -> [Effect] {
        stale.insert(task)
        guard let other = entries[task.download]?.task, other != task else { return [] }
        stale.insert(other)
        return [.cancel(other)]
    }

    /// Handles the loss of a task's bytes: the task completed with neither a file nor resume data.
    private mutating func lost(_ id: ID, _ status: Status, _ failure: BackgroundFailure?, received: Int64) -> [Effect] {
        let reason: RestartReason? =
            switch failure {
            case nil: .filePurged
            case .file where entries[id]?.isResumed == true: .resumeDataRefused
            case .some: received > 0 ? .noResumeData : nil
            }
        let notice = reason.map { [Effect.restarted(id, $0, wastedBytes: received)] } ?? []
        // Rejected resume data does not indicate a disk failure.
        let error = reason == .resumeDataRefused ? nil : failure?.error
        return [.save(id, nil)] + notice + conclude(id, error.map { .failed($0) } ?? .again, status)
    }

    private mutating func save(_ data: ResumeData?, of id: ID, at now: Int64) -> [Effect] {
        guard let data, data.problem(at: now) == nil else { return [] }
        entries[id]?.note = .resumable(data)
        entries[id]?.isResumed = true
        return [.save(id, .resumable(data))]
    }

    /// Finishes a pause once the task has completed, and the system has returned resume data or reported the lack of it.
    private mutating func endPause(_ id: ID, at now: Int64) -> [Effect] {
        guard let entry = entries[id], case .pausing(true, let hasResponded) = entry.phase else { return [] }
        var effects: [Effect] = []
        if case .resumable = entry.note {
        } else {
            guard hasResponded else { return [] }
            entries[id]?.note = nil
            effects.append(.save(id, nil))
            if entry.receivedBytes > 0 {
                effects.append(.restarted(id, .noResumeData, wastedBytes: entry.receivedBytes))
            }
        }
        entries[id]?.task = nil
        entries[id]?.phase = .fetching
        // The download may have been resumed in the meantime.
        if entry.isAwaited, !entry.isStopping { return effects + start(id, at: now) }
        return effects + conclude(id, .stopped, .kept)
    }

    private mutating func conclude(_ id: ID, _ outcome: Outcome, _ status: Status) -> [Effect] {
        guard let entry = entries.removeValue(forKey: id), entry.isAwaited else {
            guard outcome != .again, status == .running || status == .waiting else { return [] }
            entries[id] = Entry(outcome: outcome)
            // The wake-up lasts while a download is in `finalizing`. A waiting one is not added: it may wait for days.
            if case .file = outcome, status == .running { finalizing.insert(id) }
            return []
        }
        return deliver(id, entry.isStopping ? .stopped : outcome)
    }

    private mutating func deliver(_ id: ID, _ outcome: Outcome) -> [Effect] {
        if case .file = outcome { finalizing.insert(id) }
        return [.end(id, outcome)]
    }
}

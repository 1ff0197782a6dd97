import HeadracePlatform

/// The system's background session, which creates tasks and reports their events to ``BackgroundTransfers``.
///
/// Only ``connect(to:)`` may report events before it returns. During the other methods, the caller may hold a lock that
/// the handling of an event needs.
protocol BackgroundSystem: Sendable {
    /// Claims the session for a manager. Throws `busy` if another manager uses it.
    func claim() throws(DownloadError)
    /// Reports the events of all tasks to `transfers` from now on, and once the list of existing tasks.
    ///
    /// Events may precede the list. Also passes the completion handlers of earlier wake-ups to `transfers`.
    func connect(to transfers: BackgroundTransfers)
    /// Lets another manager claim the session.
    ///
    /// Tasks continue, and their events are still reported until another manager connects to the session.
    ///
    /// The name is not `release`, because every `NSObject` has a method of that name.
    func leave()
    /// Creates a suspended task and returns its number.
    func makeTask(_ request: BackgroundRequest, description: String, from resumeData: [UInt8]?) -> Int
    /// Starts or continues a suspended task.
    func resume(_ number: Int)
    /// Cancels a task.
    func cancel(_ number: Int)
    /// Cancels a task and then passes its resume data to `publish`, or `nil` if there is none.
    func cancel(_ number: Int, producing publish: @escaping @Sendable ([UInt8]?) -> Void)
}

/// The request that a task sends.
struct BackgroundRequest: Sendable, Hashable {
    /// An http or https URL.
    let url: URL
    /// The header fields, in order.
    let fields: [HeaderField]
    /// The networks over which the system may send the request.
    let networkPolicy: DownloadRequest.NetworkPolicy
}

/// Fetches a manager's downloads in a background session, by performing the effects of a ``BackgroundMachine``.
///
/// Effects are performed under the lock, in order. A delivered file is moved to the partial file before the system's
/// callback returns.
final class BackgroundTransfers: BackgroundFetcher {
    private struct Fetch {
        let request: BackgroundRequest
        let continuation: CheckedContinuation<BackgroundMachine.Outcome, Never>
        /// The progress meter; `nil` until the first report, and again after a resume or restart.
        ///
        /// The next report creates it with the number of bytes received so far, possibly by an earlier process.
        var meter: ProgressMeter?
    }

    private struct State {
        var machine: BackgroundMachine
        /// The downloads that were waiting, running or paused in this process and not passed to ``left(_:)`` since.
        var records: [DownloadID: DownloadRecord] = [:]
        var fetches: [DownloadID: Fetch] = [:]
        var handlers: [BackgroundHandler: @Sendable () -> Void] = [:]
        var lastHandler = 0
        var isReleased = false
        /// For each download whose task was cancelled for its resume data, the URL at that time: the data is useless
        /// for another URL.
        var stoppedURLs: [DownloadID: URL] = [:]

        func status(of id: DownloadID) -> BackgroundMachine.Status {
            switch records[id]?.status.state {
            case .running: .running
            case .waiting: .waiting
            case .paused, .failed: .kept
            case .finished, .cancelled, nil: .unwanted
            }
        }

        /// Returns the resume data of a task; `nil` if there is none, or if the download got another URL after its task
        /// was cancelled.
        func resumeData(_ bytes: [UInt8]?, of id: DownloadID, at now: Int64) -> ResumeData? {
            if let url = stoppedURLs[id], let record = records[id], record.requested({ $0.url }) != url { return nil }
            return bytes.map { ResumeData(bytes: $0, time: now) }
        }
    }

    /// A file that the system delivers; it exists only during the system's callback.
    private struct Delivery {
        let path: String
        let head: ResponseHead
    }

    private let system: any BackgroundSystem
    private let configuration: DownloadConfiguration
    private let files: FileSystem
    private let clock: AnyClock
    let reports: AsyncStream<BackgroundReport>
    private let report: AsyncStream<BackgroundReport>.Continuation
    private let state: Locked<State>

    init(
        _ system: any BackgroundSystem,
        _ configuration: DownloadConfiguration,
        _ files: FileSystem,
        _ clock: AnyClock
    ) {
        self.system = system
        self.configuration = configuration
        self.files = files
        self.clock = clock
        (reports, report) = AsyncStream.makeStream(of: BackgroundReport.self)
        let machine = BackgroundMachine(SizeLimit(maxBytes: configuration.maxFileSize))
        state = Locked(State(machine: machine), rank: .backgroundTransfers)
    }

    func connect() { system.connect(to: self) }

    /// Lets another manager claim the session; does nothing after the first call.
    func release() {
        let isFirst = state.withLock { state in
            defer { state.isReleased = true }
            return !state.isReleased
        }
        if isFirst { system.leave() }
    }

    func endReports() { report.finish() }

    // MARK: The queue

    func entered(_ record: DownloadRecord, _ newState: DownloadState?) {
        // An ended download is neither added nor removed here. A cancelled one is added again when it is resumed.
        guard newState?.isEnded == false else { return }
        change { state in
            state.records[record.id] = record
            return newState == .paused ? state.machine.withdrawn(record.id, .kept) : []
        }
    }

    func left(_ record: DownloadRecord) {
        change { state in
            guard state.records[record.id] === record else { return [] }
            state.records[record.id] = nil
            state.stoppedURLs[record.id] = nil
            return state.machine.withdrawn(record.id, .unwanted)
        }
    }

    // MARK: Runs

    /// Waits for the outcome of a download's task and returns it; creates the task if the system has none.
    func fetch(
        _ record: DownloadRecord,
        _ request: BackgroundRequest,
        until stop: StopSignal
    ) async -> BackgroundMachine.Outcome {
        let id = record.id
        let outcome = await withCheckedContinuation { continuation in
            change { state in
                state.fetches[id] = Fetch(request: request, continuation: continuation)
                return state.machine.fetch(id, note: record.backgroundNote, at: WallTime.milliseconds())
            }
            stop.follow { [self] reason in
                change { $0.machine.stop(id, BackgroundMachine.Stop(reason)) }
            }
        }
        stop.follow(nil)
        return outcome
    }

    /// Calls `body` while no delivered file can be moved to a partial file, and returns the result of `body`.
    func betweenFiles<Value>(_ body: () throws(DownloadError) -> Value) throws(DownloadError) -> Value {
        try state.withLock { _ throws(DownloadError) in try body() }
    }

    /// Records that the transfer of a download has returned, before the queue processes its outcome.
    func runLeft(_ id: DownloadID) {
        state.withLock { $0.machine.runLeft(id) }
    }

    /// Records that the queue has processed the end of a download's run.
    func ended(_ id: DownloadID) {
        change { state in state.machine.ended(id, state.status(of: id)) }
    }

    // MARK: System events

    /// Handles the system's list of existing tasks, with the number of bytes received by each.
    func listed(_ tasks: [(task: BackgroundTask, receivedBytes: Int64)]) {
        change { state in
            let tasks = tasks.map { task, receivedBytes in
                BackgroundMachine.Listed(
                    task: task,
                    status: state.status(of: task.download),
                    receivedBytes: receivedBytes
                )
            }
            return state.machine.listed(tasks, at: WallTime.milliseconds())
        }
    }

    /// Handles received bytes; `totalBytes` is `nil` if the server did not send the size.
    func wrote(_ task: BackgroundTask, receivedBytes: Int64, totalBytes: Int64?) {
        change { $0.machine.wrote(task, receivedBytes: receivedBytes, totalBytes: totalBytes) }
    }

    /// Handles a task that resumes the download at an offset, after the bytes that an earlier task received.
    func resumed(_ task: BackgroundTask, from offset: Int64) {
        change { $0.machine.resumed(task, from: offset) }
    }

    /// Handles the file and the final response of a task; on return, the file was moved, was rejected or is not needed.
    func finished(_ task: BackgroundTask, file: String, head: ResponseHead) {
        change(Delivery(path: file, head: head)) { state in
            let hasFile = (try? files.status(file))?.kind == .regular
            return state.machine.finished(task, state.status(of: task.download), hasFile: hasFile)
        }
    }

    /// Handles the completion of a task; `failure` is `nil` if the task succeeded.
    func completed(
        _ task: BackgroundTask,
        _ failure: BackgroundFailure?,
        resumeData: [UInt8]?,
        receivedBytes: Int64
    ) {
        change { state in
            let now = WallTime.milliseconds()
            let end = BackgroundMachine.End(
                failure: failure,
                resumeData: state.resumeData(resumeData, of: task.download, at: now),
                receivedBytes: receivedBytes
            )
            return state.machine.completed(task, state.status(of: task.download), end, at: now)
        }
    }

    /// Handles a wake-up of the app; calls `completion` once, after all events of the wake-up are processed.
    func woken(_ completion: @escaping @Sendable () -> Void) {
        change { state in
            state.lastHandler += 1
            let handler = BackgroundHandler(number: state.lastHandler)
            state.handlers[handler] = completion
            return state.machine.woken(handler)
        }
    }

    /// Records that all events of a wake-up were reported.
    func reportedAll() {
        change { $0.machine.reportedAll() }
    }

    /// Records that the system has invalidated the session.
    func invalidated() {
        change { $0.machine.invalidated() }
    }

    // MARK: Effects

    private func change(_ delivery: Delivery? = nil, _ verb: (inout State) -> [BackgroundMachine.Effect]) {
        state.withLock { state in
            var effects = verb(&state)[...]
            while let effect = effects.popFirst() {
                effects = perform(effect, delivery, &state) + effects
            }
        }
    }

    /// Performs an effect and returns its follow-up effects, to be performed before the effects still pending.
    private func perform(
        _ effect: BackgroundMachine.Effect,
        _ delivery: Delivery?,
        _ state: inout State
    ) -> [BackgroundMachine.Effect] {
        switch effect {
        case .make(let id, let data):
            guard let fetch = state.fetches[id] else { preconditionFailure("A task without a fetch") }
            state.stoppedURLs[id] = nil
            let number = system.makeTask(fetch.request, description: id.description, from: data?.bytes)
            return state.machine.made(BackgroundTask(id, number))
        case .resume(let task): system.resume(task.number)
        case .cancel(let task): system.cancel(task.number)
        case .cancelForData(let task):
            state.stoppedURLs[task.download] = state.records[task.download]?.requested { $0.url }
            system.cancel(task.number) { [self] bytes in
                change { state in
                    let now = WallTime.milliseconds()
                    let data = state.resumeData(bytes, of: task.download, at: now)
                    return state.machine.receivedResumeData(task, data, at: now)
                }
            }
        case .takeOver(let task):
            guard let delivery, let record = state.records[task.download] else { return [] }
            let result = Result { () throws(DownloadError) in
                try DeliveredFile(takingOver: delivery.path, delivery.head, for: record, configuration, files)
            }
            return state.machine.movedFile(task, result, state.status(of: task.download))
        case .save(let id, let note):
            if state.records[id]?.setBackgroundNote(note) == true { report.yield(.noteChanged(id)) }
        case .progress(let id, let receivedBytes, let totalBytes):
            publish(receivedBytes, of: totalBytes, id, &state)
        case .resumed(let id, let offset):
            state.fetches[id]?.meter = nil
            state.records[id]?.status.publish(.resumed(from: offset, bytesKept: offset, proof: .system))
        case .restarted(let id, let reason, let wastedBytes):
            state.fetches[id]?.meter = nil
            state.records[id]?.status.publish(.restarted(reason: reason, bytesWasted: wastedBytes))
        case .end(let id, let outcome):
            state.fetches.removeValue(forKey: id)?.continuation.resume(returning: outcome)
        case .call(let handlers):
            let completions = handlers.compactMap { state.handlers.removeValue(forKey: $0) }
            if case .terminated = report.yield(.processed(completions)) {
                for completion in completions { completion() }
            }
        }
        return []
    }

    private func publish(_ receivedBytes: Int64, of totalBytes: Int64?, _ id: DownloadID, _ state: inout State) {
        let now = clock.now()
        guard state.fetches[id] != nil else { return }
        var meter = state.fetches[id]?.meter ?? ProgressMeter(start: now, bytesReceived: receivedBytes)
        meter.totalBytes = totalBytes
        let progress = meter.received(Int(clamping: receivedBytes - meter.bytesReceived), at: now)
        state.fetches[id]?.meter = meter
        if let progress { state.records[id]?.status.publish(progress) }
    }
}

extension BackgroundMachine.Stop {
    fileprivate init(_ reason: StopSignal.Reason) {
        switch reason {
        // A task of the system cannot continue with another URL.
        case .cancelled, .relinked: self = .discarding
        case .shutDown: self = .leaving
        case .paused, .demoted, .networkChanged, .timedOut: self = .keeping
        }
    }
}

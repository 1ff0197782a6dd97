import HeadracePlatform

/// The system's side of a background session: makes tasks, and calls ``BackgroundTransfers`` back, never from within a call.
protocol BackgroundSystem: Sendable {
    /// Takes the session for a manager; throws `busy` where another one has it.
    func claim() throws(DownloadError)
    /// Tells from now on what becomes of the tasks, and lists once those that are there.
    func connect(to transfers: BackgroundTransfers)
    /// Lets another manager claim the session. Its tasks keep running, and their callbacks keep arriving until then.
    ///
    /// Not named `release`, which every `NSObject` has.
    func leave()
    /// Makes a task that does not run yet, and returns its number.
    func makeTask(_ request: BackgroundRequest, description: String, from resumeData: [UInt8]?) -> Int
    /// Lets a task run.
    func resume(_ number: Int)
    /// Stops a task for good.
    func cancel(_ number: Int)
    /// Stops a task, and then tells what there is to go on with, nil for nothing.
    func cancel(_ number: Int, producing publish: @escaping @Sendable ([UInt8]?) -> Void)
}

/// What a task asks for.
struct BackgroundRequest: Sendable, Hashable {
    /// An http or https URL.
    let url: URL
    /// The header fields, in order.
    let fields: [HeaderField]
    /// On which networks the system may send it.
    let networkPolicy: DownloadRequest.NetworkPolicy
}

/// The downloads of a manager that a background session fetches: does what the ``BackgroundMachine`` decides.
///
/// Effects are done under the lock, in the order of the decisions; a file is taken over before the system's callback returns.
final class BackgroundTransfers: BackgroundFetcher {
    private struct Fetch {
        let request: BackgroundRequest
        let continuation: CheckedContinuation<BackgroundMachine.Outcome, Never>
        /// Nil before the first bytes, of which there may be many at once.
        var meter: ProgressMeter?
    }

    private struct State {
        var machine: BackgroundMachine
        var fetches: [DownloadID: Fetch] = [:]
        var handlers: [BackgroundHandler: @Sendable () -> Void] = [:]
        var lastHandler = 0
        var isReleased = false
    }

    /// A file of the system, for the time of its callback.
    private struct Delivery {
        let path: String
        let head: ResponseHead
    }

    private let system: any BackgroundSystem
    private let list: DownloadQueue
    private let configuration: DownloadConfiguration
    private let files: FileSystem
    private let clock: AnyClock
    private let state: Locked<State>

    init(
        _ system: any BackgroundSystem,
        _ list: DownloadQueue,
        _ configuration: DownloadConfiguration,
        _ files: FileSystem,
        _ clock: AnyClock
    ) {
        self.system = system
        self.list = list
        self.configuration = configuration
        self.files = files
        self.clock = clock
        state = Locked(State(machine: BackgroundMachine(SizeLimit(maxBytes: configuration.maxFileSize))))
    }

    func connect() { system.connect(to: self) }

    /// Leaves the session to another manager; does nothing the second time.
    func release() {
        let isFirst = state.withLock { state in
            defer { state.isReleased = true }
            return !state.isReleased
        }
        if isFirst { system.leave() }
    }

    // MARK: Runs

    /// Has the system fetch a download, or waits for what it fetches already.
    func fetch(
        _ record: DownloadRecord,
        _ request: BackgroundRequest,
        until stop: StopSignal
    ) async -> BackgroundMachine.Outcome {
        let id = record.id
        let outcome = await withCheckedContinuation { continuation in
            change { state in
                state.fetches[id] = Fetch(request: request, continuation: continuation)
                return state.machine.fetch(id, note: record.backgroundNote, at: Self.now())
            }
            stop.follow { [self] reason in
                change { $0.machine.stop(id, BackgroundMachine.Stop(reason)) }
            }
        }
        stop.follow(nil)
        return outcome
    }

    /// Runs `body` while no file of the system's is on its way to be a partial.
    func betweenFiles<Value>(_ body: () throws(DownloadError) -> Value) throws(DownloadError) -> Value {
        try state.withLock { _ throws(DownloadError) in try body() }
    }

    /// The run of a download has no more use for the system, and is about to end.
    func left(_ id: DownloadID) {
        state.withLock { $0.machine.left(id) }
    }

    /// The list knows how the run of a download has ended.
    func ended(_ id: DownloadID) {
        change { $0.machine.ended(id, standing(of: id)) }
    }

    // MARK: What the system tells

    /// The tasks that are there, with the bytes that each has.
    func listed(_ tasks: [(task: BackgroundTask, receivedBytes: Int64)]) {
        change { state in
            let tasks = tasks.map { task, receivedBytes in
                BackgroundMachine.Listed(task: task, standing: standing(of: task), receivedBytes: receivedBytes)
            }
            return state.machine.listed(tasks, at: Self.now())
        }
    }

    /// Bytes have come; nil where the server does not tell how many there are.
    func wrote(_ task: BackgroundTask, receivedBytes: Int64, totalBytes: Int64?) {
        change { $0.machine.wrote(task, receivedBytes: receivedBytes, totalBytes: totalBytes) }
    }

    /// A task goes on from an offset with the bytes of an earlier one.
    func resumed(_ task: BackgroundTask, from offset: Int64) {
        change { $0.machine.resumed(task, from: offset) }
    }

    /// A task has its file, with its last answer; when this returns it is taken over, or of no use.
    func finished(_ task: BackgroundTask, file: String, head: ResponseHead) {
        change(Delivery(path: file, head: head)) { state in
            let hasFile = (try? files.status(file))?.kind == .regular
            return state.machine.finished(task, standing(of: task), hasFile: hasFile)
        }
    }

    /// A task has ended, as a success where no failure is given.
    func completed(
        _ task: BackgroundTask,
        domain: String?,
        code: Int,
        text: String,
        resumeData: [UInt8]?,
        receivedBytes: Int64
    ) {
        change { state in
            let now = Self.now()
            let end = BackgroundMachine.End(
                failure: domain.map { BackgroundFailure(domain: $0, code: code, text: text) },
                resumeData: resumeData.map { ResumeData(bytes: $0, time: now) },
                receivedBytes: receivedBytes
            )
            return state.machine.completed(task, standing(of: task), end, at: now)
        }
    }

    /// The system has woken the app for the session; `completion` is called once, when all that follows from it is done.
    func woken(_ completion: @escaping @Sendable () -> Void) {
        change { state in
            state.lastHandler += 1
            let handler = BackgroundHandler(number: state.lastHandler)
            state.handlers[handler] = completion
            return state.machine.woken(handler)
        }
    }

    /// All events of a wake are told.
    func reportedAll() {
        change { $0.machine.reportedAll() }
    }

    /// The session is ended by the system.
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

    /// Does what was decided; returns what follows at once.
    private func perform(
        _ effect: BackgroundMachine.Effect,
        _ delivery: Delivery?,
        _ state: inout State
    ) -> [BackgroundMachine.Effect] {
        switch effect {
        case .make(let id, let data):
            guard let fetch = state.fetches[id] else { preconditionFailure("A task that nobody waits for") }
            let number = system.makeTask(fetch.request, description: id.description, from: data?.bytes)
            return state.machine.made(BackgroundTask(id, number))
        case .resume(let task): system.resume(task.number)
        case .cancel(let task): system.cancel(task.number)
        case .cancelForData(let task):
            system.cancel(task.number) { [self] bytes in
                change { state in
                    let now = Self.now()
                    return state.machine.gave(task, bytes.map { ResumeData(bytes: $0, time: now) }, at: now)
                }
            }
        case .takeOver(let task):
            guard let delivery, let record = list[task.download] else { return [] }
            let result = Result { () throws(DownloadError) in
                try DeliveredFile(takingOver: delivery.path, delivery.head, for: record, configuration, files)
            }
            return state.machine.tookOver(task, result, standing(of: task))
        case .save(let id, let note): list.setBackgroundNote(note, of: id)
        case .progress(let id, let receivedBytes, let totalBytes):
            note(receivedBytes, of: totalBytes, id, &state)
        case .resumed(let id, let offset):
            state.fetches[id]?.meter = nil
            publish(
                .resumed(
                    from: offset,
                    bytesKept: offset,
                    proof: "The system has compared what the server says of the file."
                ),
                id
            )
        case .restarted(let id, let reason, let wastedBytes):
            state.fetches[id]?.meter = nil
            publish(.restarted(reason: reason.sentence, bytesWasted: wastedBytes), id)
        case .end(let id, let outcome):
            state.fetches.removeValue(forKey: id)?.continuation.resume(returning: outcome)
        case .call(let handlers):
            // The process may be stopped as soon as they are called.
            list.flushOrReport(syncing: false)
            for handler in handlers { state.handlers.removeValue(forKey: handler)?() }
        }
        return []
    }

    private func note(_ receivedBytes: Int64, of totalBytes: Int64?, _ id: DownloadID, _ state: inout State) {
        let now = clock.now()
        guard state.fetches[id] != nil else { return }
        var meter = state.fetches[id]?.meter ?? ProgressMeter(start: now, bytesReceived: receivedBytes)
        meter.totalBytes = totalBytes
        let progress = meter.received(Int(clamping: receivedBytes - meter.bytesReceived), at: now)
        state.fetches[id]?.meter = meter
        if let progress { list[id]?.status.publish(progress) }
    }

    private func publish(_ event: DownloadEvent, _ id: DownloadID) {
        list[id]?.status.publish(event)
    }

    private func standing(of task: BackgroundTask) -> BackgroundMachine.Standing {
        standing(of: task.download)
    }

    private func standing(of id: DownloadID) -> BackgroundMachine.Standing {
        // What is decided, of which the state is told later.
        switch list.phase(of: id) {
        case .running: .running
        case .waiting: .waiting
        case .paused, .failed, .interrupted: .kept
        case .finished, .cancelled, nil: .unwanted
        }
    }

    /// The time in milliseconds since 1970.
    private static func now() -> Int64 { Int64(WallTime.nanoseconds() / 1_000_000) }
}

extension BackgroundMachine.Stop {
    fileprivate init(_ reason: StopSignal.Reason) {
        switch reason {
        case .cancelled: self = .discarding
        case .shutDown: self = .leaving
        case .paused, .demoted, .networkChanged, .timedOut: self = .keeping
        }
    }
}

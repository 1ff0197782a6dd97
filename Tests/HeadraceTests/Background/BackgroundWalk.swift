import HeadracePlatform
import HeadraceTestSupport

@testable import Headrace

/// A model of the app, its queue and the system's daemon around a ``BackgroundMachine``.
///
/// The daemon and the queue outlive the process. Callbacks of one task keep their order; those of several may
/// interleave.
struct BackgroundWalk {
    private enum State { case waiting, running, paused, ended }

    private struct Item {
        var state = State.waiting
        var note: BackgroundTaskState?
        /// Whether the complete partial file is on the disk.
        var hasFile = false
        /// Whether this process moved the file there; an earlier process may have stopped a task too late.
        var isTaken = false
        /// Whether the file arrived while the download was running; the system must then wait for the rename.
        var isDue = false
        /// Whether a run has found no file and is about to call the machine.
        var isBeginning = false
        /// Whether a run waits in the machine, and the outcome it has yet to handle.
        var isAwaited = false
        var outcome: BackgroundMachine.Outcome?
    }

    private enum Callback {
        case wrote(Int64)
        case finished(hasFile: Bool)
        case completed(BackgroundMachine.End)
        case receivedResumeData(ResumeData?)
    }

    private var machine = BackgroundMachine()
    private var random: SeededRandom
    private var items: [Download.ID: Item] = [:]
    /// The daemon's running tasks with their received bytes, and the callbacks it has yet to deliver for each task.
    private var running: [BackgroundTask: Int64] = [:]
    private var mail: [BackgroundTask: [Callback]] = [:]
    private var lastTask = 0
    private var lastID: UInt64 = 0
    private var now: Int64 = 0
    private var isListed = false
    private var isInvalid = false
    /// The handlers of this process that have not been called, and whether events of the wake are outstanding.
    private var handlers: Set<BackgroundHandler> = []
    private var lastHandler = 0
    private var isWaking = false
    /// Whether the app passes the handler of the wake only after all events.
    private var isHandlerLate = false
    private var tasksOfWake: Set<BackgroundTask> = []

    private(set) var problem: String?
    private(set) var steps = 0
    private(set) var finished = 0
    private(set) var wakes = 0

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    mutating func step() {
        steps += 1
        now += 1
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<6: add()
        case 6..<16: run()
        case 16..<20: ask()
        case 20..<50: work()
        case 50..<72: deliver()
        case 72..<84: conclude()
        case 84..<89: verb()
        case 89..<93: wake()
        case 93: if chance(3) { now += ResumeData.maxAge }
        case 94: if chance(10) { invalidate() }
        case 95, 96: if chance(4) { restart() }
        default: conclude()
        }
        if !isListed, chance(8) { list() }
        if isWaking, tasksOfWake.allSatisfy({ mail[$0] == nil }) { reportedAll() }
    }

    /// Finishes every download, with no further failures.
    mutating func settle() {
        if isInvalid { restart() }
        if !isListed { list() }
        for _ in 0..<2000 where problem == nil {
            for id in items.keys where items[id]?.state == .paused { items[id]?.state = .waiting }
            for task in sorted(running.keys) { finish(task) }
            while !mail.isEmpty { deliver() }
            if isWaking { reportedAll() }
            while items.values.contains(where: \.isBeginning) { ask() }
            while items.values.contains(where: { $0.outcome != nil }) { conclude() }
            run()
        }
        let lost = items.filter { $0.value.state != .ended }
        if !lost.isEmpty { fail("Lost: \(lost)") }
        if !handlers.isEmpty { fail("Never called: \(handlers)") }
    }

    // MARK: The app

    private mutating func add() {
        guard items.values.count(where: { $0.state != .ended }) < 6 else { return }
        lastID += 1
        items[Download.ID(rawValue: lastID)] = Item()
    }

    /// Starts a run of a waiting download; none is needed if its file is already there.
    private mutating func run() {
        let waiting = items.filter { $0.value.state == .waiting && $0.value.outcome == nil }.keys
        guard let id = pick(sorted(waiting)), let item = items[id] else { return }
        items[id]?.state = .running
        if item.hasFile {
            items[id]?.outcome = .stopped
            return
        }
        items[id]?.isBeginning = true
        if chance(2) { ask() }
    }

    /// Makes a started run wait for its outcome in the machine.
    private mutating func ask() {
        guard let id = pick(sorted(items.filter(\.value.isBeginning).keys)), let item = items[id] else { return }
        items[id]?.isBeginning = false
        items[id]?.isAwaited = true
        perform(machine.fetch(id, note: item.note, at: now))
    }

    /// Makes a run handle its outcome and end.
    private mutating func conclude() {
        guard let id = pick(sorted(items.filter { $0.value.outcome != nil }.keys)), let item = items[id] else { return }
        items[id]?.outcome = nil
        machine.runLeft(id)
        // Delivers a callback after the run has left and before the queue knows.
        if chance(4) { deliver() }
        items[id]?.isDue = false
        switch item.outcome {
        case .file,
            .stopped where item.hasFile && item.state == .running:
            // Occasionally the file does not match its checksum.
            if chance(10) {
                items[id]?.hasFile = false
                items[id]?.isTaken = false
                items[id]?.state = .waiting
            } else {
                items[id]?.state = .ended
                finished += 1
            }
        case .again, .failed: items[id]?.state = .waiting
        case .stopped, nil: break
        }
        perform(machine.ended(id, status(id)))
    }

    private mutating func verb() {
        let kept = Set(running.keys.map(\.download))
        if chance(2), let id = pick(sorted(items.filter { $1.state == .waiting && kept.contains($0) }.keys)) {
            let isRemoved = chance(4)
            items[id]?.state = isRemoved ? .ended : .paused
            return perform(machine.withdrawn(id, status(id)))
        }
        let active = items.filter { $0.value.state == .running && ($0.value.isAwaited || $0.value.isBeginning) }
        guard let id = pick(sorted(active.keys)), let item = items[id] else {
            if let id = pick(sorted(items.filter { $0.value.state == .paused && !$0.value.isAwaited }.keys)) {
                items[id]?.state = .waiting
            }
            return
        }
        let discards = chance(4)
        items[id]?.state = discards ? .ended : .paused
        if item.isBeginning {
            items[id]?.isBeginning = false
            items[id]?.outcome = .stopped
        }
        perform(machine.stop(id, discards ? .discarding : .keeping))
    }

    /// Ends the process in some way and starts another one.
    private mutating func restart() {
        machine = BackgroundMachine()
        (isListed, isInvalid, isWaking) = (false, false, false)
        (handlers, tasksOfWake) = ([], [])
        for id in items.keys {
            if items[id]?.state == .running { items[id]?.state = .waiting }
            items[id]?.isAwaited = false
            items[id]?.isTaken = false
            items[id]?.isDue = false
            items[id]?.isBeginning = false
            items[id]?.outcome = nil
        }
        for task in sorted(mail.keys) {
            mail[task]?.removeAll { if case .receivedResumeData = $0 { true } else { false } }
            if mail[task]?.isEmpty == true { mail[task] = nil }
        }
        if chance(3) {
            // The user quits the app in the task switcher.
            for task in sorted(running.keys) { end(task, .interrupted) }
        }
        if chance(5), let task = pick(sorted(running.keys)) { running[task] = nil }
        if chance(2) { wake() }
    }

    // MARK: The system

    private mutating func list() {
        isListed = true
        // A task that has ended may still be listed.
        let tasks = running.keys + (chance(2) ? Array(mail.keys).filter { running[$0] == nil } : [])
        let listed = sorted(tasks).map {
            BackgroundMachine.Listed(task: $0, status: status($0.download), receivedBytes: running[$0] ?? 0)
        }
        perform(machine.listed(listed, at: now))
    }

    private mutating func work() {
        guard let task = pick(sorted(running.keys)), let received = running[task] else { return }
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<5:
            running[task] = received + 10
            mail[task, default: []].append(.wrote(received + 10))
        case 5..<8: finish(task)
        default: end(task, chance(2) ? .interrupted : .failed(DownloadError(.connectionLost, "Cut.")))
        }
    }

    private mutating func finish(_ task: BackgroundTask) {
        running[task] = nil
        mail[task, default: []] += [.finished(hasFile: !chance(10)), .completed(.init())]
    }

    private mutating func end(_ task: BackgroundTask, _ failure: BackgroundFailure) {
        guard let received = running.removeValue(forKey: task) else { return }
        let data = chance(3) ? nil : ResumeData(bytes: [1], time: now)
        mail[task, default: []].append(
            .completed(.init(failure: failure, resumeData: data, receivedBytes: received))
        )
    }

    private mutating func deliver() {
        guard !isInvalid, let task = pick(sorted(mail.keys)), var callbacks = mail[task] else { return }
        let callback = callbacks.removeFirst()
        mail[task] = callbacks.isEmpty ? nil : callbacks
        let status = status(task.download)
        switch callback {
        case .wrote(let received): perform(machine.wrote(task, receivedBytes: received, totalBytes: nil))
        case .finished(let hasFile): perform(machine.finished(task, status, hasFile: hasFile), mayTakeOver: task)
        case .completed(let end): perform(machine.completed(task, status, end, at: now))
        case .receivedResumeData(let data): perform(machine.receivedResumeData(task, data, at: now))
        }
    }

    private mutating func wake() {
        guard !isWaking, !isInvalid else { return }
        wakes += 1
        isWaking = true
        tasksOfWake = Set(mail.keys)
        isHandlerLate = chance(3)
        if !isHandlerLate { passHandler() }
    }

    private mutating func passHandler() {
        lastHandler += 1
        handlers.insert(BackgroundHandler(number: lastHandler))
        perform(machine.woken(BackgroundHandler(number: lastHandler)))
    }

    private mutating func reportedAll() {
        guard isWaking, !isInvalid else { return }
        isWaking = false
        perform(machine.reportedAll())
        if isHandlerLate { passHandler() }
    }

    private mutating func invalidate() {
        guard !isInvalid else { return }
        isInvalid = true
        isWaking = false
        perform(machine.invalidated())
        if !handlers.isEmpty { fail("Not called by a session that has ended: \(handlers)") }
    }

    // MARK: Effects

    private mutating func perform(_ effects: [BackgroundMachine.Effect], mayTakeOver: BackgroundTask? = nil) {
        var effects = effects[...]
        while let effect = effects.popFirst() {
            switch effect {
            case .make(let id, let data):
                if !isListed || isInvalid { fail("A task before the others are known, or after the end") }
                if running.keys.contains(where: { $0.download == id }) { fail("Two tasks of \(id)") }
                if items[id]?.isAwaited != true { fail("A task that nobody waits for") }
                lastTask += 1
                let task = BackgroundTask(id, lastTask)
                running[task] = data == nil ? 0 : 5
                effects = machine.made(task) + effects
            case .resume(let task): if running[task] == nil { fail("No such task: \(task)") }
            case .cancel(let task): end(task, .interrupted)
            case .cancelForData(let task):
                guard running[task] != nil else {
                    mail[task, default: []].append(.receivedResumeData(nil))
                    continue
                }
                end(task, .interrupted)
                let response = Callback.receivedResumeData(chance(3) ? nil : ResumeData(bytes: [2], time: now))
                let place = Int.random(in: 0...(mail[task]?.count ?? 0), using: &random)
                mail[task]?.insert(response, at: place)
            case .takeOver(let task):
                if task != mayTakeOver { fail("No file is there for \(task)") }
                if items[task.download]?.isTaken == true { fail("A second file of \(task.download)") }
                effects = machine.movedFile(task, takeOver(task.download), status(task.download)) + effects
            case .save(let id, let note): items[id]?.note = note
            case .progress, .resumed, .restarted: break
            case .end(let id, let outcome):
                if items[id]?.isAwaited != true { fail("An end that nobody waits for: \(id)") }
                items[id]?.isAwaited = false
                items[id]?.outcome = outcome
                if case .file = outcome, items[id]?.hasFile != true { fail("No file of \(id)") }
            case .call(let called):
                for handler in called where handlers.remove(handler) == nil { fail("Called twice: \(handler)") }
                guard !isInvalid else { continue }
                // A handler of an earlier wake may have waited for the name of a file.
                if isWaking, !isHandlerLate, called.contains(BackgroundHandler(number: lastHandler)) {
                    fail("Called before all was told")
                }
                let nameless = items.filter { $0.value.isDue && $0.value.state == .running }
                if !nameless.isEmpty { fail("Called before a file has its name: \(nameless)") }
            }
        }
    }

    private mutating func takeOver(_ id: Download.ID) -> Result<DeliveredFile, DownloadError> {
        guard !chance(8), let url = URL(string: "https://example.org/\(id)") else {
            return .failure(DownloadError(.httpStatus, "The server responded with status 403.", statusCode: 403))
        }
        items[id]?.hasFile = true
        items[id]?.isTaken = true
        let isRunning = items[id]?.state == .running
        items[id]?.isDue = isRunning
        let head = ResponseHead(url: url, status: 200)
        return Result { () throws(DownloadError) in
            let body = try BodyPlacement(ofFile: head, size: 5, askedFor: url, DownloadConfiguration())
            return DeliveredFile(head: head, body: body, path: "/a")
        }
    }

    // MARK: Helpers

    private func status(_ id: Download.ID) -> BackgroundMachine.Status {
        switch items[id]?.state {
        case .waiting: .waiting
        case .running: .running
        case .paused: .kept
        case .ended, nil: .unwanted
        }
    }

    private mutating func fail(_ what: String) {
        problem = problem ?? what
    }

    private mutating func chance(_ of: Int) -> Bool { Int.random(in: 0..<of, using: &random) == 0 }

    private mutating func pick<Element>(_ elements: [Element]) -> Element? { elements.randomElement(using: &random) }

    /// Sorted, because sets have a different order in each run.
    private func sorted(_ tasks: some Sequence<BackgroundTask>) -> [BackgroundTask] {
        tasks.sorted { $0.number < $1.number }
    }

    private func sorted(_ ids: some Sequence<Download.ID>) -> [Download.ID] {
        ids.sorted { $0.rawValue < $1.rawValue }
    }
}

import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The decisions about the tasks of a background session, one callback at a time.
@Suite(.timeLimit(.minutes(4)))
struct BackgroundMachineTests {
    private let id = Download.ID(rawValue: 1)
    private let task = BackgroundTask(Download.ID(rawValue: 1), 1)
    private let data = ResumeData(bytes: [1, 2, 3], time: 0)
    private let cut = DownloadError(.connectionLost, "Cut.")

    /// A machine that has listed these tasks.
    private func machine(
        _ tasks: [(BackgroundTask, BackgroundMachine.Status, Int64)] = [],
        sizeLimit: Int64? = nil
    ) -> (machine: BackgroundMachine, effects: [BackgroundMachine.Effect]) {
        var machine = BackgroundMachine(SizeLimit(maxBytes: sizeLimit))
        let effects = machine.listed(
            tasks.map { .init(task: $0.0, status: $0.1, receivedBytes: $0.2) },
            at: 0
        )
        return (machine, effects)
    }

    /// A machine with one running task.
    private func fetching(_ note: BackgroundTaskState? = nil, sizeLimit: Int64? = nil) -> BackgroundMachine {
        var machine = machine(sizeLimit: sizeLimit).machine
        _ = machine.fetch(id, note: note, at: 0)
        _ = machine.made(task)
        return machine
    }

    private func file(_ size: Int64 = 5) throws -> DeliveredFile {
        let url = try #require(URL(string: "https://example.org/a"))
        let head = ResponseHead(url: url, status: 200, fields: [HeaderField(name: "Content-Length", value: "\(size)")])
        let body = try BodyPlacement(ofFile: head, size: size, askedFor: url, DownloadConfiguration())
        return DeliveredFile(head: head, body: body, path: "/folder/a")
    }

    @Test func `a delivered file is taken over at once, and the wake handler is called once it is named`() throws {
        var machine = machine().machine
        #expect(machine.fetch(id, note: nil, at: 0) == [.save(id, .started), .make(id, from: nil)])
        #expect(machine.made(task) == [.resume(task)])
        let (handler, file) = (BackgroundHandler(number: 1), try file())
        #expect(machine.woken(handler) == [])
        #expect(machine.finished(task, .running, hasFile: true) == [.takeOver(task)])
        #expect(machine.movedFile(task, .success(file), .running) == [.save(id, nil), .end(id, .file(file))])
        #expect(machine.completed(task, .running, .init(), at: 0) == [])
        #expect(machine.reportedAll() == [], "the file is being compared and named")
        machine.runLeft(id)
        #expect(machine.ended(id, .unwanted) == [.call([handler])])
        #expect(machine.reportedAll() == [])
        #expect(machine.ended(id, .unwanted) == [])
    }

    @Test(arguments: [BackgroundMachine.Status.running, .waiting])
    func `a file delivered before its run starts delays the wake handler unless the run is queued`(
        _ status: BackgroundMachine.Status
    ) throws {
        var machine = machine().machine
        let (handler, file) = (BackgroundHandler(number: 1), try file())
        #expect(machine.woken(handler) == [])
        #expect(machine.finished(task, status, hasFile: true) == [.takeOver(task)])
        #expect(machine.movedFile(task, .success(file), status) == [.save(id, nil)])
        #expect(machine.reportedAll() == (status == .running ? [] : [.call([handler])]))
        #expect(machine.fetch(id, note: nil, at: 0) == [.end(id, .file(file))])
        machine.runLeft(id)
        #expect(machine.ended(id, .unwanted) == (status == .running ? [.call([handler])] : []))
    }

    @Test func `a file delivered after its run has left is for the next run and does not delay the wake handler`()
        throws
    {
        var machine = machine().machine
        let handler = BackgroundHandler(number: 1)
        #expect(machine.woken(handler) == [])
        machine.runLeft(id)
        #expect(machine.finished(task, .running, hasFile: true) == [.takeOver(task)])
        #expect(machine.movedFile(task, .success(try file()), .running) == [.save(id, nil)])
        #expect(machine.reportedAll() == [])
        #expect(machine.ended(id, .waiting) == [.call([handler])])
    }

    @Test func `after the user quits the app, the download resumes from the system's data`() {
        // The callback arrives before the tasks are listed.
        var machine = BackgroundMachine()
        let end = BackgroundMachine.End(failure: .interrupted, resumeData: data, receivedBytes: 70)
        #expect(machine.completed(task, .running, end, at: 0) == [.save(id, .resumable(data))])
        #expect(machine.listed([], at: 0) == [])
        #expect(machine.fetch(id, note: .resumable(data), at: 0) == [.make(id, from: data)])
        let next = BackgroundTask(id, 2)
        #expect(machine.made(next) == [.resume(next)])
        #expect(machine.resumed(next, from: 70) == [.resumed(id, from: 70)])
    }

    @Test func `resume data of an earlier task is used even if the download has restarted`() {
        var machine = machine().machine
        let lost = BackgroundMachine.Effect.restarted(id, .taskLost, wastedBytes: 0)
        #expect(machine.fetch(id, note: .started, at: 0) == [lost, .save(id, .started), .make(id, from: nil)])
        let (new, next) = (BackgroundTask(id, 2), BackgroundTask(id, 3))
        _ = machine.made(new)
        let end = BackgroundMachine.End(failure: .interrupted, resumeData: data, receivedBytes: 70)
        #expect(
            machine.completed(task, .running, end, at: 0)
                == [.cancel(new), .save(id, .resumable(data)), .make(id, from: data)]
        )
        _ = machine.made(next)
        #expect(machine.finished(new, .running, hasFile: true) == [])
        #expect(machine.finished(next, .running, hasFile: true) == [.takeOver(next)])
    }

    @Test func `a task that survived a crash is adopted as it is`() {
        var machine = BackgroundMachine()
        #expect(machine.fetch(id, note: .started, at: 0) == [], "nothing is asked for before all tasks are known")
        #expect(machine.listed([.init(task: task, status: .running, receivedBytes: 40)], at: 0) == [])
        #expect(
            machine.wrote(task, receivedBytes: 50, totalBytes: 100)
                == [.progress(id, receivedBytes: 50, totalBytes: 100)]
        )
        #expect(machine.finished(task, .running, hasFile: true) == [.takeOver(task)])
    }

    @Test(arguments: [false, true])
    func `a file completed before the next start is taken over, whether a run or the system comes first`(
        isAwaited: Bool
    ) throws {
        var machine = BackgroundMachine()
        let file = try file()
        if isAwaited { #expect(machine.fetch(id, note: .started, at: 0) == []) }
        #expect(machine.finished(task, .running, hasFile: true) == [.takeOver(task)])
        let end: [BackgroundMachine.Effect] = [.end(id, .file(file))]
        #expect(machine.movedFile(task, .success(file), .running) == [.save(id, nil)] + (isAwaited ? end : []))
        #expect(machine.completed(task, .running, .init(), at: 0) == [])
        // The system may have created the task list before this callback.
        #expect(machine.listed([.init(task: task, status: .running, receivedBytes: 5)], at: 0) == [])
        if !isAwaited { #expect(machine.fetch(id, note: nil, at: 0) == end) }
        #expect(machine.finished(BackgroundTask(id, 2), .running, hasFile: true) == [], "no file is taken twice")
    }

    @Test func `a download that the system lost silently restarts and reports it`() {
        var machine = BackgroundMachine()
        _ = machine.fetch(id, note: .started, at: 0)
        #expect(
            machine.listed([], at: 0)
                == [.restarted(id, .taskLost, wastedBytes: 0), .save(id, .started), .make(id, from: nil)]
        )
    }

    @Test(
        arguments: [
            (ResumeData(bytes: [], time: 0), 0, .resumeDataInvalid),
            (ResumeData(bytes: Array(repeating: 0, count: ResumeData.maxBytes + 1), time: 0), 0, .resumeDataInvalid),
            (ResumeData(bytes: [1], time: 0), ResumeData.maxAge + 1, .resumeDataTooOld),
            (ResumeData(bytes: [1], time: .min), .max, nil),
            (ResumeData(bytes: [1], time: 0), ResumeData.maxAge, nil),
            (ResumeData(bytes: [1], time: 9), 0, nil),
        ] as [(ResumeData, Int64, RestartReason?)]
    )
    func `damaged or outdated resume data is not used, and the restart reports why`(
        _ data: ResumeData,
        _ now: Int64,
        _ reason: RestartReason?
    ) {
        var machine = machine().machine
        let anew: [BackgroundMachine.Effect] = [.save(id, .started), .make(id, from: nil)]
        let restart = reason.map { [BackgroundMachine.Effect.restarted(id, $0, wastedBytes: 0)] + anew }
        #expect(machine.fetch(id, note: .resumable(data), at: now) == restart ?? [.make(id, from: data)])
    }

    @Test func `resume data that the system refuses restarts the download and is not a disk failure`() {
        let refused = BackgroundMachine.End(failure: .file(DownloadError(.fileSystem, "No such file.")))
        var machine = fetching(.resumable(data))
        let restart = BackgroundMachine.Effect.restarted(id, .resumeDataRefused, wastedBytes: 0)
        #expect(machine.completed(task, .running, refused, at: 0) == [.save(id, nil), restart, .end(id, .again)])
        var other = fetching()
        #expect(
            other.completed(task, .running, refused, at: 0)
                == [.save(id, nil), .end(id, .failed(DownloadError(.fileSystem, "No such file.")))]
        )
    }

    @Test func `a failure saves the resume data, or reports the lost bytes if there is none`() {
        var machine = fetching()
        #expect(
            machine.completed(task, .running, .init(failure: .failed(cut), resumeData: data), at: 0)
                == [.save(id, .resumable(data)), .end(id, .failed(cut))]
        )
        machine = fetching()
        _ = machine.wrote(task, receivedBytes: 60, totalBytes: nil)
        let restart = BackgroundMachine.Effect.restarted(id, .noResumeData, wastedBytes: 60)
        #expect(
            machine.completed(task, .running, .init(failure: .failed(cut)), at: 0)
                == [.save(id, nil), restart, .end(id, .failed(cut))]
        )
    }

    @Test(arguments: [false, true])
    func `a pause completes when the task has ended and its data has arrived, in either order`(dataIsFirst: Bool) {
        var machine = fetching(.resumable(ResumeData(bytes: [9], time: 0)))
        #expect(machine.stop(id, .keeping) == [.cancelForData(task)])
        #expect(machine.stop(id, .leaving) == [], "what it brings is waited for")
        let kept = BackgroundMachine.Effect.save(id, .resumable(data))
        let cancelled = BackgroundMachine.End(failure: .interrupted)
        if dataIsFirst {
            #expect(machine.receivedResumeData(task, data, at: 0) == [kept])
            #expect(machine.completed(task, .running, cancelled, at: 0) == [.end(id, .stopped)])
        } else {
            #expect(machine.completed(task, .running, cancelled, at: 0) == [], "the data it began with is used up")
            #expect(machine.receivedResumeData(task, data, at: 0) == [kept, .end(id, .stopped)])
        }
        #expect(machine.fetch(id, note: .resumable(data), at: 0) == [.make(id, from: data)])
    }

    @Test func `a pause without resume data reports the lost bytes`() {
        var machine = fetching()
        _ = machine.wrote(task, receivedBytes: 60, totalBytes: nil)
        _ = machine.stop(id, .keeping)
        #expect(machine.receivedResumeData(task, nil, at: 0) == [])
        #expect(
            machine.completed(task, .running, .init(failure: .interrupted), at: 0)
                == [.save(id, nil), .restarted(id, .noResumeData, wastedBytes: 60), .end(id, .stopped)]
        )
    }

    @Test func `a file that arrives while a pause is pending is saved`() throws {
        var machine = fetching()
        _ = machine.stop(id, .keeping)
        #expect(machine.finished(task, .running, hasFile: true) == [.takeOver(task)])
        #expect(machine.movedFile(task, .success(try file()), .running) == [.save(id, nil), .end(id, .stopped)])
        #expect(machine.receivedResumeData(task, nil, at: 0) == [])
        #expect(machine.completed(task, .kept, .init(), at: 0) == [])
    }

    @Test func `a surviving task of a paused download is stopped, and resumes if requested meanwhile`() {
        var (machine, effects) = machine([(task, .kept, 40)])
        #expect(effects == [.cancelForData(task)])
        #expect(machine.fetch(id, note: .started, at: 0) == [])
        #expect(machine.receivedResumeData(task, data, at: 0) == [.save(id, .resumable(data))])
        #expect(machine.completed(task, .running, .init(failure: .interrupted), at: 0) == [.make(id, from: data)])
    }

    @Test func `a surviving task is stopped if its download is paused or removed before it gets a slot`() {
        var paused = machine([(task, .waiting, 40)]).machine
        #expect(paused.withdrawn(id, .kept) == [.cancelForData(task)])
        #expect(paused.withdrawn(id, .kept) == [])
        #expect(paused.receivedResumeData(task, data, at: 0) == [.save(id, .resumable(data))])
        var removed = machine([(task, .waiting, 40)]).machine
        #expect(removed.withdrawn(id, .unwanted) == [.cancel(task)])
        #expect(removed.finished(task, .unwanted, hasFile: true) == [])
        // A run stops its own task.
        var running = fetching()
        #expect(running.withdrawn(id, .kept) == [])
    }

    @Test func `a file purged before it was taken over is downloaded again, and the reason is reported`() {
        var machine = fetching()
        _ = machine.wrote(task, receivedBytes: 60, totalBytes: 60)
        let purged = BackgroundMachine.Effect.restarted(id, .filePurged, wastedBytes: 60)
        #expect(machine.finished(task, .running, hasFile: false) == [.save(id, nil), purged, .end(id, .again)])
        #expect(machine.completed(task, .running, .init(), at: 0) == [])
        // A task that succeeds without a file.
        machine = fetching()
        #expect(
            machine.completed(task, .running, .init(receivedBytes: 60), at: 0)
                == [.save(id, nil), purged, .end(id, .again)]
        )
    }

    @Test func `of two tasks for one download, the one with fewer bytes is cancelled and ignored`() {
        let less = BackgroundTask(id, 2)
        let gone = BackgroundTask(Download.ID(rawValue: 2), 3)
        var (machine, effects) = machine([(less, .running, 10), (task, .running, 40), (gone, .unwanted, 5)])
        #expect(effects == [.cancel(less), .cancel(gone)])
        #expect(machine.finished(less, .running, hasFile: true) == [])
        #expect(machine.completed(gone, .unwanted, .init(), at: 0) == [])
        #expect(machine.finished(task, .running, hasFile: true) == [.takeOver(task)])
    }

    @Test func `callbacks of a cancelled download are ignored`() {
        var machine = fetching()
        #expect(machine.stop(id, .discarding) == [.cancel(task), .save(id, nil), .end(id, .stopped)])
        #expect(machine.stop(id, .discarding) == [])
        // The download is requested again at once.
        #expect(machine.fetch(id, note: nil, at: 0) == [.save(id, .started), .make(id, from: nil)])
        _ = machine.made(BackgroundTask(id, 2))
        #expect(machine.finished(task, .running, hasFile: true) == [])
        #expect(machine.completed(task, .running, .init(resumeData: data), at: 0) == [])
    }

    @Test func `a manager that shuts down leaves its tasks to the system`() {
        var machine = fetching()
        #expect(machine.stop(id, .leaving) == [.end(id, .stopped)])
        #expect(machine.finished(task, .kept, hasFile: true) == [.takeOver(task)])
    }

    @Test func `invalidating a session fails all waiting runs and calls the wake handlers`() {
        var machine = fetching()
        let handler = BackgroundHandler(number: 1)
        _ = machine.woken(handler)
        let failed = BackgroundMachine.Effect.end(id, .failed(.sessionInvalid))
        #expect(machine.invalidated() == [failed, .call([handler])])
        #expect(machine.finished(task, .running, hasFile: true) == [])
        #expect(machine.fetch(id, note: nil, at: 0) == [failed])
        #expect(machine.woken(BackgroundHandler(number: 2)) == [.call([BackgroundHandler(number: 2)])])
    }

    /// Regression: from the second wake on, a handler that arrived after the last event was never called.
    @Test func `in every wake, the handler may arrive before or after the last event`() {
        var machine = fetching()
        for (number, isLate) in [true, true, false, false, true].enumerated() {
            let handler = BackgroundHandler(number: number)
            if !isLate { #expect(machine.woken(handler) == []) }
            _ = machine.completed(BackgroundTask(Download.ID(rawValue: 2), number), .unwanted, .init(), at: 0)
            #expect(machine.reportedAll() == (isLate ? [] : [.call([handler])]))
            if isLate { #expect(machine.woken(handler) == [.call([handler])]) }
        }
    }

    @Test func `a report of all events without a handler does not count for a later wake`() {
        var machine = fetching()
        let handler = BackgroundHandler(number: 1)
        #expect(machine.reportedAll() == [])
        _ = machine.completed(BackgroundTask(Download.ID(rawValue: 2), 2), .unwanted, .init(), at: 0)
        #expect(machine.woken(handler) == [])
        #expect(machine.reportedAll() == [.call([handler])])
    }

    @Test func `a handler that waits for a file does not take the report of the next wake`() throws {
        var machine = fetching()
        let (first, second) = (BackgroundHandler(number: 1), BackgroundHandler(number: 2))
        #expect(machine.woken(first) == [])
        _ = machine.finished(task, .running, hasFile: true)
        _ = machine.movedFile(task, .success(try file()), .running)
        #expect(machine.reportedAll() == [])
        #expect(machine.reportedAll() == [])
        #expect(machine.ended(id, .unwanted) == [.call([first])])
        #expect(machine.woken(second) == [.call([second])])
    }

    @Test func `a file larger than the limit is stopped as soon as its size is known`() {
        var machine = fetching(sizeLimit: 100)
        guard case .cancel(task)? = machine.wrote(task, receivedBytes: 1, totalBytes: 101).first else {
            Issue.record("The task goes on.")
            return
        }
        #expect(machine.finished(task, .running, hasFile: true) == [])
    }
}

import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The effect of each verb on the queue A, B, C, of which one download runs at a time.
@Suite(.timeLimit(.minutes(4)))
struct SchedulerTests {
    private let a = Download.ID(rawValue: 1)
    private let b = Download.ID(rawValue: 2)
    private let c = Download.ID(rawValue: 3)

    private func item(_ id: Download.ID, host: String = "h", priority: Int = 0) -> Scheduler.Item {
        Scheduler.Item(id: id, host: host, priority: priority)
    }

    /// A queue with A, B and C, of which A runs.
    private func queue(limit: Int = 1) -> Scheduler {
        var queue = Scheduler(limit: limit)
        _ = queue.add([item(a), item(b), item(c)], at: .zero)
        return queue
    }

    /// A function, because the macro cannot take a mutating call.
    private func expect(
        _ actions: [Scheduler.Action],
        _ expected: [Scheduler.Action],
        _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(actions == expected, sourceLocation: location)
    }

    private func expect(
        _ queue: Scheduler,
        _ phases: [Scheduler.Phase?],
        _ location: SourceLocation = #_sourceLocation
    ) {
        #expect([a, b, c].map { queue.phase(of: $0) } == phases, sourceLocation: location)
    }

    @Test func `a removal that deletes the file is not weakened by one that keeps it`() {
        var queue = queue()
        expect(queue.remove(a, deletingFile: false), [.stop(a, .paused)])
        expect(queue.remove(a, deletingFile: true), [.stop(a, .cancelled)])
        expect(queue.remove(a, deletingFile: false), [])
        expect(queue.ended(a, .finished, at: .zero), [.remove(a, deletingFile: true), .start(b)])
    }

    @Test func `in an empty queue nothing runs and no command has an effect`() {
        var queue = Scheduler(limit: 1)
        #expect(queue.isIdle)
        expect(queue.pause(a) + queue.resume(a, at: .zero) + queue.cancel(a) + queue.remove(a, deletingFile: true), [])
        expect(queue.ended(a, .finished, at: .zero), [])
    }

    @Test func `after adding, the first download runs and the others wait`() {
        var queue = Scheduler(limit: 1)
        expect(queue.add([item(a), item(b), item(c)], at: .zero), [.start(a)])
        expect(queue, [.running, .waiting, .waiting])
        #expect(!queue.isIdle)
    }

    @Test func `the same download is not added twice`() {
        var queue = queue()
        expect(queue.add([item(a), item(b)], at: .zero), [])
        #expect(queue.ids == [a, b, c])
    }

    /// Regression: the next download of the old host started while the transfer was still connected to that host.
    @Test func `a running download with a new URL counts for its old host until its transfer has ended`() {
        let need = NetworkRequirement()
        var queue = Scheduler(limit: 3, hostLimit: 1)
        expect(queue.add([item(a), item(b), item(c, host: "i")], at: .zero), [.start(a), .start(c)])
        expect(queue.relink(a, to: "g", need, at: .zero), [.stop(a, .relinked)])
        expect(queue.relink(a, to: "j", need, at: .zero), [])
        expect(queue.tick(at: .zero), [])
        #expect(queue.hosts.count == 3)
        expect(queue.ended(a, .stopped(keptBytes: true), at: .zero), [.enter(a, .waiting), .start(a), .start(b)])
        // A second new URL does not replace a pause.
        expect(queue.pause(a), [.stop(a, .paused)])
        expect(queue.relink(a, to: "i", need, at: .zero), [])
        expect(queue.ended(a, .stopped(keptBytes: true), at: .zero), [.enter(a, .paused)])
        expect(queue.resume(a, at: .zero), [.enter(a, .waiting)])
        expect(queue.relink(a, to: "k", need, at: .zero), [.start(a)])
    }

    @Test func `when a download finishes, the next one runs`() {
        var queue = queue()
        expect(queue.ended(a, .finished, at: .zero), [.enter(a, .finished), .start(b)])
        expect(queue.ended(b, .finished, at: .zero), [.enter(b, .finished), .start(c)])
        expect(queue.ended(c, .finished, at: .zero), [.enter(c, .finished)])
        #expect(queue.isIdle)
    }

    @Test func `a paused download stays in the queue, and the next one runs once it has stopped`() {
        var queue = queue()
        expect(queue.pause(a), [.stop(a, .paused)])
        expect(queue, [.running, .waiting, .waiting])
        expect(queue.ended(a, .stopped(keptBytes: true), at: .zero), [.enter(a, .paused), .start(b)])
        #expect(queue.ids == [a, b, c])
        expect(queue.pause(a), [])
    }

    @Test func `cancelling the running download reports a cancellation, not a failure, and starts the next one`() {
        var queue = queue()
        expect(queue.cancel(a), [.stop(a, .cancelled)])
        expect(queue.ended(a, .stopped(keptBytes: false), at: .zero), [.enter(a, .cancelled), .start(b)])
        expect(queue.cancel(a), [])
    }

    @Test func `bytes kept for a pause are discarded if the download was cancelled meanwhile`() {
        var queue = queue()
        expect(queue.pause(a), [.stop(a, .paused)])
        expect(queue.cancel(a), [.stop(a, .cancelled)])
        expect(queue.pause(a), [])
        expect(
            queue.ended(a, .stopped(keptBytes: true), at: .zero),
            [.enter(a, .cancelled, discardingBytes: true), .start(b)]
        )
    }

    @Test func `a failure during a cancellation ends as cancelled`() {
        var queue = queue()
        _ = queue.cancel(a)
        expect(queue.ended(a, .failed, at: .zero), [.enter(a, .cancelled, discardingBytes: true), .start(b)])
    }

    @Test func `a download that finishes before it is cancelled is finished`() {
        var queue = queue()
        _ = queue.cancel(a)
        expect(queue.ended(a, .finished, at: .zero), [.enter(a, .finished), .start(b)])
    }

    @Test func `a resumed download waits while another runs, and then runs before later ones`() {
        var queue = queue()
        _ = queue.pause(a)
        _ = queue.ended(a, .stopped(keptBytes: true), at: .zero)
        expect(queue.resume(a, at: .zero), [.enter(a, .waiting)])
        expect(queue, [.waiting, .running, .waiting])
        expect(queue.ended(b, .finished, at: .zero), [.enter(b, .finished), .start(a)])
    }

    @Test func `a pause that is undone before the transfer stops costs at most one restart`() {
        var queue = queue()
        _ = queue.pause(a)
        expect(queue.resume(a, at: .zero), [])
        expect(queue.ended(a, .stopped(keptBytes: true), at: .zero), [.enter(a, .waiting), .start(a)])
        #expect(Set(queue.startNumbers.keys) == [a])
    }

    @Test func `cancelling a paused download discards its bytes`() {
        var queue = queue()
        _ = queue.pause(a)
        _ = queue.ended(a, .stopped(keptBytes: true), at: .zero)
        expect(queue.cancel(a), [.enter(a, .cancelled, discardingBytes: true)])
        expect(queue.ended(b, .finished, at: .zero), [.enter(b, .finished), .start(c)])
    }

    @Test func `a failed download keeps its position and runs first when retried`() {
        var queue = queue()
        expect(queue.ended(a, .failed, at: .zero), [.enter(a, .failed), .start(b)])
        expect(queue.resume(a, at: .zero), [.enter(a, .waiting)])
        #expect(queue.ids == [a, b, c])
        expect(queue.ended(b, .finished, at: .zero), [.enter(b, .finished), .start(a)])
    }

    @Test func `a waiting download can be paused, resumed, cancelled, moved and removed`() {
        var queue = queue()
        expect(queue.pause(b), [.enter(b, .paused)])
        expect(queue.resume(b, at: .zero), [.enter(b, .waiting)])
        queue.move(c, to: .first, at: .zero)
        #expect(queue.ids == [c, a, b])
        expect(queue.ended(a, .finished, at: .zero), [.enter(a, .finished), .start(c)])
        expect(queue.cancel(b), [.enter(b, .cancelled, discardingBytes: true)])
        expect(queue.remove(b, deletingFile: false), [.remove(b, deletingFile: false)])
        expect(queue, [.finished, nil, .running])
    }

    @Test(arguments: [true, false])
    func `a running download is removed once its transfer has stopped`(_ deletingFile: Bool) {
        var queue = queue()
        expect(queue.remove(a, deletingFile: deletingFile), [.stop(a, deletingFile ? .cancelled : .paused)])
        #expect(queue.phase(of: a) == .running)
        expect(
            queue.ended(a, .stopped(keptBytes: true), at: .zero),
            [.remove(a, deletingFile: deletingFile), .start(b)]
        )
        expect(queue, [nil, .running, .waiting])
    }

    @Test func `starting by hand never exceeds the limit`() {
        var queue = queue()
        for id in [a, b, c] { expect(queue.resume(id, at: .zero), []) }
        _ = queue.pause(b)
        expect(queue.resume(b, at: .zero), [.enter(b, .waiting)])
        #expect(Set(queue.startNumbers.keys) == [a])
    }

    @Test func `cancelling one running, one paused, one waiting and one failed download cancels all four`() {
        let d = Download.ID(rawValue: 4)
        var queue = Scheduler(limit: 1)
        _ = queue.add([item(d), item(a), item(b), item(c)], at: .zero)
        _ = queue.ended(d, .failed, at: .zero)
        _ = queue.pause(b)
        var actions = [a, b, c, d].flatMap { queue.cancel($0) }
        actions += queue.ended(a, .stopped(keptBytes: false), at: .zero)
        #expect(Set(actions.filter { if case .enter(_, .cancelled, _) = $0 { true } else { false } }).count == 4)
        #expect(!actions.contains { if case .enter(_, .failed, _) = $0 { true } else { false } })
        #expect(queue.isIdle)
    }

    @Test func `a finished download runs again only on request`() {
        var queue = queue()
        _ = queue.ended(a, .finished, at: .zero)
        expect(queue.resume(a, at: .zero), [])
        expect(queue.restart(a, at: .zero), [.enter(a, .waiting)])
        expect(queue.ended(b, .finished, at: .zero), [.enter(b, .finished), .start(a)])
    }

    @Test func `a download added paused does not start by itself`() {
        var queue = Scheduler(limit: 2)
        var paused = item(a)
        paused.phase = .paused
        expect(queue.add([paused, item(b)], at: .zero), [.start(b)])
        expect(queue.resume(a, at: .zero), [.enter(a, .waiting), .start(a)])
    }

    // MARK: Priorities, limits and times

    @Test func `the priority takes precedence over the queue order`() {
        var queue = Scheduler(limit: 1)
        _ = queue.add([item(a)], at: .zero)
        expect(queue.add([item(b), item(c, priority: 5)], at: .zero), [])
        expect(queue.restart(a, at: .zero) + queue.ended(a, .finished, at: .zero), [.enter(a, .finished), .start(c)])
        expect(queue.restart(a, at: .zero), [.enter(a, .waiting)])
        queue.setPriority(1, of: b, at: .zero)
        expect(queue.ended(c, .finished, at: .zero), [.enter(c, .finished), .start(b)])
    }

    @Test func `preempting stops the newest download of the lowest priority`() {
        var queue = Scheduler(limit: 2)
        _ = queue.add([item(a), item(b)], at: .zero)
        _ = queue.add([item(c, priority: 1)], at: .zero)
        expect(queue.preempt(for: c), [.stop(b, .demoted)])
        expect(
            queue.ended(b, .stopped(keptBytes: true), at: .zero),
            [.enter(b, .waiting), .start(c)]
        )
        expect(queue, [.running, .waiting, .running])
        expect(queue.preempt(for: b), [])
    }

    @Test func `raising the limit starts more downloads at once, lowering it stops the newest`() {
        var queue = queue()
        expect(queue.setLimit(3), [.start(b), .start(c)])
        expect(queue.setLimit(1), [.stop(c, .demoted), .stop(b, .demoted)])
        expect(queue.ended(b, .stopped(keptBytes: true), at: .zero), [.enter(b, .waiting)])
        expect(queue.ended(c, .stopped(keptBytes: true), at: .zero), [.enter(c, .waiting)])
        expect(queue.ended(a, .finished, at: .zero), [.enter(a, .finished), .start(b)])
    }

    @Test func `a host at its limit does not block other hosts`() {
        var queue = Scheduler(limit: 2, hostLimit: 1)
        expect(
            queue.add([item(a, host: "x"), item(b, host: "x"), item(c, host: "y")], at: .zero),
            [.start(a), .start(c)]
        )
        expect(queue.ended(c, .finished, at: .zero), [.enter(c, .finished)])
        expect(queue.ended(a, .finished, at: .zero), [.enter(a, .finished), .start(b)])
    }

    @Test func `removing a download that could run lets the next one of its host run`() {
        var queue = Scheduler(limit: 2, hostLimit: 1)
        let (d, e) = (Download.ID(rawValue: 4), Download.ID(rawValue: 5))
        expect(queue.add([item(a), item(b), item(c), item(d, host: "g")], at: .zero), [.start(a), .start(d)])
        expect(queue.add([item(e, host: "k", priority: 1)], at: .zero), [])
        expect(queue.ended(a, .finished, at: .zero), [.enter(a, .finished), .start(e)])
        expect(queue.pause(b), [.enter(b, .paused)])
        expect(queue.ended(d, .finished, at: .zero), [.enter(d, .finished), .start(c)])
    }

    @Test func `preempting twice at a host's limit stops one download of that host`() {
        var queue = Scheduler(limit: 4, hostLimit: 2)
        _ = queue.add([item(a), item(b)], at: .zero)
        _ = queue.add([item(c, priority: 1)], at: .zero)
        expect(queue.preempt(for: c), [.stop(b, .demoted)])
        expect(queue.preempt(for: c), [])
    }

    @Test func `a host has one limit, however its name is spelled`() throws {
        let hosts = try ["http://Example.org/a", "http://example.org/b"].map { text in
            let url = try #require(URL(string: text))
            let request = DownloadRequest(url, to: .directory(URL(filePath: "/tmp")))
            return Scheduler.Item(DownloadRecord(id: a, request: request), at: .zero).host
        }
        #expect(Set(hosts) == ["example.org"])
    }

    @Test func `preempting at a host's limit stops a download of that host`() {
        var queue = Scheduler(limit: 3, hostLimit: 1)
        expect(queue.add([item(a), item(b, host: "g", priority: -1)], at: .zero), [.start(a), .start(b)])
        expect(queue.add([item(c, priority: 1)], at: .zero), [])
        expect(queue.preempt(for: c), [.stop(a, .demoted)])
        expect(queue.ended(a, .stopped(keptBytes: true), at: .zero), [.enter(a, .waiting), .start(c)])
    }

    /// Regression: a process that ran for months retained every host that its queue had ever had.
    @Test func `a host is forgotten with its last download, and the next one has the full limit`() {
        var queue = Scheduler(limit: 3, hostLimit: 1)
        expect(queue.add([item(a), item(b)], at: .zero), [.start(a)])
        expect(queue.remove(a, deletingFile: false), [.stop(a, .paused)])
        expect(queue.remove(b, deletingFile: false), [.remove(b, deletingFile: false)])
        #expect(queue.hosts.count == 1)
        expect(queue.ended(a, .stopped(keptBytes: true), at: .zero), [.remove(a, deletingFile: false)])
        #expect(queue.hosts.count == 0)
        expect(queue.add([item(c, host: "g")], at: .zero), [.start(c)])
        for number in 10..<20 {
            let id = Download.ID(rawValue: UInt64(number))
            expect(queue.add([item(id, host: "\(number)")], at: .zero), [.start(id)])
            #expect(queue.hosts.count == 2)
            expect(queue.remove(id, deletingFile: false), [.stop(id, .paused)])
            expect(queue.ended(id, .stopped(keptBytes: true), at: .zero), [.remove(id, deletingFile: false)])
        }
        #expect(queue.hosts.count == 1)
        expect(queue.add([item(b, host: "g")], at: .zero), [])
    }

    @Test func `the host limit can be changed while downloads run`() {
        var queue = Scheduler(limit: 3, hostLimit: 1)
        _ = queue.add([item(a), item(b), item(c, host: "y")], at: .zero)
        expect(queue.setHostLimit(2), [.start(b)])
        expect(queue.setHostLimit(1), [.stop(b, .demoted)])
        expect(queue.ended(b, .stopped(keptBytes: true), at: .zero), [.enter(b, .waiting)])
        expect(queue.setHostLimit(nil), [.start(b)])
    }

    @Test func `a download waiting for a time blocks no other, and can be started by hand`() {
        var queue = Scheduler(limit: 1)
        var late = item(a)
        late.notBefore = .seconds(10)
        expect(queue.add([late, item(b)], at: .zero), [.start(b)])
        #expect(queue.nextTick() == .seconds(10))
        expect(queue.ended(b, .retry(at: .seconds(5)), at: .zero), [.enter(b, .waiting)])
        #expect(queue.nextTick() == .seconds(5))
        expect(queue.tick(at: .seconds(4)), [])
        expect(queue.tick(at: .seconds(5)), [.start(b)])
        #expect(queue.nextTick() == .seconds(10))
        expect(queue.ended(b, .finished, at: .seconds(6)), [.enter(b, .finished)])
        expect(queue.resume(a, at: .seconds(7)), [.start(a)])
        #expect(queue.nextTick() == nil)
    }

    @Test func `a shutdown interrupts running and waiting downloads, and nothing starts afterwards`() {
        var queue = queue()
        _ = queue.pause(c)
        expect(queue.shutDown(), [.enter(b, .interrupted), .enter(c, .interrupted), .stop(a, .shutDown)])
        expect(queue.ended(a, .stopped(keptBytes: true), at: .zero), [.enter(a, .interrupted)])
        expect(queue.resume(b, at: .zero), [.enter(b, .waiting)])
        #expect(queue.startNumbers.isEmpty)
    }

    @Test func `a download still pausing at the shutdown is paused for the next manager`() {
        var queue = queue()
        _ = queue.pause(a)
        expect(queue.shutDown(), [.enter(b, .interrupted), .enter(c, .interrupted)])
        expect(queue.resume(a, at: .zero), [])
        expect(
            queue.ended(a, .stopped(keptBytes: true), at: .zero),
            [.enter(a, .paused), .enter(a, .interrupted)]
        )
    }
}

extension Scheduler {
    init(limit: Int, hostLimit: Int? = nil, gate: NetworkAdmission = NetworkAdmission()) {
        self.init(RunningLimits(maximum: limit, perHost: hostLimit), gate: gate)
    }

    /// Whether no download runs or waits.
    var isIdle: Bool { startNumbers.isEmpty && !ids.contains { phase(of: $0) == .waiting } }
}

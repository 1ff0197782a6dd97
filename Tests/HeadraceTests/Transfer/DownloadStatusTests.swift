import HeadracePlatform
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct DownloadStatusTests {
    @Test func `each reader has its own stream, and all see the final state`() async {
        let status = DownloadStatus(id: Download.ID(rawValue: 1), observers: QueueObservers())
        let early = [status.states(), status.states()]
        status.enter(.running, .started)
        status.enter(.cancelled, .cancelled)
        for states in early + [status.states()] {
            var last: DownloadState?
            for await state in states { last = state }
            #expect(last == .cancelled)
        }
    }

    @Test func `C15 nothing is published after the final state`() async {
        let status = DownloadStatus(id: Download.ID(rawValue: 1), observers: QueueObservers())
        status.enter(.cancelled, .cancelled)
        status.publish(DownloadProgress(bytesReceived: 5))
        #expect(status.state == .cancelled)
        #expect(status.progress.bytesReceived == 0)
    }

    @Test func `a download that restarts after its end can be observed again`() async {
        let status = DownloadStatus(id: Download.ID(rawValue: 1), observers: QueueObservers())
        status.enter(.cancelled, .cancelled)
        status.enter(.waiting, nil)
        let states = status.states()
        status.publish(DownloadProgress(bytesReceived: 5))
        status.enter(.cancelled, .cancelled)
        var last: DownloadState?
        for await state in states { last = state }
        #expect(last == .cancelled)
        #expect(status.progress.bytesReceived == 5)
    }

    @Test(arguments: [DownloadState.waiting, .paused, .cancelled, .failed(.shutDown())])
    func `a download that does not run has no speed, for early and late readers`(
        _ state: DownloadState
    ) async {
        let status = DownloadStatus(id: Download.ID(rawValue: 1), observers: QueueObservers())
        status.enter(.running, .started)
        let early = status.progressUpdates()
        let running = DownloadProgress(
            bytesReceived: 5,
            totalBytes: 9,
            bytesPerSecond: 2,
            timeRemaining: .seconds(2)
        )
        status.publish(running)
        #expect(status.progress == running)
        status.enter(state, nil)
        let stopped = DownloadProgress(bytesReceived: 5, totalBytes: 9)
        #expect(status.progress == stopped)
        for stream in [early, status.progressUpdates()] {
            var first: DownloadProgress?
            for await progress in stream {
                first = progress
                break
            }
            #expect(first == stopped)
        }
    }

    @Test func `a late reader of events receives the whole history`() async {
        let status = DownloadStatus(id: Download.ID(rawValue: 1), observers: QueueObservers())
        status.enter(.running, .started)
        status.enter(.cancelled, .cancelled)
        var events: [DownloadEvent] = []
        for await event in status.events() { events.append(event) }
        #expect(events == [.started, .cancelled])
    }

    @Test func `a slow reader of a long history misses the oldest events but not the last`() async {
        let status = DownloadStatus(id: Download.ID(rawValue: 1), observers: QueueObservers())
        status.enter(.running, .started)
        for count in 1...1000 { status.publish(.piecesVerified(count: count)) }
        let late = status.events()
        status.enter(.cancelled, .cancelled)
        var last: DownloadEvent?
        for await event in late { last = event }
        #expect(last == .cancelled)
    }

    @Test func `an observer of the queue receives each finding once, even one that is published meanwhile`() async {
        let findings = (0..<50).map { "\($0)" }
        for _ in 0..<50 {
            let observers = QueueObservers()
            let streams = await withTaskGroup(of: [AsyncStream<QueueEvent>].self) { group in
                group.addTask {
                    for finding in findings { observers.publish(finding: finding) }
                    return []
                }
                group.addTask { findings.map { _ in observers.events() } }
                return await group.reduce([], +)
            }
            observers.end()
            for stream in streams {
                let events = await stream.reduce(into: []) { $0.append($1) }
                #expect(events == findings.map { .registryDamaged($0) })
            }
        }
    }

    @Test func `a cancelled reader is forgotten, and a slow one buffers a single value`() async {
        let status = DownloadStatus(id: Download.ID(rawValue: 1), observers: QueueObservers())
        let task = Task { for await _ in status.progressUpdates() {} }
        task.cancel()
        await task.value
        let slow = status.progressUpdates()
        for count in 1...1000 { status.publish(DownloadProgress(bytesReceived: Int64(count))) }
        status.enter(.cancelled, nil)
        var seen: [Int64] = []
        for await progress in slow { seen.append(progress.bytesReceived) }
        #expect(seen == [1000])
    }
}

import CHeadrace
import Dispatch
import HeadracePlatform
import Testing

@testable import Headrace

/// Yielding under a lock that `onTermination` takes is a deadlock if the reading task is being cancelled.
@Suite(.timeLimit(.minutes(4)))
struct PublishingLockTests {
    #if DEBUG
    /// Records whether the threads that resume its tasks hold a lock.
    private final class LockRecorder: TaskExecutor {
        let queue = DispatchQueue(label: "lock-recorder")
        /// The highest ranks of the locks held; -1 for no lock.
        let ranks = Locked<[Int32]>([])

        func enqueue(_ job: consuming ExecutorJob) {
            let highest = hr_lock_ranks_push(0)
            hr_lock_ranks_pop()
            let job = UnownedJob(job)
            queue.async { [self] in
                ranks.withLock { $0.append(highest) }
                job.runSynchronously(on: asUnownedTaskExecutor())
            }
        }
    }

    /// Reads `stream` until its first new element; checks that `publish` resumes the reader without holding a lock.
    private func expectNoLock<Element: Sendable>(
        _ stream: AsyncStream<Element>,
        skipping count: Int = 1,
        _ publish: @Sendable () -> Void
    ) async throws {
        let recorder = LockRecorder()
        await withTaskGroup { group in
            let (ready, continuation) = AsyncStream.makeStream(of: Void.self)
            group.addTask(executorPreference: recorder) {
                var iterator = stream.makeAsyncIterator()
                for _ in 0..<count { _ = await iterator.next() }
                continuation.yield()
                _ = await iterator.next()
            }
            for await _ in ready { break }
            // Behind the job that has begun to wait for the element.
            await withCheckedContinuation { waiting in recorder.queue.async { waiting.resume() } }
            publish()
        }
        let ranks = recorder.ranks.withLock { $0 }
        #expect(ranks.count > 1 && ranks.allSatisfy { $0 == -1 }, "\(ranks)")
    }

    @Test func `the status of a download yields its state, progress and events without a lock`() async throws {
        let status = DownloadStatus(id: Download.ID(rawValue: 1), observers: QueueObservers())
        try await expectNoLock(status.states()) { status.enter(.running, .started) }
        try await expectNoLock(status.progressUpdates()) { status.publish(DownloadProgress(bytesReceived: 5)) }
        try await expectNoLock(status.progressUpdates()) { status.forgetBytes() }
        try await expectNoLock(status.events()) { status.publish(.verifying) }
        try await expectNoLock(status.states()) { status.enter(.cancelled, .cancelled) }
    }

    @Test func `the observers of a queue get events and changes without a lock`() async throws {
        let observers = QueueObservers(findings: ["x"])
        try await expectNoLock(observers.events()) { observers.publish(.idle) }
        try await expectNoLock(observers.events()) { observers.publish(finding: "y") }
        try await expectNoLock(observers.changes()) { observers.recordChange() }
        let status = DownloadStatus(id: Download.ID(rawValue: 1), observers: observers)
        try await expectNoLock(observers.changes()) { status.enter(.running, .started) }
        try await expectNoLock(observers.changes()) { observers.end() }
    }

    @Test func `a network monitor yields paths without a lock`() async throws {
        let monitor = NetworkMonitor(fixed: nil)
        try await expectNoLock(monitor.paths) { monitor.update(NetworkPath(isUp: true)) }
    }
    #endif

    @Test func `elements arrive in the order of the changes, whichever thread delivers them`() async throws {
        struct Value {
            var count = 0
            var subscribers = Subscribers<Int>()
        }
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
        let lock = PublishingLock(Value())
        _ = lock.withLock { $0.subscribers.add(continuation) }
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            for _ in 0..<1000 {
                lock.publish { value, outbox in
                    value.count += 1
                    value.subscribers.yield(value.count, with: &outbox)
                }
            }
        }
        lock.publish { $0.subscribers.finish(with: &$1) }
        var found: [Int] = []
        for await element in stream { found.append(element) }
        #expect(found == Array(1...4000))
    }
}

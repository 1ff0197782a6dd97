import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Events between a command and its completion.
@Suite(.timeLimit(.minutes(4)))
struct QueueTimingTests {
    @Test func `T14 a retry that is due later does not use up a turn at its host`() async throws {
        try await QueueFixture.with(limit: 2, retriesPerMinute: 1) { list in
            try await list.add("slow")
            try await list.clock.sleeperArmed(for: .seconds(60))
            let cut = try await list.add("cut")
            for await event in cut.events {
                guard case .retrying(_, _, let delay) = event else { continue }
                try #require(delay == .zero)
                break
            }
            #expect(DiskFixture.isExact(try await cut.value))
        }
    }

    @Test func `T14 retries due at once beyond the rate limit are delayed and reported`() async throws {
        try await QueueFixture.with(retriesPerMinute: 1) { list in
            let download = try await list.add("broken")
            var attempts: [Int] = []
            var delays: [Duration] = []
            for await event in download.events {
                switch event {
                case .retrying(_, let attempt, let delay):
                    attempts.append(attempt)
                    delays.append(delay)
                case .notice(.waitingForRetryLimit(let delay)): delays.append(delay)
                default: continue
                }
                if delays.count == 3 { break }
            }
            #expect(attempts == [1, 2])
            #expect(delays == [.zero, .zero, .seconds(50)])
        }
    }

    @Test func `resuming all downloads includes those that are still stopping for a pause`() async throws {
        try await QueueFixture.with { list in
            let download = try await list.add("silent")
            for await progress in download.progress where progress.bytesReceived > 0 { break }
            _ = try await list.manager.stop(.all, .pause)
            await list.manager.resumeAll()
            for await event in download.events {
                try #require(event != .paused)
                if case .resumed = event { break }
            }
        }
    }

    @Test func `cancelling all downloads waits only for those that are still stopping`() async throws {
        try await QueueFixture.with { list in
            try await list.addSending()
            let waiting = try await list.add("a")
            let paused = try await list.add("b") { $0.startsPaused = true }
            try await list.manager.cancelAll(waitingFor: [waiting.record, paused.record])
            #expect(list.states([waiting, paused]) == [.cancelled, .cancelled])
        }
    }

    enum Stop: Sendable, CaseIterable {
        case pause
        case cancel
        case remove

        func run(on download: Download) async {
            switch self {
            case .pause: await download.pause()
            case .cancel: await download.cancel()
            case .remove: await download.remove(deletingFile: true)
            }
        }
    }

    @Test(arguments: Stop.allCases, [false, true])
    func `a download has stopped when the call returns, even if the calling task is cancelled`(
        _ stop: Stop,
        _ isPaused: Bool
    ) async throws {
        try await QueueFixture.with { list in
            let download = try await list.add("silent")
            for await progress in download.progress where progress.bytesReceived > 0 { break }
            if isPaused { await download.pause() }
            await withDiscardingTaskGroup { group in
                group.cancelAll()
                group.addTask { await stop.run(on: download) }
            }
            #expect(download.state == (stop == .pause ? .paused : .cancelled))
            #expect((FileProbe.size(of: download.partialFile) == nil) == (stop != .pause))
        }
    }

    @Test(arguments: [true, false])
    func `the discarded bytes of a cancelled download no longer count in its group`(
        _ isPaused: Bool
    ) async throws {
        try await QueueFixture.with { list in
            let download = try await list.add("silent") { $0.group = "films" }
            for await progress in download.progress where progress.bytesReceived > 0 { break }
            if isPaused { await download.pause() }
            await download.cancel()
            let group = GroupProgress(of: await list.manager.currentSnapshots(group: "films"))
            #expect(group.counts == [.cancelled: 1])
            #expect(group.bytesReceived == 0)
            #expect(group.totalBytes == 0)
        }
    }

    @Test(arguments: [Stop.cancel, .remove])
    func `adding a download again while it is being cancelled or removed creates a new download`(
        _ stop: Stop
    ) async throws {
        try await QueueFixture.with { list in
            let first = try await list.add("silent")
            for await progress in first.progress where progress.bytesReceived > 0 { break }
            _ = try await list.manager.stop(.all, stop == .cancel ? .cancel : .remove(deletingFiles: false))
            let second = try await list.add("silent")
            #expect(second.id != first.id)
            for await progress in second.progress where progress.bytesReceived > 0 { break }
            #expect(first.state == .cancelled)
            #expect(second.state == .running)
        }
    }

    private func added(to state: inout QueueState) throws -> DownloadRecord {
        let request = DownloadRequest(
            try #require(URL(string: "http://h/a")),
            to: .directory(URL(filePath: "/folder", directoryHint: .isDirectory))
        )
        let added = state.add(
            [QueueAddition(request: request)],
            skippingInvalid: false,
            observers: QueueObservers(),
            at: .zero
        )
        return try #require(added.records.first)
    }

    private func removesPartial(of record: DownloadRecord, _ effects: [QueueEffect]) -> Bool {
        effects.contains {
            if case .remove(let removal) = $0 { removal.partial && removal.record === record } else { false }
        }
    }

    private func releases(_ effects: [QueueEffect]) -> Bool {
        effects.contains { if case .release = $0 { true } else { false } }
    }

    /// A queue in which `second` waits until `first`, a download of the same file, has been removed; the file stays.
    private func removing() throws -> (state: QueueState, first: DownloadRecord, second: DownloadRecord) {
        var state = QueueState(scheduler: Scheduler(limit: 2), journal: nil)
        let first = try added(to: &state)
        _ = state.effects(of: state.scheduler.remove(first.id, deletingFile: false))
        let second = try added(to: &state)
        #expect(state.partialFiles.isRemoving(second))
        return (state, first, second)
    }

    @Test func `a download added while its twin is cancelled begins once the partial file is gone`() throws {
        var state = QueueState(scheduler: Scheduler(limit: 4), journal: nil)
        let first = try added(to: &state)
        _ = state.effects(of: state.scheduler.cancel(first.id))
        // The first download's own run may check only now, and must not wait for itself.
        #expect(!state.partialFiles.isRemoving(first))
        let second = try added(to: &state)
        _ = state.effects(of: state.scheduler.cancel(second.id))
        let third = try added(to: &state)
        #expect(second.id != first.id)
        #expect(third.id != second.id)
        #expect(state.partialFiles.isRemoving(second))
        #expect(state.partialFiles.isRemoving(third))
        let effects = state.ended(first.id, .stopped(keptBytes: true), at: .zero)
        #expect(removesPartial(of: first, effects))
        #expect(!releases(effects))
        #expect(state.partialFiles.isRemoving(third))
        _ = state.removed(first)
        #expect(!state.partialFiles.isRemoving(third))
        let last = state.ended(second.id, .stopped(keptBytes: true), at: .zero)
        #expect(!removesPartial(of: second, last))
        #expect(!state.partialFiles.isRemoving(third))
    }

    @Test func `a download added while its twin is removed without its file begins once the twin has stopped`() throws {
        let (list, first, second) = try removing()
        var state = list
        let effects = state.ended(first.id, .stopped(keptBytes: true), at: .zero)
        #expect(!removesPartial(of: first, effects))
        #expect(releases(effects))
        #expect(!state.partialFiles.isRemoving(second))
    }

    @Test func `a partial file removed by two downloads is gone when both removals are done`() throws {
        var state = QueueState(scheduler: Scheduler(limit: 1), journal: nil)
        let records = try (0..<2).map { _ in
            let record = try added(to: &state)
            _ = state.effects(of: state.scheduler.cancel(record.id))
            _ = state.ended(record.id, .stopped(keptBytes: true), at: .zero)
            return record
        }
        #expect(state.partialFiles.isRemoving(records[0]))
        #expect(state.removed(records[0]).isEmpty)
        #expect(state.partialFiles.isRemoving(records[1]))
        _ = state.removed(records[1])
        #expect(!state.partialFiles.isRemoving(records[1]))
    }
}

extension DownloadManager {
    /// Cancels all downloads and waits for some, without a suspension in which these could stop unnoticed.
    fileprivate func cancelAll(waitingFor records: [DownloadRecord]) async throws {
        _ = try stop(.all, .cancel)
        await ChildTasks.waitForStop(of: records, in: self)
    }
}

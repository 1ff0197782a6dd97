import FoundationEssentials
import HeadraceTestSupport
import Testing

@testable import Headrace

/// What comes between a verb and its end.
@Suite(.timeLimit(.minutes(4)))
struct ListTimingTests {
    @Test func `T14 a retry that is due later takes no other's turn at its host`() async throws {
        try await ListFixture.with(limit: 2, retriesPerMinute: 1) { list in
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

    @Test func `T14 of retries that are due at once those beyond the pace are put off, and say so`() async throws {
        try await ListFixture.with(retriesPerMinute: 1) { list in
            var attempts: [Int] = []
            var delays: [Duration] = []
            for await event in try await list.add("broken").events {
                guard case .retrying(_, let attempt, let delay) = event else { continue }
                attempts.append(attempt)
                delays.append(delay)
                if attempts.count == 3 { break }
            }
            #expect(attempts == [1, 2, 2])
            #expect(delays == [.zero, .zero, .seconds(50)])
        }
    }

    @Test func `those that have yet to stop for a pause are resumed with the paused ones`() async throws {
        try await ListFixture.with { list in
            let download = try await list.add("silent")
            for await progress in download.progress where progress.bytesReceived > 0 { break }
            _ = try list.manager.list.pause(.all)
            list.manager.resumeAll()
            for await event in download.events {
                try #require(event != .paused)
                if case .resumed = event { break }
            }
        }
    }

    @Test func `only those that have yet to stop are waited for when many are cancelled`() async throws {
        try await ListFixture.with { list in
            try await list.addSending()
            let waiting = try await list.add("a")
            let paused = try await list.add("b") { $0.startsPaused = true }
            let stopping = try await list.manager.list.cancel(.all).thoseToStop().map(\.id)
            #expect(!stopping.contains(waiting.id))
            #expect(!stopping.contains(paused.id))
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
    func `what is stopped has stopped on return, also where the task is cancelled that asks for it`(
        _ stop: Stop,
        _ isPaused: Bool
    ) async throws {
        try await ListFixture.with { list in
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

    @Test func `a partial that two remove is gone when both have`() throws {
        var state = ListState(queue: DownloadQueue(limit: 1), journal: nil)
        let request = DownloadRequest(
            try #require(URL(string: "http://h/a")),
            to: .directory(URL(filePath: "/folder", directoryHint: .isDirectory))
        )
        let records = try (0..<2).map { _ in
            let added = state.add(
                [ListState.Addition(request: request)],
                passingOver: false,
                observers: ListObservers(),
                at: .zero
            )
            let record = try #require(added.records.first)
            _ = state.effects(of: state.queue.cancel(record.id))
            _ = state.ended(record.id, .stopped(keptBytes: true), at: .zero)
            return record
        }
        #expect(state.isRemoving(records[0]))
        #expect(state.removed(records[0]).isEmpty)
        #expect(state.isRemoving(records[1]))
        _ = state.removed(records[1])
        #expect(!state.isRemoving(records[1]))
    }
}

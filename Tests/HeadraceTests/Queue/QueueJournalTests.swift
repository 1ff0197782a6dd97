import Foundation
import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The changes of a queue's journal that have to survive a power cut.
@Suite(.timeLimit(.minutes(4)))
struct QueueJournalTests {
    private let id = Download.ID(rawValue: 1)

    @Test(
        arguments: [
            ([.running], false),
            ([.running, .waiting, .requeued, .running], false),
            ([.paused], true),
            ([.paused, .waiting], true),
            ([.cancelled, .waiting], true),
            ([.failed(code: "network", message: "lost"), .waiting], true),
            ([.running, .failed(code: "network", message: "lost")], true),
        ] as [([RegistryEntry.State], Bool)]
    )
    func `a change is synced unless a waiting download would take its place`(
        _ states: [RegistryEntry.State],
        _ isSynced: Bool
    ) {
        let bases = RegistryBaseDirectories(of: URL(filePath: "/registry"))
        var journal = QueueJournal(bases: bases, EmptyCollection<RegistryEntry>(), leftOut: [])
        for state in states {
            _ = journal.takeChanges(syncing: true, always: false, members: [], count: 0)
            journal.note(id, state)
        }
        let written = journal.takeChanges(syncing: false, always: false, members: [], count: 0)
        #expect(written != nil)
        let synced = journal.takeChanges(syncing: true, always: false, members: [], count: 0)
        #expect((synced != nil) == isSynced)
    }

    /// Regression: a manager released without a shutdown lost its last changes.
    @Test func `the last changes are written with the whole queue if the journal requires it`() throws {
        let disk = MemoryDisk()
        let file = try RegistryFile.open("/list", .init(syncs: true), calls: disk.calls).file
        defer { file.close() }
        let bases = RegistryBaseDirectories(of: URL(filePath: "/list"))
        let journal = QueueJournal(bases: bases, EmptyCollection<RegistryEntry>(), leftOut: [])
        var state = QueueState(scheduler: Scheduler(limit: 1), journal: journal)
        for count in 1...2 {
            let url = try #require(URL(string: "http://h/\(count)"))
            let addition = QueueAddition(request: DownloadRequest(url, to: .directory(URL(filePath: "/"))))
            _ = state.add([addition], skippingInvalid: false, observers: QueueObservers(), at: .zero)
            try state.writeChanges(to: file)
            #expect(try RegistryFile.read("/list", calls: disk.calls).snapshot.entries.count == count)
            // As another process does.
            try disk.calls.remove("/list/\(RegistryStore.fileName)")
        }
    }

    @Test func `a failed write is retried once after a while, and no more once a write has succeeded`() throws {
        let bases = RegistryBaseDirectories(of: URL(filePath: "/registry"))
        var journal = QueueJournal(bases: bases, EmptyCollection<RegistryEntry>(), leftOut: [])
        journal.note(id, .paused)
        var retryTimes: [Duration?] = []
        var claims: [Bool] = []
        for seconds in [1, 2] {
            let write = journal.takeChanges(syncing: true, always: false, members: [], count: 0)
            retryTimes.append(journal.failed(try #require(write), at: .seconds(seconds)))
        }
        for seconds in [30, 31] {
            journal.retry(at: .seconds(seconds))
            claims.append(journal.claimFlush())
        }
        let retried = journal.takeChanges(syncing: true, always: false, members: [], count: 0)
        retryTimes.append(journal.failed(try #require(retried), at: .seconds(31)))
        // This write, for another reason, succeeds.
        _ = journal.takeChanges(syncing: true, always: false, members: [], count: 0)
        journal.retry(at: .seconds(61))
        claims.append(journal.claimFlush())
        #expect(retryTimes == [.seconds(31), nil, .seconds(61)])
        #expect(claims == [false, true, false])
    }

    /// Regression: only another change wrote them, so that a paused download was started again after a kill.
    @Test func `changes that a full disk refused are written without another change once it has space`() async throws {
        let isFull = Locked(false)
        let clock = TestClock()
        let disk = MemoryDisk { _ throws(SystemError) in
            if isFull.withLock({ $0 }) { throw SystemError(errno: ENOSPC) }
        }
        let manager = try await DownloadManager(
            environment: TransferEnvironment(
                configuration: DownloadConfiguration {
                    $0.registryDirectory = URL(filePath: "/list", directoryHint: .isDirectory)
                    $0.startsDownloads = false
                },
                transport: NoTransport(),
                files: disk.calls,
                clock: AnyClock(clock)
            )
        )
        let url = try #require(URL(string: "http://h/file"))
        let download = try await manager.download(DownloadRequest(url, to: .directory(URL(filePath: "/"))))
        let events = manager.events
        isFull.withLock { $0 = true }
        await download.pause()
        for await event in events { if case .registryFailed = event { break } }
        isFull.withLock { $0 = false }
        try await clock.sleeperArmed(for: .seconds(30))
        clock.advance(by: .seconds(30))
        while try RegistryFile.read("/list", calls: disk.calls).snapshot.entries.first?.state != .paused {
            await Task.yield()
        }
        #expect(clock.deadlines.isEmpty)
        await manager.shutdown()
    }
}

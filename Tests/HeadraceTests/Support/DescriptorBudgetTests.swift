import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The division of the free descriptors.
@Suite(.timeLimit(.minutes(4)))
struct DescriptorBudgetTests {
    private let a = Download.ID(rawValue: 1)
    private let b = Download.ID(rawValue: 2)

    /// A function, because the macro cannot take a mutating call.
    private func admitted(_ budget: inout DescriptorBudget, upTo limit: Int) -> Int {
        var count = 0
        while count < limit, budget.admit(isOnly: count == 0) { count += 1 }
        return count
    }

    @Test(arguments: [
        (free: -3, transfers: 1), (0, 1), (7, 1), (8, 1), (15, 1), (16, 2), (24, 3), (64, 8), (1000, 64),
        (.max / 4, 100),
    ])
    func `as many transfers are admitted as descriptors allow, and at least one`(
        _ free: Int,
        _ transfers: Int
    ) {
        var budget = DescriptorBudget(free: free)
        #expect(admitted(&budget, upTo: free == 1000 ? 64 : 100) == transfers)
        // The maximum that they, the idle connections and the rest of the process can open.
        let most = transfers * DescriptorBudget.perTransfer + DescriptorBudget.idleConnections(free: free)
        #expect(transfers == 1 || most + DescriptorBudget.reserve <= free)
    }

    @Test(arguments: [(free: -1, idle: 1), (8, 1), (15, 2), (47, 10), (263, 64), (100_000, 64)])
    func `idle connections get a quarter of the free descriptors, from 1 to 64`(_ free: Int, _ idle: Int) {
        #expect(DescriptorBudget.idleConnections(free: free) == idle)
    }

    @Test func `a transfer that ends makes room for the next one`() {
        var budget = DescriptorBudget(free: 16)
        #expect(admitted(&budget, upTo: 9) == 2)
        let isRefused = !budget.admit(isOnly: false)
        budget.transferEnded()
        let isAdmitted = budget.admit(isOnly: false)
        #expect(isRefused && isAdmitted)
    }

    @Test func `connections share what the transfers leave and release it`() {
        var budget = DescriptorBudget(free: 40)
        #expect(admitted(&budget, upTo: 2) == 2)
        let shares = [
            budget.share(of: a, wanting: 8), budget.share(of: b, wanting: 16), budget.share(of: b, wanting: 16),
        ]
        budget.releaseConnections(of: a)
        let larger = budget.share(of: b, wanting: 16)
        #expect(shares == [8, 3, 3])
        #expect(larger == 10)
        #expect(budget.isFull)
    }

    @Test func `a download always has one connection`() {
        var budget = DescriptorBudget(free: 2)
        _ = budget.admit(isOnly: true)
        let share = budget.share(of: a, wanting: 16)
        #expect(share == 1)
    }

    @Test func `a transfer that gets no descriptor waits for another one to end`() {
        var budget = DescriptorBudget(free: 1000)
        #expect(admitted(&budget, upTo: 3) == 3)
        let waits = budget.ranOut()
        budget.transferEnded()
        let isRefused = !budget.admit(isOnly: false)
        budget.transferEnded()
        let isAdmitted = budget.admit(isOnly: false)
        #expect(waits && isRefused && isAdmitted)
    }

    @Test func `a lone transfer that gets no descriptor fails`() {
        var budget = DescriptorBudget(free: 1000)
        _ = budget.admit(isOnly: true)
        let waits = budget.ranOut()
        #expect(!waits)
    }

    @Test func `a later count adds released descriptors, and admits nothing if there are too few`() {
        var budget = DescriptorBudget(free: 10)
        #expect(admitted(&budget, upTo: 9) == 1)
        budget.measured(free: 100)
        #expect(!budget.isFull)
        budget.measured(free: 5)
        #expect(budget.isFull)
    }

    @Test func `no more downloads run than descriptors allow, and all of them finish`() async throws {
        // Enough for two of them.
        try await QueueFixture.with(limit: 10, descriptors: DescriptorShare { 16 }) { list in
            let silent = try await list.add("silent")
            let files = try await list.manager.download((0..<8).map { try list.request("\($0)") })
            for file in files { _ = try await file.value }
            #expect(list.states([silent]) == [.running])
            let more = try await list.manager.download((0..<3).map { try list.request("silent-\($0)") })
            #expect(list.states(more).filter { $0 == .running }.count == 1)
        }
    }

    /// Regression: the descriptors stayed reserved until the end of the process.
    @Test func `a manager released while it downloads releases its descriptors`() async throws {
        let descriptors = DescriptorShare { 16 }
        try await withTemporaryDirectory { folder in
            for await _ in try await eventsOfReleasedManager(descriptors, in: folder) {}
        }
        #expect(!descriptors.isFull)
    }

    /// Starts as many downloads as the descriptors allow, and releases the manager; the events end after the transfers.
    private func eventsOfReleasedManager(
        _ descriptors: DescriptorShare,
        in folder: URL
    ) async throws -> AsyncStream<QueueEvent> {
        let manager = try await DownloadManager(
            environment: TransferEnvironment(
                configuration: DownloadConfiguration(),
                transport: FakeTransport {
                    FakeTransport.Reply(DiskFixture.response($0, sending: 60_000), end: .silence)
                },
                clock: AnyClock(TestClock()),
                descriptors: descriptors
            )
        )
        let urls = ["http://h/a", "http://h/b"].compactMap { URL(string: $0) }
        for download in try await manager.download(urls.map { DownloadRequest($0, to: .directory(folder)) }) {
            for await progress in download.progress where progress.bytesReceived > 0 { break }
        }
        #expect(descriptors.isFull)
        return manager.events
    }

    @Test(arguments: [EMFILE, ENFILE])
    func `a download that cannot open its file waits for another to end and uses no retry`(
        _ errno: Int32
    ) async throws {
        let creations = Locked(0)
        let recorder = FileSystemRecorder { call throws(SystemError) in
            guard call == .create else { return }
            let count = creations.withLock { count in
                count += 1
                return count
            }
            if count == 2 { throw SystemError(errno: errno) }
        }
        try await QueueFixture.with(
            limit: 2,
            files: recorder.fileCalls,
            descriptors: DescriptorShare { 1000 }
        ) { list in
            try await list.addSending()
            let second = try await list.add("second")
            for await event in second.events {
                guard case .notice(.waitingForDescriptors(let error)) = event else { continue }
                #expect(error.isOutOfDescriptors)
                break
            }
            await list.manager.downloads[0].cancel()
            _ = try await second.value
            #expect(creations.withLock { $0 } == 3)
        }
    }
}

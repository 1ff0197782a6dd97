import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Limits on all connections of a download, and on all downloads from a host.
@Suite(.timeLimit(.minutes(4)))
struct SegmentLimitTests {
    private typealias Fixture = SegmentFixture

    @Test func `C02 two downloads share the connections of their host`() async throws {
        try await withTemporaryDirectory { folder in
            try await withFaultServer(Fixture.paced.stalled(after: 500_000)) { server in
                let configuration = DownloadConfiguration {
                    $0.maxConnectionsPerDownload = 4
                    $0.maxConnectionsPerHost = 4
                    $0.stallTimeout = .seconds(3600)
                }
                try await withDownloadManager(configuration) { manager in
                    let first = try await manager.download(DownloadRequest(server.url("/a"), to: .directory(folder)))
                    try await server.waitUntil { $0.activeRequests == 4 }
                    try await manager.download(DownloadRequest(server.url("/b"), to: .directory(folder)))
                    for await event in first.events {
                        if case .connectionClosed(.hostLimit, _) = event { break }
                    }
                    try await server.waitUntil { $0.requests(for: "/b").count >= 2 && $0.openConnections <= 4 }
                }
            }
        }
    }

    @Test func `K04 a full disk ends all connections, and their bytes are kept`() async throws {
        let size = 2_200_000
        let full = Locked(true)
        let disk = MemoryDisk { change throws(SystemError) in
            guard case .write(1, let offset, _) = change, offset >= 2_000_000 else { return }
            if full.withLock({ $0 }) { throw SystemError(errno: ENOSPC) }
        }
        let destination = DownloadRequest.Destination.file(URL(filePath: "/folder/file.bin"))
        let run = {
            try await DiskFixture.run(to: destination, files: disk.calls, connections: 4) {
                DiskFixture.response($0, of: size)
            }
        }
        let first = try await run()
        #expect(first.error?.code == .diskFull)
        full.withLock { $0 = false }
        let second = try await run()
        #expect(second.error == nil)
        #expect(second.events.contains { if case .restarted = $0 { true } else { false } } == false)
        let isExact = disk.image.bytes(of: "/folder/file.bin") == DiskFixture.bytes
        #expect(isExact)
    }

    @Test func `K06 a failed sync ends all connections and is reported`() async throws {
        let clock = TestClock()
        let disk = DiskFixture.failingToSync(clock)
        let outcome = try await DiskFixture.run(
            to: .file(URL(filePath: "/folder/file.bin")),
            files: disk.calls,
            clock: clock,
            retries: 3,
            connections: 4
        ) { DiskFixture.response($0, of: 2_200_000) }
        #expect(outcome.error?.code == .fileSystem)
        #expect(outcome.error?.message.contains("could not be synced") == true)
        #expect(disk.image.bytes(of: "/folder/file.bin") == nil)
    }

    /// The rate limit is higher than the speed of the server.
    @Test(arguments: [nil, 100 << 20] as [Int64?])
    func `T10 the minimum speed applies to all connections together`(_ rateLimit: Int64?) async throws {
        try await withTemporaryDirectory { folder in
            let clock = TestClock()
            let transport = FakeTransport(chunkBytes: 60_000) { request in
                FakeTransport.Reply(DiskFixture.response(request, sending: 60_000, of: 2_200_000), end: .silence)
            }
            let manager = try await DownloadManager(
                environment: TransferEnvironment(
                    configuration: DownloadConfiguration {
                        $0.retryPolicy.maxFailures = 0
                        $0.maxConnectionsPerDownload = 2
                        $0.minimumSpeed = 1000
                        $0.rateLimit = rateLimit
                        $0.stallTimeout = .seconds(10)
                    },
                    transport: transport,
                    clock: AnyClock(clock)
                )
            )
            let download = try await manager.download(DiskFixture.request(to: .directory(folder)))
            let error = await withTaskGroup { group in
                // Received bytes count for a while, because the speed is an average.
                group.addTask { while (try? await clock.sleeperArmed()) != nil { clock.advance(by: .seconds(60)) } }
                let error = await #expect(throws: DownloadError.self) { try await download.value }
                group.cancelAll()
                return error
            }
            #expect(error?.code == .stalled)
            await manager.shutdown()
        }
    }

    @Test func `T10 a connection may be slower than the minimum speed if all together are faster`() async throws {
        let file = Resource(size: 4 << 20, seed: 5, etag: "\"v1\"")
        let outcome = try await withTemporaryDirectory {
            try await ResumeFixture.run(.file(file).limited(bytesPerSecond: 150_000), in: $0, expecting: file) {
                $0.maxConnectionsPerDownload = 8
                $0.minimumSpeed = 160_000
                $0.stallTimeout = .seconds(2)
            }
        }
        #expect(outcome.isExact)
        #expect(outcome.opened.count >= 7)
        let failures = outcome.events.filter { if case .connectionClosed(.failed, _) = $0 { true } else { false } }
        #expect(failures.isEmpty)
    }
}

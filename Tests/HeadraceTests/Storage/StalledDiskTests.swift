import FoundationEssentials
import HeadraceTestSupport
import Testing

@testable import Headrace

/// A disk that does not answer for a while, and what goes on meanwhile.
@Suite(.timeLimit(.minutes(4)))
struct StalledDiskTests {
    /// The length of the files whose writes wait; nothing else is that long.
    private static let size = 12_345

    private func request(_ name: String, to folder: URL) throws -> DownloadRequest {
        DownloadRequest(try #require(URL(string: "http://example.org/\(name)")), to: .directory(folder))
    }

    /// Runs so many downloads whose disk does not answer until `body` returns, in a manager with a list on another disk.
    private func withStalled(
        _ count: Int,
        _ body: (_ manager: DownloadManager, _ stalled: [Download], _ folder: URL) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { folder in
            let gate = RecordGate()
            let (writes, note) = AsyncStream.makeStream(of: Void.self)
            let recorder = FileCallRecorder(to: .unsynced) { call throws(SystemError) in
                guard case .write(_, let count) = call, count == Self.size else { return }
                note.yield()
                gate.wait()
            }
            let manager = try await DownloadManager(
                environment: TransferEnvironment(
                    configuration: DownloadManager.Configuration {
                        $0.registryDirectory = folder.appending(path: "registry", directoryHint: .isDirectory)
                        $0.maxConcurrentDownloads = count + 1
                    },
                    transport: FakeTransport { request in
                        let isStalled = request.url.path.hasPrefix("/stalled")
                        let body = isStalled ? [UInt8](repeating: 7, count: Self.size) : Array("hello".utf8)
                        return FakeTransport.Answer(fields: [("Content-Length", "\(body.count)")], body: body)
                    },
                    files: recorder.fileCalls,
                    clock: ClockWitness(TestClock())
                )
            )
            do {
                let stalled = try await manager.download(
                    try (0..<count).map { try request("stalled\($0)", to: folder) }
                )
                var stuckCount = 0
                for await _ in writes {
                    stuckCount += 1
                    if stuckCount == count { break }
                }
                try await body(manager, stalled, folder)
                gate.open()
                await manager.waitUntilIdle()
                await manager.shutdown()
            } catch {
                gate.open()
                await manager.shutdown()
                throw error
            }
        }
    }

    /// Once eight writes took all threads, and everything else of the manager waited for the disk.
    @Test func `downloads whose disk does not answer hold up no other one, nor the list`() async throws {
        try await withStalled(20) { manager, stalled, folder in
            var paused = try request("paused", to: folder)
            paused.startsPaused = true
            let others = try await manager.download([try request("other", to: folder), paused])
            let (other, resumed) = (others[0], others[1])
            _ = try await other.value
            let directory = folder.appending(path: "registry", directoryHint: .isDirectory)
            try RegistryInbox(in: directory.filePath).post(.resume([resumed.id.rawValue]))
            try await manager.takeCommands()
            _ = try await resumed.value
            #expect(stalled.allSatisfy { $0.state == .running })
        }
    }
}

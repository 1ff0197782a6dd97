import FoundationEssentials
import HeadraceTestSupport
import Testing

@testable import Headrace

/// A disk that does not answer for a while, and what goes on meanwhile.
@Suite(.timeLimit(.minutes(4)))
struct StalledDiskTests {
    /// A manager with downloads whose disk does not answer until the gate is opened.
    private struct Scene {
        let manager: DownloadManager
        let clock: TestClock
        let gate: RecordGate
        let folder: URL
        let stalled: [Download]

        var inbox: RegistryInbox { RegistryInbox(in: folder.appending(path: "registry").path) }
    }

    /// The length of the files whose writes wait; nothing else is that long.
    private static let size = 12_345

    private func request(_ name: String, to folder: URL) throws -> DownloadRequest {
        DownloadRequest(try #require(URL(string: "http://example.org/\(name)")), to: .directory(folder))
    }

    /// Runs so many downloads whose disk does not answer, in a manager with a list on another disk.
    private func withStalled(_ count: Int, _ body: (Scene) async throws -> Void) async throws {
        try await withTemporaryDirectory { folder in
            let (gate, clock) = (RecordGate(), TestClock())
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
                    clock: ClockWitness(clock)
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
                try await body(Scene(manager: manager, clock: clock, gate: gate, folder: folder, stalled: stalled))
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
        try await withStalled(20) { scene in
            _ = try await scene.manager.download(try request("other", to: scene.folder)).value
            let paused = try await paused(in: scene)
            try scene.inbox.post(.resume([paused.id.rawValue]))
            try await scene.manager.takeCommands()
            _ = try await paused.value
            #expect(scene.stalled.allSatisfy { $0.state == .running })
        }
    }

    /// A download on the disk that answers, which waits to be resumed.
    private func paused(in scene: Scene) async throws -> Download {
        var request = try request("paused", to: scene.folder)
        request.startsPaused = true
        return try await scene.manager.download(request)
    }

    /// Once all later commands waited for the end of the transfer that a pause had stopped.
    @Test func `a command whose transfer cannot end holds up only those about the same download`() async throws {
        try await withStalled(1) { scene in
            let stuck = try #require(scene.stalled.first)
            let paused = try await paused(in: scene)
            try scene.inbox.post(.pause([stuck.id.rawValue]), at: 1)
            try scene.inbox.post(.priority(stuck.id.rawValue, 7), at: 2)
            try scene.inbox.post(.resume([paused.id.rawValue]), at: 3)
            try await withThrowingDiscardingTaskGroup { group in
                group.addTask { try await scene.manager.takeCommands() }
                try await scene.clock.sleeperArmed(for: .seconds(1))
                #expect(paused.state == .paused)
                scene.clock.advance(by: .seconds(1))
                _ = try await paused.value
                #expect(stuck.state == .running)
                #expect(stuck.priority != DownloadPriority(rawValue: 7))
                #expect(try scene.inbox.hasCommands)
                scene.gate.open()
            }
            #expect(stuck.state != .running)
            #expect(stuck.priority == DownloadPriority(rawValue: 7))
            #expect(try !scene.inbox.hasCommands)
            // For the manager to become idle with its file, whether or not the pause was in time.
            await stuck.resume()
        }
    }
}

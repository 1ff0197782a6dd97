import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// A disk that does not respond for a while.
@Suite(.timeLimit(.minutes(4)))
struct StalledDiskTests {
    /// A manager with downloads whose disk does not respond until the gate is opened.
    private struct Scene {
        let manager: DownloadManager
        let clock: TestClock
        let gate: RecordGate
        let folder: URL
        let stalled: [Download]

        var inbox: CommandSpool { CommandSpool(in: folder.appending(path: "registry").path) }
    }

    /// The length of the files whose writes block; no other write has this length.
    private static let size = 12_345

    private func request(_ name: String, to folder: URL) throws -> DownloadRequest {
        DownloadRequest(try #require(URL(string: "http://example.org/\(name)")), to: .directory(folder))
    }

    /// The environment of a manager with a registry in `folder`; with a limit of 0 it starts no downloads.
    private func environment(
        _ folder: URL,
        limit: Int,
        _ files: FileSystem,
        _ clock: TestClock
    ) -> TransferEnvironment {
        TransferEnvironment(
            configuration: DownloadConfiguration {
                $0.registryDirectory = folder.appending(path: "registry", directoryHint: .isDirectory)
                $0.startsDownloads = limit > 0
                $0.maxConcurrentDownloads = .fixed(max(1, limit))
            },
            transport: FakeTransport { request in
                let isStalled = request.url.path.hasPrefix("/stalled")
                let body = isStalled ? [UInt8](repeating: 7, count: Self.size) : Array("hello".utf8)
                return FakeTransport.Reply(fields: [("Content-Length", "\(body.count)")], body: body)
            },
            files: files,
            clock: AnyClock(clock)
        )
    }

    /// Runs `count` downloads on a stalled disk, in a manager whose registry is on another disk.
    private func withStalled(_ count: Int, _ body: (Scene) async throws -> Void) async throws {
        try await withTemporaryDirectory { folder in
            let (gate, clock) = (RecordGate(), TestClock())
            let (writes, note) = AsyncStream.makeStream(of: Void.self)
            let recorder = FileSystemRecorder(to: .unsynced) { call throws(SystemError) in
                guard case .write(_, let count) = call, count == Self.size else { return }
                note.yield()
                gate.wait()
            }
            let manager = try await DownloadManager(
                environment: environment(folder, limit: count + 1, recorder.fileCalls, clock)
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

    /// Regression: eight writes took all threads, and everything else in the manager waited for the disk.
    @Test func `downloads on a stalled disk delay neither other downloads nor the queue`() async throws {
        try await withStalled(20) { scene in
            _ = try await scene.manager.download(try request("other", to: scene.folder)).value
            let paused = try await paused(in: scene)
            try scene.inbox.post(.resume([paused.id.rawValue]))
            try await scene.manager.takeCommands()
            _ = try await paused.value
            #expect(scene.stalled.allSatisfy { $0.state == .running })
        }
    }

    /// A paused download on the responsive disk.
    private func paused(_ name: String = "paused", in scene: Scene) async throws -> Download {
        var request = try request(name, to: scene.folder)
        request.startsPaused = true
        return try await scene.manager.download(request)
    }

    /// Takes commands, the last of which resumes `last`, runs `check`, and then lets the stalled disk respond.
    private func take(in scene: Scene, until last: Download, _ check: () async throws -> Void) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { try await scene.manager.takeCommands() }
            try await scene.clock.sleeperArmed(for: .seconds(1))
            #expect(last.state == .paused)
            scene.clock.advance(by: .seconds(1))
            _ = try await last.value
            try await check()
            #expect(try scene.inbox.hasCommands)
            scene.gate.open()
        }
        #expect(try !scene.inbox.hasCommands)
    }

    /// Regression: all later commands waited for the transfer that a pause had stopped.
    @Test func `a command whose transfer cannot stop delays only those about the same download`() async throws {
        try await withStalled(1) { scene in
            let stuck = try #require(scene.stalled.first)
            let paused = try await paused(in: scene)
            try scene.inbox.post(.pause([stuck.id.rawValue]), at: 1)
            try scene.inbox.post(.priority(stuck.id.rawValue, 7), at: 2)
            try scene.inbox.post(.resume([paused.id.rawValue]), at: 3)
            try await take(in: scene, until: paused) {
                #expect(stuck.state == .running)
                #expect(stuck.priority != DownloadPriority(rawValue: 7))
            }
            #expect(stuck.state != .running)
            #expect(stuck.priority == DownloadPriority(rawValue: 7))
            // Lets the manager become idle with the file complete, whether or not the pause was in time.
            await stuck.resume()
        }
    }

    /// Regression: it was executed at once and undone by the next process, which repeated the earlier one.
    @Test func `a command about one download waits for an earlier one about several`() async throws {
        try await withStalled(1) { scene in
            let stuck = try #require(scene.stalled.first)
            let (paused, other) = (try await paused(in: scene), try await paused("other", in: scene))
            try scene.inbox.post(.pause([stuck.id.rawValue, paused.id.rawValue]), at: 1)
            try scene.inbox.post(.resume([paused.id.rawValue]), at: 2)
            try scene.inbox.post(.resume([other.id.rawValue]), at: 3)
            try await take(in: scene, until: other) { #expect(paused.state == .paused) }
            _ = try await paused.value
            await stuck.resume()
        }
    }

    /// Regression: the move was lost.
    @Test func `a move after a download that has yet to be added waits for the addition`() async throws {
        try await withStalled(1) { scene in
            let stuck = try #require(scene.stalled.first)
            let (moved, other) = (try await paused("moved", in: scene), try await paused("other", in: scene))
            let bases = try #require(await scene.manager.queue.journal?.bases)
            // The first entry is the download on the stalled disk.
            let entries = [stuck.request, try request("new", to: scene.folder)].enumerated().map { index, request in
                RegistryEntry(id: UInt64(index + 1), RegistryRequest(request, bases: bases), label: 0)
            }
            try scene.inbox.post(.pause([stuck.id.rawValue]), at: 1)
            try scene.inbox.post(.add(entries), at: 2)
            try scene.inbox.post(.move(moved.id.rawValue, .after(Download.ID(rawValue: 2))), at: 3)
            try scene.inbox.post(.resume([other.id.rawValue]), at: 4)
            try await take(in: scene, until: other) { #expect(await scene.manager.downloads.count == 3) }
            let names = await scene.manager.downloads.map(\.request.url.lastPathComponent)
            #expect(names.filter { $0 != "stalled0" } == ["other", "new", "moved"])
            await stuck.resume()
        }
    }

    /// Regression: the start waited for the transfer too, and no later command was taken.
    @Test func `a manager starts even if the transfer of a pending command cannot stop`() async throws {
        try await withTemporaryDirectory { folder in
            let (gate, isStalled, clock) = (RecordGate(), RecordGate(), TestClock())
            defer { gate.open() }
            let kept = try await DownloadManager(environment: environment(folder, limit: 0, .unsynced, clock))
            var requests = try ["stalled", "paused"].map { try request($0, to: folder) }
            requests[1].startsPaused = true
            let ids = try await kept.download(requests).map(\.id.rawValue)
            await kept.shutdown()
            let inbox = CommandSpool(in: folder.appending(path: "registry").path)
            try inbox.post(.pause([ids[0]]), at: 1)
            try inbox.post(.resume([ids[1]]), at: 2)
            let recorder = FileSystemRecorder(to: .unsynced) { call throws(SystemError) in
                switch call {
                // The spool is scanned only when the disk has stalled.
                case .names: isStalled.wait()
                case .write(_, Self.size):
                    isStalled.open()
                    gate.wait()
                default: break
                }
            }
            async let started = DownloadManager(environment: environment(folder, limit: 2, recorder.fileCalls, clock))
            try await clock.sleeperArmed(for: .seconds(1))
            clock.advance(by: .seconds(1))
            let manager = try await started
            let downloads = await manager.downloads
            #expect(downloads[0].state == .running)
            _ = try await downloads[1].value
            gate.open()
            // Regression: the command stayed for the next start, which would have repeated it.
            while try inbox.hasCommands { await Task.yield() }
            #expect(downloads[0].state != .running)
            await manager.shutdown()
        }
    }
}

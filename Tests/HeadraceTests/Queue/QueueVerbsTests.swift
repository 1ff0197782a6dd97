import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The commands of a queue with real downloads: one at a time, and A, B, C in the queue.
@Suite(.timeLimit(.minutes(4)))
struct QueueVerbsTests {
    private static let resource = Resource(size: 2_000_000)

    /// Three downloads: the first stalls in its first run and continues in the next, the others wait for a gate.
    private struct Fixture {
        let server: FaultServer
        let folder: URL
        let manager: DownloadManager
        let gate: Gate
        let a: Download
        let b: Download
        let c: Download

        /// Returns when A runs and has bytes.
        func stallA() async {
            for await progress in a.progress where progress.bytesReceived > 0 { break }
        }

        var paths: [String] { server.requests.map(\.path) }

        func isExact(_ download: Download) async throws -> Bool {
            resource.body.difference(fromFileAt: try await download.value) == nil
        }
    }

    private func withABC(limit: Int = 1, _ body: (Fixture) async throws -> Void) async throws {
        let gate = try Gate()
        defer { gate.open() }
        let file = Response.file(Self.resource)
        let routes: [String: Response] = [
            "/a": .sequence([file.stalled(after: 1_500_000)], then: file),
            "/b": file.held(after: 1_000, until: gate),
            "/c": file,
        ]
        try await withFaultServer(.routes(routes)) { server in
            try await withTemporaryDirectory { folder in
                let configuration = DownloadConfiguration {
                    $0.maxConcurrentDownloads = .fixed(limit)
                    $0.stallTimeout = .seconds(3600)
                }
                try await withDownloadManager(configuration) { manager in
                    let downloads = try await manager.download(
                        ["/a", "/b", "/c"].map { DownloadRequest(server.url($0), to: .directory(folder)) }
                    )
                    let fixture = Fixture(
                        server: server,
                        folder: folder,
                        manager: manager,
                        gate: gate,
                        a: downloads[0],
                        b: downloads[1],
                        c: downloads[2]
                    )
                    await fixture.stallA()
                    try await body(fixture)
                    gate.open()
                }
            }
        }
    }

    @Test func `after adding, the first download runs and the others wait`() async throws {
        try await withABC { list in
            #expect([list.a, list.b, list.c].map(\.state) == [.running, .waiting, .waiting])
            #expect(list.paths == ["/a"])
        }
    }

    @Test func `when a download finishes, the next one runs`() async throws {
        try await withABC { list in
            list.gate.open()
            await list.a.cancel()
            for download in [list.b, list.c] {
                let isExact = try await list.isExact(download)
                #expect(isExact)
            }
            #expect(list.paths == ["/a", "/b", "/c"])
        }
    }

    @Test func `cancelling the running download reports a cancellation, not a failure, and starts the next one`()
        async throws
    {
        try await withABC { list in
            await list.a.cancel()
            #expect(list.a.state == .cancelled)
            #expect(FileProbe.size(of: list.a.partialFile) == nil)
            for await state in list.b.states where state == .running { break }
            var events: [DownloadEvent] = []
            for await event in list.a.events { events.append(event) }
            #expect(events.last == .cancelled)
            #expect(!events.contains { if case .failed = $0 { true } else { false } })
        }
    }

    @Test func `a waiting download is cancelled or removed without having run`() async throws {
        try await withABC { list in
            await list.b.cancel()
            #expect(list.b.state == .cancelled)
            await list.c.remove()
            #expect(list.c.state == .cancelled)
            #expect(await list.manager.downloads == [list.a, list.b])
            #expect(list.a.state == .running)
            #expect(list.paths == ["/a"])
        }
    }

    @Test func `starting by hand never exceeds the limit`() async throws {
        try await withABC { list in
            for download in [list.a, list.b, list.c] { await download.resume() }
            await list.b.preempt()
            await list.b.restart()
            #expect([list.a, list.b, list.c].map(\.state) == [.running, .waiting, .waiting])
            await list.b.pause()
            await list.b.resume()
            await list.c.cancel()
            await list.c.resume()
            #expect([list.a, list.b, list.c].map(\.state) == [.running, .waiting, .waiting])
            #expect(list.paths == ["/a"])
        }
    }

    @Test func `C08 a paused download keeps its bytes and its position, and the next one runs at once`() async throws {
        try await withABC { list in
            await list.a.pause()
            #expect(list.a.state == .paused)
            #expect(await list.manager.downloads == [list.a, list.b, list.c])
            for await state in list.b.states where state == .running { break }
            list.gate.open()
            await list.a.resume()
            #expect(try await list.isExact(list.a))
            #expect(try await list.isExact(list.b))
            // The bytes from before the pause were not downloaded again.
            let resumed = try #require(list.server.requests.last { $0.path == "/a" })
            #expect(resumed["Range"] != nil)
            #expect(try await list.isExact(list.c))
        }
    }

    @Test func `C07 a resumed download waits while another runs, and then runs before later ones`() async throws {
        try await withABC { list in
            await list.a.pause()
            for await progress in list.b.progress where progress.bytesReceived > 0 { break }
            await list.a.resume()
            #expect(list.a.state == .waiting)
            #expect(list.b.state == .running)
            list.gate.open()
            await list.manager.waitUntilIdle()
            #expect(list.paths == ["/a", "/b", "/a", "/c"])
        }
    }

    @Test func `C06 cancelling a paused download discards its bytes`() async throws {
        try await withABC { list in
            await list.a.pause()
            #expect(FileProbe.size(of: list.a.partialFile) != nil)
            await list.a.cancel()
            #expect(list.a.state == .cancelled)
            #expect(FileProbe.size(of: list.a.partialFile) == nil)
            list.gate.open()
            await list.manager.waitUntilIdle()
            let names = try FileProbe.names(in: list.folder)
            #expect(names == ["b", "c"])
            #expect(list.paths == ["/a", "/b", "/c"])
        }
    }

    @Test func `C05 a download paused while it waits is not requested`() async throws {
        try await withABC { list in
            await list.b.pause()
            #expect(list.b.state == .paused)
            await list.a.cancel()
            _ = try await list.c.value
            await list.manager.waitUntilIdle()
            #expect(list.paths == ["/a", "/c"])
            list.gate.open()
            await list.b.resume()
            #expect(try await list.isExact(list.b))
        }
    }

    @Test func `C12 a failed download keeps its position and its bytes, and continues when resumed`() async throws {
        let file = Response.file(Self.resource)
        let routes: [String: Response] = [
            "/a": .sequence([file.truncated(after: 1_500_000)], then: file),
            "/b": file,
        ]
        try await withFaultServer(.routes(routes)) { server in
            try await withTemporaryDirectory { folder in
                let configuration = DownloadConfiguration {
                    $0.maxConcurrentDownloads = 1
                    $0.retryPolicy.maxFailures = 0
                }
                try await withDownloadManager(configuration) { manager in
                    let downloads = try await manager.download(
                        ["/a", "/b"].map { DownloadRequest(server.url($0), to: .directory(folder)) }
                    )
                    await #expect(throws: DownloadError.self) { try await downloads[0].value }
                    _ = try await downloads[1].value
                    #expect(await manager.downloads == downloads)
                    await downloads[0].resume()
                    let finished = try await downloads[0].value
                    #expect(Self.resource.body.difference(fromFileAt: finished) == nil)
                    #expect(server.requests.map(\.path) == ["/a", "/b", "/a"])
                    #expect(server.requests.last?["Range"] != nil)
                }
            }
        }
    }

    @Test func `C14 removing a running download finishes its streams, and deletes its file if requested`() async throws
    {
        try await withABC { list in
            await list.a.remove(deletingFile: true)
            #expect(FileProbe.size(of: list.a.partialFile) == nil)
            var removals = 0
            for await event in list.a.events where event == .removed { removals += 1 }
            #expect(removals == 1)
            #expect(await list.manager.downloads == [list.b, list.c])
            list.gate.open()
            let file = try await list.c.value
            await list.c.remove(deletingFile: true)
            #expect(FileProbe.size(of: file) == nil)
            #expect(list.c.state == .finished(file))
            await list.b.remove()
            #expect(await list.manager.downloads == [])
        }
    }

    @Test func `C13 a download runs sooner if it is moved up or its priority is raised`() async throws {
        try await withABC { list in
            list.gate.open()
            try await list.c.move(to: .before(list.b.id))
            #expect(await list.manager.downloads == [list.a, list.c, list.b])
            await list.b.setPriority(1)
            await list.a.cancel()
            await list.manager.waitUntilIdle()
            #expect(list.paths == ["/a", "/b", "/c"])
        }
    }

    @Test func `C03 C04 a changed limit applies at once and loses no bytes`() async throws {
        try await withABC { list in
            try await list.manager.setMaxConcurrentDownloads(2)
            for await progress in list.b.progress where progress.bytesReceived > 0 { break }
            #expect(list.c.state == .waiting)
            try await list.manager.setMaxConcurrentDownloads(1)
            for await state in list.b.states where state == .waiting { break }
            #expect(list.a.state == .running)
            #expect(FileProbe.size(of: list.b.partialFile) != nil)
            list.gate.open()
            await list.a.cancel()
            await list.manager.waitUntilIdle()
            #expect(try await list.isExact(list.b))
            await #expect(throws: DownloadError.self) { try await list.manager.setMaxConcurrentDownloads(0) }
        }
    }

    @Test func `C02 no more downloads run from one host than its limit`() async throws {
        try await withABC(limit: 3) { list in
            try await list.manager.setMaxConcurrentDownloadsPerHost(1)
            for await state in list.b.states where state != .running { break }
            #expect(list.a.state == .running)
            list.gate.open()
            await list.a.cancel()
            await list.manager.waitUntilIdle()
            #expect(try await list.isExact(list.b))
            #expect(try await list.isExact(list.c))
        }
    }

    @Test func `preempting a running download with a higher priority loses no bytes`() async throws {
        try await withABC { list in
            await list.c.preempt()
            #expect(list.a.state == .running)
            await list.c.setPriority(1)
            await list.c.preempt()
            #expect(try await list.isExact(list.c))
            list.gate.open()
            #expect(try await list.isExact(list.a))
            await list.manager.waitUntilIdle()
            #expect(list.paths == ["/a", "/c", "/a", "/b"])
            let resumed = try #require(list.server.requests.last { $0.path == "/a" })
            #expect(resumed["Range"] != nil)
        }
    }

    @Test func `a finished download is downloaded again only on request`() async throws {
        try await withABC { list in
            list.gate.open()
            await list.a.cancel()
            let first = try await list.c.value
            await list.c.resume()
            #expect(list.c.state == .finished(first))
            await list.c.restart()
            let second = try await list.c.value
            #expect(second.lastPathComponent == "c")
            #expect(list.paths.filter { $0 == "/c" }.count == 2)
        }
    }

    @Test func `a shutdown also ends paused downloads, so that no caller waits forever`() async throws {
        try await withABC { list in
            await list.a.pause()
            await list.manager.shutdown()
            let error = await #expect(throws: DownloadError.self) { try await list.a.value }
            #expect(error?.code == .shutDown)
            #expect(FileProbe.size(of: list.a.partialFile) != nil)
            await list.a.resume()
            await list.a.cancel()
            #expect(list.a.state.isEnded)
        }
    }

    @Test func `C10 commands that come too late have no effect`() async throws {
        try await withABC { list in
            list.gate.open()
            await list.a.cancel()
            await list.a.cancel()
            let file = try await list.b.value
            await list.b.resume()
            await list.b.pause()
            await list.b.cancel()
            #expect(list.b.state == .finished(file))
            await list.manager.waitUntilIdle()
            #expect(list.paths == ["/a", "/b", "/c"])
        }
    }

    @Test func `cancelling one running, one paused, one waiting and one failed download leaves four cancelled`()
        async throws
    {
        try await withABC { list in
            let bad = try await list.manager.download(
                DownloadRequest(list.server.url("/none"), to: .directory(list.folder))
            )
            try await bad.move(to: .first)
            await list.a.pause()
            await #expect(throws: DownloadError.self) { try await bad.value }
            for await progress in list.b.progress where progress.bytesReceived > 0 { break }
            #expect(list.c.state == .waiting)
            // Cancel `c` first: it is first in line, and would start as soon as a slot is free.
            for download in [list.c, list.a, list.b, bad] { await download.cancel() }
            for download in [list.a, list.b, list.c, bad] { #expect(download.state == .cancelled) }
            #expect(try FileProbe.names(in: list.folder) == [])
        }
    }

    @Test func `C09 a thousand quick pauses leave an exact file`() async throws {
        let response = Response.file(Self.resource).limited(bytesPerSecond: 3_000_000)
        try await withFaultServer(response) { server in
            try await withTemporaryDirectory { folder in
                try await withDownloadManager { manager in
                    let download = try await manager.download(
                        DownloadRequest(server.url("/file.bin"), to: .directory(folder))
                    )
                    for _ in 0..<1_000 where !download.state.isEnded {
                        await download.pause()
                        await download.resume()
                    }
                    let file = try await download.value
                    #expect(Self.resource.body.difference(fromFileAt: file) == nil)
                }
            }
        }
    }
}

import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The commands of a queue with real downloads: one at a time, and A, B, C in the queue.
@Suite(.timeLimit(.minutes(4)))
struct QueueVerbsTests {
    @Test func `a waiting download is cancelled or removed without having run`() async throws {
        try await QueueOfThree.with { list in
            await list.b.cancel()
            #expect(list.b.state == .cancelled)
            await list.c.remove()
            #expect(list.c.state == .cancelled)
            #expect(await list.manager.downloads == [list.a, list.b])
            #expect(list.a.state == .running)
            #expect(list.paths == ["/a"])
        }
    }

    @Test func `C05 a download paused while it waits is not requested`() async throws {
        try await QueueOfThree.with { list in
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

    @Test func `C14 removing a running download finishes its streams, and deletes its file if requested`() async throws
    {
        try await QueueOfThree.with { list in
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
        try await QueueOfThree.with { list in
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
        try await QueueOfThree.with { list in
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
        try await QueueOfThree.with(limit: 3) { list in
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
        try await QueueOfThree.with { list in
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
        try await QueueOfThree.with { list in
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
        try await QueueOfThree.with { list in
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
        try await QueueOfThree.with { list in
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

    /// Regression: the download was reported as cancelled while it ran.
    @Test func `a download resumed while its partial file is removed is not reported as cancelled`() async throws {
        try await QueueFixture.with { list in
            let download = try await list.add("a") { $0.startsPaused = true }
            await list.manager.apply { [id = download.id] queue in
                queue.effects(of: queue.scheduler.cancel(id)) + queue.start([id], at: .zero)
            }
            #expect(DiskFixture.isExact(try await download.value))
            #expect(await !download.events.contains(.cancelled))
        }
    }

    @Test func `C09 a thousand quick pauses leave an exact file`() async throws {
        let response = Response.file(QueueOfThree.resource).limited(bytesPerSecond: 3_000_000)
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
                    #expect(QueueOfThree.resource.body.difference(fromFileAt: file) == nil)
                }
            }
        }
    }
}

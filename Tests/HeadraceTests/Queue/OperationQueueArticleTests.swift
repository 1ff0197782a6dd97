import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The observations of an article on `AFHTTPRequestOperation` in an `NSOperationQueue`, and what happens here instead.
///
/// Three downloads, one at a time. `F1` to `F7` are the facts that surprised its author, `Q01` to `Q14` the situations
/// of its table, in its order; `Q15` ends it.
@Suite(.timeLimit(.minutes(4)))
struct OperationQueueArticleTests {
    // MARK: - What was surprising

    @Test func `F1 Q05 C08 pausing the running download keeps its bytes and position, and starts the next one`()
        async throws
    {
        try await QueueOfThree.with { queue in
            await queue.a.pause()
            #expect(queue.a.state == .paused)
            #expect(FileProbe.size(of: queue.a.partialFile) != nil)
            #expect(await queue.manager.downloads == [queue.a, queue.b, queue.c])
            await queue.received(queue.b)
            #expect(queue.states == [.paused, .running, .waiting])
        }
    }

    @Test func `F2 Q09 C12 a failed download keeps its position and its bytes`() async throws {
        try await QueueOfThree.with(failing: true) { queue in
            #expect(queue.a.error?.code == .connectionLost)
            #expect(FileProbe.size(of: queue.a.partialFile) != nil)
            #expect(await queue.manager.downloads == [queue.a, queue.b, queue.c])
        }
    }

    @Test func `F3 Q06 cancelling the running download reports a cancellation, not a failure`() async throws {
        try await QueueOfThree.with { queue in
            await queue.a.cancel()
            #expect(queue.a.state == .cancelled)
            #expect(FileProbe.size(of: queue.a.partialFile) == nil)
            let error = await #expect(throws: DownloadError.self) { try await queue.a.value }
            #expect(error?.code == .cancelled)
            var events: [DownloadEvent] = []
            for await event in queue.a.events { events.append(event) }
            #expect(events.last == .cancelled)
            #expect(!events.contains { if case .failed = $0 { true } else { false } })
            #expect(await queue.manager.downloads == [queue.a, queue.b, queue.c])
        }
    }

    @Test func `F4 Q08 C06 cancelling a paused download discards its bytes`() async throws {
        try await QueueOfThree.with { queue in
            await queue.a.pause()
            #expect(FileProbe.size(of: queue.a.partialFile) != nil)
            await queue.a.cancel()
            #expect(queue.a.state == .cancelled)
            #expect(FileProbe.size(of: queue.a.partialFile) == nil)
            queue.gate.open()
            await queue.manager.waitUntilIdle()
            let names = try FileProbe.names(in: queue.folder)
            #expect(names == ["b", "c"])
            #expect(queue.paths == ["/a", "/b", "/c"])
        }
    }

    @Test func `F5 starting by hand never exceeds the limit`() async throws {
        try await QueueOfThree.with { queue in
            for download in [queue.a, queue.b, queue.c] { await download.resume() }
            await queue.b.preempt()
            await queue.b.restart()
            #expect(queue.states == [.running, .waiting, .waiting])
            await queue.b.pause()
            await queue.b.resume()
            await queue.c.cancel()
            await queue.c.resume()
            #expect(queue.states == [.running, .waiting, .waiting])
            #expect(queue.paths == ["/a"])
        }
    }

    @Test func `F6 a failed download is started again, and continues with its bytes`() async throws {
        try await QueueOfThree.with(failing: true) { queue in
            queue.gate.open()
            await queue.manager.waitUntilIdle()
            await queue.a.resume()
            let isExact = try await queue.isExact(queue.a)
            #expect(isExact)
            #expect(queue.paths == ["/a", "/b", "/c", "/a"])
            #expect(queue.server.requests.last?["Range"] != nil)
        }
    }

    @Test func `F7 C07 a download that ran waits again while another one runs, and then runs before later ones`()
        async throws
    {
        try await QueueOfThree.with { queue in
            await queue.a.pause()
            await queue.received(queue.b)
            await queue.a.resume()
            #expect(queue.states == [.waiting, .running, .waiting])
            queue.gate.open()
            await queue.manager.waitUntilIdle()
            #expect(queue.paths == ["/a", "/b", "/a", "/c"])
        }
    }

    // MARK: - One download

    @Test func `Q01 before it is added, a download is only a request`() async throws {
        try await QueueOfThree.with { queue in
            let request = DownloadRequest(queue.server.url("/d"), to: .directory(queue.folder))
            #expect(throws: Never.self) { try request.validate() }
            #expect(await queue.manager.downloads.map(\.request).contains(request) == false)
            #expect(queue.paths == ["/a"])
        }
    }

    @Test func `Q02 after adding, the first download runs and the others wait`() async throws {
        try await QueueOfThree.with { queue in
            #expect(queue.states == [.running, .waiting, .waiting])
            #expect(queue.paths == ["/a"])
        }
    }

    @Test func `Q03 a running download has progress and a partial file`() async throws {
        try await QueueOfThree.with { queue in
            #expect(queue.a.state == .running)
            #expect(queue.a.currentProgress.bytesReceived > 0)
            #expect(queue.a.currentProgress.totalBytes == QueueOfThree.resource.size)
            #expect(FileProbe.size(of: queue.a.partialFile) != nil)
        }
    }

    @Test func `Q04 a finished download keeps its position, and the next one runs`() async throws {
        try await QueueOfThree.with { queue in
            queue.gate.open()
            await queue.a.cancel()
            for download in [queue.b, queue.c] {
                let isExact = try await queue.isExact(download)
                #expect(isExact)
            }
            #expect(queue.states == [.cancelled, .finished, .finished])
            #expect(await queue.manager.downloads == [queue.a, queue.b, queue.c])
            #expect(queue.paths == ["/a", "/b", "/c"])
        }
    }

    @Test func `Q07 a resumed download downloads only what is missing`() async throws {
        try await QueueOfThree.with { queue in
            await queue.a.pause()
            await queue.received(queue.b)
            queue.gate.open()
            await queue.a.resume()
            #expect(try await queue.isExact(queue.a))
            #expect(try await queue.isExact(queue.b))
            let resumed = try #require(queue.server.requests.last { $0.path == "/a" })
            #expect(resumed["Range"] != nil)
        }
    }

    // MARK: - The next download

    @Test func `Q10 a download that waits for the previous one is not requested, and can be paused and resumed`()
        async throws
    {
        try await QueueOfThree.with { queue in
            #expect(queue.b.state == .waiting)
            #expect(queue.b.networkBlocker == nil)
            await queue.b.pause()
            #expect(queue.b.state == .paused)
            await queue.b.resume()
            #expect(queue.b.state == .waiting)
            #expect(queue.paths == ["/a"])
        }
    }

    @Test func `Q11 if the previous download failed, the next one runs`() async throws {
        try await QueueOfThree.with(failing: true) { queue in
            await queue.received(queue.b)
            #expect(queue.states == [.failed, .running, .waiting])
        }
    }

    @Test func `Q12 if the previous download was paused, the next ones run to their ends`() async throws {
        try await QueueOfThree.with { queue in
            await queue.a.pause()
            queue.gate.open()
            await queue.manager.waitUntilIdle()
            #expect(queue.states == [.paused, .finished, .finished])
        }
    }

    @Test func `Q13 if the previous download was cancelled while it ran, the next one runs`() async throws {
        try await QueueOfThree.with { queue in
            await queue.a.cancel()
            await queue.received(queue.b)
            #expect(queue.states == [.cancelled, .running, .waiting])
        }
    }

    @Test func `Q14 if the previous download is cancelled while it is paused, the next one continues`() async throws {
        try await QueueOfThree.with { queue in
            await queue.a.pause()
            await queue.received(queue.b)
            await queue.a.cancel()
            #expect(queue.states == [.cancelled, .running, .waiting])
            queue.gate.open()
            let isExact = try await queue.isExact(queue.b)
            #expect(isExact)
            #expect(queue.paths.filter { $0 == "/b" }.count == 1)
        }
    }

    @Test func `Q15 cancelling one running, one paused, one waiting and one failed download leaves four cancelled`()
        async throws
    {
        try await QueueOfThree.with { queue in
            let bad = try await queue.manager.download(
                DownloadRequest(queue.server.url("/none"), to: .directory(queue.folder))
            )
            try await bad.move(to: .first)
            await queue.a.pause()
            await #expect(throws: DownloadError.self) { try await bad.value }
            await queue.received(queue.b)
            #expect(queue.c.state == .waiting)
            // Cancel `c` first: it is first in line, and would start as soon as a slot is free.
            for download in [queue.c, queue.a, queue.b, bad] { await download.cancel() }
            for download in [queue.a, queue.b, queue.c, bad] { #expect(download.state == .cancelled) }
            #expect(try FileProbe.names(in: queue.folder) == [])
            await queue.manager.waitUntilIdle()
        }
    }
}

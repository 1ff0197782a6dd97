import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The manager with the real transport and the fault server.
@Suite(.timeLimit(.minutes(4)))
struct DownloadManagerTests {
    /// Runs the body with a server, an empty folder and a manager.
    private func withAll<Result>(
        _ response: Response,
        limit: Int = 4,
        _ body: (FaultServer, URL, DownloadManager) async throws -> Result
    ) async throws -> Result {
        try await withFaultServer(response) { server in
            try await withTemporaryDirectory { folder in
                try await withDownloadManager(.init { $0.maxConcurrentDownloads = .fixed(limit) }) { manager in
                    try await body(server, folder, manager)
                }
            }
        }
    }

    private func failure(of download: Download) async throws -> DownloadError {
        try await #require(throws: DownloadError.self) { try await download.value }
    }

    @Test func `a download becomes a file with the server's bytes and the URL's name`() async throws {
        let size: Int64 = 5_000_001
        try await withAll(.ok(.pattern(size: size))) { server, folder, manager in
            let download = try await manager.download(
                DownloadRequest(server.url("/a/film.mp4?x=1"), to: .directory(folder))
            )
            let file = try await download.value
            #expect(file.lastPathComponent == "film.mp4")
            #expect(Response.Body.pattern(size: size).difference(fromFileAt: file) == nil)
            #expect(try FileProbe.names(in: folder) == ["film.mp4"])
            #expect(FileProbe.permissions(of: file) == 0o666 & ~UInt16(currentMask()))
            #expect(download.state == .finished(file))
            #expect(server.requests.count == 1)
        }
    }

    @Test func `C15 progress starts at zero, grows and ends with all bytes`() async throws {
        try await withAll(.ok(.pattern(size: 1_000_000)).limited(bytesPerSecond: 4_000_000)) {
            server,
            folder,
            manager in
            let download = try await manager.download(DownloadRequest(server.url("/x"), to: .directory(folder)))
            var seen: [DownloadProgress] = []
            for await progress in download.progress { seen.append(progress) }
            #expect(seen.map(\.bytesReceived) == seen.map(\.bytesReceived).sorted())
            #expect(seen.last?.bytesReceived == 1_000_000)
            #expect(seen.last?.totalBytes == 1_000_000)
            #expect(seen.last?.fractionCompleted == 1)
            var late: [DownloadProgress] = []
            for await progress in download.progress { late.append(progress) }
            #expect(late == [seen.last])
        }
    }

    @Test func `events are published to late observers too`() async throws {
        let response = Response.routes([
            "/a": .redirect(to: "/b"), "/b": .redirect(307, to: "/c/"), "/c/": .ok("hello"),
        ])
        try await withAll(response) { server, folder, manager in
            let url = server.url("/a")
            let download = try await manager.download(DownloadRequest(url, to: .directory(folder)))
            let file = try await download.value
            var events: [DownloadEvent] = []
            for await event in download.events { events.append(event) }
            try #require(events.count == 5)
            #expect(events[0] == .started)
            #expect(events[1] == .redirected(status: 302, from: url, to: server.url("/b")))
            #expect(events[2] == .redirected(status: 307, from: server.url("/b"), to: server.url("/c/")))
            #expect(events[3] == .responded(status: 200, totalBytes: 5, file: folder.appending(path: "a")))
            guard case .finished(let summary) = events[4] else {
                Issue.record("\(events[4]) is not the end")
                return
            }
            #expect(summary.file == file)
            #expect(summary.fileSize == 5)
            #expect(summary.bytesFetched == 5)
            #expect(summary.isLengthVerified)
        }
    }

    @Test func `C01 downloads never exceed the limit and start in order`() async throws {
        try await withAll(.ok("x").delayed(.milliseconds(5)), limit: 3) {
            server,
            folder,
            manager in
            let downloads = try await manager.download(
                (0..<100).map { DownloadRequest(server.url("/\($0)"), to: .directory(folder)) }
            )
            for download in downloads { _ = try await download.value }
            #expect(server.traffic.maxActiveRequests <= 3)
            #expect(server.connectionCount <= 6)
            #expect(try FileProbe.names(in: folder).count == 100)
            #expect(await manager.downloads == downloads)
        }
        try await withAll(.ok("x"), limit: 1) { server, folder, manager in
            let downloads = try await manager.download(
                (0..<20).map { DownloadRequest(server.url("/\($0)"), to: .directory(folder)) }
            )
            for download in downloads { _ = try await download.value }
            #expect(server.requests.map(\.path) == (0..<20).map { "/\($0)" })
        }
    }

    @Test func `S06 a user agent that would break the request is rejected`() async throws {
        let error = await #expect(throws: DownloadError.self) {
            try await DownloadManager(configuration: .init { $0.userAgent = "a\r\nX: y" })
        }
        #expect(error?.code == .invalidRequest)
    }

    @Test func `C12 a failure does not stop the others`() async throws {
        let response = Response.routes(["/bad": .status(404)], otherwise: .ok("x"))
        try await withAll(response, limit: 1) { server, folder, manager in
            let downloads = try await manager.download(
                ["/a", "/bad", "/b"].map { DownloadRequest(server.url($0), to: .directory(folder)) }
            )
            let error = try await failure(of: downloads[1])
            #expect(error.code == .httpStatus)
            #expect(error.statusCode == 404)
            #expect(error.url == server.url("/bad"))
            _ = try await downloads[2].value
            #expect(try FileProbe.names(in: folder) == ["a", "b"])
        }
    }

    @Test func `C10 cancelling stops a running download, removes its bytes and frees its slot`() async throws {
        let response = Response.routes(
            ["/slow": .ok(.pattern(size: 1_000_000)).stalled(after: 500_000)],
            otherwise: .ok("x")
        )
        try await withAll(response, limit: 1) { server, folder, manager in
            let slow = try await manager.download(DownloadRequest(server.url("/slow"), to: .directory(folder)))
            let next = try await manager.download(DownloadRequest(server.url("/next"), to: .directory(folder)))
            for await progress in slow.progress where progress.bytesReceived > 0 { break }
            await slow.cancel()
            #expect(slow.state == .cancelled)
            #expect(try await failure(of: slow).code == .cancelled)
            _ = try await next.value
            #expect(try FileProbe.names(in: folder) == ["next"])
            await slow.cancel()
        }
    }

    @Test func `a download cancelled while it waits is never requested`() async throws {
        let gate = try Gate()
        let response = Response.ok(.pattern(size: 10)).held(after: 0, until: gate)
        try await withAll(response, limit: 1) { server, folder, manager in
            let downloads = try await manager.download(
                ["/a", "/b"].map { DownloadRequest(server.url($0), to: .directory(folder)) }
            )
            #expect(downloads[1].state == .waiting)
            await downloads[1].cancel()
            #expect(downloads[1].state == .cancelled)
            gate.open()
            _ = try await downloads[0].value
            #expect(server.requests.map(\.path) == ["/a"])
        }
    }

    @Test func `cancelling a task that awaits the value does not cancel the download`() async throws {
        let gate = try Gate()
        let response = Response.ok(.pattern(size: 10)).held(after: 5, until: gate)
        try await withAll(response) { server, folder, manager in
            let download = try await manager.download(DownloadRequest(server.url("/a"), to: .directory(folder)))
            await withTaskGroup { group in
                group.addTask {
                    await #expect(throws: CancellationError.self) { try await download.value }
                }
                group.cancelAll()
            }
            gate.open()
            _ = try await download.value
        }
    }

    @Test func `a shutdown stops running and waiting downloads and keeps their bytes`() async throws {
        try await withFaultServer(.ok(.pattern(size: 1_000_000)).stalled(after: 500_000)) { server in
            try await withTemporaryDirectory { folder in
                let manager = try await DownloadManager(configuration: .init { $0.maxConcurrentDownloads = 1 })
                let downloads = try await manager.download(
                    ["/a", "/b"].map { DownloadRequest(server.url($0), to: .directory(folder)) }
                )
                for await progress in downloads[0].progress where progress.bytesReceived > 0 { break }
                await manager.shutdown()
                for download in downloads { #expect(try await failure(of: download).code == .shutDown) }
                let names = try FileProbe.names(in: folder)
                #expect(names.count == 2)
                #expect(names.first?.hasSuffix(".part") == true)
                #expect(names.last?.hasSuffix(".part.record") == true)
                let error = await #expect(throws: DownloadError.self) {
                    try await manager.download(DownloadRequest(server.url("/c"), to: .directory(folder)))
                }
                #expect(error?.code == .shutDown)
            }
        }
    }

    /// Regression: the second shutdown replaced the first, which then waited forever.
    @Test func `concurrent shutdowns all return`() async throws {
        try await withAll(.ok(.pattern(size: 1_000_000)).stalled(after: 10), limit: 1) { server, folder, manager in
            let downloads = try await manager.download(
                (0..<3).map { DownloadRequest(server.url("/\($0)"), to: .directory(folder)) }
            )
            await withTaskGroup { group in
                for _ in 0..<4 { group.addTask { await manager.shutdown() } }
                group.addTask { await downloads[0].cancel() }
            }
            for download in downloads { #expect(download.state.isEnded) }
        }
    }

    @Test func `waiting until idle returns after the last download, whatever its outcome`() async throws {
        let response = Response.routes(
            ["/slow": .ok(.pattern(size: 1_000_000)).stalled(after: 500_000), "/bad": .status(404)],
            otherwise: .ok("x")
        )
        try await withAll(response, limit: 2) { server, folder, manager in
            await manager.waitUntilIdle()
            let downloads = try await manager.download(
                ["/slow", "/bad", "/good", "/last"].map { DownloadRequest(server.url($0), to: .directory(folder)) }
            )
            await confirmation { idle in
                await withTaskGroup { group in
                    group.addTask {
                        await manager.waitUntilIdle()
                        #expect(downloads.allSatisfy { $0.state.isEnded })
                        idle()
                    }
                    for await state in downloads[3].states where state.isEnded { break }
                    await downloads[0].cancel()
                }
            }
            await manager.waitUntilIdle()
        }
    }

    @Test func `waiting until idle can be cancelled`() async throws {
        let gate = try Gate()
        try await withAll(.ok(.pattern(size: 10)).held(after: 5, until: gate)) { server, folder, manager in
            let download = try await manager.download(DownloadRequest(server.url("/a"), to: .directory(folder)))
            await withTaskGroup { group in
                group.addTask { await manager.waitUntilIdle() }
                group.cancelAll()
            }
            #expect(!download.state.isEnded)
            gate.open()
            await manager.waitUntilIdle()
            #expect(download.state.isEnded)
        }
    }

    @Test func `the same file is one download while it is active`() async throws {
        let gate = try Gate()
        try await withAll(.ok(.pattern(size: 10)).held(after: 0, until: gate)) { server, folder, manager in
            let request = DownloadRequest(server.url("/a"), to: .directory(folder))
            let first = try await manager.download(request)
            #expect(try await manager.download(request) == first)
            gate.open()
            _ = try await first.value
            let second = try await manager.download(request)
            #expect(second != first)
            #expect(try await second.value.lastPathComponent == "a (1)")
        }
    }

    @Test func `a batch of requests is added completely or not at all`() async throws {
        try await withAll(.ok("x")) { server, folder, manager in
            let good = DownloadRequest(server.url("/a"), to: .directory(folder))
            let bad = DownloadRequest(try #require(URL(string: "ftp://h/")), to: .directory(folder))
            let error = await #expect(throws: DownloadError.self) { try await manager.download([good, bad]) }
            #expect(error?.code == .invalidRequest)
            #expect(await manager.downloads.isEmpty)
        }
    }

    @Test func `an invalid configuration is rejected`() async throws {
        let error = await #expect(throws: DownloadError.self) {
            try await DownloadManager(configuration: .init { $0.maxConcurrentDownloads = 0 })
        }
        #expect(error?.code == .invalidRequest)
    }

    private func currentMask() -> UInt32 { 0o666 & ~FileSystem.newFileMode }
}

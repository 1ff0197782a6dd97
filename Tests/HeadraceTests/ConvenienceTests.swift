import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Shorter ways to common ends.
@Suite(.timeLimit(.minutes(4)))
struct ConvenienceTests {
    @Test func `one call downloads a file`() async throws {
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.ok("hello")) { server in
                let file = try await server.url("/a.txt").download(to: .directory(folder))
                #expect(file.lastPathComponent == "a.txt")
                #expect(try FileProbe.bytes(of: file) == Array("hello".utf8))
                let name = folder.appending(path: "b.txt")
                #expect(try await server.url("/a.txt").download(to: .file(name)) == name)
            }
            let error = await #expect(throws: DownloadError.self) {
                try await URL(filePath: "/etc/passwd").download(to: .directory(folder))
            }
            #expect(error?.code == .invalidRequest)
        }
    }

    @Test func `a handle has the progress, the file, its name and the error`() async throws {
        try await QueueFixture.with { queue in
            let download = try await queue.add("a") { $0.startsPaused = true }
            #expect(download.fileName == "a")
            #expect(download.fileURL == nil && download.error == nil)
            #expect(download.currentProgress == DownloadProgress())
            await download.resume()
            let file = try await download.value
            #expect(download.fileURL == file && download.fileName == file.lastPathComponent)
            #expect(download.currentProgress.bytesReceived == Int64(DiskFixture.size))
            let bad = try await queue.add("bad")
            await #expect(throws: DownloadError.self) { try await bad.value }
            #expect(bad.error?.statusCode == 404 && bad.fileURL == nil)
        }
    }

    @Test func `the expected name is that of the response once there is one`() async throws {
        try await withTemporaryDirectory { folder in
            let response = Response.file(ResumeFixture.old).truncated(after: ResumeFixture.cut)
                .header("Content-Disposition", "attachment; filename=\"b.bin\"")
            try await withFaultServer(response) { server in
                let configuration = DownloadConfiguration { $0.retryPolicy = .none }
                try await withDownloadManager(configuration) { manager in
                    let download = try await manager.download(
                        DownloadRequest(server.url("/a.bin"), to: .directory(folder))
                    )
                    await #expect(throws: DownloadError.self) { try await download.value }
                    #expect(download.fileName == "b.bin")
                }
            }
        }
    }

    @Test(arguments: [true, false])
    func `a download ends with the task that waits for it if that is wanted`(_ cancelling: Bool) async throws {
        try await QueueFixture.with { queue in
            try await queue.addSending()
            let download = try #require(await queue.manager.downloads.first)
            let isCancelled = await withTaskGroup(of: Bool.self) { group in
                group.addTask {
                    do {
                        _ = try await download.value(cancelling: cancelling)
                        return false
                    } catch {
                        return error is CancellationError
                    }
                }
                group.cancelAll()
                return await group.next() ?? false
            }
            #expect(isCancelled)
            #expect(download.state == (cancelling ? .cancelled : .running))
        }
    }

    @Test func `each state has a property of its name`() throws {
        let error = DownloadError(.busy, "x")
        let states: [DownloadState] = [
            .waiting, .running, .paused, .finished(URL(filePath: "/a")), .failed(error), .cancelled,
        ]
        let properties: [(DownloadState) -> Bool] = [
            \.isWaiting, \.isRunning, \.isPaused, \.isFinished, \.isFailed, \.isCancelled,
        ]
        for (index, state) in states.enumerated() {
            #expect(properties.map { $0(state) } == states.indices.map { $0 == index })
        }
    }

    @Test func `a header field is read and set by its name`() {
        var headers = [
            HeaderField(name: "Accept", value: "a"), HeaderField(name: "X-Id", value: "1", isSecret: true),
            HeaderField(name: "accept", value: "b"),
        ]
        #expect(headers["ACCEPT"] == "a" && headers["Other"] == nil)
        headers["x-id"] = "2"
        #expect(headers[1] == HeaderField(name: "X-Id", value: "2", isSecret: true))
        headers["accept"] = "c"
        #expect(headers.map(\.value) == ["c", "2"])
        headers["X-Id"] = nil
        headers["Range-Unit"] = "d"
        #expect(headers.map(\.name) == ["Accept", "Range-Unit"])
    }

    @Test func `a file destination that is a directory says what to write`() throws {
        let url = try #require(URL(string: "http://h/a"))
        let request = DownloadRequest(url, to: .file(URL(filePath: "/tmp/", directoryHint: .isDirectory)))
        let error = #expect(throws: DownloadError.self) { try request.validate() }
        #expect(error?.message.contains(".directory(url)") == true)
    }

    @Test func `the remaining time of a group follows from its sizes and speeds`() throws {
        let url = try #require(URL(string: "http://h/a"))
        func snapshot(_ progress: DownloadProgress) -> DownloadSnapshot {
            let request = DownloadRequest(url, to: .directory(URL(filePath: "/")))
            return DownloadSnapshot(id: .random(), request: request, state: .running, progress: progress)
        }
        let known = snapshot(DownloadProgress(bytesReceived: 10, totalBytes: 50, bytesPerSecond: 5))
        let other = snapshot(DownloadProgress(bytesReceived: 0, totalBytes: 60, bytesPerSecond: 15))
        #expect(GroupProgress(of: [known, other]).timeRemaining == .seconds(5))
        #expect(GroupProgress(of: [known, snapshot(DownloadProgress(bytesPerSecond: 5))]).timeRemaining == nil)
        #expect(GroupProgress(of: [snapshot(DownloadProgress(totalBytes: 60))]).timeRemaining == nil)
    }

    // MARK: The queue

    @Test func `of several requests the valid ones are added, and each other one has its error`() async throws {
        try await QueueFixture.with { queue in
            var sized = try queue.request("a")
            sized.expectedSize = 5
            var contrary = sized
            contrary.expectedSize = 6
            let file = DownloadRequest(URL(filePath: "/etc/passwd"), to: .directory(queue.folder))
            let requests = try [file, sized, contrary, queue.request("bad")]
            let results = try await queue.manager.downloadValid(requests)
            let codes = results.map { result -> DownloadError.Code? in
                if case .failure(let error) = result { error.code } else { nil }
            }
            #expect(codes == [.invalidRequest, nil, .invalidRequest, nil])
            let added = results.compactMap { try? $0.get() }
            #expect(added.map { $0.request.url.path() } == ["/a", "/bad"])
            #expect(await queue.manager.downloads == added)
            #expect(try await queue.manager.downloadValid([]).isEmpty)
        }
    }

    @Test func `finished downloads leave the queue unless they are kept`() async throws {
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.routes(["/a": .ok("a")])) { server in
                let configuration = DownloadConfiguration {
                    $0.keepsFinished = false
                    $0.registryDirectory = folder.appending(path: "registry", directoryHint: .isDirectory)
                }
                try await withDownloadManager(configuration) { manager in
                    let downloads = try await manager.download(
                        ["/a", "/b"].map { DownloadRequest(server.url($0), to: .directory(folder)) }
                    )
                    let file = try await downloads[0].value
                    await manager.waitUntilIdle()
                    #expect(await manager.downloads == [downloads[1]])
                    #expect(downloads[0].fileURL == file)
                    #expect(FileProbe.size(of: file) == 1)
                }
                try await withDownloadManager(configuration) { manager in
                    #expect(await manager.downloads.map(\.state.kind) == [.failed])
                }
            }
        }
    }

    @Test func `retries and time-outs of a request replace those of the manager`() async throws {
        try await withTemporaryDirectory { folder in
            let response = Response.routes(["/a": .status(503), "/b": .nothing(by: .fin).delayed(.seconds(60))])
            try await withFaultServer(response) { server in
                let configuration = DownloadConfiguration { $0.retryPolicy.baseDelay = .zero }
                try await withDownloadManager(configuration) { manager in
                    var request = DownloadRequest(server.url("/a"), to: .directory(folder))
                    request.maxRetries = 1
                    let download = try await manager.download(request)
                    await #expect(throws: DownloadError.self) { try await download.value }
                    #expect(server.requests.count == 2)
                    request.url = server.url("/b")
                    request.maxRetries = 0
                    request.stallTimeout = .milliseconds(50)
                    let silent = try await manager.download(request)
                    await #expect(throws: DownloadError.self) { try await silent.value }
                    #expect(silent.error?.code == .stalled)
                }
            }
        }
    }

    @Test func `a time-out that is not above zero is rejected`() throws {
        let valid = DownloadRequest(try #require(URL(string: "http://h/a")), to: .directory(URL(filePath: "/")))
        for property in [\DownloadRequest.connectTimeout, \.stallTimeout] {
            var request = valid
            request[keyPath: property] = .zero
            #expect(throws: DownloadError.self) { try request.validate() }
            request[keyPath: property] = .seconds(1)
            #expect(throws: Never.self) { try request.validate() }
        }
    }

    @Test func `snapshots have the name, the position and the times`() async throws {
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.routes(["/a": .ok("a")])) { server in
                let directory = folder.appending(path: "registry", directoryHint: .isDirectory)
                let configuration = DownloadConfiguration { $0.registryDirectory = directory }
                let before = Date()
                try await withDownloadManager(configuration) { manager in
                    let downloads = try await manager.download(
                        ["/b.bin", "/a"].map { path in
                            var request = DownloadRequest(server.url(path), to: .directory(folder))
                            request.startsPaused = path == "/b.bin"
                            return request
                        }
                    )
                    _ = try await downloads[1].value
                    let snapshots = await manager.currentSnapshots()
                    #expect(snapshots.map(\.position) == [0, 1])
                    #expect(snapshots.map(\.name) == ["b.bin", "a"])
                    #expect(snapshots[0].started == nil && snapshots[0].ended == nil)
                    let times = [snapshots[1].added, snapshots[1].started, snapshots[1].ended].compactMap(\.self)
                    #expect(times.count == 3 && times == times.sorted())
                    #expect(abs(times[0].timeIntervalSince(before)) < 60)
                }
                let saved = try await DownloadRegistry(directory: directory).downloads()
                #expect(saved.map(\.position) == [0, 1])
                #expect(saved.allSatisfy { $0.added.map { abs($0.timeIntervalSince(before)) < 60 } ?? false })
            }
        }
    }

    /// Runs on the main actor, like the code of an app.
    @MainActor @Test func `sorting moves all downloads, also in the registry`() async throws {
        try await withTemporaryDirectory { folder in
            let url = try #require(URL(string: "http://h/"))
            let directory = folder.appending(path: "registry", directoryHint: .isDirectory)
            let configuration = DownloadConfiguration { $0.registryDirectory = directory }
            try await withDownloadManager(configuration) { manager in
                var requests = ["c", "a", "d", "b"].map {
                    DownloadRequest(url.appending(path: $0), to: .directory(folder))
                }
                for index in requests.indices { requests[index].startsPaused = true }
                try await manager.download(requests)
                await manager.sort { $0.name < $1.name }
                #expect(await manager.downloads.map(\.fileName) == ["a", "b", "c", "d"])
            }
            let saved = try await DownloadRegistry(directory: directory).downloads()
            #expect(saved.map(\.name) == ["a", "b", "c", "d"])
        }
    }
}

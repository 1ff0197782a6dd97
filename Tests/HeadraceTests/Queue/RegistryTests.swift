import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Registries that outlive their manager: the state that the next one restores.
@Suite(.timeLimit(.minutes(4)))
struct RegistryTests {
    final class Asked: Sendable {
        let requests = Locked<[TransportRequest]>([])
    }

    /// Runs the body with a manager whose server never finishes `/silent…`, refuses `/bad…`, and serves other paths.
    func withManager(
        _ folder: URL,
        limit: Int = 1,
        files: FileSystem = .system,
        configure: (inout DownloadConfiguration) -> Void = { _ in },
        requested: Asked = Asked(),
        _ body: (DownloadManager) async throws -> Void
    ) async throws {
        var configuration = DownloadConfiguration {
            $0.maxConcurrentDownloads = .fixed(limit)
            $0.registryDirectory = folder.appending(path: "registry", directoryHint: .isDirectory)
        }
        configure(&configuration)
        let transport = FakeTransport { request in
            requested.requests.withLock { $0.append(request) }
            let path = request.url.path()
            if path.hasPrefix("/silent") {
                return FakeTransport.Reply(DiskFixture.response(request, sending: 60_000), end: .silence)
            }
            return path.hasPrefix("/bad") ? FakeTransport.Reply(404) : DiskFixture.response(request)
        }
        let manager = try await DownloadManager(
            environment: TransferEnvironment(
                configuration: configuration,
                transport: transport,
                files: files,
                clock: AnyClock(TestClock())
            )
        )
        do {
            try await body(manager)
            await manager.shutdown()
        } catch {
            await manager.shutdown()
            throw error
        }
    }

    func request(
        _ path: String,
        in folder: URL,
        _ change: (inout DownloadRequest) -> Void = { _ in }
    ) throws -> DownloadRequest {
        var request = DownloadRequest(try #require(URL(string: "http://h/\(path)")), to: .directory(folder))
        change(&request)
        return request
    }

    func kinds(_ manager: DownloadManager) async -> [DownloadState.Kind] {
        await manager.downloads.map(\.state.kind)
    }

    func names(_ manager: DownloadManager) async -> [String] {
        await manager.downloads.map(\.request.url.lastPathComponent)
    }

    @Test func `the next manager restores every download with its order and state`() async throws {
        try await withTemporaryDirectory { folder in
            var ids: [Download.ID] = []
            var finished: URL?
            try await withManager(folder) { manager in
                let names = ["silent", "a", "bad", "c", "d", "e"]
                let downloads = try await manager.download(
                    names.map { name in try request(name, in: folder) { $0.startsPaused = name == "e" } }
                )
                await downloads[0].pause()
                _ = try await downloads[4].value
                await downloads[3].restart()
                await downloads[5].cancel()
                await manager.waitUntilIdle()
                try await downloads[1].move(to: .first)
                await downloads[3].remove()
                let last = try await manager.download(request("silent2", in: folder) { $0.title = "Film" })
                await last.setPriority(7)
                finished = try await downloads[1].value
                ids = await manager.downloads.map(\.id)
                #expect(ids == [1, 0, 2, 4, 5].map { downloads[$0].id } + [last.id])
                for await state in last.states where state == .running { break }
            }
            try await withManager(folder, configure: { $0.startsDownloads = false }) { manager in
                let downloads = await manager.downloads
                #expect(downloads.map(\.id) == ids)
                let kinds = await kinds(manager)
                #expect(kinds == [.finished, .paused, .failed, .finished, .cancelled, .waiting])
                #expect(downloads[0].state == finished.map { .finished($0) })
                #expect(await downloads[0].fileIsIntact)
                guard case .failed(let error) = downloads[2].state else { return }
                #expect(error.code == .httpStatus)
                #expect(error.message.contains("404") && error.statusCode == 404)
                #expect(downloads[5].priority == 7)
                #expect(downloads[5].request.title == "Film")
            }
        }
    }

    @Test func `running downloads resume with their bytes, or are restored paused if configured`() async throws {
        try await withTemporaryDirectory { folder in
            try await withManager(folder) { manager in
                let download = try await manager.download(request("silent", in: folder))
                for await progress in download.progress where progress.bytesReceived == 60_000 { break }
            }
            try await withManager(folder, configure: { $0.restoresPaused = true }) { manager in
                #expect(await kinds(manager) == [.paused])
            }
            let requested = Asked()
            try await withManager(folder, requested: requested) { manager in
                #expect(await kinds(manager) == [.paused], "what was paused stays so")
                await manager.downloads[0].resume()
                for await event in await manager.downloads[0].events {
                    if case .resumed(let offset, _, _) = event {
                        #expect(offset == 60_000)
                        break
                    }
                }
            }
        }
    }

    @Test func `a missing or changed file is still reported after a restart`() async throws {
        try await withTemporaryDirectory { folder in
            try await withManager(folder) { manager in
                try await manager.download(["a", "b", "c"].map { try request($0, in: folder) })
                await manager.waitUntilIdle()
            }
            try FileManager.default.removeItem(at: folder.appending(path: "a"))
            try Data("other".utf8).write(to: folder.appending(path: "b"))
            try await withManager(folder) { manager in
                let downloads = await manager.downloads
                var told: [[Bool]] = []
                for download in downloads { told.append([await download.fileExists, await download.fileIsIntact]) }
                #expect(told == [[false, false], [true, false], [true, true]])
                await downloads[0].resume()
                _ = try await downloads[0].value
                #expect(await downloads[0].fileIsIntact)
            }
        }
    }

    @Test func `adding ten thousand downloads takes few writes and one sync`() async throws {
        try await withTemporaryDirectory { folder in
            let recorder = FileSystemRecorder()
            try await withManager(folder, files: recorder.fileCalls, configure: { $0.startsDownloads = false }) {
                manager in
                let before = recorder.callsExceptStatus.count
                try await manager.download((0..<10_000).map { try request("\($0)", in: folder) })
                let calls = recorder.callsExceptStatus.dropFirst(before)
                let bytes = try FileProbe.bytes(of: folder.appending(path: "registry/registry.journal")).count
                #expect(calls.count <= bytes / RegistryEncoder.pieceBytes + 2)
                #expect(calls.last == .sync && calls.count { $0 == .sync } == 1)
            }
            try await withManager(folder, configure: { $0.startsDownloads = false }) { manager in
                let names = await names(manager)
                #expect(names == (0..<10_000).map { "\($0)" })
            }
        }
    }

    @Test func `a download that cannot be written to the registry is not added`() async throws {
        try await withTemporaryDirectory { folder in
            let isFull = Locked(false)
            let recorder = FileSystemRecorder(fullWhile: { isFull.withLock { $0 } })
            let requested = Asked()
            try await withManager(folder, files: recorder.fileCalls, requested: requested) { manager in
                let first = try await manager.download(request("a", in: folder))
                _ = try await first.value
                isFull.withLock { $0 = true }
                let error = await #expect(throws: DownloadError.self) {
                    try await manager.download(request("b", in: folder))
                }
                #expect(error?.code == .diskFull)
                #expect(await manager.downloads == [first])
                isFull.withLock { $0 = false }
                _ = try await manager.download(request("c", in: folder)).value
            }
            try await withManager(folder) { manager in
                #expect(await names(manager) == ["a", "c"])
                #expect(await kinds(manager) == [.finished, .finished])
            }
        }
    }

    /// Regression: the second call returned the download that the first one had just removed.
    @Test func `a download that another call adds but cannot save is not returned`() async throws {
        try await withTemporaryDirectory { folder in
            let gate = RecordGate()
            let failsNext = Locked(false)
            let recorder = FileSystemRecorder(to: .unsynced) { call throws(SystemError) in
                guard case .write = call, failsNext.withLock({ $0 }) else { return }
                gate.wait()
                failsNext.withLock { $0 = false }
                throw SystemError(errno: ENOSPC)
            }
            let request = try request("a", in: folder)
            try await withManager(folder, files: recorder.fileCalls) { manager in
                failsNext.withLock { $0 = true }
                let codes = await withTaskGroup(of: DownloadError.Code?.self) { group in
                    @Sendable func failure() async -> DownloadError.Code? {
                        let error = await #expect(throws: DownloadError.self) { try await manager.download(request) }
                        return error?.code
                    }
                    group.addTask { await failure() }
                    while await !manager.isFlushing { await Task.yield() }
                    group.addTask { await failure() }
                    // The second call waits until the write of the first one has failed.
                    while await manager.flushWaiters.isEmpty { await Task.yield() }
                    gate.open()
                    return await group.reduce(into: Set()) { $0.insert($1) }
                }
                #expect(codes == [.diskFull, .fileSystem])
                #expect(await manager.downloads.isEmpty)
            }
        }
    }

    @Test func `a failed registry write is reported, and retried by the next change`() async throws {
        try await withTemporaryDirectory { folder in
            let isFull = Locked(false)
            let recorder = FileSystemRecorder(fullWhile: { isFull.withLock { $0 } })
            try await withManager(folder, files: recorder.fileCalls) { manager in
                let downloads = try await manager.download(["silent", "b", "c"].map { try request($0, in: folder) })
                for await progress in downloads[0].progress where progress.bytesReceived == 60_000 { break }
                let events = manager.events
                isFull.withLock { $0 = true }
                try await manager.pause(.downloads([downloads[1].id]))
                for await event in events {
                    guard case .registryFailed(let error) = event else { continue }
                    #expect(error.code == .diskFull)
                    break
                }
                isFull.withLock { $0 = false }
                try await downloads[2].move(to: .first)
            }
            try await withManager(folder, configure: { $0.startsDownloads = false }) { manager in
                #expect(await names(manager) == ["c", "silent", "b"])
                #expect(await kinds(manager) == [.waiting, .waiting, .paused])
            }
        }
    }

    @Test func `a second manager of a registry fails and names the owner`() async throws {
        try await withTemporaryDirectory { folder in
            let registry = DownloadRegistry(directory: folder.appending(path: "registry"))
            let before = try await registry.processID
            try await withManager(folder) { manager in
                let error = await #expect(throws: DownloadError.self) { try await withManager(folder) { _ in } }
                #expect(error?.code == .busy)
                #expect(error?.message.contains("another manager of this process") == true)
                let holder = try await registry.processID
                #expect(holder == ProcessInfo.processInfo.processIdentifier)
            }
            let after = try await registry.processID
            #expect(before == nil && after == nil)
            try await withManager(folder) { _ in }
        }
    }

    /// Regression: `headrace queue stop` could terminate a command that was adding to the queue.
    @Test func `a manager that starts no downloads is not reported as the registry's process`() async throws {
        try await withTemporaryDirectory { folder in
            let registry = DownloadRegistry(directory: folder.appending(path: "registry"))
            try await withManager(folder, configure: { $0.startsDownloads = false }) { _ in
                let error = await #expect(throws: DownloadError.self) { try await withManager(folder) { _ in } }
                #expect(error?.code == .busy)
                let holder = try await registry.processID
                #expect(holder == nil)
            }
        }
    }

    @Test func `a damaged line loses its entry and is reported`() async throws {
        try await withTemporaryDirectory { folder in
            for name in ["a", "b", "c"] {
                try await withManager(folder, configure: { $0.startsDownloads = false }) { manager in
                    _ = try await manager.download(request(name, in: folder))
                }
            }
            let file = folder.appending(path: "registry/\(RegistryStore.fileName)")
            var text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
            text.replace("http://h/b", with: "http://h/x")
            try Data(text.utf8).write(to: file)
            try await withManager(folder, configure: { $0.startsDownloads = false }) { manager in
                #expect(await names(manager) == ["a", "c"])
                for await event in manager.events {
                    guard case .registryDamaged(let sentence) = event else { continue }
                    #expect(sentence.contains("damaged"))
                    break
                }
            }
        }
    }

    @Test func `after the shutdown every call returns`() async throws {
        try await withTemporaryDirectory { folder in
            try await withManager(folder) { manager in
                let download = try await manager.download(request("a", in: folder))
                _ = try await download.value
                await manager.shutdown()
                let error = await #expect(throws: DownloadError.self) {
                    try await manager.download(request("b", in: folder))
                }
                #expect(error?.code == .shutDown)
                #expect(await download.fileExists)
                await #expect(throws: DownloadError.self) { try await manager.takeCommands() }
                await download.resume()
            }
        }
    }

    @Test func `a download started by hand before its time does not wait after a restart`() async throws {
        try await withTemporaryDirectory { folder in
            try await withManager(folder, configure: { $0.startsDownloads = false }) { manager in
                let late = try await manager.download(
                    request("a", in: folder) { $0.earliestBegin = Date().addingTimeInterval(3600) }
                )
                await late.resume()
            }
            try await withManager(folder) { manager in
                _ = try await manager.downloads[0].value
            }
        }
    }

    @Test func `resuming a running download does not change its stored state`() async throws {
        try await withTemporaryDirectory { folder in
            try await withManager(folder) { manager in
                let past = try await manager.download(
                    request("silent", in: folder) { $0.earliestBegin = Date().addingTimeInterval(-3600) }
                )
                for await progress in past.progress where progress.bytesReceived == 60_000 { break }
                await past.resume()
            }
            try await withManager(folder, configure: { $0.restoresPaused = true }) { manager in
                #expect(await manager.downloads[0].state == .paused)
            }
        }
    }

    @Test func `progress is restored after a restart`() async throws {
        try await withTemporaryDirectory { folder in
            try await withManager(folder) { manager in
                let downloads = try await manager.download(["a", "silent"].map { try request($0, in: folder) })
                for await progress in downloads[1].progress where progress.bytesReceived == 60_000 { break }
                await downloads[1].pause()
            }
            try await withManager(folder) { manager in
                var snapshots = manager.snapshots.makeAsyncIterator()
                let list = try #require(await snapshots.next(isolation: nil))
                #expect(list.map(\.progress.bytesReceived) == [Int64(DiskFixture.size), 60_000])
                #expect(list.map(\.progress.totalBytes) == [Int64(DiskFixture.size), Int64(DiskFixture.size)])
            }
        }
    }

    @Test func `the progress of a waiting download with bytes is restored after a restart`() async throws {
        try await withTemporaryDirectory { folder in
            try await withManager(folder) { manager in
                let waiting = try await manager.download(request("silent", in: folder))
                for await progress in waiting.progress where progress.bytesReceived == 60_000 { break }
                await waiting.pause()
                let running = try await manager.download(request("silent2", in: folder))
                for await progress in running.progress where progress.bytesReceived == 60_000 { break }
                await waiting.resume()
                #expect(waiting.state == .waiting)
            }
            try await withManager(folder, configure: { $0.startsDownloads = false }) { manager in
                let progress = try #require(await manager.currentSnapshots().first).progress
                #expect(progress.bytesReceived == 60_000)
                #expect(progress.totalBytes == Int64(DiskFixture.size))
            }
        }
    }

    @Test func `a restart does not look for partial files of downloads that have not begun`() async throws {
        try await withTemporaryDirectory { folder in
            try await withManager(folder, configure: { $0.startsDownloads = false }) { manager in
                for number in 0..<20 { _ = try await manager.download(request("f\(number)", in: folder)) }
            }
            let looked = Locked<[String]>([])
            var files = FileSystem.system
            files.status = { path throws(SystemError) in
                looked.withLock { $0.append(path) }
                return try FileSystem.system.status(path)
            }
            try await withManager(folder, files: files, configure: { $0.startsDownloads = false }) { manager in
                #expect(await kinds(manager) == Array(repeating: .waiting, count: 20))
            }
            #expect(looked.withLock { $0.filter { $0.contains(".part") } } == [])
        }
    }

    @Test func `progress over several connections counts the bytes received, not the gaps`() async throws {
        try await withTemporaryDirectory { folder in
            let request = try request("silent", in: folder)
            try await withManager(folder) { manager in
                let download = try await manager.download(request)
                for await progress in download.progress where progress.bytesReceived == 60_000 { break }
                await download.pause()
            }
            let (partial, island) = (DestinationPaths(request).partialPath, Int64(500_000)..<510_000)
            let file = try FileSystem.system.open(partial)
            try FileSystem.system.writeAll(file, Array(repeating: 1, count: island.count), at: island.lowerBound)
            try FileSystem.system.close(file)
            let recordFile = RecordFile(of: partial, calls: .system)
            guard case .record(var record) = try recordFile.read() else { throw CancellationError() }
            record.written.insert(island)
            try recordFile.write(record, syncing: false)
            let registry = DownloadRegistry(directory: folder.appending(path: "registry"))
            let progress = try await registry.downloads().map(\.progress)
            #expect(progress.map(\.bytesReceived) == [70_000])
            #expect(progress.map(\.totalBytes) == [Int64(DiskFixture.size)])
        }
    }

    @Test func `a request too large for the registry is rejected, and others are still added`() async throws {
        try await withTemporaryDirectory { folder in
            try await withManager(folder, configure: { $0.startsDownloads = false }) { manager in
                let large = try request("a", in: folder) { $0.userInfo = ["x": String(repeating: "y", count: 700_000)] }
                let error = await #expect(throws: DownloadError.self) { try await manager.download(large) }
                #expect(error?.code == .invalidRequest)
                let posted = await #expect(throws: DownloadError.self) { try await registry(folder).add([large]) }
                #expect(posted?.code == .invalidRequest)
                _ = try await manager.download(request("b", in: folder))
                #expect(await names(manager) == ["b"])
            }
        }
    }

    @Test func `a registry moved with its files finds them in the new folder`() async throws {
        try await withTemporaryDirectory { folder in
            let (old, new) = (folder.appending(path: "old"), folder.appending(path: "new"))
            try FileManager.default.createDirectory(at: old, withIntermediateDirectories: false)
            try await withManager(old) { manager in
                try await manager.download(["a", "silent"].map { try request($0, in: old) })
                for await progress in await manager.downloads[1].progress where progress.bytesReceived == 60_000 {
                    break
                }
            }
            try FileManager.default.moveItem(at: old, to: new)
            try await withManager(new) { manager in
                let downloads = await manager.downloads
                #expect(downloads[0].state == .finished(new.appending(path: "a")))
                #expect(await downloads[0].fileIsIntact)
                for await event in downloads[1].events {
                    if case .resumed(60_000, _, _) = event { break }
                }
            }
        }
    }

    @Test func `a journal of mostly dead records is compacted without losing entries`() async throws {
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "registry/\(RegistryStore.fileName)")
            var largest: Int64 = 0
            try await withManager(folder, limit: 2) { manager in
                let downloads = try await manager.download(
                    ["a", "silent", "c"].map { name in
                        try request(name, in: folder) { $0.userInfo = ["note": String(repeating: "x", count: 100_000)] }
                    }
                )
                _ = try await downloads[2].value
                let notes = String(repeating: "y", count: 100_000)
                for number in 0..<20 {
                    let more = try await manager.download(
                        request("more\(number)", in: folder) {
                            $0.userInfo = ["note": notes]
                            $0.startsPaused = true
                        }
                    )
                    await more.remove()
                    largest = max(largest, FileProbe.size(of: file) ?? 0)
                }
            }
            #expect(largest < 1_900_000)
            try await withManager(folder, configure: { $0.startsDownloads = false }) { manager in
                #expect(await kinds(manager) == [.finished, .waiting, .finished])
                #expect(await manager.downloads[0].fileIsIntact)
            }
        }
    }
}

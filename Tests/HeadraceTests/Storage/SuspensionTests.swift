import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The state of an app that was suspended and then terminated, moved or purged.
@Suite(.timeLimit(.minutes(4)))
struct SuspensionTests {
    private static let cut = 60_000

    /// Runs a manager whose server, if `isSilent`, falls silent in the middle of the first file.
    private func withManager(
        _ container: URL,
        isSilent: Bool,
        files: FileSystem = .system,
        _ body: (DownloadManager) async throws -> Void
    ) async throws {
        let configuration = DownloadConfiguration {
            $0.registryDirectory = container.appending(path: "registry", directoryHint: .isDirectory)
            $0.maxConnectionsPerDownload = 1
        }
        let manager = try await DownloadManager(
            environment: TransferEnvironment(
                configuration: configuration,
                transport: FakeTransport { request in
                    guard isSilent else { return DiskFixture.response(request) }
                    return FakeTransport.Reply(DiskFixture.response(request, sending: Self.cut), end: .silence)
                },
                files: files,
                // No time passes, so only the requested record is written.
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

    private func download(_ manager: DownloadManager, to folder: URL) async throws -> Download {
        let download = try await manager.download(DiskFixture.request(to: .directory(folder)))
        for await progress in download.progress where progress.bytesReceived == Self.cut { break }
        return download
    }

    private func record(of download: Download) throws -> ControlRecord? {
        let file = RecordFile(of: download.partialFile.path, calls: .system)
        guard case .record(let record) = try file.read() else { return nil }
        return record
    }

    private func isHeld(_ ranges: ByteRangeSet?) -> Bool { ranges?.ranges == [0..<Int64(Self.cut)] }

    @Test func `before a suspension all received bytes are recorded and the registry is synced`() async throws {
        try await withTemporaryDirectory { folder in
            let recorder = FileSystemRecorder()
            try await withManager(folder, isSilent: true, files: recorder.fileCalls) { manager in
                let download = try await download(manager, to: folder)
                #expect(try record(of: download) == nil)
                let before = recorder.calls.count
                await manager.prepareForSuspension()
                let record = try record(of: download)
                #expect(isHeld(record?.written))
                #expect(isHeld(record?.durable))
                // The record, which survives a kill, comes before the slow sync.
                let calls = recorder.calls.dropFirst(before).filter { $0 == .replace || $0 == .sync }
                #expect(calls.contains(.sync))
                #expect(calls.first == .replace)
                #expect(download.state == .running)
                // A late record must not follow the end.
                await download.pause()
                await manager.prepareForSuspension()
                #expect(isHeld(try self.record(of: download)?.durable))
                await download.cancel()
                await manager.prepareForSuspension()
                #expect(try self.record(of: download) == nil)
            }
        }
    }

    @Test func `the bytes of a download that waits long for a retry survive a restart of the system`() async throws {
        let file = Resource(size: 300_000, etag: "\"v1\"")
        let busy = Response.status(503, headers: ["Retry-After": "300"])
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.sequence([.file(file).truncated(after: Int64(Self.cut))], then: busy)) {
                server in
                let configuration = DownloadConfiguration {
                    $0.durability = .none
                    $0.retryPolicy.baseDelay = .zero
                }
                try await withDownloadManager(configuration) { manager in
                    let download = try await manager.download(DownloadRequest(server.url("/a"), to: .directory(folder)))
                    for await event in download.events {
                        if case .retrying(_, _, after: .seconds(300)) = event { break }
                    }
                    for await state in download.states where state == .waiting { break }
                    let record = try record(of: download)
                    #expect(isHeld(record?.written))
                    #expect(isHeld(record?.durable))
                }
            }
        }
    }

    @Test func `a download recorded before a suspension leaves no record when it completes`() async throws {
        try await withTemporaryDirectory { folder in
            let gate = RecordGate()
            let recorder = FileSystemRecorder { call throws(SystemError) in
                if case .write(let offset, _) = call, offset > 1_000_000 { gate.wait() }
            }
            try await withManager(folder, isSilent: false, files: recorder.fileCalls) { manager in
                let download = try await manager.download(DiskFixture.request(to: .directory(folder)))
                for await progress in download.progress where progress.bytesReceived > 0 { break }
                await manager.prepareForSuspension()
                #expect(try record(of: download)?.written.isEmpty == false)
                gate.open()
                #expect(DiskFixture.isExact(try await download.value))
            }
            #expect(try FileProbe.names(in: folder).sorted() == ["file.bin", "registry"])
        }
    }

    @Test func `downloads in a container that was moved resume where they were`() async throws {
        try await withTemporaryDirectory { folder in
            let (old, new) = (folder.appending(path: "old"), folder.appending(path: "new"))
            let documents = old.appending(path: "Documents/films", directoryHint: .isDirectory)
            try FileManager.default.createDirectory(at: documents, withIntermediateDirectories: true)
            try await withManager(old, isSilent: true) { _ = try await download($0, to: documents) }
            try FileManager.default.moveItem(at: old, to: new)
            try await withManager(new, isSilent: false) { manager in
                let download = try #require(await manager.downloads.first)
                let file = try await download.value
                #expect(file.path == new.appending(path: "Documents/films/file.bin").path)
                #expect(DiskFixture.isExact(file))
                var starts: [Int64] = []
                for await event in download.events {
                    if case .resumed(let start, _, _) = event { starts.append(start) }
                }
                #expect(starts == [Int64(Self.cut)])
            }
        }
    }

    @Test func `a partial file that was purged is reported with the re-downloaded bytes`() async throws {
        try await withTemporaryDirectory { folder in
            try await withManager(folder, isSilent: true) { _ = try await download($0, to: folder) }
            try FileManager.default.removeItem(at: DiskFixture.partial(in: folder))
            try await withManager(folder, isSilent: false) { manager in
                let download = try #require(await manager.downloads.first)
                #expect(DiskFixture.isExact(try await download.value))
                var wasted: [Int64] = []
                for await event in download.events {
                    if case .restarted(.partialFileGone, let bytes) = event { wasted.append(bytes) }
                }
                #expect(wasted == [Int64(Self.cut)])
            }
        }
    }
}

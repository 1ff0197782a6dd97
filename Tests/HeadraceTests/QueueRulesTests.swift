import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The rules of the queue, tested through the public API.
@Suite(.timeLimit(.minutes(4)))
struct QueueRulesTests {
    @Test func `C11 the same URL to the same destination is one transfer`() async throws {
        let gate = try Gate()
        try await withFaultServer(.ok(.pattern(size: 1000)).held(after: 10, until: gate)) { server in
            try await withTemporaryDirectory { folder in
                try await withDownloadManager { manager in
                    let request = DownloadRequest(server.url("/file.bin"), to: .directory(folder))
                    let downloads = try await manager.download([request, request])
                    #expect(downloads[0] == downloads[1])
                    #expect(try await manager.download(request) == downloads[0])
                    gate.open()
                    _ = try await downloads[0].value
                    #expect(server.requests.count == 1)
                }
            }
        }
    }

    @Test func `C11 two URLs with the same name are two files`() async throws {
        try await withFaultServer(.ok("hello").delayed(.milliseconds(20))) { server in
            try await withTemporaryDirectory { folder in
                try await withDownloadManager { manager in
                    let downloads = try await manager.download(
                        ["/a/file.bin", "/b/file.bin"].map { DownloadRequest(server.url($0), to: .directory(folder)) }
                    )
                    for download in downloads { _ = try await download.value }
                }
                #expect(try FileProbe.names(in: folder) == ["file (1).bin", "file.bin"])
            }
        }
    }

    @Test func `C11 a file that another download writes is rejected and can be replaced after it finishes`()
        async throws
    {
        let gate = try Gate()
        let routes: [String: Response] = ["/a": .ok("first").held(after: 1, until: gate), "/b": .ok("second")]
        try await withFaultServer(.routes(routes)) { server in
            try await withTemporaryDirectory { folder in
                let file = folder.appending(path: "file.bin")
                try await withDownloadManager { manager in
                    let first = try await manager.download(DownloadRequest(server.url("/a"), to: .file(file)))
                    try await server.waitUntil { $0.requests.contains { $0.bodyBytesSent == 1 } }
                    for await progress in first.progress where progress.bytesReceived > 0 { break }
                    let second = try await manager.download(DownloadRequest(server.url("/b"), to: .file(file)))
                    let error = await #expect(throws: DownloadError.self) { try await second.value }
                    #expect(error?.code == .fileExists)
                    gate.open()
                    #expect(try await first.value == file)
                    #expect(try FileProbe.bytes(of: file) == Array("first".utf8))
                    await second.resume()
                    #expect(try await second.value == file)
                }
                #expect(try FileProbe.bytes(of: file) == Array("second".utf8))
                #expect(try FileProbe.names(in: folder) == ["file.bin"])
            }
        }
    }

    @Test func `C10 C16 fifty tasks that cancel one download at once all return`() async throws {
        try await withFaultServer(.ok(.pattern(size: 100_000)).stalled(after: 50_000)) { server in
            try await withTemporaryDirectory { folder in
                try await withDownloadManager { manager in
                    let download = try await manager.download(
                        DownloadRequest(server.url("/file.bin"), to: .directory(folder))
                    )
                    for await progress in download.progress where progress.bytesReceived > 0 { break }
                    await withTaskGroup { group in
                        for _ in 0..<50 { group.addTask { await download.cancel() } }
                    }
                    #expect(download.state == .cancelled)
                    var ends = 0
                    for await event in download.events where event == .cancelled { ends += 1 }
                    #expect(ends == 1)
                }
                #expect(try FileProbe.names(in: folder) == [])
            }
        }
    }

    /// The gigabytes before are a hole that the record lists as received.
    @Test(arguments: [4_294_967_295, 4_294_967_296, 4_294_967_297, 5_368_409_121])
    func `Z03 a download resumes beyond 4 GiB`(_ held: Int64) async throws {
        let resource = Resource(size: 5_368_709_121)
        let end = held + 300_000
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.file(resource).truncated(after: 300_000)) { server in
                let request = DownloadRequest(server.url("/file.bin"), to: .directory(folder))
                try leave(held, of: resource, for: request)
                let manager = try await DownloadManager(
                    environment: TransferEnvironment(
                        configuration: DownloadConfiguration {
                            $0.retryPolicy.maxFailures = 0
                            $0.durability = .none
                            $0.maxConnectionsPerDownload = 1
                        },
                        transport: try DownloadConfiguration().makeTransport(),
                        files: spacious,
                        clock: AnyClock(ContinuousClock())
                    )
                )
                let download = try await manager.download(request)
                let result = try? await download.value
                await manager.shutdown()
                #expect(server.requests.map { $0["Range"] } == ["bytes=\(held)-"])
                let file = result ?? URL(filePath: DestinationPaths(request).partialPath)
                #expect((result != nil) == (end == resource.size))
                #expect(FileProbe.size(of: file) == end)
                #expect(try bytes(of: file, in: held..<end) == Pattern(seed: 1).bytes(in: held..<end))
            }
        }
    }

    /// A sparse partial file needs no space, whatever the disk has left.
    private var spacious: FileSystem {
        var calls = FileSystem.system
        calls.freeSpace = { _ in .max }
        return calls
    }

    /// Creates a sparse partial file of a resource, with the record that an earlier run would have written.
    private func leave(_ held: Int64, of resource: Resource, for request: DownloadRequest) throws {
        let path = DestinationPaths(request).partialPath
        let file = try FileSystem.system.create(path)
        defer { try? FileSystem.system.close(file) }
        try FileSystem.system.truncate(file, held)
        var record = ControlRecord(
            url: request.url,
            fileName: URL(filePath: path).lastPathComponent,
            representation: RepresentationMetadata(entityTag: resource.etag, totalBytes: resource.size),
            totalBytes: resource.size,
            bootID: try FileSystem.system.bootID(),
            file: try FileSystem.system.openStatus(file).identity
        )
        record.written = ByteRangeSet([0..<held])
        record.durable = record.written
        try RecordFile(of: path, calls: .system).write(record, syncing: false)
    }

    private func bytes(of file: URL, in range: Range<Int64>) throws -> [UInt8] {
        let descriptor = try FileSystem.system.open(file.path)
        defer { try? FileSystem.system.close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: range.count)
        let count = pread(descriptor, &bytes, bytes.count, off_t(range.lowerBound))
        return Array(bytes.prefix(count))
    }
}

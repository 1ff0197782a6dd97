import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

extension SharedFileSystem {
    /// The operating system's file system.
    static let system = SharedFileSystem(.system)
}

/// The outcome of one run over fake connections.
struct DiskOutcome {
    var error: DownloadError?
    /// The first byte of each request.
    var starts: [Int64]
    var events: [DownloadEvent]
}

/// Runs downloads over fake connections to test disk behaviour.
enum DiskFixture {
    static let size = 1_300_000
    static let bytes = Pattern(seed: 5).bytes(in: 0..<2_200_000)

    /// The reply of an origin with a strong entity tag, whose connection is lost after `most` bytes; the whole file if the
    /// request continues another version.
    static func response(
        _ request: TransportRequest,
        sending most: Int = .max,
        of size: Int = DiskFixture.size,
        _ bytes: [UInt8] = DiskFixture.bytes,
        _ tag: String = "\"v1\""
    ) -> FakeTransport.Reply {
        let isOther = request.fields.contains { $0.name == "If-Range" && $0.value != tag }
        let isPart = !isOther && request.fields.contains { $0.name == "Range" }
        let (start, end) = isPart ? (start(of: request), end(of: request) ?? size) : (0, size)
        var fields = [("ETag", tag), ("Accept-Ranges", "bytes"), ("Content-Length", "\(end - start)")]
        if isPart { fields.append(("Content-Range", "bytes \(start)-\(end - 1)/\(size)")) }
        let body = bytes[start..<end].prefix(most)
        return FakeTransport.Reply(
            isPart ? 206 : 200,
            fields: fields,
            body: Array(body),
            end: start + body.count == end ? .finished : .failed(DownloadError(.connectionLost, "Cut."))
        )
    }

    static func start(of request: TransportRequest) -> Int {
        guard let range = request.fields.first(where: { $0.name == "Range" })?.value else { return 0 }
        return Int(range.dropFirst("bytes=".count).prefix { $0 != "-" }) ?? 0
    }

    /// The end of the requested range, exclusive; `nil` if it is open.
    static func end(of request: TransportRequest) -> Int? {
        let range = request.fields.first { $0.name == "Range" }?.value
        return range?.split(separator: "-").dropFirst().first.flatMap { Int($0) }.map { $0 + 1 }
    }

    static func run(
        to destination: DownloadRequest.Destination,
        _ policy: DownloadRequest.ConflictPolicy = .rename,
        files: FileSystem,
        clock: TestClock = TestClock(),
        retries: Int = 0,
        durability: DownloadConfiguration.Durability = .full,
        chunkBytes: Int = 64 << 10,
        resumes: Bool = true,
        connections: Int? = nil,
        checksums: [Checksum] = [],
        pieces: PieceHashes? = nil,
        refetching refetchPolicy: DownloadRequest.RefetchPolicy = .always,
        response: @escaping @Sendable (TransportRequest) throws -> FakeTransport.Reply = { DiskFixture.response($0) }
    ) async throws -> DiskOutcome {
        let transport = FakeTransport(chunkBytes: chunkBytes, response)
        let manager = try await DownloadManager(
            environment: TransferEnvironment(
                configuration: DownloadConfiguration {
                    $0.retryPolicy.maxFailures = retries
                    $0.retryPolicy.baseDelay = .zero
                    $0.retryPolicy.maxRetriesPerHostAndMinute = nil
                    $0.durability = durability
                    $0.resumesPartialDownloads = resumes
                    $0.maxConnectionsPerDownload = connections
                },
                transport: transport,
                files: files,
                clock: AnyClock(clock)
            )
        )
        var request = try request(to: destination, policy)
        request.checksums = checksums
        request.pieceHashes = pieces
        request.refetchPolicy = refetchPolicy
        let download = try await manager.download(request)
        var events: [DownloadEvent] = []
        for await event in download.events { events.append(event) }
        await manager.shutdown()
        var failure: DownloadError?
        if case .failed(let error) = download.state { failure = error }
        return DiskOutcome(
            error: failure,
            starts: transport.requests.map { Int64(start(of: $0)) },
            events: events
        )
    }

    /// A disk whose file syncs fail and whose writes take a second each, so that syncs become due.
    static func failingToSync(_ clock: TestClock) -> MemoryDisk {
        MemoryDisk { change throws(SystemError) in
            switch change {
            case .write(1, _, _): clock.advance(by: .seconds(1))
            case .sync(1): throw SystemError(errno: EIO)
            default: break
            }
        }
    }

    static func request(
        to destination: DownloadRequest.Destination,
        _ policy: DownloadRequest.ConflictPolicy = .rename
    ) throws -> DownloadRequest {
        guard let url = URL(string: "http://example.org/file.bin") else { throw SystemError(errno: EINVAL) }
        var request = DownloadRequest(url, to: destination, conflictPolicy: policy)
        request.refetchPolicy = .always
        return request
    }

    /// The bytes of the file that ``withLeftovers(_:)`` leaves behind.
    static let held: Int64 = 400_000

    /// Leaves the partial file and record of an interrupted run.
    static func withLeftovers(
        _ body: (_ folder: URL, _ partial: URL, _ record: URL) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { folder in
            _ = try await run(to: .directory(folder), files: .system) { response($0, sending: Int(held)) }
            let partial = try partial(in: folder)
            #expect(FileProbe.size(of: partial) == held)
            try await body(folder, partial, URL(filePath: partial.path + RecordFile.suffix))
        }
    }

    /// Leaves the state of a process that was killed just after it renamed its file of ``held`` bytes.
    static func withNamedLeftovers(_ body: (_ folder: URL, _ final: URL) async throws -> Void) async throws {
        try await withLeftovers { folder, partial, _ in
            let final = folder.appending(path: "file.bin")
            try nameLeftovers(partial, final)
            try await body(folder, final)
        }
    }

    /// Renames a partial file and sets its record to the state it has at that moment, as if the file were complete.
    static func nameLeftovers(_ partial: URL, _ final: URL) throws {
        let recordFile = RecordFile(of: partial.path, calls: .system)
        guard case .record(var record) = try recordFile.read() else { throw SystemError(errno: ENOENT) }
        (record.state, record.totalBytes) = (.finalising(final.lastPathComponent), record.written.count)
        try recordFile.write(record, syncing: false)
        try FileSystem.system.move(partial.path, final.path)
    }

    /// The partial file of a download into a folder.
    static func partial(in folder: URL) throws -> URL {
        URL(filePath: DestinationPaths(try request(to: .directory(folder))).partialPath)
    }

    static func isExact(_ file: URL) -> Bool {
        Response.Body.bytes(Array(bytes.prefix(size))).difference(fromFileAt: file) == nil
    }
}

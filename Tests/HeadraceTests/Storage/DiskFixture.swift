import FoundationEssentials
import HeadraceTestSupport

@testable import Headrace

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// What came of one run over fake connections.
struct DiskOutcome {
    var error: DownloadError?
    /// Where each request began.
    var starts: [Int64]
    var events: [DownloadEvent]
}

/// Runs downloads over fake connections, for tests of what happens on the disk.
enum DiskFixture {
    static let size = 1_300_000
    static let bytes = Pattern(seed: 5).bytes(in: 0..<Int64(size))

    /// Answers as an origin with a strong entity tag does; sends so many bytes and then loses the connection.
    static func answer(
        _ request: TransportRequest,
        sending most: Int = .max,
        of size: Int = DiskFixture.size
    ) -> FakeTransport.Answer {
        let start = start(of: request)
        var fields = [("ETag", "\"v1\""), ("Accept-Ranges", "bytes"), ("Content-Length", "\(size - start)")]
        if start > 0 { fields.append(("Content-Range", "bytes \(start)-\(size - 1)/\(size)")) }
        let body = bytes[start..<size].prefix(most)
        return FakeTransport.Answer(
            start > 0 ? 206 : 200,
            fields: fields,
            body: Array(body),
            end: start + body.count == size ? .finished : .failed(DownloadError(.connectionLost, "Cut."))
        )
    }

    static func start(of request: TransportRequest) -> Int {
        guard let range = request.fields.first(where: { $0.name == "Range" })?.value else { return 0 }
        return Int(range.dropFirst("bytes=".count).dropLast()) ?? 0
    }

    static func run(
        to destination: DownloadRequest.Destination,
        _ policy: DownloadRequest.ConflictPolicy = .rename,
        files: FileCalls,
        clock: TestClock = TestClock(),
        retries: Int = 0,
        durability: DownloadManager.Configuration.Durability = .full,
        chunkBytes: Int = 64 << 10,
        resumes: Bool = true,
        answer: @escaping @Sendable (TransportRequest) throws -> FakeTransport.Answer = { DiskFixture.answer($0) }
    ) async throws -> DiskOutcome {
        let transport = FakeTransport(chunkBytes: chunkBytes, answer)
        let manager = try await DownloadManager(
            environment: TransferEnvironment(
                configuration: DownloadManager.Configuration {
                    $0.maxRetries = retries
                    $0.retryBaseDelay = .zero
                    $0.durability = durability
                    $0.resumesPartialDownloads = resumes
                },
                transport: transport,
                files: files,
                clock: ClockWitness(clock)
            )
        )
        let download = try await manager.download(try request(to: destination, policy))
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

    static func request(
        to destination: DownloadRequest.Destination,
        _ policy: DownloadRequest.ConflictPolicy = .rename
    ) throws -> DownloadRequest {
        guard let url = URL(string: "http://example.org/file.bin") else { throw SystemError(errno: EINVAL) }
        return DownloadRequest(url, to: destination, conflictPolicy: policy)
    }

    /// The partial's name for a download into a folder.
    static func partial(in folder: URL) throws -> URL {
        URL(filePath: DestinationNames(try request(to: .directory(folder))).partialPath)
    }

    static func isExact(_ file: URL) -> Bool {
        Response.Body.bytes(bytes).difference(fromFileAt: file) == nil
    }
}

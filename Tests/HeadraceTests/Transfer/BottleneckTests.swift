import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The bottleneck that a download from a server on this machine reports.
@Suite(.timeLimit(.minutes(4)))
struct BottleneckTests {
    private static let file = Resource(size: 1 << 30, seed: 3, etag: "\"v1\"")
    private static let paced = Response.file(file).limited(bytesPerSecond: 100_000)

    /// Returns the first bottleneck that a download reports.
    ///
    /// On a busy machine, a measurement may be too unclear to name one; then another download is started.
    private func bottleneck(
        of response: Response,
        files: FileSystem = .system,
        _ configure: (inout DownloadConfiguration) -> Void = { _ in }
    ) async throws -> DownloadEvent.Bottleneck? {
        for _ in 0..<5 {
            if let found = try await firstBottleneck(of: response, files: files, configure) { return found }
        }
        return nil
    }

    private func firstBottleneck(
        of response: Response,
        files: FileSystem,
        _ configure: (inout DownloadConfiguration) -> Void
    ) async throws -> DownloadEvent.Bottleneck? {
        try await withTemporaryDirectory { folder in
            try await withFaultServer(response) { server in
                let configuration = DownloadConfiguration(configure)
                let environment = TransferEnvironment(
                    configuration: configuration,
                    transport: try configuration.makeTransport(),
                    files: files,
                    clock: AnyClock(ContinuousClock())
                )
                let manager = try await DownloadManager(environment: environment)
                let download = try await manager.download(DownloadRequest(server.url("/a"), to: .directory(folder)))
                let found = await withTaskGroup(of: DownloadEvent.Bottleneck?.self) { group in
                    group.addTask {
                        for await event in download.events {
                            if case .limited(let bottleneck?) = event { return bottleneck }
                        }
                        return nil
                    }
                    group.addTask {
                        try? await Task.sleep(for: .seconds(20))
                        return nil
                    }
                    defer { group.cancelAll() }
                    return await group.next() ?? nil
                }
                await manager.shutdown()
                return found
            }
        }
    }

    @Test func `a rate per connection of the server is reported`() async throws {
        #expect(try await bottleneck(of: Self.paced) == .connectionRate)
    }

    @Test func `a limit on connections that more connections would exceed is reported`() async throws {
        let found = try await bottleneck(of: Self.paced) { $0.maxConnectionsPerHost = 4 }
        #expect(found == .connectionLimit)
    }

    @Test func `a server that refuses further connections is reported`() async throws {
        let response = Response.answering { $0.index < 4 ? Self.paced : .status(503) }
        #expect(try await bottleneck(of: response) == .refusedConnections)
    }

    @Test(arguments: [nil, 1]) func `a rate limit of the caller is reported`(_ connections: Int?) async throws {
        let found = try await bottleneck(of: .file(Self.file)) {
            $0.rateLimit = 1_000_000
            $0.maxConnectionsPerDownload = connections
        }
        #expect(found == .rateLimit)
    }

    @Test(arguments: [1, 4])
    func `a disk that is slower than the network is reported`(_ connections: Int) async throws {
        var files = FileSystem.unsynced
        files.write = { file, bytes, offset throws(SystemError) in
            usleep(20_000)
            return try FileSystem.system.write(file, bytes, offset)
        }
        let found = try await bottleneck(of: .file(Self.file), files: files) {
            $0.maxConnectionsPerDownload = connections
        }
        #expect(found == .disk)
    }
}

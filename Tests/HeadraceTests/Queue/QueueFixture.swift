import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// A queue over fake connections and a test clock.
struct QueueFixture {
    let manager: DownloadManager
    let clock: TestClock
    let folder: URL
    let requests: @Sendable () -> [String]

    func request(_ path: String, _ change: (inout DownloadRequest) -> Void = { _ in }) throws -> DownloadRequest {
        // `Retry-After` applies to a whole host, so the busy downloads need a host of their own.
        let host = path.hasPrefix("busy") ? "busy" : "h"
        var request = DownloadRequest(try #require(URL(string: "http://\(host)/\(path)")), to: .directory(folder))
        change(&request)
        return request
    }

    @discardableResult
    func add(_ path: String, _ change: (inout DownloadRequest) -> Void = { _ in }) async throws -> Download {
        try await manager.download(request(path, change))
    }

    /// Adds a download that has received bytes and will receive more.
    func addSending() async throws {
        for await progress in try await add("silent").progress where progress.bytesReceived > 0 { break }
    }

    func states(_ downloads: [Download]) -> [DownloadState.Kind] { downloads.map(\.state.kind) }

    /// Runs the body with a queue whose server serves files, with the following exceptions.
    ///
    /// - `/silent…` never ends, `/bad…` is refused, `/broken` fails, and `/cut` is truncated the first time.
    /// - `/busy…` is refused for a minute the first time, `/full` the first seven times, and `/closed…` always.
    /// - `/moved` redirects to `/closed` on another host.
    /// - `/slow` fails with a `Retry-After` of a minute.
    static func with(
        limit: Int = 1,
        retriesPerMinute: Int? = nil,
        files: FileSystem = .system,
        descriptors: DescriptorShare = .unlimited,
        _ body: (QueueFixture) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { folder in
            let refused = Locked<Set<String>>([])
            let refusalsLeft = Locked(7)
            let transport = FakeTransport { request in
                let path = request.url.path()
                if path.hasPrefix("/silent") {
                    return FakeTransport.Reply(DiskFixture.response(request, sending: 60_000), end: .silence)
                }
                if path.hasPrefix("/bad") { return FakeTransport.Reply(404) }
                if path == "/moved" { return FakeTransport.Reply(302, fields: [("Location", "http://other/closed")]) }
                if path.hasPrefix("/closed") { return FakeTransport.Reply(429) }
                if path == "/full" {
                    let isRefused = refusalsLeft.withLock { left in
                        left -= 1
                        return left >= 0
                    }
                    if isRefused { return FakeTransport.Reply(503) }
                }
                if path == "/broken" { return FakeTransport.Reply(502) }
                if path == "/slow" { return FakeTransport.Reply(502, fields: [("Retry-After", "60")]) }
                if path == "/cut", refused.withLock({ $0.insert(path).inserted }) {
                    return DiskFixture.response(request, sending: 60_000)
                }
                if path.hasPrefix("/busy"), refused.withLock({ $0.insert(path).inserted }) {
                    return FakeTransport.Reply(503, fields: [("Retry-After", "60")])
                }
                return DiskFixture.response(request)
            }
            let clock = TestClock()
            let manager = try await DownloadManager(
                environment: TransferEnvironment(
                    configuration: DownloadConfiguration {
                        $0.maxConcurrentDownloads = .fixed(limit)
                        $0.retryPolicy.baseDelay = .zero
                        $0.retryPolicy.maxRetriesPerHostAndMinute = retriesPerMinute
                    },
                    transport: transport,
                    files: files,
                    clock: AnyClock(clock),
                    descriptors: descriptors
                )
            )
            do {
                let requests: @Sendable () -> [String] = { transport.requests.map { $0.url.path() } }
                try await body(QueueFixture(manager: manager, clock: clock, folder: folder, requests: requests))
                await manager.shutdown()
            } catch {
                await manager.shutdown()
                throw error
            }
        }
    }
}

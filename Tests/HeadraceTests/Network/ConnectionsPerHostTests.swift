import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The connections to one host over HTTP/1.1, of files and segments together.
@Suite(.timeLimit(.minutes(4)))
struct ConnectionsPerHostTests {
    private static let small = Resource(size: 40_000)
    private static let large = Resource(size: 6 << 20, seed: 3, etag: "\"v1\"")

    /// Downloads four large files and forty small ones, and returns what the server has seen.
    private static func traffic(_ configure: @Sendable (inout DownloadConfiguration) -> Void) async throws -> Traffic {
        let response = Response.answering { request in
            request.path.hasPrefix("/large")
                // Slow enough that the large files are segmented while the small ones arrive.
                ? Response.file(large).limited(bytesPerSecond: 1 << 20)
                : Response.file(small).delayed(.milliseconds(20))
        }
        return try await withTemporaryDirectory { folder in
            try await withFaultServer(response) { server in
                let configuration = DownloadConfiguration {
                    $0.durability = .none
                    $0.retryPolicy.maxFailures = 0
                    configure(&$0)
                }
                try await withDownloadManager(configuration) { manager in
                    let names = (0..<4).map { "large\($0)" } + (0..<40).map { "small\($0)" }
                    let downloads = try await manager.download(
                        names.map { DownloadRequest(server.url("/\($0)"), to: .directory(folder)) }
                    )
                    for (name, download) in zip(names, downloads) {
                        let body = (name.hasPrefix("large") ? large : small).body
                        let file = try await download.value
                        #expect(body.difference(fromFileAt: file) == nil, "\(name)")
                    }
                }
                return server.traffic
            }
        }
    }

    @Test(arguments: [nil, 16])
    func `C02 an automatic number of files and segments have at most 16 connections`(_ ofEach: Int?) async throws {
        let traffic = try await Self.traffic {
            $0.maxConcurrentDownloads = .automatic
            $0.maxConnectionsPerDownload = ofEach
        }
        #expect(traffic.maxOpenConnections <= 16, "\(traffic.maxOpenConnections) connections")
        let ofLarge = traffic.requests.count { $0.path.hasPrefix("/large") }
        #expect(ofLarge > 8, "\(ofLarge) requests for large files")
        #expect(traffic.requests.count { $0.path.hasPrefix("/small") } == 40)
    }

    @Test func `C02 the number of files that the user sets is not lowered`() async throws {
        let gate = try Gate()
        let held = Response.file(Self.small).held(after: 0, until: gate)
        try await withTemporaryDirectory { folder in
            try await withFaultServer(held) { server in
                try await withDownloadManager(.init { $0.maxConcurrentDownloads = 24 }) { manager in
                    try await manager.download(
                        (0..<30).map { DownloadRequest(server.url("/\($0)"), to: .directory(folder)) }
                    )
                    try await server.waitUntil { $0.activeRequests == 24 }
                    gate.open()
                    await manager.waitUntilIdle()
                }
                #expect(server.traffic.maxOpenConnections == 24)
            }
        }
    }
}

import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The measured times and connections of requests, and bodies in memory.
@Suite(.timeLimit(.minutes(4)))
struct MetricsTests {
    private let file = ResumeFixture.old

    private func run(
        _ response: Response,
        in folder: URL,
        collecting: Bool = true
    ) async throws -> (metrics: DownloadMetrics?, events: [RequestMetrics]) {
        try await withFaultServer(response) { server in
            let configuration = DownloadConfiguration {
                $0.collectsMetrics = collecting
                $0.retryPolicy.baseDelay = .zero
            }
            return try await withDownloadManager(configuration) { manager in
                let request = DownloadRequest(server.url("/a?secret=1"), to: .file(folder.appending(path: "file.bin")))
                let download = try await manager.download(request)
                _ = try await download.value
                var events: [RequestMetrics] = []
                for await event in download.events {
                    if case .requestEnded(let metrics) = event { events.append(metrics) }
                }
                return (download.metrics, events)
            }
        }
    }

    @Test func `each request is measured, with its connection`() async throws {
        try await withTemporaryDirectory { folder in
            let routes = ["/a": Response.redirect(302, to: "/b"), "/b": .file(file)]
            let (metrics, events) = try await run(.routes(routes), in: folder)
            let found = try #require(metrics)
            #expect(found.requests == events)
            #expect(found.requestCount == 2 && found.retries == 0)
            #expect(found.bytesReceived == file.size)
            let (first, last) = (found.requests[0], found.requests[1])
            #expect(first.status == 302 && last.status == 200)
            #expect(first.url.hasSuffix("/a") && last.url.hasSuffix("/b"))
            #expect(!first.isReused && first.connect != nil && first.tls == nil)
            #expect(last.isReused && last.connect == nil)
            for request in found.requests {
                #expect(request.address == "127.0.0.1" && request.httpVersion == "HTTP/1.1")
                #expect(try #require(request.firstByte) <= request.total)
            }
        }
    }

    @Test func `retries are counted, and bytes of each attempt`() async throws {
        try await withTemporaryDirectory { folder in
            let response = Response.sequence([.file(file).truncated(after: ResumeFixture.cut)], then: .file(file))
            let metrics = try #require(try await run(response, in: folder).metrics)
            #expect(metrics.requestCount == 2 && metrics.retries == 1)
            #expect(metrics.requests.map(\.bytesReceived) == [ResumeFixture.cut, file.size - ResumeFixture.cut])
        }
    }

    @Test func `nothing is measured unless it is wanted`() async throws {
        try await withTemporaryDirectory { folder in
            let (metrics, events) = try await run(.file(file), in: folder, collecting: false)
            #expect(metrics == nil && events.isEmpty)
        }
    }

    @Test func `only the last requests are kept`() {
        var metrics = DownloadMetrics()
        for index in 0..<300 { metrics.add(RequestMetrics(url: "\(index)")) }
        #expect(metrics.requestCount == 300 && metrics.requests.count == 256)
        #expect(metrics.requests.last?.url == "299")
    }

    // MARK: Data

    @Test func `a small body is read into memory, after redirects and retries`() async throws {
        let routes: [String: Response] = [
            "/a": .redirect(302, to: "/b"),
            "/b": .sequence([.status(503), .file(file).truncated(after: 10)], then: .file(file)),
        ]
        try await withFaultServer(.routes(routes)) { server in
            let configuration = DownloadConfiguration { $0.retryPolicy.baseDelay = .zero }
            try await withDownloadManager(configuration) { manager in
                let data = try await manager.data(from: server.url("/a"))
                #expect(Array(data) == Pattern(seed: 1).bytes(in: 0..<file.size))
                #expect(await manager.downloads.isEmpty)
            }
        }
    }

    @Test(arguments: [true, false])
    func `a body above the limit is an error, announced or not`(_ isAnnounced: Bool) async throws {
        let response = isAnnounced ? Response.file(file) : .whole(file).chunked()
        try await withFaultServer(response) { server in
            try await withDownloadManager { manager in
                let error = await #expect(throws: DownloadError.self) {
                    try await manager.data(from: server.url("/a"), maxBytes: 1000)
                }
                #expect(error?.code == .fileTooLarge)
                let data = try await manager.data(from: server.url("/a"), maxBytes: Int(file.size))
                #expect(data.count == Int(file.size))
            }
        }
    }
}

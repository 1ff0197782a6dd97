#if os(Linux)
import CHeadrace
import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The transfers that the driver ends itself, because libcurl would wait forever.
@Suite(.timeLimit(.minutes(2)))
struct CurlDriverTests {
    /// libcurl must be loaded before any of its functions is called.
    init() { #expect(hr_curl_load() > 0) }

    @Test func `a transfer whose socket cannot be watched fails`() async throws {
        let stream = ResponseStream(highWatermark: 4096, pool: ChunkPool())
        try await withFaultServer(.ok("a")) { server in
            try Self.runWithoutPoller(TransportRequest(url: server.url("/")), stream)
        }
        let failure = await #expect(throws: DownloadError.self) { try await stream.nextHead() }
        #expect(failure?.code == .connection)
        #expect((failure?.cause as? SystemError)?.errno == EBADF)
    }

    /// Runs a transfer on a poller whose system calls fail, as if memory had run out.
    private static func runWithoutPoller(_ request: TransportRequest, _ stream: ResponseStream) throws {
        let poller = hr_poller(epoll: -1, event: -1)
        let driver = CurlDriver(poller, try #require(hr_multi_init()), DownloadConfiguration())
        driver.perform(.start(1, request, stream))
        // Enough for libcurl's first timer, since no step waits.
        for _ in 0..<5000 { driver.step { false } }
        driver.close()
    }

    @Test(.enabled(if: HTTP2Server.isAvailable, "libssl or libnghttp2 could not be loaded"))
    func `a request without a free stream on a shared connection gets a connection of its own`() async throws {
        let gate = try Gate()
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let body = Resource(size: 1000)
        let script: @Sendable (RecordedRequest) -> [HTTP2Step] = { request in
            guard request.target == "/held" else { return HTTP2Step.file(body, for: request) }
            arrival.yield()
            return [.wait(gate)] + HTTP2Step.file(body, for: request)
        }
        // SETTINGS_MAX_CONCURRENT_STREAMS
        let one: [(identifier: UInt16, value: UInt32)] = [(3, 1)]
        try await HTTP2Fixture.withTransport(settings: one, maxConnections: 1, script: script) { server, transport in
            @Sendable func needsOwnConnection(_ path: String) async throws -> Bool {
                var request = TransportRequest(url: server.url(path), connectTimeout: .seconds(1))
                request.mayShareConnection = true
                return try await transport.perform(request) { head, body in
                    while let chunk = try await body.next() { body.recycle(chunk) }
                    return head.needsOwnConnection
                }
            }
            let first = try await needsOwnConnection("/first")
            async let held = needsOwnConnection("/held")
            for await _ in arrivals { break }
            let queued = try await needsOwnConnection("/queued")
            gate.open()
            #expect(try await [first, held, queued] == [false, false, true])
            #expect(server.requests.map(\.target) == ["/first", "/held"])
        }
    }
}
#endif

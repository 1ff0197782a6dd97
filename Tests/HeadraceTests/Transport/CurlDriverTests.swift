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
}
#endif

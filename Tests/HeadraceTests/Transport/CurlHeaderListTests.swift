#if os(Linux)
import CHeadrace
import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// A request is sent with all of its fields and options, or not at all.
@Suite(.timeLimit(.minutes(4)))
struct CurlHeaderListTests {
    /// libcurl must be loaded before any of its functions is called.
    init() { #expect(hr_curl_load() > 0) }

    private let lines = CurlHeaderList.lines(
        of: (0..<4).map { HeaderField(name: "X-\($0)", value: $0 == 2 ? "" : "v") }
    )

    @Test func `each field is a line, in order`() throws {
        let appended = Locked<[String]>([])
        let headers = CurlHeaderList(lines: lines) { list, line in
            appended.withLock { $0.append(line) }
            return hr_slist_append(list, line)
        }
        #expect(headers?.list != nil)
        #expect(appended.withLock { $0 } == ["X-0: v", "X-1: v", "X-2;", "X-3: v"])
        #expect(try #require(CurlHeaderList(lines: [])).list == nil)
    }

    /// Regression: the field was left out and the request sent without it.
    @Test(arguments: 0..<4)
    func `a field that cannot be allocated fails the list`(_ failing: Int) {
        let calls = Locked(0)
        let headers = CurlHeaderList(lines: lines) { list, line in
            let call = calls.withLock { calls in
                defer { calls += 1 }
                return calls
            }
            return call == failing ? nil : hr_slist_append(list, line)
        }
        #expect(headers == nil)
        #expect(calls.withLock { $0 } == failing + 1)
    }

    /// libcurl accepts no string of more than 8,000,000 bytes.
    @Test func `an option that libcurl refuses fails the request before it is sent`() async throws {
        try await withFaultServer(.ok("hello")) { server in
            var configuration = DownloadConfiguration()
            configuration.userAgent = String(repeating: "a", count: 8_000_001)
            let transport = try CurlTransport(configuration)
            let error = try await #require(throws: DownloadError.self) {
                try await transport.perform(TransportRequest(url: server.url())) { head, _ in head.status }
            }
            #expect(error.code == .transportUnavailable)
            #expect(server.connectionCount == 0)
            await transport.shutdown()
        }
    }
}
#endif

import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Downloads over HTTP/2 from a server that violates the protocol or uses its rare features.
@Suite(.timeLimit(.minutes(4)), .enabled(if: HTTP2Server.isAvailable, "libssl or libnghttp2 could not be loaded"))
struct HTTP2Tests {
    private typealias Fixture = HTTP2Fixture

    @Test func `a file with a length arrives exactly`() async throws {
        let outcome = try await Fixture.run { HTTP2Step.file(Fixture.file, for: $0) }
        #expect(outcome.isExact, "\(outcome)")
        #expect(outcome.requests.count == 1)
    }

    @Test func `a large file arrives over HTTP/1.1`() async throws {
        let outcome = try await Fixture.run(
            fallback: .file(Fixture.file),
            change: { $0.expectedSize = Fixture.size },
            script: { HTTP2Step.file(Fixture.file, for: $0) }
        )
        #expect(outcome.isExact, "\(outcome)")
        #expect(outcome.requests.isEmpty && !outcome.fallbackRequests.isEmpty)
    }

    @Test func `a large file arrives over HTTP/2 if the server supports nothing else`() async throws {
        let outcome = try await Fixture.run {
            $0.maxConnectionsPerDownload = 3
        } change: {
            $0.expectedSize = Fixture.size
        } script: {
            HTTP2Step.file(Fixture.file, for: $0)
        }
        #expect(outcome.isExact, "\(outcome)")
        #expect(!outcome.requests.isEmpty)
    }

    /// libcurl before 7.77, and 8.11 and 8.12, send the second request on the connection of the first one.
    @Test func `a request that prefers HTTP/1.1 succeeds after one over HTTP/2`() async throws {
        try await Fixture.withTransport {
            HTTP2Step.file(Resource(size: 10), for: $0)
        } _: { server, transport in
            var request = TransportRequest(url: server.url("/a"))
            for _ in 0..<2 {
                let status = try await transport.perform(request) { head, body in
                    while let chunk = try await body.next() { body.recycle(chunk) }
                    return head.status
                }
                #expect(status == 200)
                request.prefersHTTP1 = true
            }
        }
    }

    @Test func `a body that turns out large gets its further connections over HTTP/1.1`() async throws {
        let gate = try Gate()
        let outcome = try await Fixture.run(fallback: .file(Fixture.file)) {
            $0.maxConnectionsPerDownload = 3
        } script: { request in
            [Fixture.head, Fixture.part, .wait(gate)]
        }
        #expect(outcome.isExact, "\(outcome)")
        #expect(outcome.requests.count == 1 && outcome.fallbackRequests.count >= 2)
        #expect(outcome.fallbackRequests.allSatisfy { $0["Range"] != nil })
    }

    @Test(arguments: HTTP2Step.Code.allCases)
    func `a stream reset in the middle of a file is resumed`(_ code: HTTP2Step.Code) async throws {
        // After HTTP_1_1_REQUIRED, libcurl repeats the request itself and returns the second response as if it were the
        // first.
        let outcome = try await Fixture.run(fallback: .file(Fixture.file)) { request in
            guard request.index == 0 else { return HTTP2Step.file(Fixture.file, for: request) }
            return [Fixture.head, Fixture.part, .reset(code)]
        }
        #expect(outcome.isExact, "\(outcome)")
    }

    @Test(arguments: HTTP2Step.Code.allCases, [true, false])
    func `GOAWAY in the middle of a file and the close of the connection are survived`(
        _ code: HTTP2Step.Code,
        _ isProcessed: Bool
    ) async throws {
        let outcome = try await Fixture.run { request in
            guard request.index == 0 else { return HTTP2Step.file(Fixture.file, for: request) }
            return [Fixture.head, Fixture.part, .goAway(code, isProcessed: isProcessed), .close()]
        }
        #expect(outcome.isExact, "\(outcome)")
    }

    @Test func `a stream completes after GOAWAY`() async throws {
        let outcome = try await Fixture.run { _ in
            let rest = Fixture.file.body.slice(Fixture.cut..<Fixture.size)
            return [Fixture.head, Fixture.part, .goAway(.noError), .data(rest, endsStream: true)]
        }
        #expect(outcome.isExact, "\(outcome)")
        #expect(outcome.requests.count == 1)
    }

    @Test func `a stream that ends before its length is resumed`() async throws {
        let outcome = try await Fixture.run { request in
            guard request.index == 0 else { return HTTP2Step.file(Fixture.file, for: request) }
            return [Fixture.head, Fixture.part, .data("", endsStream: true)]
        }
        #expect(outcome.isExact || outcome.error?.code == .protocolViolation, "\(outcome)")
        #expect(outcome.isExact || outcome.difference != nil)
    }

    @Test func `trailers and interim responses are not part of a file`() async throws {
        let outcome = try await Fixture.run { _ in
            [
                .head(103, [("link", "</a>; rel=preload")]), Fixture.head, .data(Fixture.file.body),
                .headers([("x-checked", "yes")], endsStream: true),
            ]
        }
        #expect(outcome.isExact, "\(outcome)")
        #expect(outcome.requests.count == 1)
    }

    /// SETTINGS_HEADER_TABLE_SIZE, SETTINGS_MAX_CONCURRENT_STREAMS, SETTINGS_INITIAL_WINDOW_SIZE.
    @Test(arguments: [(UInt16(1), UInt32(0)), (3, 1), (4, 0), (4, 1)])
    func `the smallest settings of a server are enough`(_ identifier: UInt16, _ value: UInt32) async throws {
        let outcome = try await Fixture.run(settings: [(identifier, value)]) {
            HTTP2Step.file(Fixture.file, for: $0)
        }
        #expect(outcome.isExact, "\(outcome)")
    }
}

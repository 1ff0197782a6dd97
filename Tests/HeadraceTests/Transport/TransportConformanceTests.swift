import FoundationEssentials
import HeadraceTestSupport
import Testing

@testable import Headrace

/// What every transport has to do, against a server that plays each part.
@Suite(.timeLimit(.minutes(4)))
struct TransportConformanceTests {
    private struct Answer: Sendable {
        var head: ResponseHead
        var body: [UInt8]
    }

    private func withTransport<Result>(_ body: (CurlTransport) async throws -> Result) async throws -> Result {
        let transport = try CurlTransport(CurlOptions(userAgent: "test"))
        do {
            let result = try await body(transport)
            await transport.shutdown()
            return result
        } catch {
            await transport.shutdown()
            throw error
        }
    }

    private func get(_ transport: some Transport, _ request: TransportRequest) async throws -> Answer {
        try await transport.perform(request) { head, body in
            var bytes: [UInt8] = []
            while let chunk = try await body.next() {
                chunk.withBytes { bytes.append(contentsOf: $0) }
                body.recycle(chunk)
            }
            return Answer(head: head, body: bytes)
        }
    }

    private func failure(
        _ response: Response,
        _ change: (inout TransportRequest) -> Void = { _ in }
    ) async throws
        -> DownloadError
    {
        try await withFaultServer(response) { server in
            try await withTransport { transport in
                var request = TransportRequest(url: server.url("/x"))
                change(&request)
                return try await #require(throws: DownloadError.self) { try await get(transport, request) }
            }
        }
    }

    @Test func `E01 the head and the bytes arrive as they were sent`() async throws {
        let body = Pattern(seed: 7).bytes(in: 0..<3_000_000)
        try await withFaultServer(.ok(.pattern(seed: 7, size: 3_000_000)).header("X-Name", "värde")) { server in
            try await withTransport { transport in
                let answer = try await get(
                    transport,
                    TransportRequest(url: server.url("/a?b"), fields: [HeaderField(name: "X-A", value: "1")])
                )
                #expect(answer.head.status == 200)
                #expect(answer.head.values("x-name") == ["värde"])
                #expect(answer.body == body)
                let asked = try #require(server.requests.first)
                #expect(asked.method == "GET")
                #expect(asked.target == "/a?b")
                #expect(asked["X-A"] == "1")
                #expect(asked["Accept-Encoding"] == "identity")
                #expect(asked["User-Agent"] == "test")
                #expect(asked["Range"] == nil)
            }
        }
    }

    @Test(arguments: [301, 304, 401, 404, 416, 500])
    func `a status is reported, not acted on`(_ status: Int) async throws {
        try await withFaultServer(
            .status(status, body: status == 304 ? "" : "no").header("Location", "/other")
                .header("WWW-Authenticate", "Basic realm=x")
        ) { server in
            try await withTransport { transport in
                let answer = try await get(transport, TransportRequest(url: server.url()))
                #expect(answer.head.status == status)
                #expect(server.requests.count == 1)
            }
        }
    }

    @Test func `E02 bytes that claim a coding are delivered as they are`() async throws {
        try await withFaultServer(.ok("not gzip at all").header("Content-Encoding", "gzip")) { server in
            try await withTransport { transport in
                let answer = try await get(transport, TransportRequest(url: server.url()))
                #expect(answer.body == Array("not gzip at all".utf8))
            }
        }
    }

    @Test func `L10 L12 chunks and a closed connection end a body too`() async throws {
        for response in [
            Response.ok(.pattern(size: 100_000)).chunked([1000]), Response.ok(.pattern(size: 100_000)).closeDelimited,
            Response.ok(.pattern(size: 100_000)).http10,
        ] {
            try await withFaultServer(response) { server in
                try await withTransport { transport in
                    let answer = try await get(transport, TransportRequest(url: server.url()))
                    #expect(answer.body == Pattern(seed: 1).bytes(in: 0..<100_000))
                }
            }
        }
    }

    @Test func `one connection serves one request after the other`() async throws {
        try await withFaultServer(.ok("x")) { server in
            try await withTransport { transport in
                for _ in 0..<20 { _ = try await get(transport, TransportRequest(url: server.url())) }
                #expect(server.connectionCount == 1)
            }
        }
    }

    @Test func `after a change of network no connection is used that was there before`() async throws {
        try await withFaultServer(.ok()) { server in
            try await withTransport { transport in
                _ = try await get(transport, TransportRequest(url: server.url("/a")))
                transport.dropIdleConnections()
                for path in ["/b", "/c"] { _ = try await get(transport, TransportRequest(url: server.url(path))) }
                #expect(server.requests.map(\.connection) == [0, 1, 2])
            }
        }
    }

    @Test func `L01 L02 a body that is cut is a lost connection, after its bytes`() async throws {
        for ending in [Ending.fin, .reset] {
            try await withFaultServer(.ok(.pattern(size: 100_000)).truncated(after: 60_000, by: ending)) { server in
                try await withTransport { transport in
                    let error = try await #require(throws: DownloadError.self) {
                        try await get(transport, TransportRequest(url: server.url()))
                    }
                    #expect(error.code == .connectionLost)
                }
            }
        }
    }

    @Test func `L08 chunks without the last one are a lost connection`() async throws {
        #expect(try await failure(.ok("hello").chunked([2], hasLastChunk: false)).code == .connectionLost)
    }

    @Test func `L21 no answer at all is a lost connection`() async throws {
        #expect(try await failure(.nothing(by: .fin)).code == .connectionLost)
        #expect(try await failure(.nothing(by: .reset)).code == .connectionLost)
        #expect(try await failure(.ok("x").headTruncated(after: 20)).code == .connectionLost)
    }

    @Test(arguments: [
        Response.raw("hello, this is no HTTP at all\n\n"), .raw("HTTP/1.1 OK\r\n\r\n"),
        .raw("HTTP/1.1 200 OK\r\nno colon\r\n\r\n"), .raw("HTTP/1.1 200 OK\r\nA: \0\r\n\r\n"),
        .ok("x").hugeHeaderLine(300_000), .ok("x").manyHeaders(10_000), .ok("x").endlessHeader,
        .ok("x").endlessHeaders, .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"),
        .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n"),
    ])
    func `L09 L18 L19 L20 an answer that is no HTTP is a violation`(_ response: Response) async throws {
        #expect(try await failure(response).code == .protocolViolation)
    }

    @Test func `T01 a connection that nobody accepts is told from one that is lost`() async throws {
        try await withFaultServer(.ok("x"), isListening: false) { server in
            try await withTransport { transport in
                let error = try await #require(throws: DownloadError.self) {
                    try await get(transport, TransportRequest(url: server.url()))
                }
                #expect(error.code == .connection)
                #expect(error.message.contains("127.0.0.1:\(server.port)"))
            }
        }
    }

    @Test func `T02 a host without an address is told`() async throws {
        try await withTransport { transport in
            let url = try #require(URL(string: "http://no-such-host.invalid/"))
            let error = try await #require(throws: DownloadError.self) {
                try await get(transport, TransportRequest(url: url))
            }
            #expect(error.code == .nameResolution)
        }
    }

    @Test func `T09 T11 silence before and in the body is a stall`() async throws {
        for response in [Response.ok(.pattern(size: 100_000)).stalled(after: 50_000), .ok("x").delayed(.seconds(60))] {
            #expect(try await failure(response) { $0.stallTimeout = .milliseconds(300) }.code == .stalled)
        }
    }

    @Test func `bytes that keep coming are no stall, however slow`() async throws {
        try await withFaultServer(.ok("abcdefghij").dripping(bytes: 1, every: .milliseconds(300))) { server in
            try await withTransport { transport in
                let request = TransportRequest(url: server.url(), stallTimeout: .seconds(2))
                let answer = try await get(transport, request)
                #expect(answer.body == Array("abcdefghij".utf8))
            }
        }
    }

    @Test func `a reader that does not read halts the server, is no stall, and gets all in the end`() async throws {
        let size: Int64 = 64 << 20
        try await withFaultServer(.ok(.pattern(size: size))) { server in
            try await withTransport { transport in
                let request = TransportRequest(url: server.url(), stallTimeout: .seconds(1))
                let received = try await transport.perform(request) { _, body in
                    // Only time can show that no time-out runs while the reader is the one who waits.
                    try await ContinuousClock().sleep(for: .milliseconds(1500))
                    #expect(server.traffic.bodyBytesSent < size)
                    var received: Int64 = 0
                    while let chunk = try await body.next() { received += Int64(chunk.count) }
                    return received
                }
                #expect(received == size)
            }
        }
    }

    @Test(arguments: [
        Response.ok(.pattern(size: 100_000)).stalled(after: 50_000), Response.ok("x").delayed(.seconds(60)),
        Response.ok(.pattern(size: 1 << 30)),
    ])
    func `cancellation ends the transfer at once and frees the connection`(_ response: Response) async throws {
        try await withFaultServer(response) { server in
            try await withTransport { transport in
                await withTaskGroup { group in
                    group.addTask {
                        await #expect(throws: CancellationError.self) {
                            try await transport.perform(TransportRequest(url: server.url())) { _, body in
                                while let chunk = try await body.next() { body.recycle(chunk) }
                            }
                        }
                    }
                    try? await server.waitForRequests(count: 1)
                    group.cancelAll()
                }
                try await server.waitUntil { $0.openConnections == 0 }
            }
        }
    }

    @Test func `Z02 a thousand transfers at once all end well`() async throws {
        try await withFaultServer(.ok(.pattern(size: 100_000)).delayed(.milliseconds(100))) { server in
            try await withTransport { transport in
                try await withThrowingTaskGroup { group in
                    for number in 0..<1000 {
                        let request = TransportRequest(url: server.url("/\(number)"), stallTimeout: .seconds(180))
                        group.addTask { try await self.get(transport, request).body.count }
                    }
                    for try await count in group { #expect(count == 100_000) }
                }
                #expect(server.requests.count == 1000)
            }
        }
    }

    @Test func `after the shutdown there are no transfers`() async throws {
        let transport = try CurlTransport(CurlOptions(userAgent: "test"))
        await transport.shutdown()
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let error = try await #require(throws: DownloadError.self) {
            try await get(transport, TransportRequest(url: url))
        }
        #expect(error.code == .shutDown)
    }
}

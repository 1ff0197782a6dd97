import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The requirements for every transport, against a fault server.
@Suite(.timeLimit(.minutes(4)))
struct TransportConformanceTests {
    private struct Reply: Sendable {
        var head: ResponseHead
        var body: [UInt8]
    }

    private func get(_ transport: some Transport, _ request: TransportRequest) async throws -> Reply {
        try await transport.perform(request) { head, body in
            var bytes: [UInt8] = []
            while let chunk = try await body.next() {
                chunk.withBytes { bytes.append(contentsOf: $0) }
                body.recycle(chunk)
            }
            return Reply(head: head, body: bytes)
        }
    }

    private func failure(
        _ tested: TestedTransport,
        _ response: Response,
        _ change: (inout TransportRequest) -> Void = { _ in }
    ) async throws -> DownloadError {
        try await tested.withServer(response) { server, transport in
            var request = TransportRequest(url: server.url("/x"))
            change(&request)
            return try await #require(throws: DownloadError.self) { try await get(transport, request) }
        }
    }

    @Test(arguments: TestedTransport.all)
    func `E01 the head and the bytes arrive as they were sent`(_ tested: TestedTransport) async throws {
        let body = Pattern(seed: 7).bytes(in: 0..<3_000_000)
        let response = Response.ok(.pattern(seed: 7, size: 3_000_000)).header("X-Name", "värde")
        try await tested.withServer(response) { server, transport in
            let reply = try await get(transport, TransportRequest(url: server.url("/a?b")))
            #expect(reply.head.status == 200)
            #expect(reply.head.values("x-name") == ["värde"])
            #expect(reply.body == body)
        }
    }

    @Test(arguments: TestedTransport.all)
    func `E01 the request is sent unchanged and requests the identity coding`(_ tested: TestedTransport) async throws {
        try tested.run(except: .fake("Nothing is sent."))
        try await tested.withServer(.ok()) { server, transport in
            let fields = [HeaderField(name: "X-A", value: "1")]
            _ = try await get(transport, TransportRequest(url: server.url("/a?b"), fields: fields))
            let requested = try #require(server.requests.first)
            #expect(requested.method == "GET")
            #expect(requested.target == "/a?b")
            #expect(requested["X-A"] == "1")
            #expect(requested.values(of: "Accept-Encoding") == ["identity"])
            #expect(requested.values(of: "User-Agent") == ["test"])
            #expect(requested["Range"] == nil)
            #expect(requested["Cookie"] == nil)
        }
    }

    @Test(arguments: TestedTransport.all)
    func `the User-Agent of a request replaces the default`(_ tested: TestedTransport) async throws {
        try tested.run(except: .fake("Nothing is sent."))
        try await tested.withServer(.ok()) { server, transport in
            let fields = [HeaderField(name: "user-agent", value: "mine")]
            _ = try await get(transport, TransportRequest(url: server.url(), fields: fields))
            #expect(server.requests.first?.values(of: "User-Agent") == ["mine"])
        }
    }

    @Test(arguments: TestedTransport.all)
    func `child processes inherit no connections`(_ tested: TestedTransport) async throws {
        try tested.run(
            except: .fake("It makes no connection."),
            .urlSessionOnLinux("Its connections are libcurl's, which are inherited.")
        )
        try await tested.withServer(.ok("hello")) { server, transport in
            _ = try await get(transport, TransportRequest(url: server.url()))
            #expect(server.traffic.openConnections == 1, "it is kept for the next request")
            #expect(ProcessProbe.inheritableConnections(to: server.port) == 0)
        }
    }

    @Test(arguments: TestedTransport.all, [301, 304, 404, 416, 500])
    func `a status is reported, not acted on`(_ tested: TestedTransport, _ status: Int) async throws {
        let response = Response.status(status, body: status == 304 ? "" : "no").header("Location", "/other")
        try await tested.withServer(response) { server, transport in
            let reply = try await get(transport, TransportRequest(url: server.url()))
            #expect(reply.head.status == status)
            #expect(reply.body == Array(status == 304 ? "".utf8 : "no".utf8))
            #expect(server.requests.count <= 1)
        }
    }

    @Test(arguments: TestedTransport.all)
    func `D12 a 401 is reported without a login attempt`(_ tested: TestedTransport) async throws {
        try tested.run(
            except: .urlSessionOnLinux("An answer that asks for a login never ends, before Swift 6.3.2.")
        )
        let response = Response.status(401, body: "no").header("WWW-Authenticate", "Basic realm=x")
        try await tested.withServer(response) { server, transport in
            let reply = try await get(transport, TransportRequest(url: server.url()))
            #expect(reply.head.status == 401)
            #expect(server.requests.count <= 1)
        }
    }

    @Test(arguments: TestedTransport.all)
    func `E02 bytes with a content coding are delivered as they are`(_ tested: TestedTransport) async throws {
        try tested.run(except: .urlSession("It decodes what it gets, so that such an answer is refused."))
        let response = Response.ok("not gzip at all").header("Content-Encoding", "gzip")
        try await tested.withServer(response) { server, transport in
            let reply = try await get(transport, TransportRequest(url: server.url()))
            #expect(reply.body == Array("not gzip at all".utf8))
        }
    }

    @Test(arguments: TestedTransport.all)
    func `L10 L12 a last chunk or a closed connection ends a body`(_ tested: TestedTransport) async throws {
        for response in [
            Response.ok(.pattern(size: 100_000)).chunked([1000]), Response.ok(.pattern(size: 100_000)).closeDelimited,
            Response.ok(.pattern(size: 100_000)).http10,
        ] {
            try await tested.withServer(response) { server, transport in
                let reply = try await get(transport, TransportRequest(url: server.url()))
                #expect(reply.body == Pattern(seed: 1).bytes(in: 0..<100_000))
            }
        }
    }

    @Test(arguments: TestedTransport.all)
    func `one connection serves consecutive requests`(_ tested: TestedTransport) async throws {
        try tested.run(except: .fake("It makes no connection."))
        try await tested.withServer(.ok("x")) { server, transport in
            for _ in 0..<20 { _ = try await get(transport, TransportRequest(url: server.url())) }
            #expect(server.connectionCount == 1)
        }
    }

    @Test(arguments: TestedTransport.all)
    func `after a network change no earlier connection is used`(
        _ tested: TestedTransport
    ) async throws {
        try tested.run(except: .fake("It makes no connection."))
        try await tested.withServer(.ok()) { server, transport in
            _ = try await get(transport, TransportRequest(url: server.url("/a")))
            transport.dropIdleConnections()
            for path in ["/b", "/c"] { _ = try await get(transport, TransportRequest(url: server.url(path))) }
            #expect(server.requests.count == 3)
            #expect(server.requests.dropFirst().allSatisfy { $0.connection > 0 })
        }
    }

    @Test(arguments: TestedTransport.all)
    func `requests after a network change leave no connections open`(_ tested: TestedTransport) async throws {
        try tested.run(except: .fake("It makes no connection."))
        try await tested.withServer(.ok()) { server, transport in
            transport.dropIdleConnections()
            for _ in 0..<20 { _ = try await get(transport, TransportRequest(url: server.url())) }
            #expect(server.traffic.maxOpenConnections <= 2)
        }
    }

    @Test(arguments: TestedTransport.all, [Ending.fin, .reset])
    func `L01 L02 a truncated body is a lost connection, after its bytes`(
        _ tested: TestedTransport,
        _ ending: Ending
    ) async throws {
        let response = Response.ok(.pattern(size: 100_000)).truncated(after: 60_000, by: ending)
        try await tested.withServer(response) { server, transport in
            let error = try await #require(throws: DownloadError.self) {
                try await transport.perform(TransportRequest(url: server.url())) { _, body in
                    var count = 0
                    do {
                        while let chunk = try await body.next() { count += chunk.count }
                    } catch {
                        // How many bytes a reset discards depends on the system.
                        #expect(ending == .reset ? count <= 60_000 : count == 60_000)
                        throw error
                    }
                }
            }
            #expect(error.code == .connectionLost)
        }
    }

    @Test(arguments: TestedTransport.all)
    func `L08 chunks without the last one are a lost connection`(_ tested: TestedTransport) async throws {
        #expect(try await failure(tested, .ok("hello").chunked([2], hasLastChunk: false)).code == .connectionLost)
    }

    @Test(arguments: TestedTransport.all, [Ending.fin, .reset])
    func `L21 no response at all is a lost connection`(_ tested: TestedTransport, _ ending: Ending) async throws {
        #expect(try await failure(tested, .nothing(by: ending)).code == .connectionLost)
    }

    @Test(arguments: TestedTransport.all)
    func `L21 half a head is a lost connection`(_ tested: TestedTransport) async throws {
        try tested.run(
            except: .urlSessionOnLinux(
                "The process traps (\"Transfer completed, but there's no response\"), before Swift 6.4."
            )
        )
        #expect(try await failure(tested, .ok("x").headTruncated(after: 20)).code == .connectionLost)
    }

    @Test(
        arguments: TestedTransport.all,
        [
            Response.raw("hello, this is no HTTP at all\n\n"), .raw("HTTP/1.1 OK\r\n\r\n"),
            .raw("HTTP/1.1 200 OK\r\nno colon\r\n\r\n"), .raw("HTTP/1.1 200 OK\r\nA: \0\r\n\r\n"),
            .ok("x").hugeHeaderLine(300_000), .ok("x").manyHeaders(10_000), .ok("x").endlessHeader,
            .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"),
            .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n"),
        ]
    )
    func `L09 L18 L19 L20 a response that is not HTTP is a violation`(
        _ tested: TestedTransport,
        _ response: Response
    ) async throws {
        try tested.run(except: .fake("It has no parser."))
        #expect(try await failure(tested, response).code == .protocolViolation)
    }

    @Test(arguments: TestedTransport.all)
    func `L18 an endless head is a violation`(_ tested: TestedTransport) async throws {
        try tested.run(
            except: .fake("It has no parser."),
            .urlSessionOnLinux("It keeps all fields, and does not tell of them before the head is complete.")
        )
        #expect(try await failure(tested, .ok("x").endlessHeaders).code == .protocolViolation)
    }

    @Test(arguments: TestedTransport.all)
    func `T01 a refused connection is distinguished from a lost one`(
        _ tested: TestedTransport
    ) async throws {
        try tested.run(except: .fake("It makes no connection."))
        try await tested.withServer(.ok("x"), isListening: false) { server, transport in
            let error = try await #require(throws: DownloadError.self) {
                try await get(transport, TransportRequest(url: server.url()))
            }
            #expect(error.code == .connection)
            #expect(error.message.contains("127.0.0.1:\(server.port)"))
        }
    }

    @Test(arguments: TestedTransport.all)
    func `T02 a host without an address is a name resolution failure`(_ tested: TestedTransport) async throws {
        try tested.run(except: .fake("It looks up no name."))
        try await tested.withTransport { transport in
            let url = try #require(URL(string: "http://no-such-host.invalid/"))
            let error = try await #require(throws: DownloadError.self) {
                try await get(transport, TransportRequest(url: url))
            }
            #expect(error.code == .nameResolution)
        }
    }

    @Test(
        arguments: TestedTransport.all,
        [Response.ok(.pattern(size: 100_000)).stalled(after: 50_000), .ok("x").delayed(.seconds(60))]
    )
    func `T09 T11 silence before and within the body is a stall`(
        _ tested: TestedTransport,
        _ response: Response
    ) async throws {
        try tested.run(except: .fake("It has no time."))
        let error = try await failure(tested, response) {
            $0.connectTimeout = .seconds(5)
            $0.stallTimeout = .milliseconds(300)
        }
        #expect(error.code == .stalled)
    }

    @Test(arguments: TestedTransport.all)
    func `slow but steady bytes are not a stall`(_ tested: TestedTransport) async throws {
        try tested.run(except: .fake("It has no time."))
        // Another test's thousand transfers may delay a byte in URLSession on Linux, which has one queue for all
        // sessions.
        let response = Response.ok("abcdefghij").dripping(bytes: 1, every: .milliseconds(600))
        try await tested.withServer(response) { server, transport in
            let request = TransportRequest(url: server.url(), stallTimeout: .seconds(5))
            let reply = try await get(transport, request)
            #expect(reply.body == Array("abcdefghij".utf8))
        }
    }

    @Test(arguments: TestedTransport.all)
    func `a reader that does not read pauses the server, does not stall, and gets all bytes`(
        _ tested: TestedTransport
    ) async throws {
        try tested.run(
            except: .fake("It has its bytes in memory."),
            .urlSessionOnLinux("There is no back-pressure, and a task that is suspended begins anew and appends.")
        )
        let size: Int64 = 64 << 20
        try await tested.withServer(.ok(.pattern(size: size))) { server, transport in
            let request = TransportRequest(url: server.url(), stallTimeout: .seconds(1))
            let received = try await transport.perform(request) { _, body in
                // Only time can show that no time-out runs while the reader is slow.
                try await ContinuousClock().sleep(for: .milliseconds(1500))
                #expect(server.traffic.bodyBytesSent < size)
                var received: Int64 = 0
                while let chunk = try await body.next() { received += Int64(chunk.count) }
                return received
            }
            #expect(received == size)
        }
    }

    private func expectCancellation(_ tested: TestedTransport, _ response: Response) async throws {
        try await tested.withServer(response) { server, transport in
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

    @Test(
        arguments: TestedTransport.all,
        [Response.ok(.pattern(size: 100_000)).stalled(after: 50_000), .ok("x").delayed(.seconds(60))]
    )
    func `cancellation ends the transfer at once and frees the connection`(
        _ tested: TestedTransport,
        _ response: Response
    ) async throws {
        try tested.run(except: .fake("It makes no connection."))
        try await expectCancellation(tested, response)
    }

    @Test(arguments: TestedTransport.all)
    func `cancellation or a departing reader stops a body at full speed`(_ tested: TestedTransport) async throws {
        try tested.run(
            except: .fake("It makes no connection."),
            .urlSessionOnLinux("On the one queue of all sessions, a cancellation waits for what comes to be taken.")
        )
        let response = Response.ok(.pattern(size: 1 << 30))
        try await expectCancellation(tested, response)
        try await tested.withServer(response) { server, transport in
            try await transport.perform(TransportRequest(url: server.url())) { head, _ in #expect(head.status == 200) }
            try await server.waitUntil { $0.openConnections == 0 }
        }
    }

    @Test(arguments: TestedTransport.all)
    func `Z02 a thousand concurrent transfers all finish`(_ tested: TestedTransport) async throws {
        try await tested.withServer(.ok(.pattern(size: 100_000)).delayed(.milliseconds(100))) { server, transport in
            try await withThrowingTaskGroup { group in
                for number in 0..<1000 {
                    let request = TransportRequest(url: server.url("/\(number)"), stallTimeout: .seconds(180))
                    group.addTask { try await self.get(transport, request).body.count }
                }
                for try await count in group { #expect(count == 100_000) }
            }
        }
    }

    @Test(arguments: TestedTransport.all, [false, true])
    func `a shutdown ends active transfers`(
        _ tested: TestedTransport,
        _ isChanged: Bool
    ) async throws {
        try tested.run(except: .fake("There is nothing to shut down."))
        try await tested.withServer(.ok(.pattern(size: 100_000)).stalled(after: 50_000)) { server, transport in
            try await withThrowingTaskGroup { group in
                group.addTask {
                    let error = try await #require(throws: DownloadError.self) {
                        try await self.get(transport, TransportRequest(url: server.url()))
                    }
                    #expect(error.code == .shutDown)
                }
                try await server.waitUntil { $0.bodyBytesSent == 50_000 }
                // The transfers continue after a change of the network.
                if isChanged { transport.dropIdleConnections() }
                await transport.shutdown()
                try await group.waitForAll()
            }
            try await server.waitUntil { $0.openConnections == 0 }
        }
    }

    @Test(arguments: TestedTransport.all)
    func `after a shutdown no transfer starts`(_ tested: TestedTransport) async throws {
        try tested.run(except: .fake("There is nothing to shut down."))
        try await tested.withTransport { transport in
            await transport.shutdown()
            let url = try #require(URL(string: "http://127.0.0.1:1/"))
            let error = try await #require(throws: DownloadError.self) {
                try await get(transport, TransportRequest(url: url))
            }
            #expect(error.code == .shutDown)
        }
    }
}

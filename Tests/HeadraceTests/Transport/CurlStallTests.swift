#if os(Linux)
import HeadraceTestSupport
import Testing

@testable import Headrace

import HeadracePlatform

/// The stall detection of the network thread.
@Suite(.timeLimit(.minutes(2)))
struct CurlStallTests {
    /// Each line arrives in time, but the whole head would take hours.
    @Test(arguments: ["HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"])
    func `slow lines of a head or a trailer are a stall`(_ start: String) async throws {
        let transport = try CurlTransport(DownloadConfiguration())
        let lines = String(repeating: "X: y\r\n", count: 1000)
        try await withFaultServer(
            .raw(.bytes(Array((start + lines).utf8))).dripping(bytes: 60, every: .milliseconds(200))
        ) { server in
            let request = TransportRequest(url: server.url("/"), stallTimeout: .milliseconds(700))
            let failure = await #expect(throws: DownloadError.self) {
                try await transport.perform(request) { _, body in
                    while try await body.next() != nil {}
                }
            }
            #expect(failure?.code == .stalled)
        }
        await transport.shutdown()
    }

    @Test(arguments: [false, true])
    func `a connection that was lost after a long pause of the reader uses up no retry`(_ pauses: Bool) async throws {
        let transport = try CurlTransport(DownloadConfiguration())
        try await withFaultServer(.file(Resource(size: 8 << 20)).truncated(after: 7 << 20)) { server in
            let request = TransportRequest(
                url: server.url("/"),
                stallTimeout: pauses ? .milliseconds(300) : .seconds(3600)
            )
            let failure = await #expect(throws: DownloadError.self) {
                try await transport.perform(request) { _, body in
                    _ = try await body.next()
                    // The buffer fills up, and the transfer is paused for longer than the short timeout.
                    try await Task.sleep(for: .seconds(1))
                    while let chunk = try await body.next() { body.recycle(chunk) }
                }
            }
            #expect(failure?.code == .connectionLost)
            #expect(failure?.followsPause == pauses)
        }
        await transport.shutdown()
    }

    @Test func `bytes that arrived while the process was stopped are not a stall`() async throws {
        let gate = try Gate()
        let response = Response.answering { request in
            request.path == "/held" ? .ok("ab").held(after: 1, until: gate) : .ok("c")
        }
        let connections = Locked(0)
        var configuration = DownloadConfiguration()
        configuration.allowsAddress = { _ in
            if connections.withLock({
                $0 += 1
                return $0
            }) == 2 {
                gate.open()
                // Like a stopped process, the thread polls no socket until the time is over.
                usleep(1_200_000)
            }
            return true
        }
        let transport = try CurlTransport(configuration)
        try await withFaultServer(response) { server in
            let request = TransportRequest(url: server.url("/held"), stallTimeout: .seconds(1))
            let received = try await transport.perform(request) { _, body in
                var received = try await body.next()?.count ?? 0
                let other = try await transport.perform(TransportRequest(url: server.url("/other"))) { head, _ in
                    head.status
                }
                #expect(other == 200)
                while let chunk = try await body.next() { received += chunk.count }
                return received
            }
            #expect(received == 2)
            #expect(connections.withLock(\.self) == 2)
        }
        await transport.shutdown()
    }
}
#endif

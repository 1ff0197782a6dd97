import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The check of addresses before a connection is made.
@Suite(.timeLimit(.minutes(4)))
struct AddressPolicyTests {
    /// The outcome of one download and the addresses that were checked.
    private struct Outcome {
        var error: DownloadError?
        var requested: [String]
        var events: [DownloadEvent]
    }

    private static func run(_ url: URL, allowing allowed: Set<String>) async throws -> Outcome {
        let requested = Locked<[String]>([])
        let configuration = DownloadConfiguration {
            $0.retryPolicy.baseDelay = .zero
            $0.allowsAddress = { address in
                requested.withLock { $0.append(address.description) }
                return allowed.contains(address.description)
            }
        }
        return try await withTemporaryDirectory { folder in
            try await withDownloadManager(configuration) { manager in
                let download = try await manager.download(DownloadRequest(url, to: .directory(folder)))
                var events: [DownloadEvent] = []
                for await event in download.events { events.append(event) }
                var error: DownloadError?
                if case .failed(let failure) = download.state { error = failure }
                return Outcome(error: error, requested: requested.withLock { $0 }, events: events)
            }
        }
    }

    /// The decimal number and the name show their address only when they are resolved.
    @Test(arguments: [
        ("127.0.0.2", "127.0.0.2"), ("169.254.169.254", "169.254.169.254"), ("0.0.0.0", "0.0.0.0"),
        ("2130706434", "127.0.0.2"), ("0x7f.2", "127.0.0.2"), ("[::1]", "::1"), ("[::ffff:127.0.0.2]", "127.0.0.2"),
    ])
    func `D11 each hop is checked, and a refused address is not connected to`(
        _ host: String,
        _ address: String
    ) async throws {
        guard !host.hasPrefix("[") || hasIPv6 else { return }
        let port = Locked<UInt16>(0)
        let response = Response.answering { _ in .redirect(to: "http://\(host):\(port.withLock { $0 })/there") }
        try await withFaultServer(response) { server in
            port.withLock { $0 = server.port }
            let outcome = try await Self.run(server.url("/file.bin"), allowing: ["127.0.0.1"])
            #expect(outcome.error?.code == .addressRefused)
            #expect(outcome.error?.message.contains("its address \(address) is not allowed") == true)
            #expect(outcome.requested == ["127.0.0.1", address])
            #expect(server.requests.count == 1)
            #expect(server.connectionCount == 1)
            #expect(!outcome.events.contains { if case .retrying = $0 { true } else { false } })
        }
    }

    @Test func `D11 the first hop is checked as well`() async throws {
        try await withFaultServer(.ok("hello")) { server in
            let outcome = try await Self.run(server.url("/file.bin"), allowing: [])
            #expect(outcome.error?.code == .addressRefused)
            #expect(outcome.requested == ["127.0.0.1"])
            #expect(server.connectionCount == 0)
        }
    }

    @Test func `D11 one allowed address of a host name is enough`() async throws {
        try await withFaultServer(.ok("hello")) { server in
            let outcome = try await Self.run(server.url("/file.bin", host: "localhost"), allowing: ["127.0.0.1"])
            #expect(outcome.error == nil)
            #expect(outcome.requested.last == "127.0.0.1")
            #expect(Set(outcome.requested).isSubset(of: ["::1", "127.0.0.1"]))
        }
    }

    @Test func `T01 D11 an allowed address that does not respond is retried`() async throws {
        try await withFaultServer(.ok("hello"), isListening: false) { server in
            let outcome = try await Self.run(server.url("/file.bin"), allowing: ["127.0.0.1"])
            #expect(outcome.error?.code == .connection)
            #expect(outcome.requested.count == 6)
        }
    }

    @Test func `D11 a reused connection was checked when it was opened`() async throws {
        let response = Response.routes(["/file.bin": .redirect(to: "/there")], otherwise: .ok("hello"))
        try await withFaultServer(response) { server in
            let outcome = try await Self.run(server.url("/file.bin"), allowing: ["127.0.0.1"])
            #expect(outcome.error == nil)
            #expect(outcome.requested == ["127.0.0.1"])
            #expect(server.requests.count == 2)
            #expect(server.connectionCount == 1)
        }
    }

    // MARK: One request

    @Test func `D11 a request for public addresses uses no connection to loopback, even an open one`() async throws {
        try await withFaultServer(.ok("hello")) { server in
            try await withTemporaryDirectory { folder in
                try await withDownloadManager { manager in
                    func download(_ path: String, requiresPublicAddress: Bool) async throws {
                        var request = DownloadRequest(server.url(path), to: .directory(folder))
                        request.requiresPublicAddress = requiresPublicAddress
                        _ = try await manager.download(request).value
                    }
                    var error = await #expect(throws: DownloadError.self) {
                        try await download("/a", requiresPublicAddress: true)
                    }
                    #expect(error?.code == .addressRefused)
                    #expect(server.connectionCount == 0)
                    try await download("/b", requiresPublicAddress: false)
                    error = await #expect(throws: DownloadError.self) {
                        try await download("/c", requiresPublicAddress: true)
                    }
                    #expect(error?.code == .addressRefused)
                    try await download("/d", requiresPublicAddress: false)
                    #expect(server.requests.map(\.target) == ["/b", "/d"])
                    #expect(server.connectionCount == 1)
                }
            }
        }
    }

    @Test func `D11 the rule of a request and that of the manager both apply`() throws {
        var request = TransportRequest(url: try #require(URL(string: "http://h/")))
        let (local, first, second) = (IPAddress("127.0.0.1"), IPAddress("8.8.8.8"), IPAddress("9.9.9.9"))
        func allowed(_ configuration: DownloadConfiguration = DownloadConfiguration()) -> [Bool] {
            let rule = AddressRule(configuration, request)
            return [nil, local, first, second].map { rule.allows($0) }
        }
        let configuration = DownloadConfiguration { $0.allowsAddress = { $0 != first } }
        #expect(allowed() == [true, true, true, true])
        #expect(allowed(configuration) == [false, true, false, true])
        request.requiresPublicAddress = true
        #expect(allowed() == [false, false, true, true])
        #expect(allowed(configuration) == [false, false, false, true])
    }

    @Test func `D11 redirects and mirrors have the rule of the request`() async throws {
        let transport = FakeTransport { request in
            switch request.url.path() {
            case "/moved": FakeTransport.Reply(302, fields: [("Location", "http://other/closed")])
            case "/closed": FakeTransport.Reply(404)
            default: DiskFixture.response(request)
            }
        }
        try await withTemporaryDirectory { folder in
            let environment = TransferEnvironment(
                configuration: DownloadConfiguration(),
                transport: transport,
                clock: AnyClock(TestClock())
            )
            let manager = try await DownloadManager(environment: environment)
            var request = DownloadRequest(try #require(URL(string: "http://h/moved")), to: .directory(folder))
            request.mirrors = [try #require(URL(string: "http://mirror/file"))]
            request.requiresPublicAddress = true
            _ = try await manager.download(request).value
            await manager.shutdown()
        }
        #expect(transport.requests.map { $0.url.path() } == ["/moved", "/closed", "/file"])
        #expect(transport.requests.allSatisfy { $0.requiresPublicAddress && !$0.mayShareConnection })
    }

    @Test func `D11 a request for public addresses is not merged into another download`() async throws {
        try await QueueFixture.with { queue in
            let any = try queue.request("any") { $0.startsPaused = true }
            var strict = any
            strict.requiresPublicAddress = true
            // Neither two requests at once, nor one after the other.
            var error = await #expect(throws: DownloadError.self) { try await queue.manager.download([any, strict]) }
            #expect(error?.code == .invalidRequest)
            try await queue.manager.download(any)
            error = await #expect(throws: DownloadError.self) { try await queue.manager.download(strict) }
            #expect(error?.code == .invalidRequest)
            #expect(await queue.manager.downloads.count == 1)
            let public1 = try await queue.add("public") { ($0.startsPaused, $0.requiresPublicAddress) = (true, true) }
            let public2 = try await queue.add("public") { $0.startsPaused = true }
            #expect(public1 == public2)
            let public3 = try queue.request("public") { $0.startsPaused = true }
            let public4 = try queue.request("public") { ($0.startsPaused, $0.requiresPublicAddress) = (true, true) }
            #expect(try await queue.manager.download([public3, public4]) == [public1, public1])
        }
    }

    @Test func `D11 a failed download without the rule does not continue for a request with it`() throws {
        let url = try #require(URL(string: "http://h/a"))
        var request = DownloadRequest(url, to: .directory(URL(filePath: "/")))
        let error = DownloadError(.httpStatus, "No.", statusCode: 404)
        let record = DownloadRecord(id: Download.ID(rawValue: 1), request: request, state: .failed(error))
        request.linkProvider = DownloadRequest.LinkProvider { DownloadRequest.Link(url) }
        #expect(record.canContinue(with: request))
        request.requiresPublicAddress = true
        #expect(!record.canContinue(with: request))
    }

    /// Runs in a separate process, because it changes the environment.
    @Test func `D11 no proxy is used if addresses are checked`() async {
        await #expect(processExitsWith: .success) {
            try await withFaultServer(.ok("proxy")) { proxy in
                try await withFaultServer(.ok("hello")) { server in
                    unsetenv("no_proxy")
                    unsetenv("NO_PROXY")
                    setenv("http_proxy", "http://127.0.0.1:\(proxy.port)", 1)
                    let outcome = try await AddressPolicyTests.run(
                        server.url("/file.bin"),
                        allowing: ["127.0.0.1"]
                    )
                    #expect(outcome.error == nil)
                    #expect(proxy.connectionCount == 0)
                    #expect(server.requests.count == 1)
                    // Without `allowsAddress` the proxy is used, so the test would have noticed a use of it above.
                    try await withTemporaryDirectory { folder in
                        try await withDownloadManager { manager in
                            let request = DownloadRequest(server.url("/file.bin"), to: .directory(folder))
                            _ = try await manager.download(request).value
                        }
                    }
                    #expect(proxy.requests.count == 1)
                    #expect(server.requests.count == 1)
                }
            }
        }
    }

    /// Whether the machine has IPv6 at all, by libcurl's own test.
    private var hasIPv6: Bool {
        #if canImport(Glibc)
        let file = socket(AF_INET6, Int32(SOCK_DGRAM.rawValue), 0)
        #else
        let file = socket(AF_INET6, SOCK_DGRAM, 0)
        #endif
        guard file >= 0 else { return false }
        close(file)
        return true
    }
}

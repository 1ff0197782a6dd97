#if os(Linux)
import CHeadrace
import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Addresses, interfaces and HTTP versions that the configuration chooses.
@Suite(.timeLimit(.minutes(4)))
struct ConnectionPolicyTests {
    /// Downloads a URL once; returns its error and the addresses that were connected to.
    private static func run(
        _ url: URL,
        authority: URL? = nil,
        _ change: (inout ConnectionPolicy) -> Void
    ) async throws -> (error: DownloadError?, addresses: [String]) {
        let addresses = Locked<[String]>([])
        var policy = ConnectionPolicy()
        change(&policy)
        let configuration = DownloadConfiguration {
            $0.connectionPolicy = policy
            $0.retryPolicy.maxFailures = 0
            $0.certificateAuthorities = authority
            if policy.unixSocket == nil {
                $0.allowsAddress = { address in
                    addresses.withLock { $0.append(address.description) }
                    return true
                }
            }
        }
        return try await withTemporaryDirectory { folder in
            var error: DownloadError?
            do {
                try await withDownloadManager(configuration) { manager in
                    _ = try await manager.download(DownloadRequest(url, to: .directory(folder))).value
                }
            } catch let failure as DownloadError {
                error = failure
            }
            return (error, addresses.withLock { $0 })
        }
    }

    @Test func `a host has the given address, and another server may stand in for it`() async throws {
        try await withFaultServer(.ok("hello")) { server in
            let given = try await Self.run(server.url("/a", host: "a.invalid")) {
                $0.addresses = ["a.invalid:\(server.port):127.0.0.1"]
            }
            #expect(given.error == nil && given.addresses == ["127.0.0.1"], "\(given)")
            let url = try #require(URL(string: "http://b.invalid/x"))
            for rule in ["b.invalid:80:127.0.0.1:\(server.port)", "::127.0.0.1:\(server.port)"] {
                let replaced = try await Self.run(url) { $0.substitutes = [rule] }
                #expect(replaced.error == nil, "\(replaced)")
            }
            #expect(server.requests.map { $0["Host"] } == ["a.invalid:\(server.port)", "b.invalid", "b.invalid"])
        }
    }

    /// Runs the body with a resolver over HTTPS, the file of its authority and a server.
    private static func withResolver(
        _ resolver: Response,
        presenting certificate: TestCertificate = .trusted,
        _ body: (_ resolver: URL, _ authority: URL, _ requests: FaultServer, _ server: FaultServer) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { folder in
            let authority = try TestCertificate.writeAuthority(in: folder)
            try await withFaultServer(.ok("hello")) { server in
                try await withFaultServer(resolver) { requests in
                    try await withFaultProxy(to: requests, presenting: certificate) { proxy in
                        try await body(proxy.url("/dns-query"), authority, requests, server)
                    }
                }
            }
        }
    }

    @Test(.enabled(if: FaultProxy.speaksTLS, "libssl could not be loaded"))
    func `a resolver over HTTPS finds the addresses of hosts`() async throws {
        try await Self.withResolver(.resolver(["a.invalid": [127, 0, 0, 1]])) { resolver, authority, requests, server in
            let found = try await Self.run(server.url("/a", host: "a.invalid"), authority: authority) {
                $0.dnsOverHTTPS = resolver
            }
            #expect(found.error == nil && found.addresses == ["127.0.0.1"], "\(found)")
            #expect(server.requests.map { $0["Host"] } == ["a.invalid:\(server.port)"])
            #expect(requests.requests.first?["Content-Type"] == "application/dns-message")
            #expect(Set(requests.requests.map(\.path)) == ["/dns-query"])
        }
    }

    @Test(.enabled(if: FaultProxy.speaksTLS, "libssl could not be loaded"))
    func `a resolver that fails is named in the error, and the system's is not used`() async throws {
        let families = [ConnectionPolicy.AddressFamily.any, .ipv4, .ipv6]
        for (certificate, response) in [(TestCertificate.trusted, Response.resolver([:])), (.selfSigned, .ok(""))] {
            try await Self.withResolver(response, presenting: certificate) { resolver, authority, requests, server in
                for family in families {
                    let url = server.url("/a", host: "localhost")
                    let outcome = try await Self.run(url, authority: authority) {
                        ($0.dnsOverHTTPS, $0.addressFamily) = (resolver, family)
                    }
                    // libcurl knows the addresses of localhost itself.
                    #expect(outcome.error == nil || family == .ipv6, "\(outcome)")
                    let other = try await Self.run(server.url("/a", host: "b.invalid"), authority: authority) {
                        ($0.dnsOverHTTPS, $0.addressFamily) = (resolver, family)
                    }
                    #expect(other.error?.code == .nameResolution, "\(other)")
                    #expect(other.error?.message == "The host b.invalid could not be found by the resolver 127.0.0.1.")
                }
                #expect(requests.requests.isEmpty == (certificate == .selfSigned))
            }
        }
    }

    @Test(.enabled(if: FaultProxy.speaksTLS, "libssl could not be loaded"))
    func `the response of a cancelled lookup over HTTPS is not taken for that of the next one`() async throws {
        let gate = try Gate()
        let known = Response.resolver(["a.invalid": [127, 0, 0, 1]])
        let held = Response.answering { request in
            if request.attempt > 0 { gate.open() }
            return request.attempt == 0 ? known.held(after: 1, until: gate) : known
        }
        try await Self.withResolver(held) { resolver, authority, requests, server in
            try await withTemporaryDirectory { folder in
                let configuration = DownloadConfiguration {
                    $0.certificateAuthorities = authority
                    // With both families, there would be two requests for each lookup.
                    ($0.connectionPolicy.dnsOverHTTPS, $0.connectionPolicy.addressFamily) = (resolver, .ipv4)
                    $0.connectTimeout = .seconds(10)
                    $0.retryPolicy.maxFailures = 0
                }
                try await withDownloadManager(configuration) { manager in
                    let unknown = server.url("/b", host: "b.invalid")
                    let first = try await manager.download(DownloadRequest(unknown, to: .directory(folder)))
                    try await requests.waitForRequests(count: 1)
                    await first.cancel()
                    // The held response, without an address, would arrive on a connection that is open for reuse.
                    let url = server.url("/a", host: "a.invalid")
                    let file = try await manager.download(DownloadRequest(url, to: .directory(folder))).value
                    #expect(try FileProbe.bytes(of: file) == Array("hello".utf8))
                    #expect(requests.requests.count == 2)
                }
            }
        }
    }

    @Test func `only addresses of the chosen family are connected to`() async throws {
        try await withFaultServer(.ok("hello")) { server in
            let url = server.url("/a", host: "localhost")
            let four = try await Self.run(url) { $0.addressFamily = .ipv4 }
            #expect(four.error == nil && four.addresses == ["127.0.0.1"], "\(four)")
            // The server does not listen on ::1, which the system may not even have.
            let six = try await Self.run(url) { $0.addressFamily = .ipv6 }
            #expect(six.error != nil && Set(six.addresses).isSubset(of: ["::1"]), "\(six)")
            #expect(server.requests.count == 1)
        }
    }

    @Test(.enabled(if: FaultServer.hasIPv6, "this machine has no ::1"))
    func `a host with addresses of both families has a connection to the chosen one`() async throws {
        try await withFaultServer(.ok("hello"), onIPv6: true) { server in
            for (family, address) in [(ConnectionPolicy.AddressFamily.ipv4, "127.0.0.1"), (.ipv6, "::1")] {
                let outcome = try await Self.run(server.url("/a", host: "a.invalid")) {
                    $0.addresses = ["a.invalid:\(server.port):127.0.0.1,[::1]"]
                    ($0.addressFamily, $0.interface) = (family, "lo")
                }
                // The server listens on ::1 only.
                #expect((outcome.error == nil) == (family == .ipv6), "\(outcome)")
                #expect(outcome.addresses == [address])
            }
            #expect(server.requests.count == 1)
        }
    }

    @Test(arguments: ["127.0.0.1", "lo"])
    func `connections are made from the given interface`(_ interface: String) async throws {
        try await withFaultServer(.ok("hello")) { server in
            let outcome = try await Self.run(server.url("/a")) { $0.interface = interface }
            #expect(outcome.error == nil, "\(outcome)")
            #expect(server.requests.count == 1)
        }
    }

    @Test func `all connections go through the UNIX socket, without a proxy`() async throws {
        try await withFaultServer(.ok("hello")) { server in
            try await withTemporaryDirectory { folder in
                let path = folder.appending(path: "s").path(percentEncoded: false)
                try await withUnixSocket(at: path, forwardingTo: server.port) {
                    let url = try #require(URL(string: "http://c.invalid/x"))
                    let outcome = try await Self.run(url) { $0.unixSocket = URL(filePath: path) }
                    #expect(outcome.error == nil, "\(outcome)")
                }
                #expect(server.requests.map { $0["Host"] } == ["c.invalid"])
                var configuration = DownloadConfiguration()
                configuration.connectionPolicy.unixSocket = URL(filePath: path)
                #expect(try !ProxySettings(configuration, environment: ["http_proxy": "http://p:1"]).hasProxy)
            }
        }
    }

    @Test(.enabled(if: FaultProxy.speaksTLS, "libssl could not be loaded"))
    func `the chosen version of HTTP is used`() async throws {
        for (version, http2, http1) in [(ConnectionPolicy.HTTPVersion.http1, 0, 1), (.http2, 1, 0)] {
            let outcome = try await HTTP2Fixture.run(
                fallback: .file(HTTP2Fixture.file),
                retries: 0,
                configure: {
                    $0.connectionPolicy.httpVersion = version
                    $0.maxConnectionsPerDownload = 1
                },
                change: { $0.expectedSize = HTTP2Fixture.size },
                script: { HTTP2Step.file(HTTP2Fixture.file, for: $0) }
            )
            #expect(outcome.error == nil && outcome.difference == nil, "\(version): \(outcome)")
            #expect(outcome.requests.count == http2 && outcome.fallbackRequests.count == http1, "\(version)")
        }
    }

    @Test func `HTTP 3 with a libcurl that lacks it is an error that says so`() async throws {
        _ = hr_curl_load()
        let isSupported = Int(hr_curl_features()) & Int(HR_FEATURE_HTTP3) != 0
        try await withFaultServer(.ok("hello")) { server in
            let outcome = try await Self.run(server.url("/a")) { $0.httpVersion = .http3 }
            #expect(outcome.error?.code == (isSupported ? nil : .transportUnavailable), "\(outcome)")
            #expect(outcome.error.map { $0.message.contains("was built without HTTP/3. ") } ?? isSupported)
        }
    }

    @Test(arguments: [
        ("h:80", "x:1:y:2"), ("h:0:127.0.0.1", "x:1:y"), ("h:80:name", "::y:z"), (":80:127.0.0.1", "h:a:y:2"),
        ("h:80:127.0.0.1,", "h:1:y:0"), ("h:80:", "h:1:[::1:2"), ("h h:80:127.0.0.1", "h:1:[::g]:2"),
        ("h:65536:127.0.0.1", "a b:1:y:2"),
    ])
    func `an invalid policy is rejected`(_ address: String, _ substitute: String) {
        func check(_ change: (inout ConnectionPolicy) -> Void) -> DownloadError.Code? {
            let configuration = DownloadConfiguration { change(&$0.connectionPolicy) }
            do throws(DownloadError) {
                try configuration.validate()
                return nil
            } catch {
                return error.code
            }
        }
        #expect(check { $0.addresses = [address] } == .invalidRequest)
        #expect(check { $0.dnsOverHTTPS = URL(string: "http://h/dns-query") } == .invalidRequest)
        if substitute != "x:1:y:2" { #expect(check { $0.substitutes = [substitute] } == .invalidRequest) }
        #expect(check { $0.substitutes = ["x:1:y:2", ":80:[::1]:8080", "h::y:1", "::127.0.0.1:", "h:1::2"] } == nil)
        #expect(check { $0.addresses = ["h:80:127.0.0.1", "h-1.x:443:[::1],127.0.0.1"] } == nil)
        #expect(check { $0.interface = "" } == .invalidRequest)
        #expect(check { $0.interface = "a\nb" } == .invalidRequest)
        #expect(check { $0.unixSocket = URL(filePath: "/" + String(repeating: "x", count: 107)) } == .invalidRequest)
        #expect(check { $0.unixSocket = URL(string: "http://h/") } == .invalidRequest)
    }
}

/// Listens on a UNIX socket and passes the bytes of one connection to and from a port of 127.0.0.1.
private func withUnixSocket(at path: String, forwardingTo port: UInt16, _ body: () async throws -> Void) async throws {
    var process = try ChildProcess(
        [
            "/usr/bin/env", "python3", "-c",
            """
            import os, socket, sys, threading
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(sys.argv[1] + ".new"); listener.listen(); os.rename(sys.argv[1] + ".new", sys.argv[1])
            client, _ = listener.accept()
            server = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
            def copy(source, target):
                while data := source.recv(65536): target.sendall(data)
                target.shutdown(socket.SHUT_WR)
            threading.Thread(target=copy, args=(client, server)).start(); copy(server, client)
            """, path, "\(port)",
        ],
        environment: ["PATH=/usr/bin:/bin"],
        streams: ["/dev/null", "/dev/null", "/dev/null"]
    )
    while !FileManager.default.fileExists(atPath: path) {
        #expect(process.poll() == nil)
        try await Task.sleep(for: .milliseconds(3))
    }
    try await body()
    process.stop()
}
#endif

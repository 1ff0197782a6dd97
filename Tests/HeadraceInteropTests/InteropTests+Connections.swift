#if os(Linux)
import Foundation
import Headrace
import HeadraceTestSupport
import Testing

/// The settings of connections and the measured times, which need libcurl.
extension InteropTests {
    private static let page = RunningServer.page

    @Test(arguments: [WebServer.Wire.http1OverTLS, .http2])
    func `after Strict-Transport-Security an http URL of the host is requested over https`(
        _ wire: WebServer.Wire
    ) async throws {
        let server = try ServersTrait.server(.nginx)
        let host = "\(RunningServer.name):\(server.port(wire))"
        try await withTemporaryDirectory { folder in
            let configure = { @Sendable (configuration: inout DownloadConfiguration) in
                configuration.connectionPolicy.addresses = ["\(host):127.0.0.1"]
                configuration.hstsFile = folder.appending(path: "hosts")
            }
            // nginx rejects http on its port for https.
            for (scheme, status) in [("http", 400), ("https", nil), ("http", nil)] {
                let url = try #require(URL(string: "\(scheme)://\(host)/page.html"))
                let change = { @Sendable (request: inout DownloadRequest) in request.url = url }
                try await server.download("", wire, configure: configure, change: change) { download in
                    let file = try? await download.value
                    #expect(download.error?.statusCode == status)
                    #expect((file != nil) == (status == nil))
                }
            }
        }
    }

    @Test func `a name without an address reaches the server by each setting`() async throws {
        let server = try ServersTrait.server(.nginx)
        let port = server.port(.http1)
        let host = "a.invalid:\(port)"
        var policies: [(host: String, address: String?, policy: ConnectionPolicy)] = []
        func add(_ host: String, _ address: String?, _ change: (inout ConnectionPolicy) -> Void) {
            var policy = ConnectionPolicy()
            change(&policy)
            policies.append((host, address, policy))
        }
        add(host, "127.0.0.1") { $0.addresses = ["\(host):127.0.0.1"] }
        add("a.invalid", "127.0.0.1") { $0.substitutes = ["a.invalid:80:127.0.0.1:\(port)"] }
        add("a.invalid", nil) { $0.unixSocket = server.socket }
        if FaultServer.hasIPv6 {
            for (family, address) in [(ConnectionPolicy.AddressFamily.ipv4, "127.0.0.1"), (.ipv6, "::1")] {
                add(host, address) { ($0.addresses, $0.addressFamily) = (["\(host):127.0.0.1,[::1]"], family) }
            }
        }
        for (host, address, policy) in policies {
            let configure = { @Sendable (configuration: inout DownloadConfiguration) in
                configuration.connectionPolicy = policy
                configuration.collectsMetrics = true
            }
            let url = try #require(URL(string: "http://\(host)/page.html"))
            let change = { @Sendable (request: inout DownloadRequest) in request.url = url }
            try await server.download("", .http1, configure: configure, change: change) { download in
                #expect(Self.page.difference(fromFileAt: try await download.value) == nil, "\(policy)")
                let request = try #require(download.metrics?.requests.first)
                #expect(address == nil || request.address == address, "\(policy)")
            }
        }
    }

    @Test(arguments: [(ConnectionPolicy.HTTPVersion.http1, "HTTP/1.1"), (.http2, "HTTP/2")])
    func `each request over TLS is measured, with the chosen version of HTTP`(
        _ version: ConnectionPolicy.HTTPVersion,
        _ name: String
    ) async throws {
        let server = try ServersTrait.server(.nginx)
        let host = "\(RunningServer.name):\(server.port(.http2))"
        let url = try #require(URL(string: "https://\(host)/page.html"))
        let configure = { @Sendable (configuration: inout DownloadConfiguration) in
            configuration.connectionPolicy.addresses = ["\(host):127.0.0.1"]
            configuration.connectionPolicy.httpVersion = version
            configuration.collectsMetrics = true
        }
        try await withTemporaryDirectory { folder in
            try await server.withManager(configure: configure) { manager in
                var requests: [RequestMetrics] = []
                for name in ["first", "second"] {
                    let request = DownloadRequest(url, to: .file(folder.appending(path: name)))
                    let download = try await manager.download(request)
                    #expect(Self.page.difference(fromFileAt: try await download.value) == nil)
                    requests += try #require(download.metrics?.requests)
                }
                #expect(requests.map(\.httpVersion) == [name, name])
                #expect(requests.map(\.isReused) == [false, true])
                let first = try #require(requests.first)
                let times = [first.nameLookup, first.connect, first.tls, first.firstByte, first.total]
                let known = times.compactMap { $0 }
                #expect(known.count == times.count && known == known.sorted(), "\(times)")
                let again = try #require(requests.last)
                #expect([again.nameLookup, again.connect, again.tls] == [nil, nil, nil] && again.firstByte != nil)
                let data = try await manager.data(from: url)
                #expect(data == Self.page.data)
            }
        }
    }
}
#endif

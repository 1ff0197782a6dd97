import Foundation
import Headrace
import HeadraceTestSupport
import Testing

/// Downloads from widely used web servers, over HTTP/1.1 with and without TLS and over HTTP/2.
///
/// The servers must be installed, so these tests run only if `HEADRACE_INTEROP` is set, as in `.ci/run`.
@Suite(
    .servers,
    .timeLimit(.minutes(4)),
    .enabled(if: ProcessInfo.processInfo.environment["HEADRACE_INTEROP"] != nil, "HEADRACE_INTEROP is not set")
)
struct InteropTests {
    static let file = RunningServer.file
    private static let other = Resource(size: 5 << 20, seed: 4).body

    #if os(Linux)
    @Test(arguments: WebServer.allCases, WebServer.Wire.allCases)
    func `each wire negotiates its HTTP version`(_ kind: WebServer, _ wire: WebServer.Wire) async throws {
        let head = try await head(of: "empty.bin", at: try ServersTrait.server(kind), wire)
        #expect(head.status == 200)
        #expect(head.isMultiplexed == (wire == .http2))
    }

    @Test(arguments: [WebServer.Wire.http1OverTLS, .http2])
    func `a server without a preference selects AES 128`(
        _ wire: WebServer.Wire
    ) async throws {
        let head = try await head(of: "cipher", at: try ServersTrait.server(.nginx), wire)
        let cipher = head.fields.first { $0.name.lowercased() == "cipher" }?.value
        #expect(["TLS_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"].contains(cipher))
    }

    private func head(of path: String, at server: RunningServer, _ wire: WebServer.Wire) async throws -> ResponseHead {
        var configuration = DownloadConfiguration()
        configuration.certificateAuthorities = server.authority
        let transport = try CurlTransport(configuration)
        let request = TransportRequest(url: try server.url(path, wire))
        let head = try await transport.perform(request) { head, _ in head }
        await transport.shutdown()
        return head
    }
    #endif

    @Test(arguments: WebServer.allCases, WebServer.Wire.allCases)
    func `files arrive complete, as stored, under their names`(
        _ kind: WebServer,
        _ wire: WebServer.Wire
    ) async throws {
        let server = try ServersTrait.server(kind)
        for (path, name, body) in [
            ("file.bin", "file.bin", Self.file), ("empty.bin", "empty.bin", RunningServer.empty),
            ("a%20file,%20and%20more.bin", "a file, and more.bin", Self.file), ("old", "file.bin", Self.file),
            // A page that the server would compress, and a file that it labels as compressed.
            ("page.html", "page.html", RunningServer.page), ("packed.gz", "packed.gz", Self.file),
        ] {
            try await server.download(path, wire) { download in
                let result = try await download.value
                #expect(result.lastPathComponent == name)
                #expect(body.difference(fromFileAt: result) == nil, "\(path)")
            }
        }
    }

    @Test(arguments: WebServer.allCases, WebServer.Wire.allCases)
    func `a page is transferred compressed and saved as stored`(
        _ kind: WebServer,
        _ wire: WebServer.Wire
    ) async throws {
        let paths = ["page.html"] + (kind == .nginx ? ["included/page.html"] : [])
        for path in paths {
            let decode = { @Sendable (request: inout DownloadRequest) in request.decodesContent = true }
            try await ServersTrait.server(kind).download(path, wire, change: decode) { download in
                let file = try await download.value
                #expect(RunningServer.page.difference(fromFileAt: file) == nil)
                let fetched = await download.events.reduce(Int64.max) { fetched, event in
                    if case .finished(let summary) = event { summary.bytesFetched } else { fetched }
                }
                #expect(fetched < RunningServer.page.count / 2)
            }
        }
    }

    @Test(arguments: WebServer.Wire.allCases)
    func `a file of unknown length is verified on every wire`(
        _ wire: WebServer.Wire
    ) async throws {
        try await ServersTrait.server(.nginx).download("included/page.html", wire) { download in
            let file = try await download.value
            #expect(RunningServer.page.difference(fromFileAt: file) == nil)
            let isVerified = await download.events.reduce(false) { isVerified, event in
                if case .finished(let summary) = event { summary.isLengthVerified } else { isVerified }
            }
            #expect(isVerified)
        }
    }

    @Test(arguments: WebServer.allCases, WebServer.Wire.allCases)
    func `a paused download resumes by an entity tag or a date`(
        _ kind: WebServer,
        _ wire: WebServer.Wire
    ) async throws {
        let server = try ServersTrait.server(kind)
        for path in ["file.bin", "dated/file.bin"] {
            try await server.download(path, wire, configure: Self.one, change: Self.slow) { download in
                try await pauseInTheMiddle(download)
                try await resume(download)
                #expect(Self.file.difference(fromFileAt: try await download.value) == nil)
                let events = await history(of: download)
                #expect(
                    events.contains { if case .resumed(let offset, _, _) = $0 { offset > 0 } else { false } },
                    "\(path): \(events)"
                )
                #expect(!events.contains { if case .restarted = $0 { true } else { false } }, "\(path): \(events)")
            }
        }
    }

    @Test(arguments: WebServer.allCases, WebServer.Wire.allCases)
    func `a file that changes during a download is downloaded again, never mixed`(
        _ kind: WebServer,
        _ wire: WebServer.Wire
    ) async throws {
        let server = try ServersTrait.server(kind)
        for folder in ["", "dated/"] {
            let path = "\(folder)changing-\(wire).bin"
            try server.put(Self.file, at: path, hoursAgo: 2)
            try await server.download(path, wire, configure: Self.one, change: Self.slow) { download in
                try await pauseInTheMiddle(download)
                try server.put(Self.other, at: path)
                try await resume(download)
                #expect(Self.other.difference(fromFileAt: try await download.value) == nil)
                let events = await history(of: download)
                #expect(events.contains { if case .restarted = $0 { true } else { false } }, "\(path): \(events)")
            }
        }
    }

    @Test(arguments: WebServer.allCases, WebServer.Wire.allCases)
    func `several connections download one file`(_ kind: WebServer, _ wire: WebServer.Wire) async throws {
        let server = try ServersTrait.server(kind)
        let several = { @Sendable (configuration: inout DownloadConfiguration) in
            configuration.maxConnectionsPerDownload = 4
        }
        try await server.download("file.bin", wire, configure: several, change: Self.slow) { download in
            var (opened, fallbacks) = (0, 0)
            for await event in download.events {
                switch event {
                case .connectionOpened:
                    opened += 1
                    try await download.setRateLimit(nil)
                case .fellBackToOneConnection: fallbacks += 1
                default: break
                }
            }
            #expect(Self.file.difference(fromFileAt: try await download.value) == nil)
            #expect(opened > 0)
            #expect(fallbacks == 0)
        }
    }

    @Test(arguments: WebServer.allCases, WebServer.Wire.allCases)
    func `a rejected request fails with its status code`(_ kind: WebServer, _ wire: WebServer.Wire) async throws {
        let server = try ServersTrait.server(kind)
        for (path, status) in [("missing.bin", 404), ("private/file.bin", 401)] {
            try await server.download(path, wire) { download in
                let error = await #expect(throws: DownloadError.self) { try await download.value }
                #expect(error?.statusCode == status)
            }
        }
        let withLogin = { @Sendable (request: inout DownloadRequest) in
            request.headers = [HeaderField(name: "Authorization", value: RunningServer.login)]
        }
        try await server.download("private/file.bin", wire, change: withLogin) { download in
            let result = try await download.value
            #expect(Self.file.difference(fromFileAt: result) == nil)
        }
    }

    @Test(arguments: WebServer.Wire.allCases, ["secret", "wrong"])
    func `Apache accepts a login by Digest`(_ wire: WebServer.Wire, _ password: String) async throws {
        let server = try ServersTrait.server(.apache2)
        let schemes = Locked<[AuthenticationScheme]>([])
        let withLogin = { @Sendable (configuration: inout DownloadConfiguration) in
            configuration.maxConnectionsPerDownload = 4
            configuration.credentials = { request in
                schemes.withLock { $0 += request.schemes }
                return request.refused == nil ? .login(user: "user", password: password) : nil
            }
        }
        try await server.download("digest/file.bin?a=b&c=%20", wire, configure: withLogin) { download in
            if password == "secret" {
                let file = try await download.value
                #expect(Self.file.difference(fromFileAt: file) == nil)
            } else {
                let error = await #expect(throws: DownloadError.self) { try await download.value }
                #expect(error?.statusCode == 401)
            }
        }
        #expect(Set(schemes.withLock { $0 }) == [.digest])
    }

    @Test(arguments: WebServer.Wire.allCases)
    func `a proxy forwards plain requests and tunnels the others`(_ wire: WebServer.Wire) async throws {
        let server = try ServersTrait.server(.nginx)
        try await ForwardProxy.run(before: server) { proxy in
            let settings = try proxy.settings()
            let throughProxy = { @Sendable (configuration: inout DownloadConfiguration) in
                Self.one(&configuration)
                configuration.proxy = settings
            }
            try await server.download("file.bin", wire, configure: throughProxy, change: Self.slow) { download in
                try await pauseInTheMiddle(download)
                try await resume(download)
                #expect(Self.file.difference(fromFileAt: try await download.value) == nil)
            }
            let place = "127.0.0.1:\(server.port(wire))"
            let request = wire == .http1 ? "GET http://\(place)/file.bin" : "CONNECT \(place)"
            #expect(try proxy.requests.contains(request))
        }
    }

    /// Not with plain HTTP, where tinyproxy rejects a wrong login with 401, like an origin server.
    @Test(arguments: [WebServer.Wire.http1OverTLS, .http2])
    func `a wrong proxy login fails with a proxy error`(_ wire: WebServer.Wire) async throws {
        let server = try ServersTrait.server(.nginx)
        try await ForwardProxy.run(before: server) { proxy in
            let settings = try proxy.settings(password: "wrong")
            try await server.download("file.bin", wire, configure: { $0.proxy = settings }) { download in
                let error = await #expect(throws: DownloadError.self) { try await download.value }
                #expect(error?.code == .proxy)
            }
        }
    }

    @Test(arguments: WebServer.allCases, WebServer.Wire.allCases)
    func `an existing file is downloaded again only if the server has changed it`(
        _ kind: WebServer,
        _ wire: WebServer.Wire
    ) async throws {
        let server = try ServersTrait.server(kind)
        for folder in ["", "dated/"] {
            let path = "\(folder)kept-\(wire).bin"
            try server.put(Self.file, at: path, hoursAgo: 2)
            try await withTemporaryDirectory { destination in
                func isUnchanged(_ body: Response.Body) async throws -> Bool {
                    try await server.download(path, wire, to: destination, change: { $0.refetchPolicy = .ifChanged }) {
                        let file = try await $0.value
                        #expect(body.difference(fromFileAt: file) == nil)
                        return await history(of: $0).contains(.unchanged(file))
                    }
                }
                #expect(try await !isUnchanged(Self.file))
                #expect(try await isUnchanged(Self.file))
                try server.put(Self.other, at: path)
                #expect(try await !isUnchanged(Self.other))
                #expect(try FileProbe.names(in: destination) == ["kept-\(wire).bin"])
            }
        }
    }

    static let one: @Sendable (inout DownloadConfiguration) -> Void = {
        $0.maxConnectionsPerDownload = 1
    }
    /// Slow enough for a test to act in the middle.
    static let slow: @Sendable (inout DownloadRequest) -> Void = { $0.rateLimit = 256 << 10 }

    func pauseInTheMiddle(_ download: Download) async throws {
        for await progress in download.progress where progress.bytesReceived > 0 { break }
        await download.pause()
        #expect(download.state == .paused)
    }

    func resume(_ download: Download) async throws {
        try await download.setRateLimit(nil)
        await download.resume()
    }

    func history(of download: Download) async -> [DownloadEvent] {
        var events: [DownloadEvent] = []
        for await event in download.events { events.append(event) }
        return events
    }
}

import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The sources of logins and the servers they are sent to.
@Suite(.timeLimit(.minutes(4)))
struct LoginTests {
    private static let hello = Array("hello".utf8)
    private static let good = Credential.login(user: "user", password: "good")
    private static let basic = "Basic dXNlcjpnb29k"

    /// A credential provider that records its requests.
    private final class Provider: Sendable {
        private let log = Locked<[CredentialRequest]>([])
        private let reply: @Sendable (CredentialRequest) async throws -> Credential?

        init(_ reply: @escaping @Sendable (CredentialRequest) async throws -> Credential?) {
            self.reply = reply
        }

        var requests: [CredentialRequest] { log.withLock { $0 } }

        func ask(_ request: CredentialRequest) async throws -> Credential? {
            log.withLock { $0.append(request) }
            return try await reply(request)
        }
    }

    /// A server that accepts one login and challenges all other requests.
    private static func guarded(
        _ login: String = basic,
        _ challenge: String = "Basic realm=\"files\"",
        _ response: Response = .ok("hello")
    ) -> Response {
        .answering { request in
            request["Authorization"] == login ? response : .status(401, headers: ["WWW-Authenticate": challenge])
        }
    }

    @Test(
        arguments: [
            ("Basic realm=\"files\"", [AuthenticationScheme.basic], "files"),
            ("Bearer, basic realm=x", [.bearer, .basic], nil),
            ("Negotiate, Basic realm=x", [.basic], "x"), ("", [], nil),
        ] as [(String, [AuthenticationScheme], String?)]
    )
    func `a server that requests a login receives the one from the provider`(
        _ challenge: String,
        _ schemes: [AuthenticationScheme],
        _ realm: String?
    ) async throws {
        let provider = Provider { _ in Self.good }
        try await withFaultServer(Self.guarded(Self.basic, challenge)) { server in
            let outcome = try await NetworkFixture.run(server.url("/a?b")) { $0.credentials = provider.ask }
            #expect(outcome.bytes == Self.hello, "\(outcome.log)")
            #expect(
                provider.requests == [
                    CredentialRequest(url: server.url("/a?b"), schemes: schemes, realm: realm)
                ]
            )
            #expect(server.requests.map { $0["Authorization"] } == [nil, Self.basic])
            #expect(server.connectionCount == 1)
        }
    }

    @Test func `an accepted login is sent with each request to its origin and to no other`() async throws {
        let provider = Provider { _ in .bearer(token: "t") }
        try await withFaultServer(.ok("other")) { other in
            let away = Response.answering { request in
                request.path == "/away" ? .redirect(to: other.url("/x").absoluteString) : .ok("hello")
            }
            try await withFaultServer(Self.guarded("Bearer t", "Bearer", away)) { server in
                try await withTemporaryDirectory { folder in
                    let configuration = NetworkFixture.configuration { $0.credentials = provider.ask }
                    try await withDownloadManager(configuration) { manager in
                        for path in ["/a", "/b", "/away"] {
                            let outcome = try await NetworkFixture.run(server.url(path), in: manager, folder)
                            #expect(outcome.error == nil)
                        }
                    }
                }
                #expect(server.requests.map { $0["Authorization"] } == [nil, "Bearer t", "Bearer t", "Bearer t"])
                #expect(other.requests.map { $0["Authorization"] } == [nil])
                #expect(provider.requests.count == 1)
            }
        }
    }

    @Test func `downloads that are refused at the same time request one login`() async throws {
        let count = 8
        let seen = Locked(0)
        let (all, release) = AsyncStream.makeStream(of: Void.self)
        let provider = Provider { _ in
            for await _ in all {}
            return Self.good
        }
        let response = Response.answering { request in
            guard request["Authorization"] != Self.basic else { return .ok("hello") }
            let number = seen.withLock { seen in
                seen += 1
                return seen
            }
            if number == count { release.finish() }
            return .status(401, headers: ["WWW-Authenticate": "Basic realm=x"])
        }
        try await withFaultServer(response) { server in
            try await withTemporaryDirectory { folder in
                let configuration = NetworkFixture.configuration {
                    $0.credentials = provider.ask
                    $0.maxConcurrentDownloads = .fixed(count)
                }
                try await withDownloadManager(configuration) { manager in
                    let requests = (0..<count).map { DownloadRequest(server.url("/\($0)"), to: .directory(folder)) }
                    for download in try await manager.download(requests) { _ = try await download.value }
                }
            }
            #expect(provider.requests.count == 1)
            #expect(server.requests.count == 2 * count)
        }
    }

    @Test func `a provider can request a token from the host whose only connection waits for it`() async throws {
        let manager = Locked<DownloadManager?>(nil)
        let response = Response.answering { request in
            if request.path == "/token" { return .ok("t") }
            return request["Authorization"] == "Bearer t"
                ? .ok("hello") : .status(401, headers: ["WWW-Authenticate": "Bearer"])
        }
        try await withFaultServer(response) { server in
            try await withTemporaryDirectory { folder in
                let configuration = NetworkFixture.configuration {
                    $0.maxConcurrentDownloads = .automatic
                    $0.maxConnectionsPerHost = 1
                    $0.timeLimit = .seconds(30)
                    $0.credentials = { _ in
                        let token = try await manager.withLock { $0 }?.data(from: server.url("/token"))
                        return token.map { .bearer(token: String(decoding: $0, as: UTF8.self)) }
                    }
                }
                try await withDownloadManager(configuration) { created in
                    manager.withLock { $0 = created }
                    defer { manager.withLock { $0 = nil } }
                    let requests = (0..<3).map { DownloadRequest(server.url("/\($0)"), to: .directory(folder)) }
                    for download in try await created.download(requests) {
                        #expect(try FileProbe.bytes(of: try await download.value) == Self.hello)
                    }
                }
            }
        }
    }

    @Test func `D13 a refused login is requested once more and not sent again`() async throws {
        let provider = Provider { _ in .login(user: "user", password: "bad") }
        try await withFaultServer(Self.guarded()) { server in
            let outcome = try await NetworkFixture.run(server.url("/a")) { $0.credentials = provider.ask }
            #expect(outcome.error?.statusCode == 401)
            #expect(server.requests.count == 2)
            #expect(provider.requests.map { $0.refused != nil } == [false, true])
        }
        let second = Provider { $0.refused == nil ? .bearer(token: "old") : Self.good }
        try await withFaultServer(Self.guarded()) { server in
            let outcome = try await NetworkFixture.run(server.url("/a")) { $0.credentials = second.ask }
            #expect(outcome.bytes == Self.hello, "\(outcome.log)")
            #expect(server.requests.count == 3)
        }
    }

    /// Regression: one 401 rejected the login for good, and no other file of the server could be downloaded.
    @Test(arguments: [false, true])
    func `a login refused for one file is still used for others`(_ isInFile: Bool) async throws {
        let response = Response.answering { request in
            request["Authorization"] == Self.basic && request.path != "/closed"
                ? .ok("hello") : .status(401, headers: ["WWW-Authenticate": "Basic realm=x"])
        }
        let netrc = try Netrc(parsing: "machine 127.0.0.1 login user password good".utf8)
        try await withFaultServer(response) { server in
            try await withTemporaryDirectory { folder in
                let configuration = NetworkFixture.configuration {
                    if isInFile { $0.netrc = netrc } else { $0.credentials = { _ in Self.good } }
                }
                try await withDownloadManager(configuration) { manager in
                    for (path, status) in [("/a", nil), ("/closed", 401), ("/b", nil)] as [(String, Int?)] {
                        let outcome = try await NetworkFixture.run(server.url(path), in: manager, folder)
                        #expect(outcome.error?.statusCode == status, "\(path): \(outcome.log)")
                    }
                }
            }
            #expect(server.requests.filter { $0.path == "/closed" }.count == 1)
        }
    }

    @Test func `no login, a failing provider and an unsupported scheme are refusals`() async throws {
        struct Offline: Error {}
        try await withFaultServer(Self.guarded()) { server in
            let none = try await NetworkFixture.run(server.url("/a")) { $0.credentials = { _ in nil } }
            #expect(none.error?.statusCode == 401)
            let failed = try await NetworkFixture.run(server.url("/a")) { $0.credentials = { _ in throw Offline() } }
            #expect(failed.error?.statusCode == 401)
            #expect(failed.error?.cause is Offline)
            let odd = try await NetworkFixture.run(server.url("/a")) {
                $0.credentials = { _ in .bearer(token: "a\r\nX: y") }
            }
            #expect(odd.error?.statusCode == 401)
            #expect(server.requests.allSatisfy { $0["X"] == nil })
        }
        try await withFaultServer(Self.guarded(Self.basic, "Negotiate")) { server in
            let outcome = try await NetworkFixture.run(server.url("/a")) { $0.credentials = { _ in Self.good } }
            #expect(outcome.error?.message.contains("negotiate, which is not supported") == true)
            #expect(server.requests.count == 1)
        }
    }

    @Test(arguments: [
        ("Basic realm=x", "It rejected the login"), ("Negotiate", "by negotiate, which is not supported"),
    ])
    func `D13 the error for a refused login in the URL explains why`(
        _ challenge: String,
        _ message: String
    ) async throws {
        try await withFaultServer(Self.guarded(Self.basic, challenge)) { server in
            let url = try server.url("/a").with(login: "user:bad")
            let outcome = try await NetworkFixture.run(url)
            #expect(outcome.error?.message.contains(message) == true, "\(outcome.log)")
            #expect(outcome.error?.statusCode == 401)
            #expect(outcome.error?.remedy == nil)
            #expect(server.requests.count == 1)
        }
    }

    @Test func `when the download waiting for the provider is cancelled, another one requests the login`() async throws
    {
        let (requested, firstAsks) = AsyncStream.makeStream(of: Void.self)
        let isFirst = Locked(true)
        let provider = Provider { _ in
            let isFirst = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            guard isFirst else { return Self.good }
            firstAsks.finish()
            try await Task.sleep(for: .seconds(3600))
            return nil
        }
        try await withFaultServer(Self.guarded()) { server in
            try await withTemporaryDirectory { folder in
                let configuration = NetworkFixture.configuration { $0.credentials = provider.ask }
                try await withDownloadManager(configuration) { manager in
                    let first = try await manager.download(DownloadRequest(server.url("/1"), to: .directory(folder)))
                    for await _ in requested {}
                    let second = try await manager.download(DownloadRequest(server.url("/2"), to: .directory(folder)))
                    try await server.waitForRequests(count: 2)
                    await first.cancel()
                    #expect(try FileProbe.bytes(of: try await second.value) == Self.hello)
                    await #expect(throws: DownloadError.self) { try await first.value }
                }
            }
        }
        #expect(provider.requests.count == 2)
    }

    @Test func `D15 user and password in a URL are sent to its origin alone`() async throws {
        try await withFaultServer(.ok("other")) { other in
            let response = Response.routes([
                "/a": .redirect(to: "/b"), "/b": .redirect(to: other.url("/c").absoluteString),
            ])
            try await withFaultServer(response) { server in
                let url = try server.url("/a").with(login: "us%40er:se%3Acret")
                let outcome = try await NetworkFixture.run(url)
                #expect(outcome.bytes == Array("other".utf8), "\(outcome.log)")
                #expect(!outcome.log.contains("cret"))
                #expect(
                    server.requests.map { $0["Authorization"] }
                        == Array(repeating: "Basic dXNAZXI6c2U6Y3JldA==", count: 2)
                )
                #expect(server.requests.map { $0["Host"] } == Array(repeating: "127.0.0.1:\(server.port)", count: 2))
                #expect(other.requests.map { $0["Authorization"] } == [nil])
            }
        }
    }

    @Test func `an Authorization field takes precedence over the URL and the provider`() async throws {
        let provider = Provider { _ in Self.good }
        try await withFaultServer(Self.guarded()) { server in
            let field = HeaderField(name: "authorization", value: "Basic other")
            let url = try server.url("/a").with(login: "user:good")
            let outcome = try await NetworkFixture.run(url, headers: [field]) { $0.credentials = provider.ask }
            #expect(outcome.error?.statusCode == 401)
            #expect(server.requests.map { $0.values(of: "Authorization") } == [["Basic other"]])
            #expect(provider.requests.isEmpty)
        }
    }

    @Test func `a netrc login is sent to its host, and the default login only after a 401`() async throws {
        let own = try Netrc(parsing: "machine 127.0.0.1 login user password good".utf8)
        try await withFaultServer(Self.guarded()) { server in
            let outcome = try await NetworkFixture.run(server.url("/a")) { $0.netrc = own }
            #expect(outcome.bytes == Self.hello)
            #expect(server.requests.count == 1)
        }
        let general = try Netrc(parsing: "machine other login x password y default login user password good".utf8)
        try await withFaultServer(Self.guarded()) { server in
            let outcome = try await NetworkFixture.run(server.url("/a")) { $0.netrc = general }
            #expect(outcome.bytes == Self.hello)
            #expect(server.requests.map { $0["Authorization"] } == [nil, Self.basic])
        }
        let wrong = try Netrc(parsing: "machine 127.0.0.1 login user password bad".utf8)
        let provider = Provider { _ in Self.good }
        try await withFaultServer(Self.guarded()) { server in
            let outcome = try await NetworkFixture.run(server.url("/a")) {
                $0.netrc = wrong
                $0.credentials = provider.ask
            }
            #expect(outcome.bytes == Self.hello)
            #expect(provider.requests.map { $0.refused != nil } == [true])
            #expect(server.requests.count == 2)
        }
    }

    @Test func `a login is tried before a new link is requested`() async throws {
        let links = Locked(0)
        try await withFaultServer(Self.guarded()) { server in
            try await withTemporaryDirectory { folder in
                let configuration = NetworkFixture.configuration { $0.credentials = { _ in Self.good } }
                try await withDownloadManager(configuration) { manager in
                    var request = DownloadRequest(server.url("/a"), to: .directory(folder))
                    request.linkProvider = .init {
                        links.withLock { $0 += 1 }
                        return .init(server.url("/b"))
                    }
                    _ = try await manager.download(request).value
                }
            }
            #expect(links.withLock { $0 } == 0)
            #expect(server.requests.map(\.path) == ["/a", "/a"])
        }
    }

    @Test func `all connections of a download send the login`() async throws {
        let file = Resource(size: 9 << 20, seed: 1, etag: "\"v1\"")
        try await withFaultServer(Self.guarded(Self.basic, "Basic realm=x", .file(file))) { server in
            try await withTemporaryDirectory { folder in
                let configuration = NetworkFixture.configuration {
                    $0.credentials = { _ in Self.good }
                    $0.maxConnectionsPerDownload = 4
                }
                try await withDownloadManager(configuration) { manager in
                    let url = server.url("/file.bin")
                    let result = try await manager.download(DownloadRequest(url, to: .directory(folder))).value
                    #expect(file.body.difference(fromFileAt: result) == nil)
                }
            }
            #expect(server.requests.dropFirst().allSatisfy { $0["Authorization"] == Self.basic })
        }
    }
}

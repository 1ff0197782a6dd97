import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Repeated requests with the same login, and with another one.
@Suite(.timeLimit(.minutes(4)), .enabled(if: RefetchFixture.keepsAttributes, "no extended attributes here"))
struct RequesterTests {
    private typealias Fixture = RefetchFixture

    /// A way to identify the requester.
    enum Login: CaseIterable {
        case url, netrc, netrcDefault, cookies, provider, tokenProvider, basicField, bearerField, cookieField, keyField

        func configure(_ user: String, _ configuration: inout DownloadConfiguration) throws {
            switch self {
            case .netrc:
                configuration.netrc = try Netrc(parsing: "machine 127.0.0.1 login \(user) password x".utf8)
            case .netrcDefault: configuration.netrc = try Netrc(parsing: "default login \(user) password x".utf8)
            case .cookies:
                let jar = CookieJar()
                try jar.add(netscapeFile: "127.0.0.1\tFALSE\t/\tFALSE\t0\tuser\t\(user)\n".utf8)
                configuration.cookies = jar
            case .provider: configuration.credentials = { _ in .login(user: user, password: "x") }
            case .tokenProvider: configuration.credentials = { _ in .bearer(token: user) }
            case .url, .basicField, .bearerField, .cookieField, .keyField: break
            }
        }

        func change(_ user: String, _ request: inout DownloadRequest) {
            let basic = Data("\(user):x".utf8).base64EncodedString()
            switch self {
            case .url:
                let text = request.url.absoluteString.replacing("http://", with: "http://\(user):x@")
                request.url = URL(string: text) ?? request.url
            case .basicField: request.headers = [HeaderField(name: "Authorization", value: "Basic \(basic)")]
            case .bearerField: request.headers = [HeaderField(name: "Authorization", value: "Bearer \(user)")]
            case .cookieField: request.headers = [HeaderField(name: "Cookie", value: "user=\(user)")]
            case .keyField: request.headers = [HeaderField(name: "X-Api-Key", value: user)]
            case .netrc, .netrcDefault, .cookies, .provider, .tokenProvider: break
            }
        }
    }

    /// A server that knows some users, and challenges all other requests.
    private static func guarded(_ files: [String: Response]) -> Response {
        .answering { request in
            let login = request["Authorization"]?.split(separator: " ").last.map { String($0) }
            let text = login.flatMap { Data(base64Encoded: $0) }.map { String(decoding: $0, as: UTF8.self) } ?? login
            let cookie = request["Cookie"]?.split(separator: "; ").first { $0.hasPrefix("user=") }
            let user = text?.split(separator: ":").first ?? cookie?.dropFirst(5) ?? request["X-Api-Key"].map { $0[...] }
            let challenge = Response.status(401, headers: ["WWW-Authenticate": "Basic realm=x, Bearer"])
            return user.flatMap { files[String($0)] } ?? challenge
        }
    }

    /// Downloads the file with a new manager.
    private func fetch(
        _ fixture: Fixture,
        _ login: Login,
        _ user: String,
        configure: (inout DownloadConfiguration) throws -> Void = { _ in },
        change: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> Fixture.Outcome {
        var configuration = DownloadConfiguration { $0.retryPolicy = .none }
        try login.configure(user, &configuration)
        try configure(&configuration)
        return try await withDownloadManager(configuration) { manager in
            var request = DownloadRequest(fixture.url, to: .directory(fixture.folder))
            login.change(user, &request)
            change(&request)
            return try await Fixture.outcome(of: try await manager.download(request))
        }
    }

    private func holds(_ resource: Resource, _ name: String, _ fixture: Fixture) -> Bool {
        resource.body.difference(fromFileAt: fixture.folder.appending(path: name)) == nil
    }

    @Test(arguments: Login.allCases, ["\"v1\"", "W/\"v1\"", nil])
    func `the same login downloads a file once`(_ login: Login, _ tag: String?) async throws {
        var resource = Fixture.old
        resource.etag = tag
        try await Fixture.run(Self.guarded(["ada": .file(resource)])) { fixture in
            #expect(try await fetch(fixture, login, "ada").isFinished)
            let second = try await fetch(fixture, login, "ada")
            #expect(second.isUnchanged, "\(second.events)")
            #expect(fixture.server.requests.last?.bodyBytesSent == 0)
            #expect(try fixture.names == ["file.bin"])
        }
    }

    /// In the second case, each user has another file with the same tag; in the third, there is no tag.
    @Test(arguments: Login.allCases, [("\"v1\"", "\"v2\""), ("\"v1\"", "\"v1\""), (nil, nil)] as [(String?, String?)])
    func `each login has its own file, which is recognized again`(
        _ login: Login,
        _ tags: (String?, String?)
    ) async throws {
        var (ada, bob) = (Fixture.old, Fixture.new)
        (ada.etag, bob.etag) = tags
        try await Fixture.run(Self.guarded(["ada": .file(ada), "bob": .file(bob)])) { fixture in
            #expect(try await fetch(fixture, login, "ada").isFinished)
            #expect(try await fetch(fixture, login, "bob").isFinished)
            for (user, name) in [("ada", "file.bin"), ("bob", "file (1).bin"), ("ada", "file.bin")] {
                let again = try await fetch(fixture, login, user)
                #expect(again.isUnchanged && again.file?.lastPathComponent == name, "\(again.events)")
            }
            #expect(holds(ada, "file.bin", fixture) && holds(bob, "file (1).bin", fixture))
            #expect(try fixture.names == ["file (1).bin", "file.bin"])
        }
    }

    @Test(arguments: [Login.netrc, .cookies, .bearerField])
    func `a file downloaded without a login is not reused for a login`(_ login: Login) async throws {
        let response = Response.answering {
            $0.fields.contains { ["Authorization", "Cookie"].contains($0.name) }
                ? .file(Resource(size: 5000, seed: 2)) : .file(Fixture.old)
        }
        try await Fixture.run(response) { fixture in
            _ = try await fixture.fetch { $0.refetchPolicy = .unlessCurrent }
            #expect(try await fetch(fixture, login, "ada").isFinished)
            #expect(try await fixture.fetch { $0.refetchPolicy = .unlessCurrent }.isUnchanged)
            #expect(holds(Fixture.old, "file.bin", fixture))
            #expect(try fixture.names == ["file (1).bin", "file.bin"])
        }
    }

    @Test func `a new password or a login for another host does not change the requester`() async throws {
        let logins = [
            "machine 127.0.0.1 login ada password one", "machine 127.0.0.1 login ada password two",
            "machine other login eve password x machine 127.0.0.1 login ada password two",
        ]
        try await Fixture.run(Self.guarded(["ada": .file(Fixture.old)])) { fixture in
            for (number, text) in logins.enumerated() {
                let outcome = try await fetch(
                    fixture,
                    .netrc,
                    "ada",
                    configure: {
                        $0.netrc = try Netrc(parsing: text.utf8)
                    }
                )
                #expect(number == 0 ? outcome.isFinished : outcome.isUnchanged)
            }
            #expect(try fixture.names == ["file.bin"])
        }
    }

    @Test func `a netrc file without a login for the host does not change the requester`() async throws {
        try await Fixture.run(.file(Fixture.old)) { fixture in
            _ = try await fixture.fetch { $0.refetchPolicy = .unlessCurrent }
            let second = try await fetch(
                fixture,
                .netrc,
                "ada",
                configure: {
                    $0.netrc = try Netrc(parsing: "machine other login ada password x".utf8)
                }
            )
            #expect(second.isUnchanged)
            #expect(try fixture.names == ["file.bin"])
        }
    }

    /// Each response sets a new session cookie, and the first cookie of the file expires between the runs.
    @Test func `cookies from servers and expired cookies do not change the requester`() async throws {
        let count = Locked(0)
        let response = Response.answering { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .file(Fixture.old).header("Set-Cookie", "session=\(number)")
        }
        let file = "127.0.0.1\tFALSE\t/\tFALSE\t100\told\t1\n127.0.0.1\tFALSE\t/\tFALSE\t0\tuser\tada\n"
        try await Fixture.run(response) { fixture in
            for run in 0..<2 {
                let jar = CookieJar(now: { run == 0 ? 50 : 150 })
                try jar.add(netscapeFile: file.utf8)
                try await withDownloadManager(DownloadConfiguration { $0.cookies = jar }) { manager in
                    // The second request also has the cookie that the first response set.
                    for path in ["/file.bin", "/other.bin"] {
                        let request = DownloadRequest(fixture.server.url(path), to: .directory(fixture.folder))
                        let outcome = try await Fixture.outcome(of: try await manager.download(request))
                        #expect(run == 0 ? outcome.isFinished : outcome.isUnchanged)
                    }
                }
            }
            #expect(fixture.server.requests.map { $0["Cookie"]?.contains("session=") } == [false, true, false, true])
            #expect(try fixture.names == ["file.bin", "other.bin"])
        }
    }

    /// The requester is identified by the login for the final host, not by the one for the requested host.
    @Test func `behind a redirect the login for the last host counts`() async throws {
        let (ada, bob) = (Fixture.old, Resource(size: 5000, seed: 2))
        try await withFaultServer(Self.guarded(["ada": .file(ada), "bob": .file(bob)])) { files in
            let target = files.url("/file.bin").absoluteString.replacing("127.0.0.1", with: "localhost")
            try await Fixture.run(.redirect(to: target)) { fixture in
                for (user, isNew) in [("ada", true), ("ada", false), ("bob", true), ("bob", false), ("ada", false)] {
                    let outcome = try await fetch(
                        fixture,
                        .netrc,
                        user,
                        configure: {
                            $0.netrc = try Netrc(parsing: "machine localhost login \(user) password x".utf8)
                        }
                    )
                    #expect(isNew ? outcome.isFinished : outcome.isUnchanged, "\(user): \(outcome.events)")
                }
                #expect(holds(ada, "file.bin", fixture) && holds(bob, "file (1).bin", fixture))
                #expect(try fixture.names == ["file (1).bin", "file.bin"])
            }
        }
    }

    /// The token may be a new one in each run: with `ifChanged`, the server's tag is trusted.
    @Test func `with ifChanged, a new token still recognizes the file`() async throws {
        try await Fixture.run(.file(Fixture.old)) { fixture in
            for (number, token) in ["one", "two"].enumerated() {
                let outcome = try await fetch(fixture, .bearerField, token, change: { $0.refetchPolicy = .ifChanged })
                #expect(number == 0 ? outcome.isFinished : outcome.isUnchanged)
            }
            #expect(try fixture.names == ["file.bin"])
        }
    }
}

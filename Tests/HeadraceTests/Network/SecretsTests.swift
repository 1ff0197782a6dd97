import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Cookies across redirects, and the absence of secrets from everything else.
@Suite(.timeLimit(.minutes(4)))
struct SecretsTests {
    @Test func `S09 cookies set by responses are sent on each hop they apply to`() async throws {
        let other = Response.ok("hello").header("Set-Cookie", "other=1")
        try await withFaultServer(other) { other in
            let routes: [String: Response] = [
                "/a": .redirect(to: "/b/c").header("Set-Cookie", "a=1; Path=/")
                    .header("Set-Cookie", "x=1; Domain=example.org"),
                "/b/c": .redirect(to: other.url("/d", host: "localhost").absoluteString).header("Set-Cookie", "c=1"),
                "/e": .ok("again"),
            ]
            try await withFaultServer(.routes(routes)) { server in
                try await withTemporaryDirectory { folder in
                    let jar = CookieJar()
                    let configuration = NetworkFixture.configuration { $0.cookies = jar }
                    try await withDownloadManager(configuration) { manager in
                        for path in ["/a", "/e"] {
                            let outcome = try await NetworkFixture.run(
                                server.url(path),
                                headers: [HeaderField(name: "Cookie", value: "own=1")],
                                in: manager,
                                folder
                            )
                            #expect(outcome.error == nil)
                        }
                    }
                    #expect(jar.count == 3)
                }
                #expect(server.requests.map { $0.values(of: "Cookie") } == [["own=1"], ["own=1; a=1"], ["own=1; a=1"]])
                #expect(other.requests.map { $0["Cookie"] } == [nil])
            }
        }
    }

    @Test func `S10 a reloaded queue stores no login, and its downloads request one`() async throws {
        let login = "Basic dTpoaWRkZW4="
        let response = Response.answering { request in
            guard request["Authorization"] == login else {
                return .status(401, headers: ["WWW-Authenticate": "Basic realm=x"])
            }
            let file = Response.file(ResumeFixture.old)
            return request["Range"] == nil ? file.truncated(after: ResumeFixture.cut) : file
        }
        try await withFaultServer(response) { server in
            try await withTemporaryDirectory { folder in
                let requested = Locked(0)
                let configuration = NetworkFixture.configuration {
                    $0.registryDirectory = folder.appending(path: "list", directoryHint: .isDirectory)
                    $0.maxConnectionsPerDownload = 1
                    $0.credentials = { _ in
                        requested.withLock { $0 += 1 }
                        return .login(user: "u", password: "hidden")
                    }
                }
                try await withDownloadManager(configuration) { manager in
                    let outcome = try await NetworkFixture.run(server.url("/file.bin"), in: manager, folder)
                    #expect(outcome.error?.code == .connectionLost, "\(outcome.log)")
                }
                try await withDownloadManager(configuration) { manager in
                    let download = try #require(await manager.downloads.first)
                    await download.resume()
                    let file = try await download.value
                    #expect(ResumeFixture.old.body.difference(fromFileAt: file) == nil)
                }
                #expect(requested.withLock { $0 } == 2)
                #expect(server.requests.map { $0["Authorization"] } == [nil, login, nil, login])
                #expect(server.requests.map { $0["Range"] != nil } == [false, false, true, true])
            }
        }
    }

    /// Each secret contains this word, in clear text or in base64.
    private static let secrets = ["hidden", "aGlkZGVu", "hpZGRlb", "oaWRkZW"]

    @Test func `S10 no secret is in an event, an error, a resume record or the registry`() async throws {
        let dialogue = ProxyDialogue(.http, login: "Basic cDpoaWRkZW4=")
        let response = Response.answering { request in
            if request.path == "/start" { return .redirect(to: "/file.bin").header("Set-Cookie", "s=hidden") }
            guard request["Authorization"] != nil else {
                return .status(401, headers: ["WWW-Authenticate": "Basic realm=x"])
            }
            return .file(ResumeFixture.old).truncated(after: ResumeFixture.cut)
        }
        try await withFaultServer(response) { server in
            try await withForwardProxy(dialogue) { proxy in
                try await withTemporaryDirectory { folder in
                    let files = folder.appending(path: "files")
                    try FileManager.default.createDirectory(at: files, withIntermediateDirectories: false)
                    let jar = CookieJar()
                    try jar.add(netscapeFile: "127.0.0.1\tFALSE\t/\tFALSE\t0\tf\thidden".utf8)
                    let configuration = NetworkFixture.configuration {
                        $0.proxy = .url(proxy.address("http", login: "p:hidden"))
                        $0.credentials = { _ in .login(user: "u", password: "hidden") }
                        $0.cookies = jar
                        $0.registryDirectory = folder.appending(path: "list", directoryHint: .isDirectory)
                    }
                    var log = ""
                    try await withDownloadManager(configuration) { manager in
                        let key = HeaderField(name: "X-Key", value: "hidden", isSecret: true)
                        for url in [server.url("/start"), try server.url("/start?2").with(login: "u:hidden")] {
                            let outcome = try await NetworkFixture.run(url, headers: [key], in: manager, files)
                            #expect(outcome.error?.code == .connectionLost, "\(outcome.log)")
                            log += outcome.log
                        }
                        log += "\(manager.environment.configuration)"
                        // All of them were sent.
                        let last = try #require(server.requests.last)
                        #expect(last["Authorization"] == "Basic dTpoaWRkZW4=" && last["X-Key"] == "hidden")
                        #expect(last["Cookie"] == "f=hidden; s=hidden")
                    }
                    var written = 0
                    let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
                    for name in names where !name.hasSuffix(".part") {
                        let file = folder.appending(path: name)
                        guard FileProbe.size(of: file) ?? 0 > 0, let bytes = try? FileProbe.bytes(of: file) else {
                            continue
                        }
                        written += 1
                        log += String(decoding: bytes, as: UTF8.self)
                    }
                    #expect(written >= 3, "\(names)")
                    for secret in Self.secrets { #expect(!log.contains(secret), "\(secret)") }
                }
            }
        }
    }
}

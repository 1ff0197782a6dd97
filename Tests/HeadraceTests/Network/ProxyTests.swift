import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Downloads through proxies.
@Suite(.timeLimit(.minutes(4)))
struct ProxyTests {
    private let hello = Array("hello".utf8)

    /// A host without an address, which only the proxy can resolve.
    private let host = "headrace.invalid"

    @Test func `a file is downloaded through an HTTP proxy that resolves the name`() async throws {
        let dialogue = ProxyDialogue(.http)
        try await withFaultServer(.ok("hello")) { server in
            try await withForwardProxy(dialogue) { proxy in
                let url = try server.url("/a?b").at(host: host)
                let outcome = try await NetworkFixture.run(url) { $0.proxy = .url(proxy.address("http")) }
                #expect(outcome.bytes == hello, "\(outcome.log)")
                #expect(dialogue.requests.map(\.line) == ["GET \(url.absoluteString) HTTP/1.1"])
                #expect(server.requests.map(\.target) == ["/a?b"])
                #expect(server.requests.first?["Host"] == "\(host):\(server.port)")
            }
        }
    }

    @Test func `a proxy login is sent to the proxy alone`() async throws {
        let dialogue = ProxyDialogue(.http, login: "Basic dXNlcjpzZTpjcmV0")
        try await withFaultServer(.ok("hello")) { server in
            try await withForwardProxy(dialogue) { proxy in
                let outcome = try await NetworkFixture.run(server.url("/a")) {
                    $0.proxy = .url(proxy.address("http", login: "user:se%3Acret"))
                }
                #expect(outcome.bytes == hello, "\(outcome.log)")
                #expect(!outcome.log.contains("cret"))
                #expect(server.requests.allSatisfy { $0["Proxy-Authorization"] == nil && $0["Authorization"] == nil })
            }
        }
    }

    @Test(arguments: [nil, "user:secret"], [false, true])
    func `D14 a proxy that requires another login is named with a remedy`(
        _ login: String?,
        _ isTunnel: Bool
    ) async throws {
        let dialogue = ProxyDialogue(.http, login: "Basic other")
        try await withFaultServer(.ok("hello")) { server in
            try await withForwardProxy(dialogue) { proxy in
                let url = try #require(URL(string: "\(isTunnel ? "https" : "http")://\(host):\(server.port)/a"))
                let outcome = try await NetworkFixture.run(url) {
                    $0.retryPolicy.maxFailures = 3
                    $0.proxy = .url(proxy.address("http", login: login))
                }
                #expect(outcome.error?.code == .proxy)
                #expect(outcome.error?.statusCode == 407)
                #expect(outcome.log.contains("\(proxy.address("http").absoluteString) "))
                #expect(outcome.log.contains(login == nil ? "requires a login" : "rejected the login"))
                #expect(!outcome.log.contains("secret"))
                #expect(dialogue.requests.count == 1)
                #expect(server.requests.isEmpty)
            }
        }
    }

    @Test(arguments: [(403, DownloadError.Code.proxy), (502, .connection)])
    func `the error for a refused tunnel names both ends`(
        _ status: Int,
        _ code: DownloadError.Code
    ) async throws {
        try await withForwardProxy(ProxyDialogue(.http, refusal: status)) { proxy in
            let url = try #require(URL(string: "https://\(host)/a"))
            let outcome = try await NetworkFixture.run(url) { $0.proxy = .url(proxy.address("http")) }
            #expect(outcome.error?.code == code)
            let message = try #require(outcome.error?.message)
            #expect(message.contains(proxy.address("http").absoluteString), "\(message)")
            #expect(message.contains("\(host):443") && message.contains("\(status)"), "\(message)")
        }
    }

    @Test func `an unreachable proxy is named in the error`() async throws {
        // Not that of a server that has ended, because another test's server may get it.
        let port = 1
        try await withFaultServer(.ok("hello")) { server in
            for scheme in ["http", "socks5h"] {
                let proxy = try #require(URL(string: "\(scheme)://user:secret@127.0.0.1:\(port)"))
                let outcome = try await NetworkFixture.run(server.url("/a")) { $0.proxy = .url(proxy) }
                #expect(outcome.error?.code == .connection)
                #expect(outcome.log.contains("the proxy \(scheme)://127.0.0.1:\(port)"), "\(outcome.log)")
                #expect(!outcome.log.contains("secret"))
            }
            let nowhere = try #require(URL(string: "http://headrace.invalid:1"))
            let outcome = try await NetworkFixture.run(server.url("/a")) { $0.proxy = .url(nowhere) }
            #expect(outcome.error?.code == .nameResolution)
            #expect(outcome.log.contains("The proxy http://headrace.invalid:1 could not be found"))
            #expect(server.requests.isEmpty)
        }
    }

    @Test(arguments: [nil, "user:secret"])
    func `a file is downloaded through a SOCKS proxy that resolves the name`(_ login: String?) async throws {
        let dialogue = ProxyDialogue(.socks5, login: login)
        try await withFaultServer(.ok("hello")) { server in
            try await withForwardProxy(dialogue) { proxy in
                let outcome = try await NetworkFixture.run(try server.url("/a").at(host: host)) {
                    $0.proxy = .url(proxy.address("socks5h", login: login))
                }
                #expect(outcome.bytes == hello, "\(outcome.log)")
                #expect(dialogue.requests.map(\.line) == ["SOCKS \(host):\(server.port)"])
                #expect(dialogue.requests.map(\.login) == [login])
                #expect(!outcome.log.contains("secret"))
            }
        }
    }

    @Test func `a SOCKS proxy that requires a login is a proxy error, and one that fails is retried`() async throws {
        try await withForwardProxy(ProxyDialogue(.socks5, login: "a:b")) { proxy in
            for login in [nil, "user:secret"] {
                let url = try #require(URL(string: "http://\(host)/a"))
                let outcome = try await NetworkFixture.run(url) {
                    $0.proxy = .url(proxy.address("socks5h", login: login))
                }
                #expect(outcome.error?.code == .proxy, "\(outcome.log)")
                #expect(!outcome.log.contains("secret"))
            }
        }
        let dialogue = ProxyDialogue(.socks5, refusal: 5)
        try await withForwardProxy(dialogue) { proxy in
            let url = try #require(URL(string: "http://\(host)/a"))
            let outcome = try await NetworkFixture.run(url) {
                $0.retryPolicy.maxFailures = 1
                $0.retryPolicy.baseDelay = .zero
                $0.proxy = .url(proxy.address("socks5h"))
            }
            #expect(outcome.error?.code == .connection, "\(outcome.log)")
            #expect(dialogue.requests.count == 2)
        }
    }

    @Test(.enabled(if: FaultProxy.speaksTLS, "libssl could not be loaded"), arguments: ["http", "https", "socks5"])
    func `https uses a tunnel, and the server and the proxy have separate logins`(_ scheme: String) async throws {
        let login = scheme == "socks5" ? "user:secret" : "Basic dXNlcjpzZWNyZXQ="
        let dialogue = ProxyDialogue(scheme == "socks5" ? .socks5 : .http, login: login)
        try await withTemporaryDirectory { folder in
            let authority = try TestCertificate.writeAuthority(in: folder)
            try await withFaultServer(.ok("hello")) { server in
                try await withFaultProxy(to: server, presenting: .trusted) { secure in
                    try await withForwardProxy(dialogue, presenting: scheme == "https" ? .trusted : nil) { proxy in
                        let token = HeaderField(name: "Authorization", value: "Bearer t")
                        let outcome = try await NetworkFixture.run(secure.url("/a"), headers: [token]) {
                            $0.certificateAuthorities = authority
                            $0.proxy = .url(proxy.address(scheme, login: "user:secret"))
                        }
                        #expect(outcome.bytes == hello, "\(outcome.log)")
                        #expect(dialogue.requests.map(\.login) == [login])
                        #expect(dialogue.requests.allSatisfy { !$0.fields.contains { $0.contains("Bearer") } })
                        #expect(server.requests.map { $0["Authorization"] } == ["Bearer t"])
                        #expect(server.requests.map { $0["Proxy-Authorization"] } == [nil])
                    }
                }
            }
        }
    }

    @Test(.enabled(if: FaultProxy.speaksTLS, "libssl could not be loaded"), arguments: [true, false])
    func `an HTTPS proxy receives nothing before its certificate is verified`(_ isTrusted: Bool) async throws {
        let dialogue = ProxyDialogue(.http, login: "Basic dXNlcjpzZWNyZXQ=")
        try await withTemporaryDirectory { folder in
            let authority = try TestCertificate.writeAuthority(in: folder)
            try await withFaultServer(.ok("hello")) { server in
                try await withForwardProxy(dialogue, presenting: .trusted) { proxy in
                    let outcome = try await NetworkFixture.run(server.url("/a")) {
                        if isTrusted { $0.certificateAuthorities = authority }
                        $0.proxy = .url(proxy.address("https", login: "user:secret"))
                    }
                    #expect(outcome.bytes == (isTrusted ? hello : nil), "\(outcome.log)")
                    #expect(outcome.error?.code == (isTrusted ? nil : .tls), "\(outcome.log)")
                    #expect(dialogue.requests.count == (isTrusted ? 1 : 0))
                    #expect(!outcome.log.contains("secret"))
                }
            }
        }
    }

    /// Runs in a process of its own, because it changes the environment.
    @Test func `libcurl's own proxy variables have no effect`() async {
        await #expect(processExitsWith: .success) {
            try await withFaultServer(.ok("proxy")) { proxy in
                try await withFaultServer(.ok("hello")) { server in
                    for name in ["http_proxy", "all_proxy", "ALL_PROXY"] {
                        setenv(name, "http://127.0.0.1:\(proxy.port)", 1)
                    }
                    setenv("no_proxy", "127.0.0.0/8", 1)
                    let direct = try await NetworkFixture.run(server.url("/a")) { $0.proxy = .environment }
                    #expect(direct.bytes == Array("hello".utf8))
                    let none = try await NetworkFixture.run(server.url("/a")) { $0.proxy = .none }
                    #expect(none.bytes == Array("hello".utf8))
                    setenv("no_proxy", "*", 1)
                    let given = try await NetworkFixture.run(server.url("/a")) { $0.proxy = .url(proxy.url("/")) }
                    #expect(given.bytes == Array("proxy".utf8))
                }
            }
        }
    }

    @Test(.enabled(if: FaultServer.hasIPv6, "this machine has no ::1"))
    func `a URL with an IPv6 address is connected to`() async throws {
        try await withFaultServer(.ok("hello"), onIPv6: true) { server in
            let url = server.url("/a", host: "[::1]")
            let outcome = try await NetworkFixture.run(url)
            #expect(outcome.bytes == hello, "\(outcome.log)")
            #expect(server.requests.map { $0["Host"] } == ["[::1]:\(server.port)"])
        }
    }
}

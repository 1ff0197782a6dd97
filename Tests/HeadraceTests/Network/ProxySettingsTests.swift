import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The choice of a proxy for a URL.
@Suite(.timeLimit(.minutes(4)))
struct ProxySettingsTests {
    private func proxy(_ environment: [String: String], for url: String) throws -> String? {
        try ProxySettings(environment: environment).proxy(for: try #require(URL(string: url)))?.address
    }

    @Test(
        arguments: [
            (["http_proxy": "http://p:3128"], "http://a/", "http://p:3128"),
            (["http_proxy": "http://p:3128"], "https://a/", nil),
            (["http_proxy": "p"], "http://a/", "http://p:80"),
            (["http_proxy": "p:81/"], "HTTP://a/", "http://p:81"),
            (["HTTP_PROXY": "http://p:3128"], "http://a/", nil),
            (["HTTPS_PROXY": "https://p"], "https://a/", "https://p:443"),
            (["https_proxy": "http://p:1", "HTTPS_PROXY": "http://p:2"], "https://a/", "http://p:1"),
            (["ALL_PROXY": "socks5h://p"], "http://a/", "socks5h://p:1080"),
            (["all_proxy": "socks5://[::1]:9"], "https://a/", "socks5://[::1]:9"),
            (["all_proxy": "p:1", "http_proxy": "p:2"], "http://a/", "http://p:2"),
            (["all_proxy": "p:1", "http_proxy": ""], "http://a/", "http://p:1"),
            (["http_proxy": "p:1", "no_proxy": "a"], "http://a/", nil),
            (["http_proxy": "p:1", "NO_PROXY": "a"], "http://a/", nil),
            (["http_proxy": "p:1", "no_proxy": "b", "NO_PROXY": "a"], "http://a/", "http://p:1"),
            ([:], "http://a/", nil),
        ] as [([String: String], String, String?)]
    )
    func `the environment variables determine the proxy of a URL`(
        _ environment: [String: String],
        _ url: String,
        _ address: String?
    ) throws {
        #expect(try proxy(environment, for: url) == address)
    }

    @Test(arguments: [
        ("*", "http://a.example/", true),
        ("a.example", "http://a.example/", true),
        ("a.example", "http://b.a.example/", true),
        ("a.example", "http://ba.example/", false),
        ("a.example", "http://a.example.org/", false),
        (".a.example", "http://b.a.example/", true),
        (".a.example", "http://a.example/", true),
        ("*.a.example", "http://b.a.example/", true),
        ("A.Example.", "http://a.eXample/", true),
        ("a.example", "http://a.example./", true),
        ("x, a.example y", "http://a.example/", true), ("x\na.example", "http://a.example/", true),
        ("a.example:80", "http://a.example/", true),
        ("a.example:443", "https://a.example/", true),
        ("a.example:8080", "http://a.example/", false),
        ("a.example:8080", "http://a.example:8080/", true),
        ("a.example:many", "http://a.example/", false),
        ("localhost,127.0.0.1", "http://127.0.0.1:8080/", true),
        ("127.0.0.1:81", "http://127.0.0.1:80/", false),
        ("0.0.1", "http://127.0.0.1/", false),
        ("::1", "http://[::1]/", true),
        ("[::1]", "http://[0:0:0::1]/", true),
        ("[::1]:81", "http://[::1]:81/", true),
        ("[::1]:81", "http://[::1]:80/", false),
        ("10.0.0.0/8", "http://10.1.2.3/", true),
        ("10.0.0.0/8", "http://11.1.2.3/", false),
        ("10.0.0.0/33", "http://10.0.0.0/", false),
        ("192.168.4.0/22", "http://192.168.7.255/", true),
        ("fd00::/8", "http://[fd12::1]/", true),
        ("fd00::/8", "http://fd12.example/", false),
        (",, ,", "http://a.example/", false),
        ("", "http://a.example/", false),
    ])
    func `excluded hosts have no proxy`(_ list: String, _ url: String, _ isExcepted: Bool) throws {
        let address = try proxy(["all_proxy": "http://p:1", "no_proxy": list], for: url)
        #expect((address == nil) == isExcepted)
    }

    @Test(arguments: [
        "ftp://p:1", "http://", "http://p:0", "http://p:70000", "http://p/path", "http://p?x", "socks4://p",
        "http://a b",
        "socks5://u%00:secret@p",
    ])
    func `an invalid proxy is rejected without showing its password`(_ text: String) {
        let text = text.replacing("://p", with: "://user:secret@p")
        let error = #expect(throws: DownloadError.self) { try ProxySettings(environment: ["all_proxy": text]) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("all_proxy") == true)
        #expect(error?.message.contains("secret") == false)
    }

    @Test(arguments: [
        "http://us:sec/ret@p:1", "http://us:sec?ret@p:1", "http://us:sec#ret@p", "http//us:secret@p:1",
        "http:/us:secret@p",
    ])
    func `a password is not shown even if its end is ambiguous`(_ text: String) {
        let error = #expect(throws: DownloadError.self) { try ProxySettings(environment: ["all_proxy": text]) }
        #expect(error?.message.contains("p\"") == true || error?.message.contains("p:1\"") == true)
        #expect(error?.message.contains("sec") == false)
    }

    @Test func `the login of a proxy is parsed and never shown`() throws {
        let server = try ProxyServer(parsing: "http://us%40er:se%3Acret@p:3128")
        #expect(server.user == "us@er" && server.password == "se:cret")
        #expect(server.address == "http://p:3128")
        let configuration = DownloadConfiguration {
            $0.proxy = .url(URL(filePath: "/"), except: ["x"])
            if let url = URL(string: "http://user:secret@p:1") { $0.proxy = .url(url) }
        }
        var shown = "\(server) \(String(reflecting: server)) \(configuration)"
        dump(server, to: &shown)
        dump(configuration, to: &shown)
        #expect(shown.contains("p:1"))
        #expect(!shown.contains("cret"))
    }

    @Test func `a configured proxy applies to both schemes except for its exclusions`() throws {
        let url = try #require(URL(string: "http://u:p@p:1"))
        let configuration = DownloadConfiguration { $0.proxy = .url(url, except: ["b.example"]) }
        let settings = try ProxySettings(configuration, environment: ["http_proxy": "http://other:1", "no_proxy": "*"])
        func address(_ text: String) throws -> String? {
            settings.proxy(for: try #require(URL(string: text)))?.address
        }
        #expect(try address("http://a/") == "http://p:1")
        #expect(try address("https://a/") == "http://p:1")
        #expect(try address("https://x.b.example/") == nil)
    }

    @Test func `an address filter disables environment proxies and rejects a configured one`() throws {
        var configuration = DownloadConfiguration { $0.allowsAddress = { _ in true } }
        let a = try #require(URL(string: "http://a/"))
        #expect(try ProxySettings(configuration, environment: ["http_proxy": "p"]).proxy(for: a) == nil)
        try configuration.validate()
        configuration.proxy = .url(a)
        let error = #expect(throws: DownloadError.self) { try configuration.validate() }
        #expect(error?.code == .invalidRequest)
    }

    @Test func `D11 requiresPublicAddress ignores environment proxies and rejects a configured one`() async throws {
        let url = try #require(URL(string: "http://a/"))
        let socket = URL(filePath: "/socket")
        for (change, sentCount) in [
            ({ _ in }, 1), ({ $0.proxy = .url(url) }, 0), ({ $0.connectionPolicy.unixSocket = socket }, 0),
        ] as [((inout DownloadConfiguration) -> Void, Int)] {
            var configuration = DownloadConfiguration()
            change(&configuration)
            let base = FakeTransport { _ in FakeTransport.Reply() }
            let transport = try SessionTransport(base, configuration, environment: ["http_proxy": "p"])
            var request = TransportRequest(url: url)
            request.requiresPublicAddress = true
            do {
                try await transport.perform(request) { _, _ in }
            } catch let error as DownloadError {
                #expect(error.code == .invalidRequest)
                #expect(error.message.contains("requiresPublicAddress"))
            }
            #expect(base.requests.count == sentCount)
            #expect(base.requests.allSatisfy { $0.proxy == nil })
        }
    }
}

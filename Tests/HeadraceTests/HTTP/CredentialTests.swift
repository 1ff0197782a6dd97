import HeadracePlatform
import Testing

@testable import Headrace

/// Secrets are never shown, and are sent only to their origin.
@Suite(.timeLimit(.minutes(4)))
struct CredentialTests {
    @Test(arguments: [
        ("http://user:secret@a.example:81/b?c#d", "http://a.example:81/b?c#d"),
        ("https://secret@a.example/", "https://a.example/"),
        ("http://user:secret@secret@a.example/", "http://a.example/"),
        ("http://user:secret@[::1]:8080/a@b?c@d#e@f", "http://[::1]:8080/a@b?c@d#e@f"),
        ("http://user:secret@a.example?b@c", "http://a.example?b@c"),
        ("ftp://user:secret@a.example/", "ftp://a.example/"),
        ("http://a.example/b@c", "http://a.example/b@c"),
        ("http://a.example//b@c", "http://a.example//b@c"),
        ("mailto:b@a.example", "mailto:b@a.example"),
        ("/b//c@d", "/b//d"),
    ])
    func `D15 a URL is shown without user and password`(_ text: String, _ shown: String) {
        #expect(text.withoutUserInfo == shown)
        if let url = URL(string: text) { #expect(url.withoutCredentials.absoluteString == shown) }
    }

    /// The password is removed even if the URL cannot be parsed.
    @Test(arguments: [
        "http://user:secret@ b/", "http://user:secret@[", "http://u:se\u{301}cret@\u{301}h:x/", "//u:secret@",
    ])
    func `D15 an invalid URL is shown without a password too`(_ text: String) {
        #expect(!text.withoutUserInfo.contains("cret"))
    }

    @Test func `S10 the value of a secret field is never shown`() throws {
        for field in [
            HeaderField(name: "X-Api-Key", value: "hidden", isSecret: true),
            HeaderField(name: "authorization", value: "Bearer hidden"), HeaderField(name: "Cookie", value: "a=hidden"),
        ] {
            let request = DownloadRequest(
                try #require(URL(string: "http://a.example/")),
                to: .directory(URL(filePath: "/")),
                headers: [field]
            )
            var shown = "\(field) \(String(reflecting: field)) \(request) \(String(reflecting: request))"
            dump(field, to: &shown)
            dump(request, to: &shown)
            #expect(shown.contains(field.name))
            #expect(!shown.contains("hidden"))
        }
        #expect("\(HeaderField(name: "Accept", value: "*/*"))" == "Accept: */*")
    }

    @Test func `S10 the password of a URL is not shown in a request or a download snapshot`() throws {
        var request = DownloadRequest(
            try #require(URL(string: "http://user:hidden@a.example/x")),
            to: .directory(URL(filePath: "/folder"))
        )
        request.mirrors = [try #require(URL(string: "http://user:hidden@b.example/x"))]
        request.title = "Film"
        let snapshot = DownloadSnapshot(id: Download.ID(rawValue: 1), request: request, state: .waiting)
        var shown = "\(request) \(String(reflecting: request)) \(snapshot) \(String(reflecting: snapshot))"
        dump(request, to: &shown)
        dump(snapshot, to: &shown)
        for part in ["a.example/x", "b.example/x", "Film", "/folder"] { #expect(shown.contains(part)) }
        #expect(!shown.contains("hidden"))
    }

    @Test(arguments: [
        ("X-Api-Key", true), ("Api-Key", true), ("apikey", true), ("X-ApiKey", true), ("X-Auth-Token", true),
        ("PRIVATE-TOKEN", true), ("Job-Token", true), ("X-Amz-Security-Token", true), ("X_Access_Token", true),
        ("X-Vault-Token", true), ("X-Goog-Api-Key", true), ("Ocp-Apim-Subscription-Key", true),
        ("X-JFrog-Art-Api", true),
        ("Proxy-Authorization", true), ("X-Forwarded-Authorization", true), ("CF-Access-Client-Secret", true),
        ("X-Amz-Server-Side-Encryption-Customer-Key", true), ("Cookie", true), ("cookie2", false),
        ("X-Auth-User", false),
        ("User-Agent", false), ("Accept", false), ("Referer", false), ("X-Monkey", false), ("Idempotency-Key", false),
        ("X-Api-Version", false), ("X-Request-Id", false), ("Key-Frame", false), ("-", false),
    ])
    func `a field is a credential if its name says so`(_ name: String, _ isCredential: Bool) throws {
        let field = HeaderField(name: name, value: "v")
        #expect(field.isCredential == isCredential)
        let first = try #require(URL(string: "https://a.example/x"))
        let other = try #require(URL(string: "https://b.example/x"))
        let request = DownloadRequest(first, to: .directory(URL(filePath: "/")), headers: [field])
        var chain = RedirectChain(request, at: first, DownloadConfiguration())
        try chain.follow(other)
        let isSent = chain.request(with: []).fields.contains(field)
        #expect(isSent == (name == "Referer" ? false : !isCredential))
    }

    @Test(
        arguments: [
            ("http://@h.example/", nil), ("http://:@h.example/", nil), ("http://u@h.example/", "Basic dTo="),
            ("http://:p@h.example/", "Basic OnA="),
        ] as [(String, String?)]
    )
    func `an empty login in a redirect is not sent`(_ location: String, _ value: String?) throws {
        let first = try #require(URL(string: "http://a.example/"))
        var chain = RedirectChain(
            DownloadRequest(first, to: .directory(URL(filePath: "/"))),
            at: first,
            DownloadConfiguration()
        )
        try chain.follow(try #require(URL(string: location)))
        #expect(chain.request(with: []).fields.first?.value == value)
    }

    /// Regression: libcurl removes them, so that a response to a Digest challenge was for another path.
    @Test func `dot segments are removed before a path is signed or compared with that of a cookie`() throws {
        let first = try #require(URL(string: "http://a.example/b/../c%2F/./d/.e/..?f=/../g"))
        let request = DownloadRequest(first, to: .directory(URL(filePath: "/")))
        var chain = RedirectChain(request, at: first, DownloadConfiguration())
        #expect(chain.url.target == "/c%2F/d/?f=/../g")
        try chain.follow(try #require(URL(string: "http://b.example/../x/%2e%2e/y")))
        #expect(chain.url.target == "/x/%2e%2e/y")
    }

    @Test func `a URL that another server has chosen is marked for the credential provider`() throws {
        let texts = ["http://a.example/", "https://a.example/", "https://b.example/", "http://a.example/x"]
        let urls = try texts.map { try #require(URL(string: $0)) }
        let request = DownloadRequest(urls[0], to: .directory(URL(filePath: "/")))
        var chain = RedirectChain(request, at: urls[0], DownloadConfiguration())
        var isRedirected: [Bool] = []
        for url in urls.dropFirst() {
            try chain.follow(url)
            isRedirected.append(chain.request(with: []).isRedirected)
        }
        #expect(isRedirected == [false, true, true])
        for isAdvertised in [false, true] {
            let chain = RedirectChain(request, at: urls[2], isAdvertised: isAdvertised, DownloadConfiguration())
            #expect(chain.request(with: []).isRedirected == isAdvertised)
        }
    }

    @Test func `D06 D08 a secret field stays with its origin and is not sent again after a redirect back`() throws {
        let first = try #require(URL(string: "https://a.example/x"))
        let request = DownloadRequest(
            first,
            to: .directory(URL(filePath: "/")),
            headers: [HeaderField(name: "X-Mine", value: "k", isSecret: true), HeaderField(name: "X", value: "1")]
        )
        var chain = RedirectChain(request, at: first, DownloadConfiguration())
        func names() -> [String] { chain.request(with: []).fields.map(\.name) }
        #expect(names() == ["X-Mine", "X"])
        try chain.follow(try #require(URL(string: "https://a.example:443/y")))
        #expect(names() == ["X-Mine", "X"])
        try chain.follow(try #require(URL(string: "https://a.example:8443/y")))
        #expect(names() == ["X"])
        try chain.follow(first)
        #expect(names() == ["X"])
        let mirror = try #require(URL(string: "https://b.example/x"))
        chain = RedirectChain(request, at: mirror, DownloadConfiguration())
        #expect(names() == ["X"])
        // An advertised mirror is not trusted with the caller's fields.
        chain = RedirectChain(request, at: mirror, isAdvertised: true, DownloadConfiguration())
        #expect(names() == [])
        chain = RedirectChain(request, at: first, isAdvertised: true, DownloadConfiguration())
        #expect(names() == ["X-Mine", "X"])
    }
}

import HeadracePlatform
import Testing

@testable import Headrace

/// The cookies that are accepted, and the URLs they are sent to.
@Suite(.timeLimit(.minutes(4)))
struct CookieTests {
    private static let now: Int64 = 784_111_777

    private func place(_ url: String) throws -> CookieScope {
        let url = try #require(URL(string: url))
        return try #require(CookieScope(url))
    }

    /// The `Cookie` field for `url` after `setter` has set cookies.
    private func field(_ fields: [String], by setter: String, for url: String, later: Int64 = 0) throws -> String? {
        var store = CookieStore()
        store.store(fields, from: try place(setter), at: Self.now)
        return store.field(for: try place(url), at: Self.now + later)
    }

    @Test(
        arguments: [
            // The host, and its subdomains if a domain is given.
            ("a=b", "http://h.example/", "http://h.example/x", "a=b"),
            ("a=b", "http://h.example/", "http://H.example:81/x", "a=b"),
            ("a=b", "http://h.example/", "http://x.h.example/", nil),
            ("a=b; Domain=h.example", "http://h.example/", "http://x.h.example/", "a=b"),
            ("a=b; domain=.Example.org", "http://h.example.org/", "http://x.example.org/", "a=b"),
            ("a=b; Domain=example.org", "http://h.example.org/", "http://badexample.org/", nil),
            ("a=b; Domain=other.example", "http://h.example/", "http://other.example/", nil),
            ("a=b; Domain=x.h.example", "http://h.example/", "http://x.h.example/", nil),
            ("a=b; Domain=example", "http://h.example/", "http://h.example/", nil),
            ("a=b; Domain=org.", "http://h.org./", "http://x.org./", nil),
            ("a=b; Domain=localhost", "http://localhost/", "http://localhost/", "a=b"),
            ("a=b; Domain=localhost", "http://localhost/", "http://x.localhost/", nil),
            ("a=b; Domain=", "http://h.example/", "http://x.h.example/", nil),
            ("a=b; Domain=0.0.1", "http://127.0.0.1/", "http://127.0.0.1/", nil),
            ("a=b; Domain=127.0.0.1", "http://127.0.0.1/", "http://127.0.0.1/", "a=b"),
            // The path.
            ("a=b", "http://h.example/x/y", "http://h.example/x/z", "a=b"),
            ("a=b", "http://h.example/x/y", "http://h.example/x", "a=b"),
            ("a=b", "http://h.example/x/y", "http://h.example/xy", nil),
            ("a=b; Path=/x", "http://h.example/", "http://h.example/x", "a=b"),
            ("a=b; Path=/x", "http://h.example/", "http://h.example/x/y", "a=b"),
            ("a=b; Path=/x/", "http://h.example/", "http://h.example/x", nil),
            ("a=b; Path=x", "http://h.example/y/z", "http://h.example/y/", "a=b"),
            // TLS.
            ("a=b; Secure", "https://h.example/", "https://h.example/", "a=b"),
            ("a=b; Secure", "https://h.example/", "http://h.example/", nil),
            ("a=b; Secure", "http://h.example/", "https://h.example/", nil),
            ("a=b", "https://h.example/", "http://h.example/", "a=b"),
            // Name prefixes that restrict who may set a cookie.
            ("__Secure-a=b; Secure", "https://h.example/", "https://h.example/", "__Secure-a=b"),
            ("__secure-a=b", "https://h.example/", "https://h.example/", nil),
            ("__Secure-a=b", "http://h.example/", "http://h.example/", nil),
            ("__Host-a=b; Secure; Path=/", "https://h.example/x/y", "https://h.example/", "__Host-a=b"),
            ("__Host-a=b; Secure", "https://h.example/x/y", "https://h.example/x/", nil),
            ("__Host-a=b; Secure; Path=/; Domain=h.example", "https://h.example/", "https://h.example/", nil),
            ("__Host-a=b; Path=/", "https://h.example/", "https://h.example/", nil),
            // The text.
            (" a = b c ; HttpOnly; x", "http://h.example/", "http://h.example/", "a=b c"),
            ("a=\"b\"", "http://h.example/", "http://h.example/", "a=\"b\""),
            ("a=b;\u{320}c; Secure", "http://h.example/", "https://h.example/", nil),
            ("a=b;\u{320}c", "http://h.example/", "http://h.example/", "a=b"),
            ("a=b=c", "http://h.example/", "http://h.example/", "a=b=c"),
            ("a=", "http://h.example/", "http://h.example/", "a="),
            ("=b", "http://h.example/", "http://h.example/", nil),
            ("a", "http://h.example/", "http://h.example/", nil),
            ("a=b\u{1}", "http://h.example/", "http://h.example/", nil),
            // The expiry; `Max-Age` takes precedence over `Expires`.
            ("a=b; Max-Age=0", "http://h.example/", "http://h.example/", nil),
            ("a=b; Max-Age=-5", "http://h.example/", "http://h.example/", nil),
            ("a=b; Max-Age=x", "http://h.example/", "http://h.example/", "a=b"),
            ("a=b; Max-Age=99999999999999999999", "http://h.example/", "http://h.example/", "a=b"),
            ("a=b; Expires=Sun, 06 Nov 1994 08:49:36 GMT", "http://h.example/", "http://h.example/", nil),
            ("a=b; Expires=Sun, 06 Nov 1994 08:49:38 GMT", "http://h.example/", "http://h.example/", "a=b"),
            ("a=b; Max-Age=5; Expires=Sun, 06 Nov 1970 08:49:38 GMT", "http://h.example/", "http://h.example/", "a=b"),
            ("a=b; Expires=never", "http://h.example/", "http://h.example/", "a=b"),
        ] as [(String, String, String, String?)]
    )
    func `S09 a cookie is sent only to the URLs it applies to`(
        _ text: String,
        _ setter: String,
        _ url: String,
        _ expected: String?
    ) throws {
        #expect(try field([text], by: setter, for: url) == expected)
    }

    @Test func `a cookie expires`() throws {
        let url = "http://h.example/"
        #expect(try field(["a=b; Max-Age=10"], by: url, for: url, later: 9) == "a=b")
        #expect(try field(["a=b; Max-Age=10"], by: url, for: url, later: 10) == nil)
        #expect(try field(["a=b", "a=c; Max-Age=0"], by: url, for: url) == nil)
        #expect(try field(["a=b", "c=d", "a=e"], by: url, for: url) == "a=e; c=d")
    }

    @Test func `cookies of longer paths come first, then older ones`() throws {
        let fields = ["a=1", "b=2; Path=/x/y", "c=3; Path=/x", "d=4"]
        #expect(try field(fields, by: "http://h.example/", for: "http://h.example/x/y") == "b=2; c=3; a=1; d=4")
    }

    @Test(arguments: ["a=c", "a=c; Domain=example.org", "a=c; Path=/x/y"])
    func `http neither changes nor hides a cookie set over https`(_ text: String) throws {
        var store = CookieStore()
        store.store(["a=b; Secure; Path=/x"], from: try place("https://h.example.org/"), at: Self.now)
        store.store([text], from: try place("http://h.example.org/x/y"), at: Self.now)
        #expect(store.field(for: try place("https://h.example.org/x/y/z"), at: Self.now) == "a=b")
        store.store(["a=c; Path=/"], from: try place("http://h.example.org/"), at: Self.now)
        #expect(store.field(for: try place("https://h.example.org/x/y"), at: Self.now) == "a=b; a=c")
    }

    @Test func `an expired cookie is removed, and does not protect its name from http`() throws {
        var store = CookieStore()
        store.store(["a=b; Secure; Max-Age=10"], from: try place("https://h.example/"), at: Self.now)
        store.store(["a=c"], from: try place("http://h.example/"), at: Self.now + 10)
        #expect(store.field(for: try place("http://h.example/"), at: Self.now + 10) == "a=c")
        #expect(store.count == 1)
    }

    @Test func `http does not evict cookies set over https`() throws {
        var store = CookieStore()
        store.store(["a=b; Secure"], from: try place("https://h.example/"), at: Self.now)
        store.store((0..<190).map { "c\($0)=x" }, from: try place("http://h.example/"), at: Self.now)
        #expect(store.field(for: try place("https://h.example/"), at: Self.now)?.hasPrefix("a=b; c11=x; ") == true)
    }

    @Test func `cookies of the user are neither evicted nor counted`() throws {
        let scope = try place("http://h.example/")
        var store = CookieStore()
        let count = CookieStore.maxCount + 10
        for cookie in try CookieFile.cookies(
            parsing: (0..<count).map { "h.example\tFALSE\t/\tFALSE\t0\tu\($0)\tx\n" }.joined().utf8
        ) {
            store.insert(cookie, at: Self.now)
        }
        store.store(["u0=y", "s=x"], from: scope, at: Self.now)
        #expect(store.count == count + 1)
        #expect(store.field(for: scope, at: Self.now)?.hasPrefix("u0=y; u1=x; ") == true)
        #expect(store.field(for: scope, at: Self.now)?.hasSuffix("; s=x") == true)
        store.store((0..<190).map { "c\($0)=x" }, from: scope, at: Self.now)
        #expect(store.count == count + CookieStore.maxPerDomain)
    }

    @Test func `the number and the size of cookies are limited`() throws {
        var store = CookieStore()
        for host in 0..<17 {
            let place = try place("http://h\(host).example/")
            store.store((0..<190).map { "c\($0)=x" }, from: place, at: Self.now)
            #expect(store.field(for: place, at: Self.now)?.hasPrefix("c10=x; ") == true)
        }
        #expect(store.count == CookieStore.maxCount)
        let long = String(repeating: "x", count: Cookie.maxBytes)
        #expect(try field(["a=\(long)"], by: "http://h.example/", for: "http://h.example/") == nil)
    }

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("6 nov 1994 8:49:37", 784_111_777),
            ("1994 November 06 08:49:37 x", 784_111_777), ("06 Nov 69 00:00:00", 3_150_921_600),
            ("31 Feb 2020 00:00:00", nil), ("06 Nov 1600 00:00:00", nil), ("06 Nov 1994 24:00:00", nil),
            ("06 Nov 1994", nil), ("Nov 1994 00:00:00", nil), ("00 Nov 1994 00:00:00", nil), ("", nil), ("0", nil),
            ("99999999999999999999 Nov 1994 00:00:00", nil), ("25:00:00 06 Nov 1994 08:49:37", nil),
            ("08:60:00 06 Nov 1994 08:49:37", nil), ("08:00:60 06 Nov 1994 08:49:37", nil),
            ("06 Nov 1994 08:49:37:x", 784_111_777), ("8x:00:00 Nov 1994 08:49:37", 784_284_577),
        ] as [(String, Int64?)]
    )
    func `a date is parsed in all forms that cookies use`(_ text: String, _ seconds: Int64?) {
        #expect(CookieDate.seconds(parsing: text) == seconds)
    }

    @Test func `a cookie file is read`() throws {
        let text = """
            # Netscape HTTP Cookie File
            .example.org\tTRUE\t/\tFALSE\t0\ta\tb
            h.example.org\tFALSE\t/x\tTRUE\t784111778\tc\td e\r
            #HttpOnly_h.example.org\tFALSE\t/\tFALSE\t784111777.5\told\tgone

            h.example.org\tFALSE\t/\tFALSE\t-1\tempty
            """
        let jar = CookieJar { Self.now }
        try jar.add(netscapeFile: text.utf8)
        #expect(jar.count == 3)
        func sent(_ url: String, _ fields: [HeaderField] = []) throws -> [String] {
            var request = TransportRequest(url: try #require(URL(string: url)), fields: fields)
            jar.add(to: &request)
            return request.fields.map(\.description) + request.fields.map(\.value)
        }
        #expect(try sent("http://h.example.org/x") == ["Cookie: (not shown)", "a=b; empty="])
        #expect(try sent("https://h.example.org/x").last == "c=d e; a=b; empty=")
        #expect(try sent("http://example.org/", [HeaderField(name: "cookie", value: "m=n")]).last == "m=n; a=b")
        #expect(try sent("http://other.example/") == [])
    }

    @Test func `all cookies of a file are kept, and its byte order mark is ignored`() throws {
        let lines = (0..<4000).map { "h.example\tFALSE\t/\tFALSE\t0\tc\($0)\tx\n" }
        let jar = CookieJar { Self.now }
        try jar.add(netscapeFile: "\u{FEFF}\(lines.joined())".utf8)
        #expect(jar.count == 4000)
        let url = try #require(URL(string: "http://h.example/"))
        #expect(jar.given(for: url)?.split(separator: ";").count == 4000)
    }

    @Test(arguments: [
        "h\tFALSE\t/\tFALSE\t0", "h FALSE / FALSE 0 a secret", "h\tYES\t/\tFALSE\t0\ta\tsecret",
        "h\tFALSE\tx\tFALSE\t0\ta\tsecret", "h\tFALSE\t/\tFALSE\tsoon\ta\tsecret", "h\tFALSE\t/\tFALSE\t0\t\tsecret",
        "\tFALSE\t/\tFALSE\t0\ta\tsecret", "{\"json\": \"secret\"}",
    ])
    func `an invalid cookie file is rejected with its line number and without its contents`(_ line: String) {
        let error = #expect(throws: DownloadError.self) { try CookieJar().add(netscapeFile: "#\n\(line)\n".utf8) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("Line 2 ") == true)
        #expect(error?.message.contains("secret") == false)
    }
}

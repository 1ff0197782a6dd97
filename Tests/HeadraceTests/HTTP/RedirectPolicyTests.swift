import HeadracePlatform
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct RedirectPolicyTests {
    private let policy = RedirectPolicy(maxRedirects: 20, allowsInsecure: false, keepsCookies: false)

    private func head(
        _ status: Int,
        _ locations: [String],
        from url: String = "http://a.example/x/y?q#f"
    ) throws
        -> ResponseHead
    {
        ResponseHead(
            url: try #require(URL(string: url)),
            status: status,
            fields: locations.map { HeaderField(name: "Location", value: $0) }
        )
    }

    @Test(arguments: [300, 301, 302, 303, 307, 308])
    func `D01 a redirect status with a location is followed`(_ status: Int) throws {
        let target = try policy.target(of: try head(status, ["http://b.example/z"]), after: 0)
        #expect(target?.absoluteString == "http://b.example/z")
    }

    @Test(arguments: [200, 206, 304, 305, 404, 500])
    func `any other status is not a redirect`(_ status: Int) throws {
        #expect(try policy.target(of: try head(status, ["http://b.example/z"]), after: 0) == nil)
    }

    @Test func `a redirect without a location is an ordinary response`() throws {
        #expect(try policy.target(of: try head(302, []), after: 0) == nil)
    }

    @Test(arguments: [
        ("z", "http://a.example/x/z"),
        ("/z", "http://a.example/z"),
        ("?r", "http://a.example/x/y?r"),
        ("//c.example/z", "http://c.example/z"),
        ("../z", "http://a.example/z"),
        ("https://a.example:8443/", "https://a.example:8443/"),
        ("/a b", "http://a.example/a%20b"),
        ("/ä", "http://a.example/%C3%A4"),
    ])
    func `D03 a location is resolved against the URL that was requested`(_ location: String, _ target: String) throws {
        #expect(try policy.target(of: try head(302, [location]), after: 0)?.absoluteString == target)
    }

    @Test(arguments: ["http:us:secret@h/401?sig=secret", "http:\\\\us:secret@h", "http://?@secret#secret@h/?secret"])
    func `D15 S10 an invalid location is shown without login and query`(_ location: String) throws {
        let head = try head(302, [location])
        let error = try #require(throws: DownloadError.self) { try policy.target(of: head, after: 0) }
        #expect(error.code == .redirect)
        #expect(!error.message.contains("secret"))
    }

    @Test(arguments: [
        "file:///etc/passwd", "ftp://a.example/", "data:,x", "gopher://a.example/", "http://", "http:///x",
        "http://h:99999/x", "http://[bad/x", "http://a b/x", "http://b\u{FC}cher.example/x",
    ])
    func `D10 only http and https with a host are followed`(_ location: String) throws {
        let head = try head(302, [location])
        let error = try #require(throws: DownloadError.self) { try policy.target(of: head, after: 0) }
        #expect(error.code == .redirect)
    }

    @Test func `D04 two different locations are a violation`() throws {
        let head = try head(302, ["/a", "/b"])
        let error = try #require(throws: DownloadError.self) { try policy.target(of: head, after: 0) }
        #expect(error.code == .protocolViolation)
        #expect(try policy.target(of: try self.head(302, ["/a", "/a"]), after: 0) != nil)
    }

    @Test func `D02 the twenty-first redirect is one too many`() throws {
        let head = try head(302, ["/z"])
        #expect(try policy.target(of: head, after: 19) != nil)
        let error = try #require(throws: DownloadError.self) { try policy.target(of: head, after: 20) }
        #expect(error.code == .redirect)
        #expect(error.remedy == nil)
    }

    @Test(arguments: [false, true])
    func `the error of a redirect loop names a cookie that is set and not sent back`(_ keepsCookies: Bool) throws {
        var head = try head(302, ["/z"])
        head.fields.append(HeaderField(name: "Set-Cookie", value: "seen=1"))
        let policy = RedirectPolicy(maxRedirects: 1, allowsInsecure: false, keepsCookies: keepsCookies)
        let error = try #require(throws: DownloadError.self) { try policy.target(of: head, after: 1) }
        #expect(error.message.contains("sets a cookie") != keepsCookies)
        #expect(error.remedy == (keepsCookies ? nil : .cookies))
    }

    @Test func `D09 a redirect from https to http is followed only if it is allowed`() throws {
        let head = try head(302, ["http://user:secret@a.example/z"], from: "https://a.example/")
        let error = try #require(throws: DownloadError.self) { try policy.target(of: head, after: 0) }
        #expect(error.code == .redirect)
        #expect(!error.description.contains("secret"))
        let lax = RedirectPolicy(maxRedirects: 1, allowsInsecure: true, keepsCookies: false)
        #expect(try lax.target(of: head, after: 0) != nil)
    }

    @Test func `D15 a password in an invalid location is in no message`() throws {
        for location in ["http://user:secret@/x", "//user:secret@:80/", "http://user:sec@ret:secret@"] {
            let head = try head(302, [location])
            let error = try #require(throws: DownloadError.self) { try policy.target(of: head, after: 0) }
            #expect(!error.description.contains("secret"))
        }
    }

    @Test func `D07 an origin is scheme, host and port`() throws {
        func origin(_ text: String) throws -> Origin { Origin(try #require(URL(string: text))) }
        #expect(try origin("http://A.example/x") == origin("http://a.example:80/y"))
        #expect(try origin("https://a.example/") == origin("https://a.example:443/"))
        #expect(try origin("http://a.example/") != origin("https://a.example/"))
        #expect(try origin("http://a.example/") != origin("http://a.example:8080/"))
        #expect(try origin("http://a.example/") != origin("http://b.example/"))
    }
}

import HeadracePlatform
import Testing

@testable import Headrace

/// Challenges and responses of Digest (RFC 7616).
@Suite(.timeLimit(.minutes(4)))
struct DigestChallengeTests {
    private static let nonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
    private static let opaque = "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"

    private func challenge(_ text: String) throws -> DigestChallenge {
        try #require(DigestChallenge.strongest(of: Challenge.all(in: text)))
    }

    private func field(
        _ challenge: DigestChallenge,
        _ user: String,
        _ password: String,
        target: String = "/",
        clientNonce: String = "c"
    ) throws -> HeaderField {
        let request = DigestChallenge.Request(method: "GET", target: target, count: 1, clientNonce: clientNonce)
        return try challenge.field(user: user, password: password, for: request, hash: Digester.hexadecimal(_:of:))
    }

    /// The examples of RFC 7616, section 3.9.1, and the same with `-sess`.
    @Test(arguments: [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"), ("md5-sess", "e783283f46242139c486a698fec7211d"),
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        ("SHA-256-sess", "2fd51b3a77ad75bad6afad6003e818d767133c46d9e2749e7f5232ae1ea3efd7"),
    ])
    func `the response is that of the examples in the RFC`(_ algorithm: String, _ response: String) throws {
        let challenge = try challenge(
            "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", algorithm=\(algorithm), "
                + "nonce=\"\(Self.nonce)\", opaque=\"\(Self.opaque)\""
        )
        let clientNonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
        let field = try field(
            challenge,
            "Mufasa",
            "Circle of Life",
            target: "/dir/index.html",
            clientNonce: clientNonce
        )
        #expect(field.isSecret)
        #expect(
            field.value
                == "Digest username=\"Mufasa\", realm=\"http-auth@example.org\", uri=\"/dir/index.html\", "
                + "algorithm=\(algorithm), nonce=\"\(Self.nonce)\", nc=00000001, cnonce=\"\(clientNonce)\", qop=auth, "
                + "response=\"\(response)\", opaque=\"\(Self.opaque)\""
        )
    }

    /// The examples of RFC 2617, section 3.5, and of the erratum to RFC 2069.
    @Test(
        arguments: [
            (", qop=\"auth\"", "Circle Of Life", "6629fae49393a05397450978507c4ef1"),
            ("", "CircleOfLife", "1949323746fe6a43ef61f9606e7febea"),
        ]
    )
    func `older servers get the response that they expect`(
        _ protection: String,
        _ password: String,
        _ response: String
    ) throws {
        let challenge = try challenge(
            "Digest realm=\"testrealm@host.com\", nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\"\(protection)"
        )
        let field = try field(challenge, "Mufasa", password, target: "/dir/index.html", clientNonce: "0a4f113b")
        #expect(field.value.contains("response=\"\(response)\""))
        #expect(!field.value.contains("algorithm"))
        #expect(field.value.contains("cnonce") == !protection.isEmpty)
    }

    @Test func `a user name beyond ASCII is encoded if the server reads UTF-8`() throws {
        let text = "Digest realm=\"r\", nonce=\"n\", qop=auth, algorithm=SHA-256"
        let user = "J\u{E4}s\u{F6}n Doe"
        let encoded = try field(challenge("\(text), charset=utf-8"), user, "S\u{E4}kret")
        #expect(encoded.value.contains("username*=UTF-8''J%C3%A4s%C3%B6n%20Doe,"))
        #expect(
            encoded.value.contains("response=\"983b3fabec8732e12ab220a0706ecaa63ec1efa6eb71dfb4e6ddbe4801bf34d1\"")
        )
        let plain = try field(challenge(text), user, "p")
        #expect(plain.value.utf8.starts(with: "Digest username=\"\(user)\",".utf8))
    }

    @Test func `quotes and backslashes are escaped, and commas in quotes are no ends`() throws {
        let challenge = try challenge(
            #"Basic realm="Digest nonce=x", Digest realm="a\"b\\c, d", nonce="n,\"", qop="auth", opaque="""#
        )
        let value = try field(challenge, #"u\"v"#, "p").value
        #expect(value.hasPrefix(#"Digest username="u\\\"v", realm="a\"b\\c, d", uri="/", nonce="n,\"", nc="#))
        #expect(value.hasSuffix(#"", opaque="""#))
        // The hash is of the text without the quotes and escapes.
        var hashed: [String] = []
        let request = DigestChallenge.Request(method: "GET", target: "/", count: 1, clientNonce: "c")
        _ = try challenge.field(user: "u", password: "p", for: request) { _, text throws(DownloadError) in
            hashed.append(text)
            return "h"
        }
        #expect(hashed == [#"u:a"b\c, d:p"#, "GET:/", #"h:n,":00000001:c:auth:h"#])
    }

    @Test(
        arguments: [
            ("Basic realm=x", nil),
            ("Digest realm=\"x\", nonce=\"y\"", "md5"),
            ("digest REALM=x, Nonce=y, Algorithm=sha-256, QOP=AUTH", "sha256"),
            ("Digest realm=x, nonce=y, qop=\"auth-int,auth\"", "md5"),
            ("Digest realm=x, nonce=y, qop=\"auth-int\"", nil),
            ("Digest realm=x, nonce=y, qop=\"\"", nil),
            ("Digest realm=x, nonce=y, algorithm=SHA-512-256", nil),
            ("Digest realm=x", nil),
            ("Digest nonce=y", nil),
            ("Digest", nil),
            ("Digest realm=x, nonce=y, Digest realm=x, nonce=z, algorithm=SHA-256, Basic realm=x", "sha256"),
            ("Digest realm=x, nonce=y, algorithm=SHA-512-256, Digest realm=x, nonce=z, algorithm=MD5", "md5"),
            ("Basic realm=\"x\", Digest realm=\"x\", nonce=\"y\", algorithm=MD5", "md5"),
        ] as [(String, String?)]
    )
    func `the strongest supported challenge is answered`(_ text: String, _ algorithm: String?) {
        #expect(DigestChallenge.strongest(of: Challenge.all(in: text))?.algorithm.rawValue == algorithm)
    }

    @Test(arguments: [("stale=true", true), ("stale=\"TRUE\"", true), ("stale=false", false), ("stale", false)])
    func `a challenge says whether the nonce was only too old`(_ parameter: String, _ isStale: Bool) throws {
        #expect(try challenge("Digest realm=x, nonce=y, \(parameter)").isStale == isStale)
    }

    @Test func `the requests of a nonce are counted per origin, and a new nonce starts again`() throws {
        let origin = Origin(try #require(URL(string: "http://a.example/x")))
        let other = Origin(try #require(URL(string: "http://a.example:81/x")))
        var sessions = DigestSessions()
        #expect(sessions.next(for: origin) == nil)
        #expect(!sessions.isKnown(origin))
        let first = try challenge("Digest realm=x, nonce=1, qop=auth")
        #expect(sessions.challenged(origin, by: first, clientNonce: "a").count == 1)
        // Another request received the same challenge meanwhile.
        let repeated = sessions.challenged(origin, by: first, clientNonce: "b")
        #expect(repeated == .init(challenge: first, count: 2, clientNonce: "a"))
        #expect(sessions.next(for: origin)?.count == 3)
        let stale = try challenge("Digest realm=x, nonce=2, qop=auth, stale=true")
        let second = DigestSessions.Session(challenge: stale.withoutStaleness, count: 1, clientNonce: "c")
        #expect(sessions.challenged(origin, by: stale, clientNonce: "c") == second)
        let realm = try challenge("Digest realm=y, nonce=2, qop=auth")
        let third = DigestSessions.Session(challenge: realm, count: 1, clientNonce: "d")
        #expect(sessions.challenged(origin, by: realm, clientNonce: "d") == third)
        #expect(sessions.isKnown(origin) && !sessions.isKnown(other))
    }
}

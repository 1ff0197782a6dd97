import Testing

@testable import Headrace

/// Parsing of the `WWW-Authenticate` challenges (RFC 9110, section 11.6.1).
@Suite(.timeLimit(.minutes(4)))
struct ChallengeTests {
    @Test(arguments: [
        ("Basic realm=\"x\"", ["basic realm=x"]),
        ("basic REALM=x", ["basic realm=x"]),
        ("Bearer", ["bearer"]),
        ("Bearer, Basic realm=\"a, b\"", ["bearer", "basic realm=a, b"]),
        ("Basic realm=\"a \\\"b\\\"\", charset=\"UTF-8\"", ["basic charset=UTF-8 realm=a \"b\""]),
        (
            "Digest realm=\"x\", nonce=\"y\", qop=auth, Basic realm=z",
            ["digest nonce=y qop=auth realm=x", "basic realm=z"]
        ),
        ("Negotiate YII/+a==, Basic realm=z", ["negotiate", "basic realm=z"]),
        ("Negotiate, NTLM", ["negotiate", "ntlm"]),
        (", ,Basic ,realm = \"x\" ,,a=b,", ["basic a=b realm=x"]),
        ("Basic realm=\"x\", realm=\"y\"", ["basic realm=x"]),
        ("Basic realm=\"no end", ["basic realm=no end"]),
        ("Basic realm=\"\"", ["basic realm="]),
        ("Bearer realm=\"r\", error=\"invalid_token\"", ["bearer error=invalid_token realm=r"]),
        ("=x", []), ("", []), ("\"Basic\"", []), ("Ba/sic realm=x", []), ("Basic; realm=x", []),
    ])
    func `challenges are parsed into schemes and realms`(_ text: String, _ expected: [String]) {
        let found = Challenge.all(in: text).map { challenge in
            ([challenge.scheme] + challenge.parameters.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" })
                .joined(separator: " ")
        }
        #expect(found == expected)
    }

    @Test func `endless fields are parsed up to the limits`() {
        #expect(Challenge.all(in: String(repeating: "a,", count: 100_000)).count == Challenge.maxCount)
        let many = Challenge.all(in: "Basic " + (0..<10_000).map { "p\($0)=x" }.joined(separator: ","))
        #expect(many.count == 1)
        #expect(many.first.map { $0.parameters.count <= 32 } == true)
    }

    @Test func `a realm is sanitized for display`() {
        let realm = Challenge.all(in: "Basic realm=\"a\u{1b}[2J\(String(repeating: "x", count: 1000))\"").first?.realm
        #expect(realm?.hasPrefix("a\u{FFFD}[2J") == true)
        #expect(realm?.count == 200)
    }
}

import HeadraceTestSupport
import Testing

@testable import Headrace

/// A short fuzzing run with every test run, on nearly valid inputs.
@Suite(.timeLimit(.minutes(4)), .computing)
struct MutationTests {
    private static let a256 = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"

    private static let seeds: [ParserProperty: [String]] = [
        .checksums: [
            "sha256:\(a256)", "md5-Sd/dVLAcvNLSq16eXua5uQ==", "\(a256)  name\n\\\(a256) *a\\nb\\\\\n",
            "MD5 (a) = 0cc175b9c0f1b6a831c399e269772661\r\n# x\n",
        ],
        .digests: [
            "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:;a=1, b=(\"x\" ?1;c)",
            "SHA=07CavjDP4u3/TungoUHJO/Wzr4c=,x=1",
        ],
        .links: [
            "<http://m/f>; rel=duplicate; pri=1; geo=gb; pref, </x>; rel=\"a duplicate\"",
            "<//a:80/%2f?q#f>;rel=duplicate",
        ],
        .metalink: [
            "<?xml version='1.0' encoding='UTF-8'?><m:metalink xmlns:m='urn:ietf:params:xml:ns:metalink'><!-- x -->"
                + "<m:file name='a/b.c&#x21;'><m:size>1</m:size><m:hash type='sha-256'>\(a256)</m:hash>"
                + "<m:pieces length='1' type='sha-256'><m:hash>\(a256)</m:hash></m:pieces>"
                + "<m:url priority='1' location='de'><![CDATA[http://m/f]]></m:url><m:url>https://n/f?a=1&amp;b</m:url>"
                + "<o:x xmlns:o='o'/></m:file></m:metalink>"
        ],
        .challenges: [
            "Basic realm=\"a \\\"b\\\", c\", charset=UTF-8, Bearer, Negotiate YII/+a==",
            "Digest realm=x, nonce=\"y==\" , ,Basic",
            "Basic realm=x, Digest realm=\"a \\\"\", nonce=y, opaque=\"\\\\\", qop=\"auth,auth-int\", algorithm=SHA-256",
        ],
        .hsts: [
            "# x\n.a.b.example \"20380119 03:14:08\"\r\nc.example \"unlimited\"\n",
            "max-age=\"31536000\" ; includeSubDomains;;x=y",
        ],
        .cookies: [
            "a=b c; Domain=.b.example; Path=/x; Max-Age=60; HttpOnly",
            "a=\"b\"; domain=a.b.example; Expires=Sun, 06-Nov-94 08:49:38 GMT",
        ],
        .cookieFile: [
            "# Netscape HTTP Cookie File\n.b.example\tTRUE\t/\tFALSE\t0\ta\tb\r\n\n"
                + "#HttpOnly_a.b.example\tFALSE\t/x\tTRUE\t784111778.5\tc\td e\na.b.example\tFALSE\t/\tFALSE\t0\tempty\n"
        ],
        .netrc: [
            "machine a.b.example login u password \"p \\\" \\\\\" # x\nmacdef init\ncd /\n\ndefault login d\tpassword #e",
            "machine a.b.example\n\taccount x\n\tpassword p\r\n",
        ],
        .rateSchedule: ["Mon-Fri 08:00-18:00 1M, Sat Sun 22:00-06:00 none, else 4M", "12:30-13:00 9K"],
    ]

    private static func inputs(for property: ParserProperty) -> [[UInt8]] {
        property == .netlink
            ? [NetlinkFixture.all.flatMap(\.encoded)] : seeds[property, default: []].map { Array($0.utf8) }
    }

    @Test(arguments: ParserProperty.allCases.filter { !inputs(for: $0).isEmpty }, 0..<4)
    func `the parser properties hold for nearly valid inputs`(
        _ property: ParserProperty,
        _ seed: UInt64
    ) {
        var random = SeededRandom(seed: seed)
        let seeds = Self.inputs(for: property)
        // Bytes with a meaning to one of the parsers.
        let alphabet = Array(" \t\r\n,;:=<>()\"\\*?-+/_.%@0189afzAFZ\u{e9}".utf8) + [0, 0x7f, 0x80, 0xff]
        for _ in 0..<400 {
            var bytes = seeds.randomElement(using: &random) ?? []
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let start = Int.random(in: 0...bytes.count, using: &random)
                let end = min(bytes.count, start + Int.random(in: 0...8, using: &random))
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes.removeSubrange(start..<end)
                case 1: bytes.insert(contentsOf: bytes[start..<end], at: start)
                case 2: bytes.insert(alphabet.randomElement(using: &random) ?? 0, at: start)
                default: if start < bytes.count { bytes[start] = alphabet.randomElement(using: &random) ?? 0 }
                }
            }
            let violation = property.violation(of: bytes)
            #expect(violation == nil, "\(String(decoding: bytes, as: UTF8.self))")
        }
    }
}

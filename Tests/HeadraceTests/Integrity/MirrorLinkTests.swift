import HeadracePlatform
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct WebLinkTests {
    @Test(
        arguments: [
            ("<http://a/>", ["http://a/"]), ("<http://a/>,<b>", ["http://a/", "b"]), (" , ,<a> , ,<b>,", ["a", "b"]),
            ("< a >", ["a"]), ("<>", [""]), ("<a,b;c>", ["a,b;c"]), ("<a>;x=\"<b>,<c>\",<d>", ["a", "d"]),
            ("<a> junk, <b>", ["a", "b"]), ("<a>;x=\"y", ["a"]), ("<a>;x=\"y\\\",<b>\",<c>", ["a", "c"]),
            ("", []), ("a", []), ("<a", []), ("a,<b>", []), ("<a>,b,<c>", ["a"]), ("<a>;;;=;=x,<b>", ["a", "b"]),
        ] as [(String, [String])]
    )
    func `links are parsed up to the first invalid one`(_ text: String, _ targets: [String]) {
        #expect(WebLink.all(in: text).map(\.target) == targets)
    }

    @Test(
        arguments: [
            ("<a>;rel=x", "rel", "x"), ("<a> ; Rel = \"x y\" ; q", "rel", "x y"), ("<a>;rel=x;rel=y", "rel", "x"),
            ("<a>;pref", "pref", ""), ("<a>;pref;pri=1", "pri", "1"), ("<a>;t=\"a\\\"b\"", "t", "a\"b"),
            ("<a>;t=a b ;u", "t", "a b"), ("<a>;t=", "t", ""), ("<a>;t", "u", nil), ("<a>,;t", "t", nil),
        ] as [(String, String, String?)]
    )
    func `parameters are found by name`(_ text: String, _ name: String, _ value: String?) {
        #expect(WebLink.all(in: text).first?.value(name) == value)
    }

    @Test(arguments: [
        ("<a>;rel=duplicate", true), ("<a>;rel=\"next DUPLICATE\"", true), ("<a>;rel=next;rel=duplicate", false),
        ("<a>;rel=duplicates", false), ("<a>;rev=duplicate", false), ("<a>", false),
    ])
    func `the first rel parameter determines the link's relations`(_ text: String, _ isDuplicate: Bool) {
        #expect(WebLink.all(in: text).first?.has(relation: "duplicate") == isDuplicate)
    }

    @Test func `the number and the length of links are limited`() {
        let many = String(repeating: "<a>,", count: 1000)
        #expect(WebLink.all(in: many).count == 256)
        let head = HeadFixture.head(200, ["Link": many, "link": many])
        #expect(WebLink.all(of: head).count == 256)
        let long = "<\(String(repeating: "a", count: 65_536))>"
        #expect(WebLink.all(of: HeadFixture.head(200, ["Link": "<a>", "link": long])).map(\.target) == ["a"])
        #expect(WebLink.all(in: "<a>" + String(repeating: ";x", count: 100) + ";y=1").first?.value("y") == nil)
    }
}

@Suite(.timeLimit(.minutes(4)))
struct MirrorLinkTests {
    private func mirrors(_ fields: String..., url: String = "http://origin/dir/file") throws -> [MirrorLink] {
        let fields = fields.map { HeaderField(name: "Link", value: $0) }
        return MirrorLink.all(of: ResponseHead(url: try #require(URL(string: url)), status: 200, fields: fields))
    }

    @Test func `mirrors are sorted by priority`() throws {
        let mirrors = try mirrors(
            "<http://c/f>; rel=duplicate; pri=3, <http://z/f>; rel=duplicate, <http://a/f>; rel=duplicate; pri=1; pref; geo=GB",
            "<https://b/f>; rel=\"duplicate\"; pri=1; geo=de, <http://y/f>; rel=duplicate; pri=0; geo=world"
        )
        #expect(
            mirrors.map(\.url.absoluteString) == [
                "http://a/f", "https://b/f", "http://c/f", "http://z/f", "http://y/f",
            ]
        )
        #expect(mirrors.map(\.priority) == [1, 1, 3, 999_999, 999_999])
    }

    @Test(
        arguments: [
            ("<other>; rel=duplicate", "http://origin/dir/other"), ("</x>; rel=duplicate", "http://origin/x"),
            ("<//m/f>; rel=duplicate", "http://m/f"), ("<HTTP://m/f>; rel=duplicate", "HTTP://m/f"),
            ("<http://m/f>; rel=describedby", nil), ("<http://m/f>", nil), ("<ftp://m/f>; rel=duplicate", nil),
            ("<file:///etc/passwd>; rel=duplicate", nil), ("<http:///f>; rel=duplicate", nil),
            ("<http://u:p@m/f>; rel=duplicate", nil), ("<http://u@m/f>; rel=duplicate", nil),
            ("<http://m/f>; rel=duplicate; anchor=\"/other\"", nil), ("<magnet:?xt=1>; rel=duplicate", nil),
            ("<http://origin/dir/file>; rel=duplicate", nil), ("<>; rel=duplicate", nil),
            ("<http://[>; rel=duplicate", nil), ("<http://m:99999/f>; rel=duplicate", nil),
        ] as [(String, String?)]
    )
    func `a mirror is an http or https URL of the same resource`(_ text: String, _ url: String?) throws {
        #expect(try mirrors(text).map(\.url.absoluteString) == (url.map { [$0] } ?? []))
    }

    @Test(arguments: [
        ("1", 1), ("007", 7), ("999999", 999_999), ("1000000", 999_999), ("-1", 999_999), ("x", 999_999),
        ("99999999999999999999", 999_999), ("", 999_999),
    ])
    func `a mirror with an invalid priority comes last`(_ text: String, _ priority: Int) throws {
        #expect(try mirrors("<http://m/f>; rel=duplicate; pri=\(text)").map(\.priority) == [priority])
    }

    @Test func `a mirror is listed once, and at most 64 are used`() throws {
        #expect(try mirrors("<http://m/f>; rel=duplicate, <http://m/f>; rel=duplicate; pri=1").count == 1)
        let many = (0..<200).map { "<http://m\($0)/f>; rel=duplicate; pri=\(300 - $0)" }.joined(separator: ",")
        #expect(try mirrors(many).map(\.priority) == Array(101...164))
    }

    @Test func `D09 a mirror from https to http is used only if it is allowed`() throws {
        for (origin, allows, count) in [("https", false, 1), ("https", true, 2), ("http", false, 2)] {
            let url = try #require(URL(string: "\(origin)://origin/f"))
            let links = "<http://m/f>; rel=duplicate, <https://m/f>; rel=duplicate"
            let head = ResponseHead(url: url, status: 200, fields: [HeaderField(name: "Link", value: links)])
            #expect(MirrorLink.urls(of: head, allowsInsecure: allows).count == count)
        }
    }
}

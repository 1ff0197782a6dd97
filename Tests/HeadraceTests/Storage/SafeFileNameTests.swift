import HeadracePlatform
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct SafeFileNameTests {
    @Test(arguments: [
        ("a.txt", "a.txt"), ("/x/y/a.txt", "a.txt"), ("..\\..\\a.txt", "a.txt"), ("../../etc/passwd", "passwd"),
        (".bashrc", "bashrc"), ("..hidden", "hidden"), ("-rf", "rf"), ("~root", "root"), ("a.txt. . ", "a.txt"),
        ("  a  ", "a"), ("a\0b\nc\r", "abc"), ("CON", "_CON"), ("nul.txt", "_nul.txt"), ("com1.log", "_com1.log"),
        ("a\u{202E}txt.exe", "atxt.exe"), ("a:b*c?.txt", "abc.txt"), ("größe 日本.zip", "größe 日本.zip"),
        ("console", "console"), ("a;b", "a;b"), ("con .txt", "_con .txt"), ("..%2Fx", "%2Fx"),
        (". -~ a", "a"), ("a.\u{A0}\u{3000}.", "a"), ("\u{2028}a\u{85}", "a"), ("\u{301}a", "\u{301}a"),
        ("می\u{200C}خواهم.txt", "می\u{200C}خواهم.txt"), ("👩\u{200D}💻.png", "👩\u{200D}💻.png"),
        ("\u{200D}a\u{200C}. ", "a"), ("co\u{200D}n", "_co\u{200D}n"),
        // A slash followed by a combining mark is another character, but still a slash.
        ("a/\u{301}b", "\u{301}b"), ("..\\\u{301}", "\u{301}"), ("a.\u{301}/x", "x"), ("x/\r\n/y\r\n", "y"),
    ])
    func `S01 a proposed name becomes one harmless component`(_ proposal: String, _ name: String) {
        #expect(SafeFileName(proposal)?.description == name)
    }

    @Test(arguments: [
        "a.0123456789abcdef.part", "a.0123456789abcdef.part.record", "a.0123456789abcdef.part.record.new",
        "A.b.0123456789ABCDEF.Part.Record", "registry.journal", "registry.journal.new", "Registry.Lock",
        "registry.versions", "registry.ver\u{200C}sions", String(repeating: "n", count: 233) + ".0123456789abcdef.part",
    ])
    func `S01 a name like that of a partial file, record or registry is changed`(_ proposal: String) throws {
        let name = try #require(SafeFileName(proposal)).description
        #expect(name != proposal && name.hasSuffix("_") && name.utf8.count <= 255)
        #expect(SafeFileName(name)?.description == name)
    }

    @Test(arguments: [
        "a.part", "a.0123456789abcde.part", "a.0123456789abcdeg.part", "0123456789abcdef.part", "a.part.record",
        "registry.json",
        "a.0123456789abcdef.part.txt",
    ])
    func `another name with the same ending stays as it is`(_ name: String) {
        #expect(SafeFileName(name)?.description == name)
    }

    @Test(arguments: ["", ".", "..", "/", "a/", "\u{200D}", "\\", "...", " . ", "\0", "-", "~", "x/.."])
    func `S01 some proposed names leave nothing usable`(_ proposal: String) {
        #expect(SafeFileName(proposal) == nil)
    }

    @Test func `K25 a name is at most 255 bytes and keeps its extension`() throws {
        let name = try #require(SafeFileName(String(repeating: "ä", count: 300) + ".tar.gz")).description
        #expect(name.utf8.count <= 255 && name.utf8.count > 250)
        #expect(name.hasSuffix("ä.tar.gz"))
        let noStem = try #require(SafeFileName("a." + String(repeating: "x", count: 300))).description
        #expect(noStem.utf8.count == 255)
    }

    @Test(arguments: [
        ("a.txt", "a (1).txt"), ("a", "a (1)"), ("a.tar.gz", "a (1).tar.gz"), ("a.b.c", "a.b (1).c"),
    ])
    func `the counter goes before the extension`(_ name: String, _ numbered: String) {
        #expect(SafeFileName.numbered(name, 1) == numbered)
    }

    @Test(arguments: [
        String(repeating: "n", count: 254) + " .txt", "CON" + String(repeating: " ", count: 300) + "x",
        "com1." + String(repeating: "x", count: 300), "a" + String(repeating: "\u{301}", count: 300),
        "a" + String(repeating: "\u{301}", count: 300) + ".txt", String(repeating: "🇩🇪", count: 200),
        String(repeating: "n", count: 254) + "é", "a.tar" + String(repeating: "\u{301}", count: 200) + ".gz",
        String(repeating: "日", count: 84) + ".b.ext", "CON\u{301}" + String(repeating: "\u{302}", count: 200) + ".txt",
    ])
    func `K25 a shortened name is still safe`(_ proposal: String) throws {
        let name = try #require(SafeFileName(proposal)).description
        #expect((1...255).contains(name.utf8.count))
        #expect(SafeFileName(name)?.description == name)
        #expect((1...255).contains(SafeFileName.numbered(name, 10_000).utf8.count))
    }

    @Test func `K25 a name of one character is cut between its combining marks`() {
        let name = SafeFileName("a" + String(repeating: "\u{301}", count: 300) + ".txt")?.description
        #expect(name == "a" + String(repeating: "\u{301}", count: 125) + ".txt")
    }

    @Test(arguments: [
        ("a", true), ("-", true), ("...", true), (".a", true), ("\u{301}", true), ("a\\b", true),
        (String(repeating: "n", count: 255), true), (String(repeating: "n", count: 256), false), ("", false),
        (".", false), ("..", false), ("/", false), ("a/b", false), ("/\u{301}a", false), ("a\0", false),
    ])
    func `S01 a component is not a path`(_ name: String, _ isComponent: Bool) {
        #expect(SafeFileName.isComponent(name) == isComponent)
    }

    @Test func `K25 a numbered name does not exceed the maximum length`() {
        let name = String(repeating: "n", count: 251) + ".txt"
        let numbered = SafeFileName.numbered(name, 12)
        #expect(numbered.utf8.count == 255)
        #expect(numbered.hasSuffix("n (12).txt"))
    }

    @Test(arguments: [
        ("http://h/a/b.zip?c=d", "http://h/x", "b.zip"), ("http://h/", "http://h/x.iso", "x.iso"),
        ("http://h/a/", "http://h", "download"), ("http://h/a%2Fb%2F..%2Fc", "http://h/x", "c"),
        ("http://h/..%2F..%2Fetc%2Fpasswd", "http://h/x", "passwd"), ("http://h/%00", "http://h/x", "x"),
        ("http://h/caf%E9.txt", "http://h/x", "café.txt"), ("http://h/caf%C3%A9.txt", "http://h/x", "café.txt"),
        ("http://h/..", "http://h/%2e%2e", "download"), ("http://h/a%5Cb", "http://h/x", "b"),
        ("http://h/~", "http://h/-rf", "rf"), ("http://h/nul", "http://h/x", "_nul"),
        ("http://h/a?b/c", "http://h/x", "a"),
        ("http://h/%E2%80%AEtxt.exe", "http://h/x", "txt.exe"), ("http://h/a/%CC%81b", "http://h/x", "\u{301}b"),
    ])
    func `S02 the file is named after the final URL, else the requested one`(
        _ final: String,
        _ requested: String,
        _ name: String
    )
        throws
    {
        let final = try #require(URL(string: final))
        let requested = try #require(URL(string: requested))
        #expect(SafeFileName.forDownload(finalURL: final, requestURL: requested) == name)
    }

    @Test(arguments: [
        (["a", "b"], "a"), (["..", "b"], "b"), (["../", ""], "final"), ([], "final"),
    ])
    func `S01 a proposed name takes precedence over the URLs if something safe is left`(
        _ proposals: [String],
        _ name: String
    )
        throws
    {
        let final = try #require(URL(string: "http://h/final"))
        #expect(SafeFileName.forDownload(proposals, finalURL: final, requestURL: final) == name)
    }
}

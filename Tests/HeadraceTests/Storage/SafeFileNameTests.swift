import FoundationEssentials
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(1)))
struct SafeFileNameTests {
    @Test(arguments: [
        ("a.txt", "a.txt"), ("/x/y/a.txt", "a.txt"), ("..\\..\\a.txt", "a.txt"), ("../../etc/passwd", "passwd"),
        (".bashrc", "bashrc"), ("..hidden", "hidden"), ("-rf", "rf"), ("~root", "root"), ("a.txt. . ", "a.txt"),
        ("  a  ", "a"), ("a\0b\nc\r", "abc"), ("CON", "_CON"), ("nul.txt", "_nul.txt"), ("com1.log", "_com1.log"),
        ("a\u{202E}txt.exe", "atxt.exe"), ("a:b*c?.txt", "abc.txt"), ("größe 日本.zip", "größe 日本.zip"),
        ("console", "console"), ("a;b", "a;b"),
    ])
    func `S01 a proposal becomes one harmless component`(_ proposal: String, _ name: String) {
        #expect(SafeFileName(proposal)?.description == name)
    }

    @Test(arguments: ["", ".", "..", "/", "a/", "\\", "...", " . ", "\0", "-", "~", "x/.."])
    func `S01 of some proposals nothing is left`(_ proposal: String) {
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

    @Test func `K25 a numbered name is not longer than a name may be`() {
        let name = String(repeating: "n", count: 251) + ".txt"
        let numbered = SafeFileName.numbered(name, 12)
        #expect(numbered.utf8.count == 255)
        #expect(numbered.hasSuffix("n (12).txt"))
    }

    @Test(arguments: [
        ("http://h/a/b.zip?c=d", "http://h/x", "b.zip"), ("http://h/", "http://h/x.iso", "x.iso"),
        ("http://h/a/", "http://h", "download"), ("http://h/a%2Fb%2F..%2Fc", "http://h/x", "c"),
        ("http://h/..%2F..%2Fetc%2Fpasswd", "http://h/x", "passwd"), ("http://h/%00", "http://h/x", "x"),
    ])
    func `S02 the final URL names the file, else the one that was asked`(
        _ final: String,
        _ asked: String,
        _ name: String
    )
        throws
    {
        let final = try #require(URL(string: final))
        let asked = try #require(URL(string: asked))
        #expect(SafeFileName.forDownload(finalURL: final, requestURL: asked) == name)
    }
}

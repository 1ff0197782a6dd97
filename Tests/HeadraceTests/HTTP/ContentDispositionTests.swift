import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)), .computing)
struct ContentDispositionTests {
    private func names(_ text: String) -> [String] { ContentDisposition(parsing: text).fileNames }

    @Test(arguments: [
        (#"attachment; filename="a b.txt""#, "a b.txt"), ("attachment; filename=a.txt", "a.txt"),
        (#"inline; filename="a.txt""#, "a.txt"), (#"ATTACHMENT; FileName="a.txt""#, "a.txt"),
        (#"form-data; name="x"; filename="a.txt""#, "a.txt"), ("filename=a.txt", "a.txt"),
        (#"attachment;filename="a.txt";"#, "a.txt"), ("attachment; filename=a.txt ; x=y", "a.txt"),
        ("attachment ;\tfilename\t= a.txt\t", "a.txt"), ("; ;; filename=a.txt", "a.txt"),
        (#"attachment; filename="a;b=c.txt"; x=y"#, "a;b=c.txt"), (#"attachment; x="; filename=b"; filename=a"#, "a"),
        (#"attachment; filename="a\"b\\c.txt""#, #"a"b\c.txt"#), (#"attachment; filename="a\b.txt""#, "ab.txt"),
        (#"attachment; filename="a.txt"#, "a.txt"), (#"attachment; filename="a.txt\"#, #"a.txt\"#),
        (#"attachment; filename="a.txt"junk; x=y"#, "a.txt"), ("attachment; filename='a.txt'", "'a.txt'"),
        (#"attachment; filename=a"b.txt"#, #"a"b.txt"#), ("attachment; filename=a b,c[1](2).txt", "a b,c[1](2).txt"),
        ("attachment; filename=a=b.txt", "a=b.txt"), ("attachment; filename=größe 日本.txt", "größe 日本.txt"),
        ("attachment; filename=a.txt; charset=odd; option=strange", "a.txt"), ("attachment; filename=", ""),
        (#"attachment; filename="""#, ""), ("attachment; xfilename=b; filename=a; filename-x=c", "a"),
        (#"attachment; filename="a"; filename="b""#, "a"), ("attachment; filename=..\\..\\x", "..\\..\\x"),
    ])
    func `a name is read from a quoted string, a token or a malformed value`(_ text: String, _ name: String) {
        #expect(names(text) == [name])
    }

    @Test(arguments: [
        ("filename*=UTF-8''%e2%82%ac%20rates.txt", "€ rates.txt"), ("filename*=utf-8'en'a.txt", "a.txt"),
        ("filename* = UTF-8''a.txt", "a.txt"), (#"filename*="UTF-8''a%20b.txt""#, "a b.txt"),
        ("filename*=iso-8859-1''%A3%20rates.txt", "£ rates.txt"), ("filename*=UTF-8''it's.txt", "it's.txt"),
        ("filename*=UTF-8''", ""), ("filename*=UTF-8''100%.txt", "100%.txt"), ("filename*=UTF-8''%252f", "%2f"),
        ("filename*=UTF-8''a%0", "a%0"), ("filename*=UTF-8''a%", "a%"), ("filename*=UTF-8''ä.txt", "ä.txt"),
        ("filename*=UTF-8''..%2Fx", "../x"), ("filename*=UTF-8''a%00b", "a\0b"),
    ])
    func `an extended value is decoded`(_ text: String, _ name: String) {
        #expect(names("attachment; " + text) == [name])
    }

    @Test(arguments: [
        #"filename="plain"; filename*=UTF-8''%c3%a4"#, #"filename*=UTF-8''%c3%a4; filename="plain""#,
        "filename*=UTF-8''%c3%a4; filename*=UTF-8''b; filename=plain",
    ])
    func `the extended name takes precedence, and the plain one is the fallback`(_ text: String) {
        #expect(names("attachment; " + text) == ["ä", "plain"])
    }

    @Test(arguments: [
        "filename*=UTF-8''%ff%fe", "filename*=UTF-8''%c3", "filename*=UTF-8''%ed%a0%80", "filename*=UTF-8''%c0%ae",
        "filename*=UTF-16''a", "filename*=''a", "filename*=a", "filename*=UTF-8'a", "filename*=", "filename*='",
        "filename *=UTF-8''a",
    ])
    func `an invalid extended value is ignored`(_ text: String) {
        #expect(names("attachment; \(text); filename=plain") == ["plain"])
    }

    /// No RFC specifies this, but browsers do it and servers rely on it.
    @Test(arguments: [
        ("%c3%a4.txt", "ä.txt"), ("a%20b.txt", "a b.txt"), ("%2e%2e%2f", "../"), ("100%.txt", "100%.txt"),
        ("%ff.txt", "%ff.txt"), ("%c3.txt", "%c3.txt"), ("%E4%", "%E4%"), ("%25%32%66", "%2f"), ("%4", "%4"),
        ("%+1", "%+1"), ("%g0", "%g0"),
    ])
    func `percent-encoded UTF-8 in a plain name is decoded, and nothing else is`(_ text: String, _ name: String) {
        #expect(names("attachment; filename=\(text)") == [name])
        #expect(names("attachment; filename=\"\(text)\"") == [name])
    }

    @Test(arguments: [
        "", ";", "=", "attachment", "attachment;", "attachment; a.txt", #"attachment; "a.txt""#, "attachment; filename",
        "attachment; filename; x=filename=a", #"attachment; x="filename=a"#, "attachment filename=a", "filename*0=a",
        "attachment; file name=a", "attachment; filename\0=a", "=filename=a",
    ])
    func `any other field yields no name`(_ text: String) {
        #expect(names(text) == [])
    }

    @Test func `the first of several fields takes precedence`() {
        let head = HeadFixture.head(
            200,
            [
                "content-disposition": "attachment", "Content-Disposition": "attachment; filename=a",
                "CONTENT-DISPOSITION": "attachment; filename*=UTF-8''b",
            ]
        )
        #expect(ContentDisposition(of: head).fileNames == ["a", "b"])
    }

    /// Scanning backwards for each byte would run into the time limit with any of these.
    @Test(arguments: ["=", ";", "\"", "\\", "%", "'", "filename=", "filename*=UTF-8''", "x=\"", " ", "🇩🇪"])
    func `parsing a long field takes linear time`(_ piece: String) {
        let text = String(repeating: piece, count: (64 << 10) / piece.utf8.count)
        for text in [text, "filename=" + text, "filename=\"" + text, "filename*=UTF-8''" + text] {
            for name in names(text) { #expect((SafeFileName(name)?.description.utf8.count ?? 0) <= 255) }
        }
    }

    /// Random pieces of the grammar: the result depends on no byte after its own parameter.
    @Test func `parameters after a name do not change it`() {
        var random = SeededRandom(seed: 6266)
        let pieces = ["filename", "*", "=", ";", "\"", "\\", "UTF-8''", "%41", "%c3", "a", " ", "é", "'"]
        for _ in 0..<2000 {
            let count = Int.random(in: 0..<12, using: &random)
            let junk = (0..<count).compactMap { _ in pieces.randomElement(using: &random) }.joined()
            let found = names("attachment; filename*=UTF-8''first; filename=\"second\";" + junk)
            #expect(found == ["first", "second"])
        }
    }
}

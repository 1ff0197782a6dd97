import Headrace
import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct TextTests {
    @Test(arguments: [
        ("plain name.txt", "plain name.txt"), ("Übung 日本.iso", "Übung 日本.iso"), ("a\u{1B}[2Jb", "a\u{FFFD}[2Jb"),
        ("a\nb\rc\u{7F}", "a\u{FFFD}b\u{FFFD}c\u{FFFD}"), ("x\u{9B}31m", "x\u{FFFD}31m"),
        ("exe\u{202E}gpj", "exe\u{FFFD}gpj"), ("👩\u{200D}🚀", "👩\u{200D}🚀"), ("a\u{2028}b", "a\u{FFFD}b"),
    ])
    func `control characters are replaced`(_ text: String, printable: String) {
        #expect(text.printable == printable)
    }

    @Test(arguments: [
        ("http://h/x", "http://h/x"), ("http://u:p@h/x", "http://***@h/x"), ("u:p@h/x", "***@h/x"),
        ("http://u:p/w@x@h/", "http://***@h/"), ("http://u:p@", "http://***@"),
        ("u:p@http://h/", "***@http://h/"), ("u:p://q@h/", "***@h/"), ("ftp://h/x", "ftp://h/x"),
    ])
    func `possible passwords are hidden`(_ text: String, hidden: String) {
        #expect(text.withoutCredentials == hidden)
    }

    @Test(arguments: [
        ("", 0), ("abc", 3), ("Ü", 1), ("U\u{308}", 1), ("日本", 4), ("한글", 4), ("ﾊﾝ", 2), ("👩\u{200D}🚀", 4),
        ("❤\u{FE0F}", 2), ("क्षि", 3), ("கொ", 2), ("\u{1112}\u{1161}\u{11AB}", 2), ("\u{17000}", 2), ("\u{1B002}", 2),
        ("\u{200D}", 0), ("─", 1), ("№", 1),
    ])
    func `a text has its width on a terminal`(_ text: String, width: Int) {
        #expect(text.displayWidth == width)
    }

    @Test(arguments: [
        ("abcdefgh", 8, "abcdefgh"), ("abcdefgh", 7, "abc…fgh"), ("abcdefgh", 4, "ab…h"), ("abcdefgh", 2, "a…"),
        ("abcdefgh", 1, "…"), ("abcdefgh", 0, ""), ("日本語日本語", 8, "日本…語"), ("日本語日本語", 5, "日…語"),
        ("日本語", 3, "日…"),
    ])
    func `a long text is shortened in the middle`(_ text: String, width: Int, shortened: String) {
        #expect(text.shortened(to: width) == shortened)
        #expect(shortened.displayWidth <= width)
    }

    @Test
    func `a text is padded to its columns`() {
        #expect("ab".fitted(to: 4) == "ab  ")
        #expect("ab".fitted(to: 4, alignment: .trailing) == "  ab")
        #expect("日本語".fitted(to: 4) == "日… ")
    }
}

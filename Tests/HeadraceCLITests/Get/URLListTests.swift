import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct URLListTests {
    @Test(arguments: [
        ("", []),
        ("http://a/", ["http://a/"]),
        ("http://a/\nhttp://b/\n", ["http://a/", "http://b/"]),
        ("\n  \n# comment\n  # indented\nhttp://a/#part\n\n", ["http://a/#part"]),
        ("http://a/\r\n\r\nhttp://b/\r\n", ["http://a/", "http://b/"]),
        ("\u{FEFF}http://a/\n \thttp://b/ \t\n", ["http://a/", "http://b/"]),
    ])
    func `each line has one URL`(_ text: String, urls: [String]) throws {
        #expect(try URLList(text.utf8, name: "list").entries.map(\.url) == urls)
    }

    @Test
    func `an entry knows its line`() throws {
        let list = try URLList("# a\n\nhttp://a/\n  b\n".utf8, name: "list")
        #expect(list.entries.map(\.origin) == ["--input-file: list: line 3: ", "--input-file: list: line 4: "])
    }

    @Test
    func `an input file that is not text is rejected with the line`() {
        #expect(throws: UsageError("--input-file: list: line 2 is not UTF-8 text")) {
            try URLList(Array("http://a/\n".utf8) + [0xFF, 0xFE], name: "list")
        }
    }
}

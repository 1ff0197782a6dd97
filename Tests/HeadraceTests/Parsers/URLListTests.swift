import Testing

@testable import Headrace

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
        #expect(list.entries.map(\.line) == [3, 4] && list.entries.map(\.list) == ["list", "list"])
    }

    private func entry(_ text: String) throws -> URLList.Entry {
        let entries = try URLList(text.utf8, name: "l").entries
        #expect(entries.count == 1)
        return try #require(entries.first)
    }

    @Test func `a line of JSON has the properties of one download`() throws {
        let digits = String(repeating: "0a", count: 32)
        let start = #"{"url": "http://h/a", "output": "d/b", "checksum": "\#(digits)", "mirrors": ["http://m/"], "#
        let entry = try entry(start + #""headers": {"B": "2", "A": "1"}}"#)
        #expect(entry.url == "http://h/a" && entry.output == "d/b" && entry.mirrors == ["http://m/"])
        #expect(entry.checksums.map(\.description) == ["sha256:\(digits)"])
        #expect(entry.headers == [HeaderField(name: "A", value: "1"), HeaderField(name: "B", value: "2")])
        #expect(try self.entry(#"{"url":"u"}"#) == self.entry("u"))
    }

    @Test func `indented lines are options of the URL before them, as for aria2`() throws {
        let digits = String(repeating: "0a", count: 20)
        let text = "http://h/a\thttp://m/\n  out=b\n\tdir=/d\n checksum=sha-1=\(digits)\n header=A: 1\n  header=B:2:3\n"
        let entry = try entry(text)
        #expect(entry.url == "http://h/a" && entry.mirrors == ["http://m/"])
        #expect(entry.output == "b" && entry.directory == "/d" && entry.line == 1)
        #expect(entry.checksums.map(\.description) == ["sha1:\(digits)"])
        #expect(entry.headers == [HeaderField(name: "A", value: "1"), HeaderField(name: "B", value: "2:3")])
        let two = try URLList("  http://a/?x=1\n  http://b/?y=2\n".utf8, name: "l")
        #expect(two.entries.map(\.url) == ["http://a/?x=1", "http://b/?y=2"])
    }

    @Test(
        arguments: [
            (Array("http://a/\n".utf8) + [0xFF, 0xFE], "Line 2: it is not UTF-8 text."),
            (Array("{".utf8), "Line 1: it is not a JSON object."),
            (Array("{\"url\": 1}".utf8), "Line 1: url, output and checksum must be strings, "),
            (Array("{}".utf8), "Line 1: url, output and checksum must be strings, "),
            (
                Array("{\"url\":\"u\",\"checksums\":\"x\"}".utf8),
                "Line 1: \"checksums\" is not one of checksum, headers, "
            ),
            (Array("\n{\"url\":\"u\",\"checksum\":\"md5=0\"}".utf8), "Line 2: md5 requires 32 hexadecimal digits"),
            (Array("u\n split=5".utf8), "Line 2: split is not one of out, dir, checksum and header."),
            (Array("u\n header=x".utf8), "Line 2: header must have the form NAME: VALUE."),
        ] as [([UInt8], String)]
    )
    func `an invalid line is rejected with its number`(_ bytes: [UInt8], message: String) throws {
        let error = try #require(throws: DownloadError.self) { try URLList(bytes, name: "l") }
        #expect(error.code == .invalidRequest && error.message.hasPrefix(message), "\(error.message)")
    }
}

import HeadracePlatform
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct ResponseHeadParserTests {
    private func parse(_ text: String) throws -> ResponseHeadParser.Step {
        try parse(lines: text.utf8.split(separator: 10).map { Array($0) + [10] })
    }

    private func parse(lines: [[UInt8]]) throws -> ResponseHeadParser.Step {
        var parser = ResponseHeadParser(url: try #require(URL(string: "http://example.org/")))
        for line in lines {
            let step = parser.consume(line)
            if step != .more { return step }
        }
        return .more
    }

    private func head(_ text: String) throws -> ResponseHead? {
        guard case .head(let head) = try parse(text) else { return nil }
        return head
    }

    @Test func `a head ends with the empty line`() throws {
        let head = try #require(try head("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A:b \t\r\n\r\n"))
        #expect(head.status == 200)
        #expect(
            head.fields == [
                HeaderField(name: "Content-Length", value: "5"), HeaderField(name: "X-A", value: "b"),
            ]
        )
        #expect(!head.isMultiplexed)
    }

    @Test func `HTTP/2 has no reason phrase and marks the ends of its streams`() throws {
        let head = try #require(try head("HTTP/2 404 \r\n\r\n"))
        #expect(head.status == 404)
        #expect(head.isMultiplexed)
    }

    @Test(arguments: [("HTTP/2 200", 1), ("HTTP/3 200", 1), ("HTTP/1.1 200 OK", 2), ("HTTP/1.0 200 OK", 2)])
    func `a status line whose major version was not negotiated is rejected`(_ line: String, _ version: Int) throws {
        for status in [line, line.replacing("200", with: "103")] {
            var parser = ResponseHeadParser(url: try #require(URL(string: "https://example.org/")))
            parser.negotiatedVersion = version
            guard case .invalid = parser.consume(Array("\(status)\r\n".utf8)) else {
                Issue.record("\(status) was accepted")
                continue
            }
        }
    }

    @Test func `a second head is another response, and a trailer is not`() throws {
        var parser = ResponseHeadParser(url: try #require(URL(string: "http://example.org/")))
        let steps = ["HTTP/2 200 \r\n", "\r\n", "Checksum: x\r\n", "HTTP/1.1 200 OK\r\n"].map {
            parser.consume(Array($0.utf8))
        }
        #expect(steps[2] == .more)
        #expect(steps[3] == .repeated)
    }

    @Test func `interim responses are skipped with their fields`() throws {
        let interim = String(repeating: "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n", count: 50)
        let head = try #require(try head(interim + "HTTP/1.1 200 OK\r\nX: y\r\n\r\n"))
        #expect(head.fields == [HeaderField(name: "X", value: "y")])
    }

    @Test func `only the first line of a head resets the stall timer`() throws {
        var parser = ResponseHeadParser(url: try #require(URL(string: "http://example.org/")))
        let lines = [
            "HTTP/1.1 103 Early Hints\r\n", "\r\n", "HTTP/1.1 200 OK\r\n", "X: y\r\n", "\r\n", "Trailer: z\r\n",
        ]
        let putsOff = lines.map { line in
            defer { _ = parser.consume(Array(line.utf8)) }
            return parser.extendsStallTimeout
        }
        #expect(putsOff == [true, false, true, false, false, false])
    }

    @Test func `interim responses cannot postpone a stall forever`() throws {
        var parser = ResponseHeadParser(url: try #require(URL(string: "http://example.org/")))
        for _ in 0...ResponseHeadParser.maxInterimResponses {
            #expect(parser.extendsStallTimeout)
            _ = parser.consume(Array("HTTP/1.1 103 Early Hints\r\n".utf8))
            _ = parser.consume(Array("\r\n".utf8))
        }
        #expect(!parser.extendsStallTimeout)
        _ = parser.consume(Array("HTTP/1.1 200 OK\r\n".utf8))
        guard case .head = parser.consume(Array("\r\n".utf8)) else { throw DownloadError(.protocolViolation, "none") }
    }

    @Test func `a folded line continues the preceding field`() throws {
        #expect(try head("HTTP/1.1 200 OK\r\nX: a\r\n  b\r\n\r\n")?.fields == [HeaderField(name: "X", value: "a b")])
    }

    /// Regression: the chunk sizes became part of the file, because libcurl does not recognize a folded coding.
    @Test(arguments: [
        "Transfer-Encoding:\r\n chunked", "transfer-encoding: identity,\r\n\tchunked", "Content-Length: 1\r\n 2",
    ])
    func `a folded field that determines the body length is invalid`(_ field: String) throws {
        #expect(try head("HTTP/1.1 200 OK\r\n\(field)\r\n\r\n") == nil)
    }

    @Test func `whitespace between a name and its colon is ignored`() throws {
        let fields = try head("HTTP/1.1 200 OK\r\nServer : x\r\nX \t: y\r\n\r\n")?.fields
        #expect(fields == [HeaderField(name: "Server", value: "x"), HeaderField(name: "X", value: "y")])
    }

    @Test func `bytes that are not UTF-8 are read as ISO 8859-1`() throws {
        var parser = ResponseHeadParser(url: try #require(URL(string: "http://example.org/")))
        _ = parser.consume(Array("HTTP/1.1 200 OK\r\n".utf8))
        _ = parser.consume(Array("X: ".utf8) + [0xE4] + Array("\r\n".utf8))
        guard case .head(let head) = parser.consume(Array("\r\n".utf8)) else {
            Issue.record("no head")
            return
        }
        #expect(head.fields.first?.value == "ä")
    }

    @Test(arguments: [
        (Array("/f/\u{6D4B}?\u{E9}".utf8), "/f/%E6%B5%8B?%C3%A9"), ([0x2F, 0xB2, 0xE2, 0xE9], "/%B2%E2%E9"),
    ])
    func `D03 the bytes of a location are kept, whatever their encoding`(_ path: [UInt8], _ value: String) throws {
        var parser = ResponseHeadParser(url: try #require(URL(string: "http://example.org/")))
        _ = parser.consume(Array("HTTP/1.1 302 Found\r\n".utf8))
        _ = parser.consume(Array("LOCATION: ".utf8) + path + Array("\r\n".utf8))
        guard case .head(let head) = parser.consume(Array("\r\n".utf8)) else {
            Issue.record("no head")
            return
        }
        #expect(head.fields.first?.value == value)
    }

    @Test func `a status above 599, a second blank and a field with an invalid name are accepted`() throws {
        #expect(try head("HTTP/1.1 999 Request denied\r\n\r\n")?.status == 999)
        #expect(try head("HTTP/1.1  200 OK\r\n\r\n")?.status == 200)
        let fields = try head("HTTP/1.1 200 OK\r\n\"X-A\": b\r\n c\r\nE Tag: \"d\"\r\nETag: \"e\"\r\n\r\n")
        #expect(fields?.values("etag") == ["\"e\""])
        #expect(fields?.fields.first == HeaderField(name: "\"X-A\"", value: "b c"))
    }

    @Test(arguments: [
        "ICY 200 OK\r\n", "HTTP/1.1\r\n", "HTTP/1.1 20 OK\r\n", "HTTP/1.1 2000 OK\r\n", "HTTP/1.1 abc\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n", "HTTP/1.1 200 OK\r\n: empty\r\n", "HTTP/1.1 099 OK\r\n",
        "HTTP/1.1 200 OK\r\n\"Content-Length\": 5\r\n", "HTTP/1.1 200 OK\r\nTransfer- Encoding: chunked\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n", "HTTP/1.1 200 OK\r\ntransfer-encoding\t: chunked\r\n",
        "HTTP/1.1 200 OK\r\n : c\r\n", "HTTP/1.1 200 OK\r\nA: \0\r\n", "HTTP/1.1 200 OK\r\nA: b\rc\r\n",
        "HTTP/1.1 200 OK\r\n folded first\r\n",
    ])
    func `a line that is neither a field nor a status is invalid`(_ text: String) throws {
        guard case .invalid = try parse(text) else {
            Issue.record("\(text.debugDescription) was accepted")
            return
        }
    }

    @Test func `an endless header is cut off`() throws {
        let lines = ["HTTP/1.1 200 OK\r\n"] + Array(repeating: "X: y\r\n", count: ResponseHeadParser.maxFields + 1)
        #expect(try parse(lines.joined()) == .invalid("The response header has more than 1000 fields."))
        let long = ["HTTP/1.1 200 OK\r\n", "X: " + String(repeating: "y", count: ResponseHeadParser.maxBytes) + "\r\n"]
        #expect(try parse(long.joined()) == .invalid("The response header is longer than 256 KiB."))
        let link = "Link: " + String(repeating: "y", count: 6000) + "\r\n"
        let interim = String(repeating: "HTTP/1.1 103 Early Hints\r\n\(link)\r\n", count: 50)
        #expect(try parse(interim) == .invalid("The response header is longer than 256 KiB."))
    }

    @Test func `trailers are accepted and limited`() throws {
        var parser = ResponseHeadParser(url: try #require(URL(string: "http://example.org/")))
        _ = parser.consume(Array("HTTP/1.1 200 OK\r\n".utf8))
        _ = parser.consume(Array("\r\n".utf8))
        #expect(parser.consume(Array("Digest: x\r\n".utf8)) == .more)
        let trailer = Array("T: ".utf8) + [UInt8](repeating: 65, count: ResponseHeadParser.maxBytes)
        #expect(parser.consume(trailer) == .invalid("The response header is longer than 256 KiB."))
    }
}

extension ResponseHeadParser {
    fileprivate mutating func consume(_ line: [UInt8]) -> Step {
        line.withUnsafeBytes { consume($0) }
    }
}

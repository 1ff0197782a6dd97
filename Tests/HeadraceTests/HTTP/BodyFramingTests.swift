import HeadracePlatform
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct BodyFramingTests {
    private func framing(_ fields: [(String, String)], isMultiplexed: Bool = false) throws -> BodyFraming {
        try BodyFraming(
            of: ResponseHead(
                url: try #require(URL(string: "http://example.org/")),
                status: 200,
                fields: fields.map { HeaderField(name: $0.0, value: $0.1) },
                isMultiplexed: isMultiplexed
            )
        )
    }

    @Test(arguments: [("0", 0), ("42", 42), ("42, 42", 42), (" 42 ", 42), ("9223372036854775807", Int64.max)])
    func `a content length is a number of bytes and may be repeated`(_ text: String, _ length: Int64) throws {
        #expect(try framing([("Content-Length", text)]) == .length(length))
        #expect(try framing([("content-length", text), ("CONTENT-LENGTH", text)]) == .length(length))
    }

    @Test(arguments: [
        "-1", "+1", "abc", "12abc", "", "1,", "0x10", "1.5", "٣", "9223372036854775808", "99999999999999999999999",
        "42, 43",
    ])
    func `any other content length is a violation`(_ text: String) {
        #expect(throws: DownloadError.self) { try framing([("Content-Length", text)]) }
    }

    @Test func `two different content lengths are a violation`() {
        #expect(throws: DownloadError.self) { try framing([("Content-Length", "1"), ("Content-Length", "2")]) }
    }

    @Test func `chunked coding takes precedence over a content length`() throws {
        #expect(try framing([("Transfer-Encoding", "Chunked"), ("Content-Length", "5")]) == .delimited)
    }

    @Test(arguments: ["gzip, chunked", "gzip", "identity, gzip", "chunked, chunked"])
    func `an unrequested transfer coding is a violation`(_ coding: String) {
        #expect(throws: DownloadError.self) { try framing([("Transfer-Encoding", coding)]) }
    }

    @Test func `the identity coding is ignored`() throws {
        #expect(try framing([("Transfer-Encoding", "Identity"), ("Content-Length", "5")]) == .length(5))
        #expect(try framing([("Transfer-Encoding", "identity")]) == .unverified)
        #expect(try framing([("Transfer-Encoding", "identity, chunked")]) == .delimited)
    }

    @Test func `without a length, the body ends with the connection or the stream`() throws {
        #expect(try framing([]) == .unverified)
        #expect(try framing([], isMultiplexed: true) == .stream)
        #expect(throws: DownloadError.self) { try framing([("Transfer-Encoding", "chunked")], isMultiplexed: true) }
    }
}

import HeadraceTestSupport
import Testing

@testable import Headrace

/// One test of curl's own suite, adapted to a download of `/want/file.bin`.
struct CurlCase: Sendable, CustomTestStringConvertible {
    enum Expectation: Sendable {
        /// A file of this name and content after this many requests.
        case file(String = "file.bin", Response.Body = ResumeFixture.old.body, requests: Int = 1)
        /// An error after this many requests, with the received bytes kept or not.
        case failure(DownloadError.Code, status: Int? = nil, requests: Int = 1, keepsBytes: Bool = false)
    }

    /// The test's number in curl's suite.
    let number: Int
    let what: String
    /// The responses in order; the last one is also sent to all further requests.
    let responses: [Response]
    let expectation: Expectation
    /// The target of the last request.
    let lastTarget: String
    /// The names that are already taken.
    let existing: [String]
    /// Curl's different behaviour, and why Headrace does not share it.
    let difference: String?

    init(
        _ number: Int,
        _ what: String,
        _ responses: [Response],
        _ expectation: Expectation,
        at lastTarget: String = "/want/file.bin",
        beside existing: [String] = [],
        unlikeCurl difference: String? = nil
    ) {
        self.number = number
        self.what = what
        self.responses = responses
        self.expectation = expectation
        self.lastTarget = lastTarget
        self.existing = existing
        self.difference = difference
    }

    var testDescription: String {
        "curl \(number), \(what)" + (difference.map { " (unlike curl: \($0))" } ?? "")
    }

    static let all = resuming + retrying + redirects + lengths + chunks + heads + names
}

extension CurlCase {
    private static let old = ResumeFixture.old
    private static let new = ResumeFixture.new
    private static let size = ResumeFixture.size
    private static let cut = ResumeFixture.cut
    private static let whole = Response.file(old)
    private static let first = whole.truncated(after: cut)
    /// The complete body without its last chunk.
    private static let endless = whole.chunked(hasLastChunk: false)
    private static let bare = Response.ok(old.body)
    private static let page = Response.Body("-foo-\n")

    private static func raw(_ head: String, _ body: String = "-foo-\n") -> Response {
        .raw(.bytes(Array((head + "\r\n\r\n" + body).utf8)))
    }

    private static func ok(_ fields: String, _ body: String = "-foo-\n") -> Response {
        raw("HTTP/1.1 200 OK\r\n" + fields, body)
    }

    private static func refusal(_ contentRange: String?) -> Response {
        let refusal = Response.status(416, body: "bad").header("ETag", "\"v1\"")
        return contentRange.map(refusal.contentRange) ?? refusal
    }

    private static let resuming = [
        CurlCase(
            38,
            "the rest is asked of a server that has no ranges",
            [first, bare.http10],
            .file(requests: 2),
            unlikeCurl: "it stops; the whole that came is of use"
        ),
        CurlCase(
            92,
            "the rest of a file that is all there",
            [endless, refusal("bytes */\(size)")],
            .file(requests: 2)
        ),
        CurlCase(
            99,
            "the rest of a file that is gone",
            [first, .status(404, body: page)],
            .failure(.httpStatus, status: 404, requests: 2, keepsBytes: true)
        ),
        CurlCase(
            188,
            "the rest behind a redirect, with a Content-Range that is none",
            [first, .redirect(301, to: "/moved"), .ok(new.body).contentRange("bytes 50-")],
            .file("moved", new.body, requests: 3),
            at: "/moved",
            unlikeCurl: "it appends; the status says that this is the whole, and nothing that it is of one version"
        ),
        CurlCase(
            1040,
            "416 without a size",
            [endless, refusal(nil), whole],
            .file(requests: 3),
            unlikeCurl: "it takes the file for complete, of which nothing is proof"
        ),
        CurlCase(
            1117,
            "a part of another length than its range, which does not come",
            [first, .part(cut..<cut + 9, of: old).claimingLength("13"), whole],
            .file(requests: 3)
        ),
        CurlCase(
            1475,
            "416 with a size without a unit",
            [endless, refusal("*/\(size)"), whole],
            .file(requests: 3),
            unlikeCurl: "it takes the file for complete; the field is malformed"
        ),
        CurlCase(
            1909,
            "what was cut cannot be resumed",
            [bare.truncated(after: 3), .ok(new.body)],
            .file("file.bin", new.body, requests: 2)
        ),
        CurlCase(
            3035,
            "the rest in two parts",
            [first, .part(cut..<size, of: old).truncated(after: 1000), whole],
            .file(requests: 3)
        ),
    ]

    private static let retrying = [
        CurlCase(
            1633,
            "429 behind a redirect",
            [.redirect(301, to: "/moved"), .status(429), .redirect(301, to: "/moved"), whole],
            .file("moved", requests: 4),
            at: "/moved"
        ),
        CurlCase(1637, "502 for ever", [.status(502, body: page)], .failure(.httpStatus, status: 502, requests: 3)),
    ]

    private static let redirects = [
        CurlCase(
            52,
            "./, and a Location in the answer",
            [.redirect(to: "./two.bin"), whole.header("Location", "x")],
            .file("two.bin", requests: 2),
            at: "/want/two.bin"
        ),
        CurlCase(
            276,
            "more than one question mark",
            [.redirect(301, to: "data/two.txt?site=http://other/?second/2"), whole],
            .file("two.txt", requests: 2),
            at: "/want/data/two.txt?site=http://other/?second/2"
        ),
        CurlCase(
            663,
            "blanks and dots in a whole URL",
            [absoluteRedirect("http:", "/there/it/is/../../tes t case=/two.bin? yes no"), whole],
            .file("two.bin", requests: 2),
            at: "/there/tes%20t%20case=/two.bin?%20yes%20no",
            unlikeCurl: "it makes them + in a query, which only forms know"
        ),
        CurlCase(
            1138,
            "UTF-8 in a query",
            [.redirect(to: "../moo.html/?name=\u{622}"), whole],
            .file("file.bin", requests: 2),
            at: "/moo.html/?name=%D8%A2"
        ),
        CurlCase(
            1141,
            "three slashes",
            [.redirect(to: "http:///example.org/two.bin")],
            .failure(.redirect, status: 302),
            unlikeCurl: "it guesses a host"
        ),
        CurlCase(
            1314,
            "a URL without a scheme",
            [absoluteRedirect("", "/reply/two.bin"), whole],
            .file("two.bin", requests: 2),
            at: "/reply/two.bin"
        ),
        CurlCase(
            773,
            "one Location told twice",
            [.redirect(to: "this").header("Location", "this"), whole],
            .file("this", requests: 2),
            at: "/want/this"
        ),
        CurlCase(
            3032,
            "three redirects to itself, then the file",
            Array(repeating: .redirect(301, to: "file.bin"), count: 3) + [whole],
            .file(requests: 4)
        ),
    ]

    private static func absoluteRedirect(_ scheme: String, _ path: String) -> Response {
        .answering { .redirect(to: "\(scheme)//\($0["Host"] ?? "")\(path)") }
    }

    private static let lengths = [
        CurlCase(
            334,
            "no content",
            [.status(204).header("Transfer-Encoding", "chunked")],
            .failure(.httpStatus, status: 204),
            unlikeCurl: "it writes an empty file, where there is none"
        ),
        CurlCase(
            395,
            "a length beyond 64 bits",
            [ok("Content-Length: 36893488147419103232")],
            .failure(.protocolViolation),
            unlikeCurl: "it reads to the end of the connection, which proves nothing"
        ),
        CurlCase(
            415,
            "a length behind a control character",
            [ok("Content-Length: \r-6")],
            .failure(.protocolViolation)
        ),
        CurlCase(769, "blanks behind a length", [ok("Content-Length: 6     ")], .file("file.bin", page)),
        CurlCase(
            770,
            "lists of one length",
            [ok("Content-Length: 6,06,6\r\nContent-Length: 6,    6")],
            .file("file.bin", page)
        ),
        CurlCase(
            2305,
            "gzip in two members",
            [.ok(.bytes([0x1f, 0x8b, 8, 0, 0x1f, 0x8b])).header("Content-Encoding", "gzip")],
            .file("file.bin", .bytes([0x1f, 0x8b, 8, 0, 0x1f, 0x8b])),
            unlikeCurl: "it decodes, and fails; the file is what was sent"
        ),
    ]

    private static let chunks = [
        CurlCase(
            36,
            "a size that is none",
            [ok("Transfer-Encoding: chunked", "2\r\na\n\r\nILLEGAL\r\nb\r\n")],
            .failure(.protocolViolation, requests: 3, keepsBytes: true)
        ),
        CurlCase(
            207,
            "the end of the connection in a chunk",
            [ok("Transfer-Encoding: chunked", "41\r\naaaa\r\n"), whole],
            .file(requests: 2)
        ),
        CurlCase(
            1723,
            "chunks in chunks, coded",
            [ok("Transfer-Encoding: chunked, chunked, another", "0\r\n\r\n")],
            .failure(.protocolViolation)
        ),
        CurlCase(
            2106,
            "a NUL in a trailer",
            [ok("Transfer-Encoding: chunked", "6\r\n-foo-\n\r\n0\r\nx: he\0llo\r\n\r\n")],
            .failure(.protocolViolation, keepsBytes: true)
        ),
    ]

    private static let heads = [
        CurlCase(
            398,
            "a line without a colon",
            [ok("Server test-server\r\nContent-Length: 6")],
            .failure(.protocolViolation)
        ),
        CurlCase(
            497,
            "300 KiB in all",
            [Array(repeating: 3000, count: 100).reduce(whole) { $0.hugeHeaderLine($1) }],
            .failure(.protocolViolation)
        ),
        CurlCase(
            1429,
            "status 999",
            [raw("HTTP/1.1 999 OK\r\nContent-Length: 6")],
            .failure(.httpStatus, status: 999),
            unlikeCurl: "it passes the body on; RFC 9110 has no such status, and none of it is a file"
        ),
        CurlCase(
            1433,
            "a version of a hundred digits",
            [raw("HTTP/1.\(String(repeating: "1", count: 100)) 200 OK\r\nContent-Length: 6")],
            .failure(.protocolViolation)
        ),
        CurlCase(
            1480,
            "an interim answer, then no answer",
            [raw("HTTP/1.1 100 Continue\r\nFoo: Bar", "Data\n")],
            .failure(.protocolViolation)
        ),
        CurlCase(1665, "no end of the head", [whole.headTruncated(after: 60), whole], .file(requests: 2)),
        CurlCase(
            2105,
            "a CR in a line",
            [ok("Funny-head: yes\ryes\r\nContent-Length: 6")],
            .failure(.protocolViolation)
        ),
    ]

    private static func named(_ disposition: String) -> Response { whole.header("Content-Disposition", disposition) }

    private static let names = [
        CurlCase(
            1311,
            "a name, and parameters that nobody knows",
            [named("filename=name1311; charset=funny; option=strange")],
            .file("name1311")
        ),
        CurlCase(
            1312,
            "a semicolon in quotes",
            [named("inline; filename=\"name1312;weird\"")],
            .file("name1312;weird")
        ),
        CurlCase(
            1313,
            "a quote that is none and does not end",
            [named("inline; filename='name1313")],
            .file("'name1313"),
            unlikeCurl: "it drops the quote, which RFC 6266 does not know"
        ),
        CurlCase(
            1460,
            "a name that is taken",
            [named("filename=name1460")],
            .file("name1460 (1)"),
            beside: ["name1460"],
            unlikeCurl: "it fails, unless told to count"
        ),
        CurlCase(1585, "a path of DOS", [named("filename=log\\server\\name1585")], .file("name1585")),
        CurlCase(
            1643,
            "the last of two redirects",
            [
                .redirect(301, to: "go/here/two.bin#first"), .redirect(301, to: "too/three.bin?fooo#second/three"),
                whole,
            ],
            .file("three.bin", requests: 3),
            at: "/want/go/here/too/three.bin?fooo"
        ),
        CurlCase(
            1681,
            "the URL's name is taken",
            [whole],
            .file("file (1).bin"),
            beside: ["file.bin"],
            unlikeCurl: "it counts behind the extension"
        ),
    ]
}

import HeadracePlatform
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct RequestValidationTests {
    private func request(_ url: String, _ headers: [HeaderField] = []) throws -> DownloadRequest {
        DownloadRequest(
            try #require(URL(string: url)),
            to: .directory(URL(filePath: "/tmp")),
            headers: headers
        )
    }

    @Test(arguments: [
        "http://example.org", "https://example.org:8443/a?b#c", "http://[::1]:80/", "HTTP://u:p@h/",
        "http://[fe80::1%25eth0]/", "http://%61b.org/", "http://a_b./", "http://a~b/", "http://xn--mller-kva.invalid/",
    ])
    func `http and https URLs with a host are accepted`(_ url: String) throws {
        try request(url).validate()
    }

    @Test(arguments: [
        "ftp://example.org/", "file:///etc/passwd", "example.org/x", "/x", "http:///x", "http:x", "mailto:a@b",
        "http://example.org:0/", "http://example.org:65536/",
    ])
    func `other URLs are rejected`(_ url: String) throws {
        let request = try request(url)
        let error = try #require(throws: DownloadError.self) { try request.validate() }
        #expect(error.code == .invalidRequest)
    }

    @Test(arguments: [
        ("http://m%C3%BCller.invalid/x", "\"http://m\u{FC}ller.invalid/x\" has a host that is not in ASCII."),
        ("http://m%FCller.invalid/", "that is not in ASCII. Use its ASCII form (IDNA), which contains xn--"),
        ("http://exa%20mple.com/", "\"http://exa mple.com/\" is not a valid URL: its host is neither a name"),
        ("http://a%0Ab/", "is not a valid URL"), ("http://[::g]/x", "is not a valid URL"),
        ("http://a%2Fb/x", "is not a valid URL"), ("http://a%5Cb/x", "is not a valid URL"),
        ("http://a'b(c)/x", "is not a valid URL"), ("http://%7Ba%7D/x", "is not a valid URL"),
        ("http://a,b/x", "is not a valid URL"),
    ])
    func `an invalid host is rejected with a hint`(_ url: String, message: String) throws {
        let request = try request(url)
        let error = try #require(throws: DownloadError.self) { try request.validate() }
        #expect(error.code == .invalidRequest)
        #expect(error.message.contains(message), "\(error.message)")
    }

    @Test(arguments: [
        ("Range", "bytes=0-"), ("hOsT", "x"), ("If-Range", "x"), ("Accept-Encoding", "gzip"), ("X", "a\r\nB: c"),
        ("X", "a\nb"), ("X", "a\0"), ("", "x"), ("X Y", "z"), ("X:", "z"), ("Ä", "z"),
    ])
    func `S06 a header that cannot be sent is rejected`(_ name: String, _ value: String) throws {
        let request = try request("http://example.org/", [HeaderField(name: name, value: value)])
        let error = try #require(throws: DownloadError.self) { try request.validate() }
        #expect(error.code == .invalidRequest)
    }

    @Test(arguments: [
        "ftp://user:secret@example.org/", "user:secret@example.org/f", "http:user:secret@example.org/",
        "http://user:99999/secret@example.org/",
    ])
    func `a password is in no error message`(_ url: String) throws {
        let request = try request(url)
        let error = try #require(throws: DownloadError.self) { try request.validate() }
        #expect(error.description.contains("***@example.org/"))
        #expect(!error.description.contains("secret") && error.url?.absoluteString.contains("secret") != true)
    }

    @Test(arguments: ["file:///", "file:///tmp/..", "file:///tmp/.", "http://example.org/x"])
    func `a destination that cannot be a file is rejected`(_ destination: String) throws {
        let url = try #require(URL(string: "http://example.org/"))
        let request = DownloadRequest(url, to: .file(try #require(URL(string: destination))))
        let error = try #require(throws: DownloadError.self) { try request.validate() }
        #expect(error.code == .invalidRequest)
    }

    @Test func `an invalid size is rejected`() throws {
        let (length, checksum) = (Int64(3), try Checksum(.md5, of: []))
        for (size, pieces, isPossible) in [
            (Int64(0), 0, true), (.max, 0, true), (-1, 0, false), (4, 2, true), (6, 2, true), (3, 2, false),
            (7, 2, false),
        ] {
            var request = try request("http://example.org/")
            request.expectedSize = size
            request.pieceHashes = PieceHashes(length: length, checksums: Array(repeating: checksum, count: pieces))
            let error = Result { () throws(DownloadError) in try request.validate() }
            guard case .failure(let error) = error else {
                #expect(isPossible, "\(size)")
                continue
            }
            #expect(error.code == .invalidRequest && !isPossible && error.message.contains("\(size)"))
        }
    }
}

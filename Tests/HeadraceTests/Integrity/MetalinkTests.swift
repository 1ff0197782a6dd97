import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)), .computing)
struct MetalinkTests {
    private static let sha256 = String(repeating: "0a", count: 32)
    private static let md5 = String(repeating: "Ff", count: 16)

    private func parse(_ content: String, root: String = "metalink") throws -> Metalink {
        try Metalink(parsing: Array("<\(root) xmlns='urn:ietf:params:xml:ns:metalink'>\(content)</\(root)>".utf8))
    }

    private func file(_ content: String) throws -> Metalink.File {
        try #require(try parse("<file name='a'>\(content)</file>").files.first)
    }

    private func reason(_ content: String) -> String? {
        #expect(throws: DownloadError.self) { try parse(content) }?.message
    }

    @Test func `supported elements are read, and all others are ignored`() throws {
        let metalink = try parse(
            """
            <generator>x</generator><file name="iso/a.iso"><size> 5 </size><os>Linux</os>
            <hash type="sha-256">\(Self.sha256)</hash><hash type="MD5">\(Self.md5)</hash><hash type="tiger">?</hash>
            <pieces length="3" type="md5"><hash>\(Self.md5)</hash><hash>\(Self.md5)</hash></pieces>
            <pieces length="4" type="sha-256"><hash>\(Self.sha256)</hash><hash>\(Self.sha256)</hash></pieces>
            <url priority="2">http://b/</url><url>http://last/</url><url priority="1" location="de">https://a/x?y&amp;z</url>
            <url>ftp://f/</url><url>http://u:p@h/</url><url>http://mў/</url><url priority="1">http://b/</url>
            <metaurl mediatype="torrent">http://t/</metaurl></file><file name="b"/>
            """
        )
        #expect(metalink.files.map(\.name) == ["a.iso", "b"])
        let file = metalink.files[0]
        #expect(file.size == 5)
        #expect(file.checksums.map(\.description) == ["sha256:\(Self.sha256)", "md5:\(Self.md5.lowercased())"])
        #expect(file.pieces?.length == 4 && file.pieces?.fileSize == 5)
        #expect(file.pieces?.checksums.map(\.algorithm) == [.sha256, .sha256])
        #expect(file.urls.map(\.absoluteString) == ["https://a/x?y&z", "http://b/", "http://last/"])
        let request = try #require(file.request(to: URL(filePath: "/d")))
        #expect(request.url == file.urls[0] && request.mirrors == Array(file.urls.dropFirst()))
        #expect(request.destination == .file(URL(filePath: "/d/a.iso")))
        #expect(request.expectedSize == 5 && request.checksums == file.checksums && request.pieceHashes == file.pieces)
        #expect(metalink.files[1].request(to: URL(filePath: "/d")) == nil)
    }

    @Test(arguments: ["/etc/passwd", "../a", "a/../b", "a/..", "./a", "a//b", "", ".", "..", "a/", "a/."])
    func `S01 a name that leads out of the directory is rejected`(_ name: String) throws {
        let file = try #require(try parse("<file name='\(name)'><url>http://h/</url></file>").files.first)
        #expect(file.problem?.contains("points outside") == true)
        #expect(file.name == "unnamed (1)")
        #expect(file.request(to: URL(filePath: "/d")) == nil)
    }

    @Test func `a file with contradicting checksums is rejected, and the others are not`() throws {
        let hashes = [Self.sha256, String(repeating: "0", count: 64)].map { "<hash type='sha-256'>\($0)</hash>" }
        let files = try parse(
            "<file name='a'>\(hashes.joined())<url>http://h/</url></file><file name='b'><url>http://h/</url></file>"
        ).files
        #expect(files.map(\.problem) == ["its sha256 checksums contradict each other", nil])
    }

    @Test(arguments: [("a\\..\\b", "b"), ("x/.bashrc", "bashrc"), ("CON", "_CON"), ("a&#x202e;b", "ab"), ("-rf", "rf")])
    func `S01 a name is made safe`(_ name: String, _ safe: String) throws {
        #expect(try parse("<file name='\(name)'/>").files.map(\.name) == [safe])
    }

    @Test(arguments: [
        ("", "no file"),
        ("<file name='a'>&lol;</file>", "entity"), ("<file name='a'>&#0;</file>", "entity"),
        ("<file name='a'>&#xFFFF;</file>", "entity"), ("<file name='a'>&#+65;</file>", "entity"),
        ("<file name='a'>\u{1}</file>", "control"), ("<file name='<'/>", "terminated"), ("<file name=a/>", "quotes"),
        ("<file name/>", "no value"), ("<file name='a'x='b'/>", "malformed"), ("<file name='a' name='a'/>", "twice"),
        ("<p:file name='a'/>", "prefix"), ("<x></y>", "does not match"), ("<!-- ", "is not terminated"),
        ("<![CDATA[", "is not terminated"), ("<1/>", "name is malformed"), ("<!DOCTYPE a>", "document type"),
    ])
    func `a malformed document is rejected with the reason`(_ content: String, _ part: String) {
        let reason = reason(content)
        #expect(reason?.contains(part) == true, "\(reason ?? "")")
    }

    @Test(arguments: [
        ("<file/>", "no name"), ("<file name='../a'/>", "points outside"),
        ("<file name='good'/>", "two files are called good"),
        ("<file name='a'><size>-1</size></file>", "size"),
        ("<file name='a'><size>1</size><size>1</size></file>", "size"),
        ("<file name='a'><hash type='md5'>00</hash></file>", "checksum"),
        ("<file name='a'><pieces type='md5'/></file>", "length"),
        ("<file name='a'><pieces length='1'/></file>", "function"),
        ("<file name='a'><pieces length='0' type='md5'/></file>", "length"),
        ("<file name='a'><size>9</size><pieces length='1' type='md5'><hash>\(md5)</hash></pieces></file>", "number"),
        ("<file name='a'><url priority='0'>http://a/</url></file>", "priority"),
    ])
    func `an invalid file entry has a problem, and the others have none`(
        _ file: String,
        _ part: String
    ) throws {
        let url = "<url>http://h/x</url>"
        let (before, after) = ("<file name='good'>\(url)</file>", "<file name='after'>\(url)</file>")
        let text = "<metalink xmlns='urn:ietf:params:xml:ns:metalink'>\(before)\(file)\(after)</metalink>"
        let files = try Metalink(parsing: Array(text.utf8)).files
        #expect(files.count == 3)
        #expect(files.map { $0.problem == nil } == [true, false, true])
        #expect(files[1].problem?.contains(part) == true, "\(files[1].problem ?? "")")
        let folder = URL(filePath: "/")
        // The document chose the name, so it must not replace a file.
        #expect(files[0].request(to: folder)?.conflictPolicy == .rename)
        #expect(files.map { $0.request(to: folder) == nil } == [false, true, false])
    }

    @Test(arguments: ["<metalink/>", "<a/>", "", "x", "<metalink version='3.0' xmlns='http://www.metalinker.org/'/>"])
    func `any other document type is rejected`(_ text: String) {
        #expect(throws: DownloadError.self) { try Metalink(parsing: Array(text.utf8)) }
    }

    @Test func `any other encoding is rejected, and a UTF-8 byte order mark is ignored`() throws {
        let text = "<metalink xmlns='urn:ietf:params:xml:ns:metalink'><file name='\u{e4}'/></metalink>"
        #expect(try Metalink(parsing: [0xef, 0xbb, 0xbf] + Array(text.utf8)).files.map(\.name) == ["\u{e4}"])
        #expect(throws: DownloadError.self) { try Metalink(parsing: Array(text.utf16).map { UInt8($0 & 0xff) }) }
        let latin = "<?xml version='1.0' encoding='ISO-8859-1'?>" + text
        #expect(throws: DownloadError.self) { try Metalink(parsing: Array(latin.utf8)) }
    }

    /// Without limits, each of these would take unbounded memory or time.
    @Test func `documents built to exhaust resources are rejected or read within limits`() throws {
        let deep = String(repeating: "<a>", count: 10_000)
        #expect(reason(deep)?.contains("deep") == true)
        let attributes = (0..<1000).map { "a\($0)='' " }.joined()
        #expect(reason("<a \(attributes)/>")?.contains("too many attributes") == true)
        func bindings(_ numbers: Range<Int>) -> String { numbers.map { "xmlns:p\($0)='u' " }.joined() }
        #expect(reason("<a \(bindings(0..<20))><a \(bindings(20..<40))/></a>")?.contains("too many namespaces") == true)
        let files = (0...Metalink.maxFiles).map { "<file name='\($0)'/>" }.joined()
        #expect(reason(files)?.contains("too many files") == true)
        let hash = "<hash>\(Self.md5)</hash>"
        let pieces = "<pieces length='1' type='md5'>\(String(repeating: hash, count: Metalink.maxPieces + 1))</pieces>"
        #expect(reason("<file name='a'>\(pieces)</file>")?.contains("too many pieces") == true)
        let urls = (0..<2000).map { "<url>http://h\($0)/</url>" }.joined()
        let read = try file(urls + "<url priority='1'>http://late/</url>").urls
        #expect(read.count == 65 && read.first?.host() == "h0")
        let long = [UInt8](repeating: 0x20, count: Metalink.maxBytes + 1)
        #expect(throws: DownloadError.self) { try Metalink(parsing: long) }
    }

    @Test func `text is joined across comments, CDATA sections and entities`() throws {
        let url = "<url>\n http://m/<!-- > --><![CDATA[a&<]]>&#x3d;<?x ?>b <i>no</i></url>"
        #expect(try file(url.replacing("&<]]", with: "]]")).urls.map(\.absoluteString) == ["http://m/a=b"])
    }
}

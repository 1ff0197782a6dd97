import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct DestinationPathsTests {
    private func names(_ destination: DownloadRequest.Destination) throws -> DestinationPaths {
        DestinationPaths(DownloadRequest(try #require(URL(string: "http://h/asked.bin")), to: destination))
    }

    private func head(_ url: String, _ disposition: String? = nil) throws -> ResponseHead {
        let fields = disposition.map { [HeaderField(name: "Content-Disposition", value: $0)] } ?? []
        return ResponseHead(url: try #require(URL(string: url)), status: 200, fields: fields)
    }

    private static func code(of body: () throws -> Void) -> DownloadError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? DownloadError)?.code
        }
    }

    private static let folder = URL(filePath: "/tmp/d/", directoryHint: .isDirectory)

    @Test(arguments: [
        ("http://h/asked.bin", nil, "asked.bin"), ("http://h/final.bin", nil, "final.bin"),
        ("http://h/", nil, "asked.bin"),
        ("http://h/final.bin", "attachment; filename=told.bin", "told.bin"),
        ("http://h/asked.bin", "attachment; filename=told.bin", "told.bin"),
        ("http://h/final.bin", "attachment", "final.bin"), ("http://h/final.bin", "inline; filename=..", "final.bin"),
        ("http://h/", "attachment; filename=..", "asked.bin"),
        ("http://h/final.bin", "attachment; filename*=UTF-8''..%2F; filename=told.bin", "told.bin"),
    ])
    func `the server's name comes first, then the final URL, then the requested URL`(
        _ url: String,
        _ disposition: String?,
        _ name: String
    ) throws {
        let path = try names(.directory(Self.folder)).path(for: head(url, disposition))
        #expect(path == "/tmp/d/" + name)
    }

    @Test func `a name given by the caller is never changed`() throws {
        let names = try names(.file(Self.folder.appending(path: "mine")))
        #expect(try names.path(for: head("http://h/final.bin", "attachment; filename=told.bin")) == "/tmp/d/mine")
        #expect(names.knownPath == "/tmp/d/mine")
    }

    @Test(arguments: [
        ("file:///tmp/tool%00%20v2/", "has a path with a zero byte"), ("file:///tmp/x%FF%FE/", "has no path in UTF-8"),
        ("file://server/tmp/d/", "names a file of another machine"), ("https://h/d/", "is not a file URL"),
        ("file://localhost/tmp/d/", nil), ("file:///tmp/d/", nil),
    ])
    func `S01 a destination names a file of this machine`(_ text: String, _ fault: String?) throws {
        let url = try #require(URL(string: text))
        #expect(url.fileFault == fault)
        for destination in [DownloadRequest.Destination.directory(url), .file(url.appending(path: "x"))] {
            let request = DownloadRequest(try #require(URL(string: "http://h/x")), to: destination)
            #expect(Self.code(of: { try request.validate() }) == (fault == nil ? nil : .invalidRequest))
        }
        let configuration = DownloadConfiguration { $0.registryDirectory = url }
        #expect(Self.code(of: { try configuration.validate() }) == (fault == nil ? nil : .invalidRequest))
    }

    /// Regression: the path was split into characters, and the slash and the mark are one character.
    @Test func `S01 a name that starts with a combining mark stays in the directory`() throws {
        let names = try names(.directory(URL(filePath: "/tmp/d.d/", directoryHint: .isDirectory)))
        let path = try names.path(for: head("http://h/x", "attachment; filename*=UTF-8''%CC%81x"))
        #expect(names.name(of: path) == "\u{301}x")
        #expect(names.contains(path))
        #expect(path.utf8.elementsEqual("/tmp/d.d/\u{301}x".utf8))
    }

    @Test(arguments: [
        ("/tmp/d/x", true), ("/tmp/d/..x", true), ("/tmp/d/\u{301}", true), ("/tmp/d/", false), ("/tmp/d", false),
        ("/tmp/d/..", false), ("/tmp/d/.", false), ("/tmp/d/x/y", false), ("/tmp/d/../x", false), ("/tmp/x", false),
        ("/tmp/d/x\0", false), ("x", false), ("", false), ("/tmp/d/x/\u{301}", false), ("/tmp/dx", false),
    ])
    func `S01 a path is one component below its directory or invalid`(_ path: String, _ isContained: Bool) throws {
        #expect(try names(.directory(Self.folder)).contains(path) == isContained)
    }

    /// Random field values from a server.
    @Test(arguments: UInt64(1)...8)
    func `S01 no header field leads out of the directory`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let names = try names(.directory(Self.folder))
        let pieces: [String] = [
            "filename=", "filename*=UTF-8''", ";", "\"", "\\", "/", "..", ".", "%2f", "%2F..", "%00", "%0d%0a",
            "%cc%81",
            "~", "-", " ", "CON", "nul.", "\u{301}", "\u{202E}", "é", "x", "%5c", "'", "C:",
        ]
        for _ in 0..<500 {
            let count = Int.random(in: 1..<14, using: &random)
            let field = (0..<count).compactMap { _ in pieces.randomElement(using: &random) }.joined()
            let path = try names.path(for: head("http://h/a", "attachment; filename=" + field))
            let name = names.name(of: path)
            #expect(names.contains(path), "\(field)")
            #expect(SafeFileName(name)?.description == name, "\(field)")
        }
    }
}

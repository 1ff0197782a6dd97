import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct RegistryRequestTests {
    private let bases = RegistryFixture.bases

    // MARK: Paths

    @Test(arguments: [
        ("/home/user/Downloads/a", "home:Downloads/a"), ("/home/user", "home:"), ("/home/user/", "home:"),
        ("/home//user/./Downloads//", "home:Downloads"), ("/home/username/a", "/home/username/a"),
        ("/home/user/.local/state/a", "registry:a"), ("/home/user/.local/states", "home:.local/states"),
        ("/tmp/x", "temporary:x"), ("/", "/"), ("/data/a b", "/data/a b"), ("/home/user/../x", "/home/user/../x"),
        ("/home/user/a..b", "home:a..b"), ("/home/user/\u{301}a", "home:\u{301}a"),
        ("/home/user\u{301}/a", "/home/user\u{301}/a"),
    ])
    func `a path is stored relative to its innermost base directory`(_ absolute: String, _ stored: String) {
        let path = RelocatablePath(absolute, bases: bases)
        #expect(path.description == stored)
        #expect(RelocatablePath(stored) == path)
        let resolved = path.resolved(in: bases).map { RelocatablePath($0, bases: bases) }
        #expect(resolved == path)
    }

    @Test func `a path still resolves after its base directory has moved`() {
        let moved = RegistryBaseDirectories(home: "/Users/new/", registry: "/Users/new/x", temporary: "/var/tmp")
        for (absolute, now) in [
            ("/home/user/Downloads/a", "/Users/new/Downloads/a"), ("/home/user", "/Users/new"),
            ("/home/user/.local/state/a", "/Users/new/x/a"), ("/tmp/a", "/var/tmp/a"), ("/data/a", "/data/a"),
        ] {
            #expect(RelocatablePath(absolute, bases: bases).resolved(in: moved) == now)
        }
    }

    @Test func `only base directories shared by all processes are used, and older paths are read`() {
        let bases = RegistryBaseDirectories(of: URL(filePath: "/srv/registry", directoryHint: .isDirectory))
        let home = URL.homeDirectory.appending(path: "a").path
        let temporary = FileManager.default.temporaryDirectory.appending(path: "a").path
        #if canImport(Darwin)
        #expect(["home:a", "temporary:a"] == [home, temporary].map { RelocatablePath($0, bases: bases).description })
        #else
        #expect([home, temporary] == [home, temporary].map { RelocatablePath($0, bases: bases).description })
        #endif
        #expect(RelocatablePath("/srv/a", bases: bases).description == "registry:a")
        #expect([home, temporary] == ["home:a", "temporary:a"].map { RelocatablePath($0)?.resolved(in: bases) })
    }

    @Test func `paths relative to a linked directory resolve from the link's target`() async throws {
        try await withTemporaryDirectory { folder in
            let directory = folder.appending(path: "data/registry", directoryHint: .isDirectory)
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            let link = folder.appending(path: "queue", directoryHint: .isDirectory)
            try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "data/registry")
            let resolved = RelocatablePath("registry:a")?.resolved(in: RegistryBaseDirectories(of: link))
            #expect(resolved == RelocatablePath("registry:a")?.resolved(in: RegistryBaseDirectories(of: directory)))
            #expect(resolved?.hasSuffix("/data/a") == true)
        }
    }

    @Test(arguments: ["", "/"])
    func `the root and an empty path are not base directories`(_ home: String) {
        let bases = RegistryBaseDirectories(home: home, registry: "", temporary: "/")
        #expect(RelocatablePath("/home/a", bases: bases).description == "/home/a")
        #expect(RelocatablePath("home:a")?.resolved(in: bases) == nil)
        #expect(RelocatablePath("/a")?.resolved(in: bases) == "/a")
    }

    @Test(arguments: [
        "", "a", "home", "home:/a", "home:a/", "home:a//b", "home:./a", "home:../a", "home:a/..", "elsewhere:a", ":a",
        "//a", "/a/", "/./a", "/a\u{0}", "home:\u{0}", " /a", "HOME:a",
    ])
    func `a path in another spelling or outside its base directory is invalid`(_ text: String) {
        #expect(RelocatablePath(text) == nil)
    }

    // MARK: Requests

    @Test func `a request is read back as it was`() throws {
        let url = try #require(URL(string: "https://example.org/a%20b?c=d#e"))
        for destination in [
            DownloadRequest.Destination.file(URL(filePath: "/home/user/a b/ä%2F.zip")),
            .directory(URL(filePath: "/home/user/Downloads/", directoryHint: .isDirectory)),
            .directory(URL(filePath: "/", directoryHint: .isDirectory)), .file(URL(filePath: "/data/x")),
        ] {
            var request = DownloadRequest(
                url,
                to: destination,
                conflictPolicy: .skip,
                headers: [HeaderField(name: "Accept", value: "*/*"), HeaderField(name: "Origin", value: "null")],
                resumePolicy: .overlap
            )
            request.refetchPolicy = .ifChanged
            request.priority = .high
            request.earliestBegin = Date(timeIntervalSince1970: 1_767_225_600.125)
            request.startsPaused = true
            request.networkPolicy = .notExpensive
            request.requiresPublicAddress = true
            request.rateLimit = 1
            request.checksums = Checksum.Algorithm.allCases.compactMap { ChecksumFixture.checksum($0) }
            request.mismatchPolicy = .delete
            request.mirrors = [try #require(URL(string: "http://mirror.example/a%20b"))]
            (request.group, request.title, request.userInfo) = ("group", "title", ["key": "value"])
            request.userData = Data([0, 255])
            let kept = RegistryRequest(request, bases: bases)
            #expect(kept.downloadRequest(in: bases) == request)
            #expect(!kept.lacksSecrets)
        }
    }

    @Test(arguments: [
        (0.0, 0), (-1.5, -1500), (1_767_225_600.1234, 1_767_225_600_123), (.infinity, .max), (-1e300, .min),
    ])
    func `a start time is stored with millisecond precision`(_ seconds: Double, _ milliseconds: Int64) throws {
        let url = try #require(URL(string: "https://example.org/"))
        var request = DownloadRequest(url, to: .directory(URL(filePath: "/a/")))
        request.earliestBegin = Date(timeIntervalSince1970: seconds)
        #expect(RegistryRequest(request, bases: bases).earliestBegin == milliseconds)
    }

    @Test func `a relative URL is stored as an absolute URL`() throws {
        let url = try #require(URL(string: "../a", relativeTo: URL(string: "https://secret:word@example.org/folder/")))
        let kept = RegistryRequest(DownloadRequest(url, to: .directory(URL(filePath: "/a/"))), bases: bases)
        #expect(kept.url == "https://example.org/a")
        #expect(kept.withholdsUser)
    }

    @Test(arguments: [
        "https://secret:word@example.org/a", "https://secret@example.org/a", "https://:word@example.org/a",
        "https://@example.org/a", "https://secret:word:x@example.org/a",
    ])
    func `S10 user and password are never stored, and their absence is reported`(_ text: String) throws {
        let url = try #require(URL(string: text))
        let request = DownloadRequest(url, to: .directory(URL(filePath: "/a/")))
        let entry = RegistryEntry(id: 1, RegistryRequest(request, bases: bases), label: 0)
        let written = String(decoding: try RegistryEncoder.lines(of: [.added([entry])]), as: UTF8.self)
        #expect(!written.contains("secret") && !written.contains("word") && !written.contains("@"))
        let read = try #require(try RegistryFixture.read(RegistryFixture.journal([.added([entry])])).snapshot[1])
        #expect(read.request.withholdsUser && read.request.lacksSecrets)
        #expect(read.request.downloadRequest(in: bases)?.url == URL(string: "https://example.org/a"))
    }

    @Test func `S10 a mirror with a password is not stored`() throws {
        let url = try #require(URL(string: "https://example.org/a"))
        var request = DownloadRequest(url, to: .directory(URL(filePath: "/a/")))
        request.mirrors = [try #require(URL(string: "https://secret:word@m/a")), url]
        let kept = RegistryRequest(request, bases: bases)
        #expect(kept.downloadRequest(in: bases)?.mirrors == [url])
        #expect(!kept.lacksSecrets)
    }

    @Test func `S10 values of secret fields are never stored, but their names are`() throws {
        let headers = [
            HeaderField(name: "Accept", value: "text/html"),
            HeaderField(name: "X-Key", value: "secret1", isSecret: true),
            HeaderField(name: "AUTHORIZATION", value: "secret2"), HeaderField(name: "Cookie", value: "secret3"),
            HeaderField(name: "proxy-authorization", value: "secret4"),
            HeaderField(name: "Referer", value: "https://secret5:secret6@example.org/"),
        ]
        let url = try #require(URL(string: "https://example.org/"))
        let request = DownloadRequest(url, to: .directory(URL(filePath: "/a/")), headers: headers)
        let entry = RegistryEntry(id: 1, RegistryRequest(request, bases: bases), label: 0)
        let journal = try RegistryFixture.journal([.added([entry])])
        #expect(!String(decoding: journal, as: UTF8.self).contains("secret"))
        let read = try #require(try RegistryFixture.read(journal).snapshot[1])
        #expect(read.request.withheldHeaders == ["X-Key", "AUTHORIZATION", "Cookie", "proxy-authorization"])
        #expect(
            read.request.downloadRequest(in: bases)?.headers == [
                HeaderField(name: "Accept", value: "text/html"),
                HeaderField(name: "Referer", value: "https://example.org/"),
            ]
        )
    }

    @Test func `a request without a URL or a base directory is invalid`() throws {
        let path = try #require(RelocatablePath("home:a"))
        #expect(RegistryRequest(url: "", destination: .file(path)).downloadRequest(in: bases) == nil)
        let homeless = RegistryBaseDirectories(home: "", registry: "", temporary: "")
        #expect(RegistryRequest(url: "http://h/", destination: .file(path)).downloadRequest(in: homeless) == nil)
    }

    @Test(arguments: ["httpStatus", "codeOfALaterRelease"])
    func `a restored failure has the code that was saved`(_ name: String) throws {
        let saved = RegistryEntry.State.failed(code: name, message: "No.", status: 404)
        let (state, _) = saved.restored(try #require(URL(string: "http://h/f")), bases: RegistryFixture.bases)
        let error: DownloadError? = if case .failed(let error) = state { error } else { nil }
        #expect(error.map { RegistryEntry.State($0) } == saved)
    }
}

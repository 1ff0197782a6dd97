import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Several downloads with the same file name in one folder, with a refetch policy.
@Suite(.timeLimit(.minutes(4)))
struct DestinationReservationsTests {
    private typealias Fixture = RefetchFixture

    private func downloads(_ fixture: Fixture, _ manager: DownloadManager) async throws -> [Download] {
        try await manager.download(
            ["/a/file.bin", "/b/file.bin"].map {
                var request = DownloadRequest(fixture.server.url($0), to: .directory(fixture.folder))
                request.refetchPolicy = .ifChanged
                return request
            }
        )
    }

    /// Regression: the name in the URL was reserved from the first request on.
    @Test(arguments: ["waits to be tried again", "gets another name"])
    func `a download without a response does not reserve its name`(_ what: String) async throws {
        let gate = try Gate()
        let named = Response.file(Fixture.old).header("Content-Disposition", "attachment; filename=other.bin")
        let waits = what == "waits to be tried again"
        // A 503 delays all later requests to the host, so it comes only once the other download has sent its own.
        let first =
            waits
            ? Response.status(503).header("Retry-After", "3600").held(until: gate)
            : named.held(after: 100, until: gate)
        let response = Response.answering { request in
            if request.path == "/a/file.bin" { return first }
            if waits { gate.open() }
            return .file(Fixture.new)
        }
        try await Fixture.run(response) { fixture in
            // Waiting must not count as a stall, even on a busy machine.
            try await withDownloadManager(.init { $0.stallTimeout = .seconds(600) }) { manager in
                let downloads = try await downloads(fixture, manager)
                let file = try await downloads[1].value
                #expect(file.lastPathComponent == "file.bin")
                #expect(Fixture.new.body.difference(fromFileAt: file) == nil)
                gate.open()
                if !waits { #expect(try await downloads[0].value.lastPathComponent == "other.bin") }
            }
        }
    }

    @Test func `a reserved name is refused before the first byte, and free after a cancellation`()
        async throws
    {
        let cut = Response.file(Fixture.old).truncated(after: 100)
        try await Fixture.run(.routes(["/a/file.bin": cut, "/b/file.bin": .file(Fixture.new)])) { fixture in
            let configuration = DownloadConfiguration {
                $0.maxConcurrentDownloads = 1
                $0.retryPolicy.baseDelay = .seconds(3600)
                $0.retryPolicy.maxDelay = .seconds(3600)
            }
            try await withDownloadManager(configuration) { manager in
                let downloads = try await downloads(fixture, manager)
                let error = await #expect(throws: DownloadError.self) { try await downloads[1].value }
                #expect(error?.code == .fileExists)
                #expect(try fixture.names.filter { $0.hasSuffix(".part") }.count == 1)
                await downloads[0].cancel()
                await downloads[1].resume()
                let file = try await downloads[1].value
                #expect(Fixture.new.body.difference(fromFileAt: file) == nil)
            }
        }
    }

    /// On a file system that compares names by their bytes, these are two files.
    @Test func `names with equal text but different bytes are two names`() throws {
        let claims = DestinationReservations()
        let (a, b) = (try record("http://h/a"), try record("http://h/b"))
        #expect(claims.claim("/folder/caf\u{e9}", for: a))
        #expect(claims.claim("/folder/cafe\u{301}", for: b))
        #expect(!claims.claim("/folder/caf\u{e9}", for: b))
    }

    @Test(arguments: [
        ("A.bin", "a.bin", NameComparison.bytes, false), ("A.bin", "a.bin", .normalForms, false),
        ("A.bin", "a.bin", .ignoringCase, true), ("caf\u{e9}", "cafe\u{301}", .bytes, false),
        ("caf\u{e9}", "cafe\u{301}", .normalForms, true), ("CAF\u{c9}", "cafe\u{301}", .ignoringCase, true),
        ("stra\u{df}e", "STRASSE", .ignoringCase, true), ("\u{17f}", "s", .ignoringCase, true),
        ("\u{212a}", "k", .ignoringCase, true), ("a.bin", "b.bin", .ignoringCase, false),
    ])
    func `names are compared as the file system compares them`(
        _ name: String,
        _ other: String,
        _ comparison: NameComparison,
        _ isSame: Bool
    ) throws {
        #expect((comparison.key(of: name) == comparison.key(of: other)) == isSame)
        let claims = DestinationReservations()
        let (a, b) = (try record("http://h/a"), try record("http://h/b"))
        #expect(claims.claim("/folder/\(name)", comparedBy: comparison, for: a))
        #expect(claims.claim("/folder/\(other)", comparedBy: comparison, for: b) == !isSame)
        claims.release(a)
        #expect(claims.claim("/folder/\(other)", comparedBy: comparison, for: b))
    }

    @Test func `a wrong file is not saved under a name that another download reserved in another case`() async throws {
        try await withTemporaryDirectory { folder in
            let lists = RegistryTests()
            var files = FileSystem.system
            files.nameComparison = { _ in .ignoringCase }
            try await lists.withManager(folder, limit: 2, files: files) { manager in
                let other = try lists.request("silent.bin.mismatch", in: folder) { $0.refetchPolicy = .ifChanged }
                let first = try await manager.download(other)
                for await progress in first.progress where progress.bytesReceived == 60_000 { break }
                let wrong = try Checksum(.sha1, of: [1])
                let request = try lists.request("SILENT.bin", in: folder) { $0.checksums = [wrong] }
                let download = try await manager.download(request)
                let error = await #expect(throws: DownloadError.self) { try await download.value }
                #expect(error?.savedFile?.lastPathComponent == "SILENT.bin (1).mismatch")
            }
        }
    }

    @Test func `ending a download does not release the name of a later one of the same file`() throws {
        let claims = DestinationReservations()
        let (first, second, other) = (try record("http://h/a"), try record("http://h/a"), try record("http://h/b"))
        #expect(claims.claim("/folder/a", for: first))
        #expect(claims.claim("/folder/a", for: second))
        claims.release(first)
        #expect(!claims.claim("/folder/a", for: other))
        claims.release(second)
        #expect(claims.claim("/folder/a", for: other))
    }

    private func record(_ url: String) throws -> DownloadRecord {
        let request = DownloadRequest(try #require(URL(string: url)), to: .directory(URL(filePath: "/folder")))
        return DownloadRecord(id: .random(), request: request)
    }
}

import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The same requests once more: what is there and current stays, and nothing is replaced.
@Suite(.timeLimit(.minutes(4)), .enabled(if: RefetchFixture.keepsAttributes, "no extended attributes here"))
struct CurrentFileTests {
    private typealias Fixture = RefetchFixture

    private func fetch(
        _ fixture: Fixture,
        _ change: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> Fixture.Outcome {
        try await fixture.fetch {
            $0.refetchPolicy = .unlessCurrent
            change(&$0)
        }
    }

    @Test func `a file that is current stays, and costs a request without a body`() async throws {
        try await Fixture.run(.file(Fixture.old)) { fixture in
            let (first, second) = (try await fetch(fixture), try await fetch(fixture))
            #expect(first.isFinished && second.isUnchanged)
            #expect(fixture.conditions == ["\"v1\""])
            #expect(fixture.server.requests.last?.bodyBytesSent == 0)
            #expect(try fixture.names == ["file.bin"])
        }
    }

    @Test(arguments: [true, false])
    func `by default the same request downloads a file once, and a name that the caller chose stays`(
        namesFile: Bool
    ) async throws {
        try await Fixture.run(.sequence([.file(Fixture.old), .file(Fixture.old)], then: .file(Fixture.new))) {
            fixture in
            for turn in 1...3 {
                try await withDownloadManager { manager in
                    let request = DownloadRequest(
                        fixture.url,
                        to: namesFile ? .file(fixture.file) : .directory(fixture.folder)
                    )
                    let outcome = try await Fixture.outcome(of: try await manager.download(request))
                    #expect(outcome.error == nil)
                    #expect(outcome.isUnchanged == (turn == 2))
                }
            }
            #expect(try fixture.names == (namesFile ? ["file.bin"] : ["file (1).bin", "file.bin"]))
            #expect(fixture.holds(namesFile ? Fixture.new : Fixture.old))
        }
    }

    @Test func `another version comes beside the old one, and is known again under its number`() async throws {
        try await Fixture.run(.sequence([.file(Fixture.old)], then: .file(Fixture.new))) { fixture in
            _ = try await fetch(fixture)
            let second = try await fetch(fixture)
            #expect(second.isFinished && second.file?.lastPathComponent == "file (1).bin")
            #expect(fixture.holds(Fixture.old))
            let third = try await fetch(fixture)
            #expect(third.isUnchanged && third.file == second.file)
            #expect(fixture.conditions == ["\"v1\"", "\"v2\""])
            #expect(fixture.holds(Fixture.old))
            #expect(try fixture.names == ["file (1).bin", "file.bin"])
        }
    }

    @Test func `a file from elsewhere stays, and the one beside it is known again`() async throws {
        try await Fixture.run(.file(Fixture.new)) { fixture in
            try fixture.write([1, 2, 3], replacing: true) { _ in }
            let first = try await fetch(fixture)
            #expect(first.file?.lastPathComponent == "file (1).bin")
            let second = try await fetch(fixture)
            #expect(second.isUnchanged && second.file == first.file)
            #expect(fixture.conditions == ["\"v2\""])
            #expect(try FileProbe.bytes(of: fixture.file) == [1, 2, 3])
            #expect(try fixture.names == ["file (1).bin", "file.bin"])
        }
    }

    @Test func `two URLs of one name are told apart`() async throws {
        try await Fixture.run(.routes(["/file.bin": .file(Fixture.old), "/x/file.bin": .file(Fixture.new)])) {
            fixture in
            for _ in 0..<2 {
                _ = try await fetch(fixture)
                _ = try await fetch(fixture) { $0.url = fixture.server.url("/x/file.bin") }
            }
            #expect(try fixture.names == ["file (1).bin", "file.bin"])
            #expect(fixture.conditions == ["\"v1\"", "\"v2\""])
        }
    }

    @Test func `what one login was given is not taken for what another one is`() async throws {
        try await Fixture.run(.file(Fixture.old)) { fixture in
            for (name, isNew) in [("A", true), ("A", false), ("B", true), ("B", false)] {
                let field = HeaderField(name: "Authorization", value: "Bearer \(name)")
                let outcome = try await fetch(fixture) { $0.headers = [field] }
                #expect(isNew ? outcome.isFinished : outcome.isUnchanged)
            }
            #expect(try fixture.names == ["file (1).bin", "file.bin"])
        }
    }

    @Test func `requests of one URL that ask for different things are told apart`() async throws {
        try await Fixture.run(.file(Fixture.old)) { fixture in
            for language in ["de", "fr", "de"] {
                let field = HeaderField(name: "Accept-Language", value: language)
                _ = try await fetch(fixture) { $0.headers = [field] }
            }
            #expect(fixture.conditions == ["\"v1\""])
            #expect(try fixture.names == ["file (1).bin", "file.bin"])
        }
    }

    @Test func `of a file that everybody can write nothing is believed`() async throws {
        try await Fixture.run(.file(Fixture.old)) { fixture in
            _ = try await fetch(fixture)
            let file = try FileSystem.system.open(fixture.file.path)
            try FileSystem.system.setMode(file, 0o666)
            try FileSystem.system.close(file)
            #expect(try await fetch(fixture).isFinished)
            #expect(try fixture.names == ["file (1).bin", "file.bin"])
        }
    }

    @Test func `a file whose bytes may be lost with the power is fetched again after a start of the system`()
        async throws
    {
        try await Fixture.run(.file(Fixture.old)) { fixture in
            _ = try await fetch(fixture)
            let tag = try #require(EntityTag(parsing: "\"v1\""))
            let note = SavedValidator(.noneMatch(tag), of: fixture.url, try fixture.stamp, bootID: "another")
            let open = try FileSystem.system.open(fixture.file.path)
            try FileSystem.system.setAttribute(open, SavedValidator.attribute, try #require(note.encoded))
            try FileSystem.system.close(open)
            #expect(try await fetch(fixture).isFinished)
            #expect(fixture.conditions == [])
            #expect(try fixture.names == ["file (1).bin", "file.bin"])
        }
    }

    @Test func `a checksum of the request finds its file, also under a number`() async throws {
        try await Fixture.run(.file(Fixture.new)) { fixture in
            let checksum = try Checksum(of: Fixture.new.body)
            try fixture.write([1, 2, 3], replacing: true) { _ in }
            let first = try await fetch(fixture) { $0.checksums = [checksum] }
            #expect(first.file?.lastPathComponent == "file (1).bin")
            let second = try await fetch(fixture) { $0.checksums = [checksum] }
            #expect(second.isUnchanged && second.file == first.file)
            #expect(fixture.server.requests.count == 1)
        }
    }

    @Test(arguments: [(Resource(size: 300_000), true), (Resource(size: 300_000, etag: nil), false)])
    func `what came of a stopped download can be gone on with where its server tells a version`(
        _ resource: Resource,
        isResumable: Bool
    ) async throws {
        var resource = resource
        if !isResumable { resource.lastModified = nil }
        try await Fixture.run(.file(resource).stalled(after: 120_000)) { fixture in
            try await withDownloadManager { manager in
                let download = try await manager.download(DownloadRequest(fixture.url, to: .file(fixture.file)))
                #expect(download.isResumable == nil)
                try await fixture.server.waitUntil { $0.requests.first?.bodyBytesSent == 120_000 }
                while FileProbe.size(of: download.partialFile) != 120_000 {
                    try await Task.sleep(for: .milliseconds(5))
                }
                await download.pause()
                #expect(download.isResumable == isResumable)
            }
        }
    }
}

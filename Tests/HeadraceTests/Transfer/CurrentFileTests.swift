import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Repeated requests: a current file is kept, and no file is replaced.
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

    @Test func `a current file is kept after a request without a body`() async throws {
        try await Fixture.run(.file(Fixture.old)) { fixture in
            let (first, second) = (try await fetch(fixture), try await fetch(fixture))
            #expect(first.isFinished && second.isUnchanged)
            #expect(fixture.conditions == ["\"v1\""])
            #expect(fixture.server.requests.last?.bodyBytesSent == 0)
            #expect(try fixture.names == ["file.bin"])
        }
    }

    @Test(arguments: [true, false])
    func `by default a repeated request downloads once, and a name chosen by the caller stays`(
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

    @Test func `another version is saved beside the old one and recognized by its numbered name`() async throws {
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

    @Test func `a file from elsewhere is kept, and the one beside it is recognized`() async throws {
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

    @Test func `two URLs with one file name are distinguished`() async throws {
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

    @Test func `each numbered name is checked a fixed number of times, and the lowest free one is used`() async throws {
        let counts = Locked((checks: 0, moves: 0))
        var calls = FileSystem.unsynced.withoutUnnamedFiles
        let (status, move) = (calls.status, calls.move)
        calls.status = { path throws(SystemError) in
            if path.hasSuffix(").bin") { counts.withLock { $0.checks += 1 } }
            return try status(path)
        }
        calls.move = { old, new throws(SystemError) in
            counts.withLock { $0.moves += 1 }
            return try move(old, new)
        }
        try await withTemporaryDirectory { folder in
            let taken = (1..<40).filter { $0 != 31 }.map { "file (\($0)).bin" }
            for name in ["file.bin"] + taken { try Data([1]).write(to: folder.appending(path: name)) }
            let outcome = try await DiskFixture.run(to: .directory(folder), files: calls, refetching: .unlessCurrent)
            #expect(outcome.error == nil)
            #expect(try FileProbe.names(in: folder).contains("file (31).bin"))
            // Before the request, as a free name, and as the file of another process.
            #expect(counts.withLock(\.checks) <= 4 * taken.count)
            #expect(counts.withLock(\.moves) <= 3)
        }
    }

    @Test func `the file of one login is not reused for another`() async throws {
        try await Fixture.run(.file(Fixture.old)) { fixture in
            for (name, isNew) in [("A", true), ("A", false), ("B", true), ("B", false)] {
                let field = HeaderField(name: "Authorization", value: "Bearer \(name)")
                let outcome = try await fetch(fixture) { $0.headers = [field] }
                #expect(isNew ? outcome.isFinished : outcome.isUnchanged)
            }
            #expect(try fixture.names == ["file (1).bin", "file.bin"])
        }
    }

    @Test func `requests with different fields for one URL are distinguished`() async throws {
        try await Fixture.run(.file(Fixture.old)) { fixture in
            for language in ["de", "fr", "de"] {
                let field = HeaderField(name: "Accept-Language", value: language)
                _ = try await fetch(fixture) { $0.headers = [field] }
            }
            #expect(fixture.conditions == ["\"v1\""])
            #expect(try fixture.names == ["file (1).bin", "file.bin"])
        }
    }

    @Test func `the stored version of a world-writable file is not trusted`() async throws {
        try await Fixture.run(.file(Fixture.old)) { fixture in
            _ = try await fetch(fixture)
            let file = try FileSystem.system.open(fixture.file.path)
            try FileSystem.system.setMode(file, 0o666)
            try FileSystem.system.close(file)
            #expect(try await fetch(fixture).isFinished)
            #expect(try fixture.names == ["file (1).bin", "file.bin"])
        }
    }

    @Test func `a file that was never synced is downloaded again after a reboot`()
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

    @Test func `the checksum of a request finds its file, even with a numbered name`() async throws {
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
    func `a stopped download is resumable if the server sends a validator`(
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
                await download.cancel()
                #expect(download.isResumable == nil)
            }
        }
    }
}

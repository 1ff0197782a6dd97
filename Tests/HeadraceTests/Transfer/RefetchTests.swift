import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Existing files that are downloaded again only if the server has another version.
@Suite(.timeLimit(.minutes(4)), .enabled(if: RefetchFixture.keepsAttributes, "no extended attributes here"))
struct RefetchTests {
    private typealias Fixture = RefetchFixture

    private static let versions: [(etag: String?, lastModified: String?, field: String?)] = [
        ("\"v1\"", nil, "If-None-Match"), ("W/\"v1\"", nil, "If-None-Match"),
        ("\"v1\"", "Wed, 01 Jan 2025 00:00:00 GMT", "If-None-Match"),
        (nil, "Wed, 01 Jan 2025 00:00:00 GMT", "If-Modified-Since"),
    ]

    private static func resource(_ version: (etag: String?, lastModified: String?, field: String?)) -> Resource {
        var resource = Resource(size: 5000, seed: 1, etag: version.etag)
        resource.lastModified = version.lastModified
        return resource
    }

    @Test(arguments: versions.indices)
    func `an unchanged file takes one conditional request and is the result`(_ index: Int) async throws {
        let version = Self.versions[index]
        let resource = Self.resource(version)
        try await Fixture.run(.file(resource)) { fixture in
            #expect(try await fixture.fetch().isFinished)
            let before = try fixture.stamp
            // Left by a run whose partial file was removed.
            let partialPath = DestinationPaths(DownloadRequest(fixture.url, to: .file(fixture.file))).partialPath
            try Data("{}".utf8).write(to: URL(filePath: partialPath + RecordFile.suffix))
            let second = try await fixture.fetch()
            #expect(second.isUnchanged)
            #expect(second.file == fixture.file)
            #expect(fixture.server.requests.count == 2)
            let request = try #require(fixture.server.requests.last)
            #expect(request[try #require(version.field)] == version.etag ?? version.lastModified)
            #expect(request.bodyBytesSent == 0)
            // The file was not changed.
            #expect(try fixture.stamp == before)
            #expect(try fixture.names == ["file.bin"])
        }
    }

    @Test func `a checksum that is added while an existing file is confirmed is compared with it`() async throws {
        let gate = try Gate()
        let response = Response.answering { request in
            request["If-None-Match"] == nil ? .file(Fixture.old) : .file(Fixture.old).held(until: gate)
        }
        try await Fixture.run(response) { fixture in
            #expect(try await fixture.fetch().isFinished)
            try await withDownloadManager(DownloadConfiguration { $0.retryPolicy = .none }) { manager in
                var request = DownloadRequest(fixture.url, to: .file(fixture.file), conflictPolicy: .rename)
                request.refetchPolicy = .ifChanged
                let download = try await manager.download(request)
                try await fixture.server.waitUntil { $0.requests.count == 2 }
                request.checksums = [try Checksum(of: Fixture.new.body)]
                #expect(try await manager.download(request) == download)
                gate.open()
                let error = await #expect(throws: DownloadError.self) { try await download.value }
                #expect(error?.code == .checksum)
            }
        }
    }

    @Test func `a file that may be incomplete is not confirmed later, but downloaded again`() async throws {
        let truncated = Response.file(Fixture.old).closeDelimited.truncated(after: 2000, by: .fin)
        try await Fixture.run(.sequence([truncated], then: .file(Fixture.old))) { fixture in
            #expect(try await fixture.fetch().isFinished)
            #expect(try FileProbe.bytes(of: fixture.file).count == 2000)
            let second = try await fixture.fetch()
            #expect(fixture.conditions.isEmpty && second.isFinished)
            #expect(try FileProbe.bytes(of: try #require(second.file)).count == 5000)
        }
    }

    @Test(arguments: versions.indices)
    func `a changed file is downloaded whole and replaces the old one`(_ index: Int) async throws {
        let version = Self.versions[index]
        var changed = Fixture.new
        if version.etag == nil { (changed.etag, changed.lastModified) = (nil, "Wed, 01 Jan 2025 12:00:00 GMT") }
        let response = Response.sequence([.file(Self.resource(version))], then: .file(changed))
        try await Fixture.run(response) { fixture in
            _ = try await fixture.fetch()
            #expect(try await fixture.fetch().isFinished)
            #expect(fixture.server.requests.last?[try #require(version.field)] != nil)
            #expect(fixture.holds(changed))
            #expect(try fixture.names == ["file.bin"])
            // From now on, requests contain the validator of the new version.
            #expect(try await fixture.fetch().isUnchanged)
        }
    }

    @Test func `the old file stays until the new one is complete, and its download resumes`() async throws {
        let new = Resource(size: 300_000, seed: 2, etag: "\"v2\"")
        let response = Response.sequence([.file(Fixture.old), .file(new).truncated(after: 120_000)], then: .file(new))
        try await Fixture.run(response) { fixture in
            _ = try await fixture.fetch()
            #expect(try await fixture.fetch().error?.code == .connectionLost)
            #expect(fixture.holds(Fixture.old))
            #expect(try await fixture.fetch().isFinished)
            #expect(fixture.holds(new))
            let last = try #require(fixture.server.requests.last)
            #expect(last.rangeStart == 120_000 && last["If-None-Match"] == nil)
            #expect(try fixture.names == ["file.bin"])
        }
    }

    @Test(arguments: RefetchFixture.Change.allCases)
    func `a file that was modified locally is downloaded whole`(_ change: RefetchFixture.Change) async throws {
        try await Fixture.run(.file(Fixture.old)) { fixture in
            _ = try await fixture.fetch()
            try fixture.apply(change)
            #expect(try await fixture.fetch().isFinished)
            #expect(fixture.server.requests.last?["If-None-Match"] == nil)
            #expect(fixture.holds(Fixture.old))
            #expect(try fixture.names == ["file.bin"])
        }
    }

    @Test func `a copy with the same attributes is recognized`() async throws {
        try await Fixture.run(.file(Fixture.old)) { fixture in
            _ = try await fixture.fetch()
            let line = try FileSystem.system.attribute(
                fixture.file.path,
                SavedValidator.attribute,
                SavedValidator.maxBytes
            )
            let seconds = try fixture.stamp.modified / 1_000_000_000
            try fixture.write(try FileProbe.bytes(of: fixture.file), replacing: true) {
                try FileSystem.system.setAttribute($0, SavedValidator.attribute, line)
                try FileSystem.system.setModified($0, seconds)
            }
            #expect(try await fixture.fetch().isUnchanged)
        }
    }

    @Test func `a file without a validator is downloaded again and replaced`() async throws {
        var resource = Fixture.old
        (resource.etag, resource.lastModified) = (nil, nil)
        try await Fixture.run(.file(resource)) { fixture in
            _ = try await fixture.fetch()
            #expect(try await fixture.fetch().isFinished)
            #expect(fixture.conditions == [])
            #expect(try fixture.names == ["file.bin"])
        }
    }

    @Test(arguments: [false, true])
    func
        `a kill just after the rename costs a conditional request, or a download if no version is stored`(
            _ isNoted: Bool
        ) async throws
    {
        let cut = Response.file(Fixture.old).truncated(after: 3000)
        try await Fixture.run(.sequence([cut], then: .file(Fixture.old))) { fixture in
            #expect(try await fixture.fetch().error?.code == .connectionLost)
            let name = try #require(try fixture.names.first { $0.hasSuffix(".part") })
            try DiskFixture.nameLeftovers(fixture.folder.appending(path: name), fixture.file)
            if isNoted {
                let tag = try #require(EntityTag(parsing: "\"v1\""))
                let version = SavedValidator(.noneMatch(tag), of: fixture.url, try fixture.stamp, bootID: nil)
                let file = try FileSystem.system.open(fixture.file.path)
                try FileSystem.system.setAttribute(file, SavedValidator.attribute, try #require(version.encoded))
                try FileSystem.system.close(file)
            }
            let outcome = try await fixture.fetch()
            #expect(fixture.conditions == (isNoted ? ["\"v1\""] : []))
            #expect(isNoted ? outcome.isUnchanged : outcome.isFinished && fixture.holds(Fixture.old))
            #expect(try fixture.names == ["file.bin"])
        }
    }

    /// A second change in the same second would have the same date.
    @Test func `a date as recent as its response is not used as a condition`() async throws {
        var resource = Fixture.old
        (resource.etag, resource.lastModified) = (nil, resource.date)
        try await Fixture.run(.file(resource)) { fixture in
            _ = try await fixture.fetch()
            #expect(try await fixture.fetch().isFinished)
            #expect(fixture.conditions == [])
        }
    }

    @Test func `the body of a server that ignores conditions is not read to its end`() async throws {
        try await Fixture.run(.whole(Resource(size: 50 << 20))) { fixture in
            let size: Int64 = 50 << 20
            try fixture.write([], replacing: true) { file in
                try FileSystem.system.truncate(file, size)
                let stamp = FileStamp(try FileSystem.system.openStatus(file))
                let tag = try #require(EntityTag(parsing: "\"v1\""))
                let version = SavedValidator(.noneMatch(tag), of: fixture.url, stamp, bootID: nil)
                try FileSystem.system.setAttribute(file, SavedValidator.attribute, try #require(version.encoded))
            }
            #expect(try await fixture.fetch().isUnchanged)
            #expect(fixture.server.requests.map { $0.bodyBytesSent < size } == [true])
            #expect(try fixture.names == ["file.bin"])
        }
    }

    @Test func `the same tag with another length is another version`() async throws {
        let longer = Resource(size: 6000, seed: 2)
        try await Fixture.run(.sequence([.whole(Fixture.old)], then: .whole(longer))) { fixture in
            _ = try await fixture.fetch()
            #expect(try await fixture.fetch().isFinished)
            #expect(fixture.holds(longer))
        }
    }

    @Test func `a file named by the server is recognized by its response`() async throws {
        let named = Response.file(Fixture.old).header("Content-Disposition", "attachment; filename=told.bin")
        try await Fixture.run(named) { fixture in
            _ = try await fixture.fetch { $0.destination = .directory(fixture.folder) }
            let second = try await fixture.fetch { $0.destination = .directory(fixture.folder) }
            #expect(second.isUnchanged)
            #expect(second.file?.lastPathComponent == "told.bin")
            #expect(try fixture.names == ["told.bin"])
            #expect(fixture.server.requests.count == 2)
        }
    }

    /// Regression: `fail` refused the file although it is current.
    @Test(arguments: [DownloadRequest.ConflictPolicy.fail, .skip])
    func `a current file named by the server is not refused by fail, and not compared by skip`(
        _ policy: DownloadRequest.ConflictPolicy
    ) async throws {
        let named = Response.file(Fixture.old).header("Content-Disposition", "attachment; filename=told.bin")
        try await Fixture.run(named) { fixture in
            let change = { (request: inout DownloadRequest) in
                request.destination = .directory(fixture.folder)
                request.conflictPolicy = policy
                request.refetchPolicy = .unlessCurrent
            }
            #expect(try await fixture.fetch(change).isFinished)
            let second = try await fixture.fetch(change)
            #expect(second.isUnchanged == (policy == .fail))
            #expect(second.events.contains { if case .skipped = $0 { true } else { false } } == (policy == .skip))
            #expect(try fixture.names == ["told.bin"])
        }
    }

    @Test func `a 304 with another entity tag is not trusted`() async throws {
        let lie = Response.status(304, headers: ["ETag": "\"v2\""])
        try await Fixture.run(.sequence([.file(Fixture.old), lie], then: .file(Fixture.new))) { fixture in
            _ = try await fixture.fetch()
            let second = try await fixture.fetch()
            #expect(second.isFinished)
            #expect(second.events.contains { if case .notice = $0 { true } else { false } })
            #expect(fixture.server.requests.map { $0["If-None-Match"] } == [nil, "\"v1\"", nil])
            #expect(fixture.holds(Fixture.new))
        }
    }

    @Test func `a 304 from another redirect target is not trusted with a date alone`() async throws {
        var (dated, other) = (Fixture.old, Fixture.new)
        (dated.etag, other.etag) = (nil, nil)
        let routes: [String: Response] = [
            "/file.bin": .sequence([.redirect(to: "/a")], then: .redirect(to: "/b")), "/a": .file(dated),
            "/b": .sequence([.status(304)], then: .file(other)),
        ]
        try await Fixture.run(.routes(routes)) { fixture in
            _ = try await fixture.fetch()
            #expect(try await fixture.fetch().isFinished)
            #expect(fixture.holds(other))
            #expect(try await fixture.fetch().isUnchanged)
        }
    }

    @Test func `V16 repeated 304 responses end in an error`() async throws {
        let lie = Response.status(304, headers: ["ETag": "\"v2\""])
        try await Fixture.run(.sequence([.file(Fixture.old)], then: lie)) { fixture in
            _ = try await fixture.fetch()
            #expect(try await fixture.fetch().error?.statusCode == 304)
            #expect(fixture.server.requests.count == 3)
            #expect(fixture.holds(Fixture.old))
        }
    }

    @Test func `a file removed during the request is downloaded`() async throws {
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "file.bin")
            let removed = Response.answering { request in
                if request["If-None-Match"] != nil { try? FileSystem.system.remove(file.path) }
                return .file(Fixture.old)
            }
            try await Fixture.run(removed, in: folder) { fixture in
                _ = try await fixture.fetch()
                #expect(try await fixture.fetch().isFinished)
                #expect(fixture.server.requests.map { $0["If-None-Match"] } == [nil, "\"v1\"", nil])
                #expect(fixture.holds(Fixture.old))
            }
        }
    }

    @Test func `versions of another URL are ignored, even those of a mirror`() async throws {
        let routes: [String: Response] = [
            "/file.bin": .sequence([.status(404)], then: .file(Fixture.new)), "/other": .file(Fixture.old),
        ]
        try await Fixture.run(.routes(routes)) { fixture in
            _ = try await fixture.fetch { $0.mirrors = [fixture.server.url("/other")] }
            #expect(fixture.holds(Fixture.old))
            #expect(try await fixture.fetch { $0.url = fixture.server.url("/other") }.isUnchanged)
            #expect(try await fixture.fetch().isFinished)
            #expect(fixture.holds(Fixture.new))
            #expect(fixture.server.requests.map { $0["If-None-Match"] } == [nil, nil, "\"v1\"", nil])
        }
    }

    @Test func `a checksum of the request decides without the server`() async throws {
        try await Fixture.run(.file(Fixture.old)) { fixture in
            _ = try await fixture.fetch()
            let right = try await Checksum.compute(.sha256, ofFileAt: fixture.file)
            let wrong = try #require(Checksum("md5:00000000000000000000000000000000"))
            let proven = try await fixture.fetch { $0.checksums = [right] }
            #expect(proven.isUnchanged && proven.events.contains(.verified(right)))
            #expect(fixture.server.requests.count == 1)
            // The file is the server's version, but not the expected one.
            #expect(try await fixture.fetch { $0.checksums = [wrong] }.error?.code == .checksum)
            #expect(fixture.conditions == [])
            #expect(fixture.holds(Fixture.old))
        }
    }

    /// Regression: the file was the result if it was the server's version, even if its piece hashes were wrong.
    @Test(arguments: [DownloadRequest.RefetchPolicy.unlessCurrent, .ifChanged], [true, false])
    func `piece hashes of the request decide without the server`(
        _ policy: DownloadRequest.RefetchPolicy,
        _ isRight: Bool
    ) async throws {
        try await Fixture.run(.file(Fixture.old)) { fixture in
            _ = try await fixture.fetch()
            let piece = try Checksum(of: (isRight ? Fixture.old : Fixture.new).body)
            let pieces = try #require(PieceHashes(length: 5000, checksums: [piece], fileSize: 5000))
            let outcome = try await fixture.fetch {
                $0.pieceHashes = pieces
                $0.refetchPolicy = policy
            }
            #expect(outcome.isUnchanged == isRight)
            #expect(isRight || outcome.error?.code == .checksum)
            #expect((fixture.server.requests.count == 1) == isRight)
            #expect(fixture.conditions == [])
            #expect(fixture.holds(Fixture.old))
        }
    }

    @Test func `a mismatching file is read once, even if the server is requested repeatedly`()
        async throws
    {
        let busy = Response.status(503)
        try await Fixture.run(.sequence([.file(Fixture.old), busy, busy], then: .file(Fixture.new))) { fixture in
            _ = try await fixture.fetch()
            let checksum = try Checksum(of: Fixture.new.body)
            let policy = RetryPolicy { $0.baseDelay = .zero }
            let outcome = try await fixture.fetch(retrying: policy) { $0.checksums = [checksum] }
            #expect(outcome.isFinished && fixture.holds(Fixture.new))
            #expect(fixture.server.requests.count == 4)
            #expect(outcome.events.count { $0 == .verifying } == 1)
        }
    }

    @Test(arguments: DownloadRequest.RefetchPolicy.allCases)
    func `a file named by the server is recognized by its checksum`(
        _ policy: DownloadRequest.RefetchPolicy
    ) async throws {
        let named = Response.file(Fixture.old).header("Content-Disposition", "attachment; filename=told.bin")
        try await Fixture.run(named) { fixture in
            let checksum = try Checksum(of: Fixture.old.body)
            for isFirst in [true, false] {
                let outcome = try await fixture.fetch {
                    $0.destination = .directory(fixture.folder)
                    $0.checksums = [checksum]
                    $0.refetchPolicy = policy
                }
                #expect(outcome.isUnchanged == (!isFirst && policy != .always))
            }
            #expect(try fixture.names == (policy == .always ? ["told (1).bin", "told.bin"] : ["told.bin"]))
        }
    }

    @Test(arguments: DownloadRequest.ConflictPolicy.allCases)
    func `a file of unknown version is replaced, whatever the conflict policy`(
        _ policy: DownloadRequest.ConflictPolicy
    ) async throws {
        try await Fixture.run(.file(Fixture.old)) { fixture in
            try fixture.write(Array("old".utf8), replacing: true) { _ in }
            #expect(try await fixture.fetch { $0.conflictPolicy = policy }.isFinished)
            #expect(fixture.holds(Fixture.old))
            #expect(try fixture.names == ["file.bin"])
        }
    }

    @Test(arguments: [false, true])
    func `C11 of two URLs with one name the first one's file stays, even if both are repeated`(
        _ isNamedByServer: Bool
    ) async throws {
        let name = isNamedByServer ? "told.bin" : "file.bin"
        let disposition = "attachment; filename=\(name)"
        let routes: [String: Response] = [
            "/a/file.bin": .file(Fixture.old).header("Content-Disposition", disposition),
            "/b/file.bin": .file(Fixture.new).header("Content-Disposition", disposition),
        ]
        try await Fixture.run(.routes(routes)) { fixture in
            for _ in 0..<2 {
                let configuration = DownloadConfiguration {
                    $0.maxConcurrentDownloads = 1
                    $0.retryPolicy = .none
                }
                try await withDownloadManager(configuration) { manager in
                    let downloads = try await manager.download(
                        ["/a/file.bin", "/b/file.bin"].map {
                            var request = DownloadRequest(fixture.server.url($0), to: .directory(fixture.folder))
                            request.refetchPolicy = .ifChanged
                            return request
                        }
                    )
                    let file = try await downloads[0].value
                    #expect(Fixture.old.body.difference(fromFileAt: file) == nil)
                    let error = await #expect(throws: DownloadError.self) { try await downloads[1].value }
                    #expect(error?.code == .fileExists)
                    #expect(error?.message.contains("another download") == true)
                    #expect(Fixture.old.body.difference(fromFileAt: file) == nil)
                    // A removed download no longer reserves the name.
                    await downloads[0].remove()
                    await downloads[1].remove(deletingFile: true)
                }
            }
            #expect(try fixture.names == [name])
        }
    }

    @Test func `K23 a directory in place of the file is not replaced`() async throws {
        try await Fixture.run(.file(Fixture.old)) { fixture in
            try FileManager.default.createDirectory(at: fixture.file, withIntermediateDirectories: false)
            #expect(try await fixture.fetch().error?.code == .fileSystem)
        }
    }
}

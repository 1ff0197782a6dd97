import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The expectations of a request in registries that outlive their manager.
@Suite(.timeLimit(.minutes(4)))
struct RegistryExpectationsTests {
    private typealias Fixture = ResumeFixture
    private static let length: Int64 = 40_000

    private static func pieces(of resource: Resource = Fixture.old, length: Int64 = length) throws -> PieceHashes {
        let starts = stride(from: 0, to: resource.size, by: Int(length))
        let checksums = try starts.map { try Checksum(of: resource.body.slice($0..<$0 + length)) }
        return try #require(PieceHashes(length: length, checksums: checksums))
    }

    private static func configuration(_ folder: URL) -> DownloadConfiguration {
        DownloadConfiguration {
            $0.registryDirectory = folder.appending(path: "registry", directoryHint: .isDirectory)
            $0.retryPolicy = .none
        }
    }

    private static func request(_ folder: URL) throws -> DownloadRequest {
        let url = try #require(URL(string: "http://127.0.0.1:1/a"))
        var request = DownloadRequest(url, to: .file(folder.appending(path: "file.bin")))
        request.startsPaused = true
        return request
    }

    /// Regression: the download restarted because nothing was left to verify the bytes.
    @Test func `bytes verified only by piece hashes are resumed in the next run`() async throws {
        var mirror = Fixture.old
        mirror.etag = "\"node\""
        mirror.ifRange = .ignored
        let (first, second) = (Fixture.cut, Fixture.cut + 60_000)
        let isBack = Locked(false)
        let response = Response.answering { [mirror] request in
            let (resource, cut) = request.path == "/a" ? (Fixture.old, first) : (mirror, second - first)
            guard !isBack.withLock({ $0 }) else { return request.path == "/a" ? .status(404) : .file(mirror) }
            return request.attempt == 0 ? .file(resource).truncated(after: cut) : .status(404)
        }
        try await withTemporaryDirectory { folder in
            try await withFaultServer(response) { server in
                var request = DownloadRequest(server.url("/a"), to: .file(folder.appending(path: "file.bin")))
                request.mirrors = [server.url("/b")]
                request.pieceHashes = try Self.pieces()
                try await withDownloadManager(Self.configuration(folder)) { manager in
                    let download = try await manager.download(request)
                    await #expect(throws: DownloadError.self) { try await download.value }
                }
                isBack.withLock { $0 = true }
                try await withDownloadManager(Self.configuration(folder)) { manager in
                    let download = try #require(await manager.downloads.first)
                    await download.resume()
                    let outcome = try await Fixture.outcome(
                        of: download,
                        from: server,
                        in: folder,
                        expecting: Fixture.old
                    )
                    #expect(outcome.error == nil && outcome.difference == nil, "\(outcome.events)")
                    #expect(outcome.restarts.isEmpty)
                    #expect(outcome.resumes == [second])
                }
            }
        }
    }

    @Test func `the next run checks the file against the expected size`() async throws {
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.file(Fixture.old)) { server in
                var request = DownloadRequest(server.url("/a"), to: .file(folder.appending(path: "file.bin")))
                request.expectedSize = Fixture.size - 1
                request.startsPaused = true
                try await withDownloadManager(Self.configuration(folder)) { _ = try await $0.download(request) }
                try await withDownloadManager(Self.configuration(folder)) { manager in
                    let download = try #require(await manager.downloads.first)
                    await download.resume()
                    let error = await #expect(throws: DownloadError.self) { try await download.value }
                    #expect(error?.code == .checksum)
                    #expect(try FileProbe.names(in: folder) == ["registry"])
                }
            }
        }
    }

    /// The hashes do not fit in a line of the registry; a repeated request supplies them for this run.
    @Test func `a million piece hashes are not stored, and rejected if only they verify the file`() async throws {
        try await withTemporaryDirectory { folder in
            var request = try Self.request(folder)
            let checksum = try Checksum(.sha256, of: [])
            request.pieceHashes = PieceHashes(length: 1, checksums: Array(repeating: checksum, count: 1 << 20))
            request.expectedSize = 1 << 20
            let registry = DownloadRegistry(directory: folder.appending(path: "registry"))
            do throws(DownloadError) {
                _ = try await registry.add([request])
                Issue.record("The request was accepted.")
            } catch {
                #expect(error.code == .invalidRequest && error.message.contains("piece hashes"))
            }
            request.checksums = [checksum]
            try await registry.add([request])
            try await withDownloadManager(Self.configuration(folder)) { [request] manager in
                let download = try #require(await manager.downloads.first)
                #expect(download.request.pieceHashes == nil && download.request.expectedSize == 1 << 20)
                let same = try await manager.download(request)
                #expect(same == download)
                #expect(download.request.pieceHashes == request.pieceHashes)
            }
        }
    }

    /// The later request comes from the manager that owns the registry, from another process, or while no manager runs.
    @Test(arguments: [(true, false), (true, true), (false, true)])
    func `expectations of a later request are adopted and stored, and contradictions are rejected`(
        _ isRun: Bool,
        _ isOther: Bool
    ) async throws {
        try await withTemporaryDirectory { folder in
            let registry = DownloadRegistry(directory: folder.appending(path: "registry"))
            let bare = try Self.request(folder)
            let ids = try await registry.add([bare]).ids
            let manager = isRun ? try await DownloadManager(configuration: Self.configuration(folder)) : nil
            func add(_ expectations: FileExpectations) async throws {
                var request = bare
                request.expectations = expectations
                guard isOther else {
                    _ = try await manager?.download(request)
                    return
                }
                let added = try await withThrowingTaskGroup(of: [Download.ID].self) { [request] group in
                    defer { group.cancelAll() }
                    group.addTask { try await registry.add([request]).ids }
                    guard let manager else { return try await group.next() }
                    group.addTask {
                        while true {
                            try Task.checkCancellation()
                            try await manager.takeCommands()
                        }
                    }
                    return try await group.next()
                }
                #expect(added == ids)
            }
            let told = FileExpectations(pieces: try Self.pieces(), size: Fixture.size)
            try await add(told)
            let others = try Self.pieces(length: 1000).checksums.dropLast()
            for wrong in [
                FileExpectations(size: Fixture.size - 1),
                FileExpectations(pieces: PieceHashes(length: 1000, checksums: Array(others))),
            ] {
                let error = await #expect(throws: DownloadError.self) { try await add(wrong) }
                #expect(error?.code == .invalidRequest)
                #expect(error?.message.contains("\(Fixture.size) bytes") == true, "\(String(describing: error))")
            }
            await manager?.shutdown()
            #expect(try await registry.downloads().map(\.request.expectations) == [told])
        }
    }
}

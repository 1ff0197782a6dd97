import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Wrong files of which some pieces are right, and files whose bytes come from several sources.
@Suite(.timeLimit(.minutes(4)))
struct RepairTests {
    private typealias Fixture = ResumeFixture
    private let size = Fixture.size
    private let length: Int64 = 40_000

    private func bytes(flipping offsets: [Int] = []) -> [UInt8] {
        var bytes = Pattern(seed: 1).bytes(in: 0..<size)
        for offset in offsets { bytes[offset] ^= 1 }
        return bytes
    }

    /// The right file with these bytes flipped, and with or without a validator.
    private func resource(flipping offsets: [Int] = [], tag: String? = "\"v1\"") -> Resource {
        var resource = Resource(.bytes(bytes(flipping: offsets)), etag: tag)
        if tag == nil { resource.lastModified = nil }
        return resource
    }

    private func pieces(fileSize: Int64? = nil, seed: UInt64 = 1) throws -> PieceHashes {
        let bytes = Pattern(seed: seed).bytes(in: 0..<size)
        let checksums = try stride(from: 0, to: bytes.count, by: Int(length)).map { start in
            try Checksum(.sha1, of: Array(bytes[start..<min(start + Int(length), bytes.count)]))
        }
        return try #require(PieceHashes(length: length, checksums: checksums, fileSize: fileSize))
    }

    private func run(
        _ routes: [String: Response],
        hasWhole: Bool = true,
        hasPieces: Bool = true
    ) async throws -> ResumeOutcome {
        let whole = hasWhole ? [try Checksum(of: Fixture.old.body)] : []
        let pieces = hasPieces ? try pieces() : nil
        return try await Fixture.run(withMirrors: routes) {
            $0.checksums = whole
            $0.pieceHashes = pieces
        } configure: {
            $0.maxConnectionsPerDownload = 2
        }
    }

    private func repairs(_ outcome: ResumeOutcome) -> [Int64] {
        outcome.events.compactMap { if case .repairing(_, let bytes) = $0 { bytes } else { nil } }
    }

    private func fetched(_ outcome: ResumeOutcome) -> Int64? { fetched(outcome.events) }

    private func fetched(_ events: [DownloadEvent]) -> Int64? {
        if case .finished(let summary) = events.last { summary.bytesFetched } else { nil }
    }

    /// The first piece, the last, or some in between; with and without a checksum of the whole file.
    @Test(arguments: [[0], [299_999], [40_000, 79_999], [50_000, 130_000, 299_000]], [true, false])
    func `only the wrong pieces are downloaded again`(_ offsets: [Int], _ hasWhole: Bool) async throws {
        let bad = resource(flipping: offsets)
        let outcome = try await run(
            ["/a": .sequence([.file(bad)], then: .file(resource()))],
            hasWhole: hasWhole
        )
        #expect(outcome.isExact, "\(outcome.events)")
        let wrong = Set(offsets.map { Int64($0) / length }).reduce(0) { $0 + min(length, size - $1 * length) }
        #expect(repairs(outcome) == [wrong])
        #expect(outcome.restarts.isEmpty)
        #expect(fetched(outcome) == size + wrong)
    }

    /// Downloads a file of the given contents again.
    private func repair(
        _ there: [UInt8],
        hasWhole: Bool,
        fileSize: Int64? = nil,
        _ response: Response? = nil
    ) async throws -> ResumeOutcome {
        let whole = hasWhole ? [try Checksum(of: Fixture.old.body)] : []
        let pieces = try pieces(fileSize: fileSize)
        return try await Fixture.run(withMirrors: ["/a": response ?? .file(resource())], retries: 1) {
            $0.refetchPolicy = .ifChanged
            $0.checksums = whole
            $0.pieceHashes = pieces
            guard case .file(let file) = $0.destination else { return }
            #expect(throws: Never.self) { try Data(there).write(to: file) }
        }
    }

    /// The file has flipped bytes, is truncated inside or at the end of a piece, is too long, or is entirely wrong.
    @Test(arguments: [true, false])
    func `only the wrong pieces of an existing file are downloaded`(_ hasWhole: Bool) async throws {
        let good = Pattern(seed: 1).bytes(in: 0..<size)
        var flipped = good
        for offset in [0, 130_000] { flipped[offset] ^= 1 }
        let last = size % length
        for (there, missing) in [
            (flipped, 2 * length), (Array(good.prefix(100_000)), size - 2 * length),
            (Array(good.prefix(120_000)), size - 3 * length), (good + [0], last), ([1, 2, 3], size),
        ] {
            let outcome = try await repair(there, hasWhole: hasWhole)
            #expect(outcome.isExact, "\(outcome.events)")
            #expect(outcome.restarts.isEmpty)
            #expect(fetched(outcome) == missing, "\(there.count)")
        }
    }

    /// Wrong and missing bytes are reported together; of a file that is only too long, the surplus bytes are.
    @Test(arguments: [true, false])
    func `a repair reports all wrong bytes and removes those beyond the end`(_ hasWhole: Bool) async throws {
        let good = Pattern(seed: 1).bytes(in: 0..<size)
        var flipped = good
        flipped[50_000] ^= 1
        for (there, told, missing) in [
            (Array(flipped.prefix(100_000)), size - length, size - length), (flipped + [0, 0], length, length),
            (good + [0, 0, 0], 3, 0),
        ] {
            let outcome = try await repair(there, hasWhole: hasWhole, fileSize: size)
            #expect(outcome.isExact, "\(outcome.events)")
            #expect(repairs(outcome) == [told])
            #expect(fetched(outcome) == missing)
            #expect(outcome.requests.isEmpty == (missing == 0))
        }
        // Without the file size, a wrong last piece counts with its full length.
        let unsized = try await repair(Array(flipped.prefix(100_000)), hasWhole: hasWhole)
        #expect(repairs(unsized) == [7 * length])
        let sized = try await repair(flipped, hasWhole: hasWhole)
        #expect(repairs(sized) == [length])
    }

    @Test(arguments: [true, false])
    func `a file whose pieces are all right needs no request`(_ hasWhole: Bool) async throws {
        let outcome = try await repair(Pattern(seed: 1).bytes(in: 0..<size), hasWhole: hasWhole)
        #expect(outcome.isExact && outcome.requests.isEmpty)
    }

    /// A fault that occurs while an existing file is read: first to verify its pieces, then to copy the right ones.
    enum Fault: CaseIterable {
        case unreadable
        case unreadableWhenCopied
        case truncated
        case touched

        func occur(atRead count: Int, of path: String) throws(SystemError) {
            let system = FileSystem.system
            switch (self, count) {
            case (.unreadable, _), (.unreadableWhenCopied, 2): throw SystemError(errno: EIO)
            case (.truncated, 1), (.touched, 1):
                let file = try system.open(path)
                if self == .touched { try system.setModified(file, 1) } else { try system.truncate(file, 100_000) }
                try system.close(file)
            default: break
            }
        }
    }

    /// Regression: the error of the existing file ended the download, so that the file could not be repaired.
    @Test(arguments: zip(Fault.allCases, [80_000, 160_000, 220_000, 0] as [Int64]))
    func `bytes of an existing file that cannot be read are downloaded`(
        _ fault: Fault,
        _ missing: Int64
    ) async throws {
        let (size, pieces) = (Int(size), try pieces(seed: 5))
        var there = Array(DiskFixture.bytes.prefix(size))
        if fault != .touched { there[130_000] ^= 1 }
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "file.bin")
            try Data(there).write(to: file)
            let inode = try FileSystem.system.status(file.path)?.inode
            let reads = Locked(0)
            var calls = FileSystem.unsynced
            calls.readAt = { descriptor, offset, count throws(SystemError) in
                let opened = try FileSystem.system.openStatus(descriptor)
                if opened.inode == inode, (offset..<offset + Int64(count)).contains(50_000) {
                    reads.withLock { $0 += 1 }
                    try fault.occur(atRead: reads.withLock { $0 }, of: file.path)
                }
                return try FileSystem.system.readAt(descriptor, offset, count)
            }
            let outcome = try await DiskFixture.run(
                to: .file(file),
                .overwrite,
                files: calls,
                pieces: pieces,
                refetching: .ifChanged
            ) { DiskFixture.response($0, of: size) }
            #expect(outcome.error == nil)
            #expect(try FileProbe.bytes(of: file) == Array(DiskFixture.bytes.prefix(size)))
            #expect(fetched(outcome.events) == missing, "\(outcome.events)")
        }
    }

    /// Regression: if the first piece was wrong, the file got the proposed name.
    @Test(arguments: [0, 50_000])
    func `a repaired file keeps its name, whatever the server proposes`(_ offset: Int) async throws {
        let (bad, pieces) = (bytes(flipping: [offset]), try pieces())
        let response = Response.file(resource()).header("Content-Disposition", "attachment; filename=x.bin")
        let outcome = try await withTemporaryDirectory { folder in
            try Data(bad).write(to: folder.appending(path: "file.bin"))
            return try await Fixture.run(response, in: folder, configure: { _ in }) {
                $0.refetchPolicy = .ifChanged
                $0.pieceHashes = pieces
            }
        }
        #expect(outcome.isExact, "\(outcome.events)")
    }

    @Test func `the repair of a small file leaves the host's connections to others`() async throws {
        let pieces = try pieces()
        let transport = FakeTransport { request in
            let bytes = self.bytes(flipping: request.fields.contains { $0.name == "Range" } ? [] : [50_000])
            let start = DiskFixture.start(of: request)
            return FakeTransport.Reply(
                start == 0 ? 200 : 206,
                fields: [
                    ("ETag", "\"v1\""), ("Content-Length", "\(bytes.count - start)"),
                ] + (start == 0 ? [] : [("Content-Range", "bytes \(start)-\(bytes.count - 1)/\(bytes.count)")]),
                body: Array(bytes[start...])
            )
        }
        let environment = TransferEnvironment(
            configuration: DownloadConfiguration(),
            transport: transport,
            clock: AnyClock(ContinuousClock())
        )
        try await withTemporaryDirectory { folder in
            let manager = try await DownloadManager(environment: environment)
            var request = try DiskFixture.request(to: .directory(folder))
            request.pieceHashes = pieces
            let download = try await manager.download(request)
            await manager.waitUntilIdle()
            await manager.shutdown()
            #expect(download.state.kind == .finished)
            #expect(try FileProbe.bytes(of: folder.appending(path: "file.bin")) == self.bytes())
            #expect(transport.requests.count == 2)
            let share = environment.hosts.share(of: Download.ID(rawValue: 1), request.url, wanting: 8, at: .zero)
            #expect(share == 8)
        }
    }

    @Test func `an interrupted repair resumes`() async throws {
        let good = Pattern(seed: 1).bytes(in: 0..<size)
        let response = Response.sequence([.file(resource()).truncated(after: 50_000)], then: .file(resource()))
        let outcome = try await repair(Array(good.prefix(100_000)), hasWhole: true, response)
        #expect(outcome.isExact, "\(outcome.events)")
        #expect(fetched(outcome).map { $0 < size - length } == true)
    }

    @Test func `without a validator the piece hashes verify the repaired bytes`() async throws {
        let bad = resource(flipping: [50_000], tag: nil)
        let outcome = try await run(["/a": .sequence([.file(bad)], then: .file(resource(tag: nil)))])
        #expect(outcome.isExact, "\(outcome.events)")
        #expect(repairs(outcome) == [length])
        #expect(outcome.restarts.isEmpty)
    }

    @Test func `pieces that are wrong again fail the download, and a later run requests only those`() async throws {
        let bad = resource(flipping: [50_000])
        let (whole, pieces) = (try Checksum(of: Fixture.old.body), try pieces())
        try await withTemporaryDirectory { folder in
            let response = Response.answering { $0.index < 2 ? .file(bad) : .file(resource()) }
            try await withFaultServer(response) { server in
                let first = try await Fixture.run(
                    from: server,
                    in: folder,
                    change: {
                        $0.checksums = [whole]
                        $0.pieceHashes = pieces
                    }
                )
                #expect(first.error?.code == .checksum)
                #expect(!first.names.contains("file.bin"))
                let second = try await Fixture.run(from: server, in: folder, change: { $0.checksums = [whole] })
                #expect(second.isExact)
                #expect(second.ranges.last == "bytes=40000-79999")
            }
        }
    }

    @Test func `piece hashes that do not fit the size are not used, and alone reject the file`() async throws {
        let short = Resource(size: 100_000)
        let outcome = try await run(["/a": .file(short)], hasWhole: false)
        #expect(outcome.error?.code == .checksum)
        #expect(outcome.names == ["file.bin.mismatch"])
        #expect(outcome.requests.count == 1)
    }

    @Test func `V13 wrong bytes of one source are downloaded from the next`() async throws {
        let wrong = Fixture.new
        let outcome = try await run(
            ["/a": .file(wrong), "/b": .file(wrong), "/c": .file(resource())],
            hasPieces: false
        )
        #expect(outcome.isExact)
        #expect(outcome.requests.map(\.path) == ["/a", "/b", "/c"])
        #expect(outcome.restarts.map(\.bytes) == [size, size])
        let left = outcome.events.compactMap { if case .sourceFailed(let error, _) = $0 { error.code } else { nil } }
        #expect(left == [.checksum, .checksum])
    }

    @Test func `V13 if all sources are wrong, each is requested once`() async throws {
        let outcome = try await run(["/a": .file(Fixture.new), "/b": .file(Fixture.new)], hasPieces: false)
        #expect(outcome.error?.code == .checksum)
        #expect(outcome.requests.map(\.path) == ["/a", "/b"])
        #expect(outcome.names == ["file.bin.mismatch"])
        #expect(outcome.error?.savedFile?.lastPathComponent == "file.bin.mismatch")
    }

    @Test func `a repair takes the wrong pieces from the next source`() async throws {
        let bad = resource(flipping: [50_000])
        let outcome = try await run(["/a": .file(bad), "/b": .file(resource(tag: "\"other\""))])
        #expect(outcome.isExact, "\(outcome.events)")
        #expect(repairs(outcome) == [length])
        #expect(outcome.requests.last?.path == "/b")
    }

    /// The same tag on two servers does not guarantee the same bytes, as the checksum shows.
    @Test func `if two sources with one tag do not match the checksum, the file is downloaded from one`()
        async throws
    {
        var other = Fixture.new
        other.etag = Fixture.old.etag
        let outcome = try await run(
            [
                "/a": .sequence([.file(other).truncated(after: Fixture.cut)], then: .status(404)),
                "/b": .file(resource()),
            ],
            hasPieces: false
        )
        #expect(outcome.isExact, "\(outcome.events)")
        #expect(outcome.resumes == [Fixture.cut])
        #expect(outcome.requests.map(\.path) == ["/a", "/b", "/b"])
    }
}

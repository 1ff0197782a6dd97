import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Bytes that were received correctly and changed on the disk before the file was complete.
@Suite(.timeLimit(.minutes(4)))
struct DiskRepairTests {
    private typealias Fixture = ResumeFixture
    private static let length = ReceivedPieces.leastLength
    private static let size: Int64 = 1_300_000
    private static let cut: Int64 = 1_000_000

    private static func resource(size: Int64 = size, seed: UInt64 = 1) -> Resource {
        Resource(size: size, seed: seed, etag: "\"v1\"")
    }

    private static func partial(in folder: URL) throws -> URL {
        folder.appending(path: try #require(try FileProbe.names(in: folder).first { $0.hasSuffix(".part") }))
    }

    private static func pieces(in folder: URL) throws -> ReceivedPieces? {
        let contents = try RecordFile(of: partial(in: folder).path, calls: .system).read()
        guard case .record(let record) = contents else { return nil }
        return record.pieces
    }

    private static func flip(_ offsets: [Int64], in folder: URL) throws {
        let handle = try FileSystem.system.open(try partial(in: folder).path)
        defer { try? FileSystem.system.close(handle) }
        for offset in offsets {
            var bytes = try FileSystem.system.readAt(handle, offset, 1)
            bytes[0] ^= 1
            try FileSystem.system.writeAll(handle, bytes, at: offset)
        }
    }

    private static func repairs(_ outcome: ResumeOutcome) -> [Int64] {
        outcome.events.compactMap { if case .repairing(_, let bytes) = $0 { bytes } else { nil } }
    }

    private static func fetched(_ outcome: ResumeOutcome) -> Int64? {
        if case .finished(let summary) = outcome.events.last { summary.bytesFetched } else { nil }
    }

    /// Runs a download that is cut, changes its partial file, and runs the download again.
    private static func runs(
        _ then: Response,
        of file: Resource = resource(),
        changing change: (URL) throws -> Void,
        after second: (FaultServer, URL, ResumeOutcome) async throws -> Void
    ) async throws {
        let expected = try Checksum(of: file.body)
        try await withTemporaryDirectory { folder in
            let response = Response.sequence([.file(file).truncated(after: cut)], then: then)
            try await withFaultServer(response) { server in
                _ = try await Fixture.run(from: server, in: folder, retries: 0, change: { $0.checksums = [expected] })
                try change(folder)
                let outcome = try await Fixture.run(
                    from: server,
                    in: folder,
                    expecting: file,
                    change: { $0.checksums = [expected] }
                )
                try await second(server, folder, outcome)
            }
        }
    }

    /// Changes the first byte of a piece, its last byte, or bytes of several pieces.
    @Test(arguments: [[0], [2 * length - 1], [length, 2 * length]] as [[Int64]])
    func `only pieces that changed on the disk are downloaded again`(_ offsets: [Int64]) async throws {
        try await Self.runs(.file(Self.resource())) {
            try Self.flip(offsets, in: $0)
        } after: { _, _, outcome in
            #expect(outcome.isExact, "\(outcome.events)")
            let changed = Int64(offsets.count) * Self.length
            #expect(Self.repairs(outcome) == [changed])
            #expect(outcome.restarts.isEmpty)
            #expect(Self.fetched(outcome) == Self.size - Self.cut + changed)
        }
    }

    /// One change is in the piece in which the first run was cut; it arrived over two connections, so it has no digest.
    @Test func `a change that cannot be located restarts the download after the repair`() async throws {
        try await Self.runs(.file(Self.resource())) {
            try Self.flip([5, Self.cut - 1], in: $0)
        } after: { _, _, outcome in
            #expect(outcome.isExact, "\(outcome.events)")
            #expect(Self.repairs(outcome) == [Self.length])
            #expect(outcome.restarts.map(\.bytes) == [Self.size])
        }
    }

    @Test func `a wrong source is not taken for a disk error`() async throws {
        let file = Self.resource()
        var other = Self.resource(seed: 2)
        other.lastModified = file.lastModified
        try await Self.runs(.file(other)) { _ in
        } after: { _, _, outcome in
            #expect(outcome.error?.code == .checksum)
            #expect(Self.repairs(outcome).isEmpty)
            #expect(outcome.names == ["file.bin.mismatch"])
        }
    }

    /// The first byte is different each time it is read.
    @Test func `a disk that keeps changing bytes fails the download`() async throws {
        var calls = FileSystem.unsynced
        calls.readAt = { file, offset, count throws(SystemError) in
            var bytes = try FileSystem.system.readAt(file, offset, count)
            if offset == 0 { bytes[0] ^= 1 }
            return bytes
        }
        let expected = try Checksum(.sha256, of: Array(DiskFixture.bytes.prefix(DiskFixture.size)))
        try await withTemporaryDirectory { folder in
            _ = try await DiskFixture.run(to: .directory(folder), files: .unsynced, checksums: [expected]) {
                DiskFixture.response($0, sending: Int(Self.cut))
            }
            let outcome = try await DiskFixture.run(to: .directory(folder), files: calls, checksums: [expected])
            #expect(outcome.error?.code == .checksum)
            // The disk is blamed for the first two repairs, and the source for the third.
            let repairs = outcome.events.filter { if case .repairing = $0 { true } else { false } }
            #expect(repairs == Array(repeating: .repairing(pieces: 1, bytesWasted: Self.length), count: 3))
            #expect(outcome.starts == [Self.cut, 0, 0, 0])
            #expect(try !FileProbe.names(in: folder).contains("file.bin"))
        }
    }

    @Test(arguments: [true, false])
    func `piece digests are recorded only if a checksum is expected`(_ hasChecksum: Bool) async throws {
        let file = Self.resource()
        let expected = try Checksum(of: file.body)
        try await withTemporaryDirectory { folder in
            let response = Response.file(file).truncated(after: Self.cut)
            let checksums = hasChecksum ? [expected] : []
            _ = try await Fixture.run(response, in: folder, retries: 0, change: { $0.checksums = checksums })
            let pieces = try Self.pieces(in: folder)
            let known = pieces?.known.map(\.index)
            #expect(known == (hasChecksum ? [0, 1, 2] : nil))
        }
    }

    @Test func `pieces of several connections are recorded as well`() async throws {
        let file = Self.resource(size: 8 << 20)
        let expected = try Checksum(of: file.body)
        let (gate, held) = (try Gate(), Int64(1_500_000))
        try await withFaultServer(.file(file).held(after: held, until: gate)) { server in
            try await withTemporaryDirectory { folder in
                let configuration = DownloadConfiguration { $0.maxConnectionsPerDownload = 2 }
                try await withDownloadManager(configuration) { manager in
                    var request = DownloadRequest(server.url("/file.bin"), to: .directory(folder))
                    request.checksums = [expected]
                    let download = try await manager.download(request)
                    for await progress in download.progress where progress.bytesReceived >= 2 * held { break }
                    await download.pause()
                    let known = try #require(try Self.pieces(in: folder)).known.map(\.index)
                    // A piece of the first connection, and one that the second connection received behind it.
                    let (first, last) = (try #require(known.first), try #require(known.last))
                    #expect(first == 0 && Int64(last) * Self.length > held)
                    try Self.flip([Int64(last) * Self.length], in: folder)
                    gate.open()
                    await download.resume()
                    let outcome = try await Fixture.outcome(of: download, from: server, in: folder, expecting: file)
                    #expect(outcome.isExact, "\(outcome.events)")
                    #expect(Self.repairs(outcome) == [Self.length])
                    #expect(outcome.restarts.isEmpty)
                }
            }
        }
    }
}

import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Partial files that another program truncates while they are written.
@Suite(.timeLimit(.minutes(4)))
struct LostBytesTests {
    /// A file system on which another program truncates the file after some of the writes.
    private static func calls(cuttingTo size: Int64, after writes: Set<Int>) -> FileSystem {
        var calls = FileSystem.system
        let count = Locked(0)
        calls.write = { file, bytes, offset throws(SystemError) in
            let written = try FileSystem.system.write(file, bytes, offset)
            let number = count.withLock {
                $0 += 1
                return $0
            }
            if writes.contains(number) { try FileSystem.system.truncate(file, size) }
            return written
        }
        return calls
    }

    private static func checksum() throws -> Checksum {
        let digest = try Digester(.sha256)
        DiskFixture.bytes.prefix(DiskFixture.size).withUnsafeBytes { digest.update($0) }
        return try digest.finalize()
    }

    /// Whether the folder's file system reports holes.
    private static func reportsHoles(_ folder: URL) throws -> Bool {
        let path = folder.appending(path: "hole").path
        let file = try FileSystem.system.create(path)
        defer { try? FileSystem.system.close(file) }
        try FileSystem.system.truncate(file, 1 << 20)
        try FileSystem.system.remove(path)
        return try FileSystem.system.dataRanges(file, size: 1 << 20).isEmpty
    }

    private static func notices(_ outcome: DiskOutcome) -> Int {
        outcome.events.count { if case .notice(.fileTruncated) = $0 { true } else { false } }
    }

    struct Cut: Sendable {
        var size: Int64 = 0
        var connections: Int?
        var isChecked = false
        var durability: DownloadConfiguration.Durability = .none
    }

    @Test(arguments: [
        Cut(), Cut(size: 200_000), Cut(connections: 4), Cut(isChecked: true),
        Cut(size: 100, connections: 4, isChecked: true),
        Cut(size: 70_000, isChecked: true, durability: .full),
    ])
    func `bytes truncated by another program during the download are downloaded again`(_ cut: Cut) async throws {
        try await withTemporaryDirectory { folder in
            guard try Self.reportsHoles(folder) else { return }
            let outcome = try await DiskFixture.run(
                to: .directory(folder),
                files: Self.calls(cuttingTo: cut.size, after: [8]),
                durability: cut.durability,
                connections: cut.connections,
                checksums: cut.isChecked ? [Self.checksum()] : []
            )
            #expect(outcome.error == nil)
            #expect(DiskFixture.isExact(folder.appending(path: "file.bin")))
            #expect(Self.notices(outcome) == 1)
            #expect(outcome.starts.count > 1)
            if cut.isChecked { #expect(outcome.events.contains(.verified(try Self.checksum()))) }
        }
    }

    @Test func `only the lost bytes are downloaded again`() async throws {
        try await withTemporaryDirectory { folder in
            guard try Self.reportsHoles(folder) else { return }
            // The hole reaches from the truncation to the end of the eighth chunk.
            let outcome = try await DiskFixture.run(
                to: .directory(folder),
                files: Self.calls(cuttingTo: 300_000, after: [8]),
                durability: .none,
                connections: 1
            )
            let lost = outcome.starts.dropFirst()
            #expect(lost.allSatisfy { $0 >= 200_000 })
            #expect(!lost.isEmpty && DiskFixture.isExact(folder.appending(path: "file.bin")))
        }
    }

    @Test func `a file that is truncated repeatedly never gets its final name`() async throws {
        try await withTemporaryDirectory { folder in
            guard try Self.reportsHoles(folder) else { return }
            let outcome = try await DiskFixture.run(
                to: .directory(folder),
                files: Self.calls(cuttingTo: 0, after: Set(stride(from: 5, to: 500, by: 5))),
                durability: .none,
                checksums: [Self.checksum()]
            )
            #expect(outcome.error?.code == .fileSystem)
            #expect(outcome.error?.message.contains("Another program truncated") == true)
            #expect(!FileManager.default.fileExists(atPath: folder.appending(path: "file.bin").path))
        }
    }

    @Test(arguments: [DownloadConfiguration.Durability.none, .full])
    func `bytes that were lost before a failed run are downloaded by the next process`(
        _ durability: DownloadConfiguration.Durability
    ) async throws {
        try await withTemporaryDirectory { folder in
            guard try Self.reportsHoles(folder) else { return }
            func run(_ files: FileSystem, sending most: Int = .max) async throws -> DiskOutcome {
                try await DiskFixture.run(to: .directory(folder), files: files, durability: durability) {
                    DiskFixture.response($0, sending: most)
                }
            }
            #expect(try await run(.system, sending: 500_000).error != nil)
            var calls = FileSystem.system
            calls.write = { file, bytes, offset throws(SystemError) in
                try FileSystem.system.truncate(file, 100_000)
                return try FileSystem.system.write(file, bytes, offset)
            }
            #expect(try await run(calls, sending: 10_000).error != nil)
            #expect(try await run(.system).error == nil)
            #expect(DiskFixture.isExact(folder.appending(path: "file.bin")))
        }
    }

    /// Network file systems report a full disk when a file is closed.
    @Test(arguments: [100_000, DiskFixture.size])
    func `a file whose last bytes a network file system rejects does not get its name`(_ size: Int) async throws {
        try await withTemporaryDirectory { folder in
            var calls = FileSystem.system
            calls.flush = { _ throws(SystemError) in throw SystemError(errno: ENOSPC) }
            let outcome = try await DiskFixture.run(to: .directory(folder), files: calls, durability: .none) {
                DiskFixture.response($0, of: size)
            }
            #expect(outcome.error?.code == .diskFull)
            #expect(!FileManager.default.fileExists(atPath: folder.appending(path: "file.bin").path))
        }
    }

    /// Some file systems store zeros as a hole.
    @Test func `a hole where zeros were written is not a loss`() async throws {
        try await withTemporaryDirectory { folder in
            var calls = FileSystem.system
            calls.dataRange = { _, offset throws(SystemError) in
                if offset < 65_536 { return offset..<65_536 }
                return offset < 262_144 ? max(offset, 131_072)..<262_144 : nil
            }
            for isZeros in [true, false] {
                let path = folder.appending(path: "\(isZeros)").path
                let file = try PartialFile.create(path, calls: SharedFileSystem(calls))
                defer { file.close() }
                // No write starts or ends on a block boundary.
                let bytes = (0..<262_144).map { UInt8(isZeros && (60_000..<140_000).contains($0) ? 0 : 1) }
                for start in stride(from: 0, to: bytes.count, by: 30_001) {
                    try bytes[start..<min(bytes.count, start + 30_001)].withUnsafeBytes {
                        try file.write($0, at: Int64(start))
                    }
                }
                let written = ByteRangeSet([0..<262_144])
                #expect(try file.intact(written) == (isZeros ? written : ByteRangeSet()))
            }
        }
    }

    @Test func `a file written in one go is not checked for holes`() async throws {
        try await withTemporaryDirectory { folder in
            let scans = Locked(0)
            var calls = FileSystem.system
            calls.dataRange = { file, offset throws(SystemError) in
                scans.withLock { $0 += 1 }
                return try FileSystem.system.dataRange(file, offset)
            }
            let sizes = [(1_000, 0), (DiskFixture.size, 1)]
            for (size, expected) in sizes {
                scans.withLock { $0 = 0 }
                let outcome = try await DiskFixture.run(
                    to: .directory(folder),
                    files: calls,
                    durability: .none,
                    connections: 1
                ) { DiskFixture.response($0, of: size) }
                #expect(outcome.error == nil)
                #expect(scans.withLock { $0 } == expected)
            }
        }
    }
}

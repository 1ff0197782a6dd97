import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Disks that were unmounted and remounted within one boot and lost some of the written bytes.
@Suite(.timeLimit(.minutes(4)))
struct HolesTests {
    private static let written = 1_000_000
    /// The lost range; the download resumes one block earlier, because that block may be half written.
    private static let hole: Range<Int64> = 600_000..<700_000
    private static let start: Int64 = 600_000 - 65_536
    /// The first missing bytes, which several connections may request at once.
    private static let starts = [start, Int64(written) - 65_536]

    /// Ranges in blocks: written, durable, found on disk, and the expected remainder.
    struct Finding: Sendable {
        var written: [Range<Int64>] = [0..<10]
        var durable: [Range<Int64>] = []
        let data: [Range<Int64>]
        let found: [Range<Int64>]
    }

    private static let findings = [
        Finding(data: [0..<10], found: [0..<10]),
        Finding(data: [0..<99], found: [0..<10]),
        Finding(written: [], data: [], found: []),
        Finding(written: [2..<4, 6..<8], data: [1..<8], found: [2..<4, 6..<8]),
        // Lost blocks at the end, in the middle and at the start.
        Finding(data: [0..<6], found: [0..<5]),
        Finding(data: [0..<4, 6..<10], found: [0..<3, 7..<9]),
        Finding(data: [2..<10], found: [3..<9]),
        Finding(data: [0..<1, 3..<5, 6..<9], found: [7..<8]),
        Finding(written: [0..<4, 6..<10], data: [0..<10], found: [0..<4, 6..<10]),
        Finding(written: [0..<4, 6..<10], data: [0..<8], found: [0..<3]),
        Finding(data: [], found: []),
        // Durable blocks may be zeros.
        Finding(durable: [0..<5], data: [0..<2, 3..<10], found: [0..<10]),
        Finding(durable: [0..<5], data: [0..<6], found: [0..<5]),
        Finding(durable: [0..<5], data: [0..<8], found: [0..<5, 6..<7]),
        Finding(durable: [0..<3, 5..<20], data: [], found: [0..<3, 5..<10]),
        Finding(durable: [0..<10], data: [], found: [0..<10]),
    ]

    @Test(arguments: findings)
    func `after a loss, durable blocks and those away from a hole's edge are trusted`(_ finding: Finding) {
        let (written, durable) = (Self.blocks(finding.written), Self.blocks(finding.durable))
        #expect(written.found(in: Self.blocks(finding.data), durable: durable) == Self.blocks(finding.found))
    }

    private static func blocks(_ ranges: [Range<Int64>]) -> ByteRangeSet {
        ByteRangeSet(ranges.map { $0.lowerBound << 16..<$0.upperBound << 16 })
    }

    // MARK: A disk in memory

    /// A disk that has lost the bytes in the hole and some of the block before it.
    private func damagedDisk(
        _ durability: DownloadConfiguration.Durability = .none,
        intercept: @escaping @Sendable (DiskChange) throws(SystemError) -> Void = { _ throws(SystemError) in }
    ) async throws -> MemoryDisk {
        let disk = MemoryDisk()
        let outcome = try await run(
            durability == .none ? disk.calls.withoutSync : disk.calls,
            durability,
            sending: Self.written
        )
        #expect(outcome.error?.code == .connectionLost)
        var image = disk.image
        if durability == .none {
            for node in image.files.keys where image.files[node]?.count == Self.written {
                image.files[node]?.replaceSubrange(599_000..<700_000, with: Array(repeating: 0, count: 101_000))
            }
        }
        return MemoryDisk(image, intercept: intercept)
    }

    /// A file system that reports the hole while `isThere` is true and until the bytes are written again.
    private func calls(_ disk: MemoryDisk, while isThere: @escaping @Sendable () -> Bool = { true }) -> FileSystem {
        let system = disk.calls
        var calls = system
        let state = Locked((isReported: false, isFilled: false))
        calls.write = { file, bytes, offset throws(SystemError) in
            let isInHole = Self.hole.contains(offset + Int64(bytes.count))
            state.withLock { if isInHole, $0.isReported { $0.isFilled = true } }
            return try system.write(file, bytes, offset)
        }
        calls.dataRange = { file, offset throws(SystemError) in
            let data = try system.dataRange(file, offset)
            guard isThere(), let data, data.upperBound > Self.hole.lowerBound else { return data }
            let isFilled = state.withLock {
                $0.isReported = true
                return $0.isFilled
            }
            if isFilled { return data }
            if offset < Self.hole.lowerBound { return offset..<min(data.upperBound, Self.hole.lowerBound) }
            let start = max(offset, Self.hole.upperBound)
            return start < data.upperBound ? start..<data.upperBound : nil
        }
        return calls
    }

    private func run(
        _ calls: FileSystem,
        _ durability: DownloadConfiguration.Durability = .none,
        _ policy: DownloadRequest.ConflictPolicy = .overwrite,
        retries: Int = 0,
        sending count: Int = .max
    ) async throws -> DiskOutcome {
        try await DiskFixture.run(
            to: CrashFixture.destination,
            policy,
            files: calls,
            retries: retries,
            durability: durability
        ) { DiskFixture.response($0, sending: count) }
    }

    private func expectExact(_ disk: MemoryDisk) {
        let bytes = disk.image.bytes(of: CrashFixture.final)
        #expect(bytes?.elementsEqual(DiskFixture.bytes.prefix(DiskFixture.size)) == true)
        #expect(disk.image.names.keys.sorted() == [CrashFixture.final])
    }

    /// Regression: these bytes were trusted until the next boot, and the file had zeros there.
    @Test func `unsynced bytes are downloaded again if the file has a hole`() async throws {
        let disk = try await damagedDisk()
        let outcome = try await run(calls(disk))
        #expect(outcome.error == nil)
        #expect(outcome.starts.sorted() == Self.starts)
        let notices = outcome.events.filter {
            if case .notice(.bytesLost) = $0 { true } else { false }
        }
        #expect(notices.count == 1)
        expectExact(disk)
    }

    @Test func `a file with very many blocks of zeros is not checked for holes`() {
        var history = WriteHistory()
        let block = [UInt8](repeating: 0, count: 4096)
        for index in 0...Int64(WriteHistory.maxHoles) {
            #expect(index < 2 || history.mayHaveHoles)
            block.withUnsafeBytes { history.record($0, at: index * 8192) }
        }
        #expect(!history.mayHaveHoles && history.possibleHoles.isEmpty)
        history.truncate(to: 0)
        for offset in [Int64(0), 8192] { block.withUnsafeBytes { history.record($0, at: offset) } }
        #expect(history.mayHaveHoles && history.possibleHoles.ranges.count == 2)
    }

    @Test func `a hole in synced bytes counts as downloaded zeros`() async throws {
        let disk = try await damagedDisk(.full)
        let outcome = try await run(calls(disk), .full)
        #expect(outcome.starts == [Int64(Self.written)])
        expectExact(disk)
    }

    @Test(arguments: [EINVAL, ENOTSUP, EOPNOTSUPP, ENOSYS, ENOTTY])
    func `a file system that does not report holes has none`(_ errno: Int32) async throws {
        let disk = MemoryDisk()
        _ = try await run(disk.calls.withoutSync, sending: Self.written)
        var calls = disk.calls
        calls.dataRange = { _, _ throws(SystemError) in throw SystemError(errno: errno) }
        let outcome = try await run(calls)
        #expect(outcome.starts == [Int64(Self.written)])
        expectExact(disk)
    }

    @Test func `a file whose holes cannot be read fails its download and stays`() async throws {
        let disk = try await damagedDisk()
        var failing = disk.calls
        failing.dataRange = { _, _ throws(SystemError) in throw SystemError(errno: EIO) }
        let outcome = try await run(failing)
        #expect(outcome.error?.code == .fileSystem)
        #expect(outcome.starts == [])
        #expect(try await run(calls(disk)).error == nil)
        expectExact(disk)
    }

    @Test func `a hole that disappears after a sync was unwritten cache`() async throws {
        let isSynced = Locked(false)
        let disk = MemoryDisk { change throws(SystemError) in
            if case .sync = change { isSynced.withLock { $0 = true } }
        }
        _ = try await run(disk.calls.withoutSync, sending: Self.written)
        let outcome = try await run(calls(disk) { !isSynced.withLock { $0 } })
        #expect(isSynced.withLock { $0 })
        #expect(outcome.starts == [Int64(Self.written)])
        expectExact(disk)
    }

    @Test func `K06 if that sync fails, only previously synced bytes are trusted`() async throws {
        let disk = try await damagedDisk { change throws(SystemError) in
            if case .sync = change { throw SystemError(errno: EIO) }
        }
        let outcome = try await run(calls(disk))
        #expect(outcome.starts == [0])
        #expect(outcome.events.contains(.restarted(reason: .bytesNotOnDisk, bytesWasted: Int64(Self.written))))
        expectExact(disk)
    }

    /// When the process ends, the hole may be filled but the block before it not yet.
    @Test func `bytes found missing stay missing after the hole is filled`() async throws {
        let disk = try await damagedDisk()
        let second = try await run(calls(disk), sending: 0)
        #expect(second.error?.code == .connectionLost)
        #expect(second.starts.contains(Self.start))
        let third = try await run(disk.calls)
        #expect(third.starts.sorted() == Self.starts)
        expectExact(disk)
    }

    @Test func `a retry in the same process also checks for holes`() async throws {
        let disk = MemoryDisk()
        let outcome = try await run(calls(disk), retries: 2, sending: Self.written)
        #expect(outcome.error == nil)
        #expect(outcome.starts.sorted() == [0] + Self.starts)
        expectExact(disk)
    }

    @Test func `a file that is too short also loses the last block before its end`() async throws {
        let disk = try await damagedDisk()
        var image = disk.image
        for node in image.files.keys where image.files[node]?.count == Self.written {
            image.apply(.truncate(node, to: Self.hole.lowerBound))
        }
        let short = MemoryDisk(image)
        let outcome = try await run(short.calls)
        #expect(outcome.starts == [Self.start])
        expectExact(short)
    }

    /// The rename survived, but not the bytes.
    @Test func `X03 a file with a hole is not complete because it has its final name`() async throws {
        for isDamaged in [true, false] {
            let disk = MemoryDisk()
            _ = try await run(disk.calls.withoutSync, sending: Self.written)
            var image = disk.image
            let rest = MemoryDisk(image)
            _ = try await run(rest.calls)
            for change in rest.changes {
                image.apply(change)
                if case .rename(_, CrashFixture.final) = change { break }
            }
            let named = MemoryDisk(image)
            #expect(named.image.names.count == 2)
            let outcome = try await run(isDamaged ? calls(named) : named.calls, .none, .rename)
            #expect(outcome.starts == (isDamaged ? [0] : []))
            let path = isDamaged ? "/folder/file (1).bin" : CrashFixture.final
            let bytes = named.image.bytes(of: path)
            #expect(bytes?.elementsEqual(DiskFixture.bytes.prefix(DiskFixture.size)) == true)
        }
    }

    // MARK: The file system

    /// A file of a hundred bytes with holes, and the seek behaviour of its system.
    struct SparseFile: Sendable {
        let size: Int64 = 100
        let data: [Range<Int64>]
        let isOnAPFS: Bool

        func seekData(_ offset: Int64) -> Int64? {
            if isOnAPFS { return data.first { $0.lowerBound > offset }?.lowerBound }
            return data.first { $0.upperBound > offset }.map { max($0.lowerBound, offset) }
        }

        func seekHole(_ offset: Int64) -> Int64? {
            guard offset < size else { return nil }
            let end = data.first { $0.contains(offset) }?.upperBound ?? offset
            return isOnAPFS && end == size ? nil : end
        }
    }

    /// Regression: on APFS a file without a hole had no data and was downloaded again completely.
    @Test(
        arguments: [[0..<100], [], [0..<40], [40..<100], [0..<10, 20..<30, 50..<100], [10..<20, 30..<40]],
        [true, false]
    )
    func `data ranges are found with each system's seek behaviour`(_ data: [Range<Int64>], isOnAPFS: Bool) throws {
        let file = SparseFile(data: data, isOnAPFS: isOnAPFS)
        var calls = FileSystem.system
        calls.dataRange = { _, offset throws(SystemError) in
            try nextData(from: offset, size: file.size, data: file.seekData, hole: file.seekHole)
        }
        #expect(try calls.dataRanges(-1, size: file.size).ranges == data)
        calls.openForReading = { _ throws(SystemError) in -1 }
        calls.close = { _ throws(SystemError) in }
        let count = calls.dataCount("/x", FileStatus(size: file.size, inode: 1))
        #expect(count == data.reduce(0) { $0 + Int64($1.count) })
    }

    /// `nil` if the folder's file system does not report holes.
    private func holes(of file: URL) throws -> [Range<Int64>]? {
        let descriptor = try FileSystem.system.open(file.path)
        defer { try? FileSystem.system.close(descriptor) }
        let size = try FileSystem.system.openStatus(descriptor).size
        let holes = try FileSystem.system.dataRanges(descriptor, size: size).gaps(in: 0..<size)
        return holes.isEmpty ? nil : holes
    }

    @Test func `truncating and extending a file leaves a hole that is found`() async throws {
        try await withTemporaryDirectory { folder in
            let calls = FileSystem.system.withoutSync
            let outcome = try await DiskFixture.run(to: .directory(folder), files: calls, durability: .none) {
                DiskFixture.response($0, sending: Self.written)
            }
            #expect(outcome.error?.code == .connectionLost)
            let partial = try DiskFixture.partial(in: folder)
            #expect(try holes(of: partial) == nil)
            #expect(truncate(partial.path, 300_000) == 0)
            #expect(truncate(partial.path, off_t(Self.written)) == 0)
            guard let holes = try holes(of: partial) else { return }
            let hole = try #require(holes.first)
            #expect((300_000..<300_000 + 65_536).contains(hole.lowerBound) && hole.upperBound == Self.written)
            let second = try await DiskFixture.run(to: .directory(folder), files: .system, durability: .none)
            #expect(second.error == nil)
            #expect(second.starts == [hole.lowerBound - 65_536])
            #expect(DiskFixture.isExact(folder.appending(path: "file.bin")))
        }
    }

    @Test func `an empty file has no data ranges`() async throws {
        try await withTemporaryDirectory { folder in
            let file = try FileSystem.system.create(folder.appending(path: "empty").path)
            defer { try? FileSystem.system.close(file) }
            #expect(try FileSystem.system.dataRange(file, 0) == nil)
        }
    }
}

extension FileSystem {
    /// A file system whose syncs fail, as if the process were killed before them.
    fileprivate var withoutSync: FileSystem {
        var calls = self
        calls.sync = { _ throws(SystemError) in throw SystemError(errno: ENOTSUP) }
        return calls
    }
}

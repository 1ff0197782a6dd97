import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The ledger of a partial file, and the record that the transfer and the app before it is suspended write from it.
@Suite(.timeLimit(.minutes(4)))
struct FileLedgerTests {
    private let clock = TestClock()

    /// A partial file without bytes, whose body has been accepted.
    private func partial(_ files: FileSystem, totalBytes: Int64 = 1 << 20) throws -> PartialDownload {
        let record = DownloadRecord(
            id: Download.ID(rawValue: 1),
            request: try DiskFixture.request(to: .file(URL(filePath: "/folder/file.bin")))
        )
        let environment = TransferEnvironment(
            configuration: DownloadConfiguration { $0.durability = .full },
            transport: FakeTransport { _ in FakeTransport.Reply(fields: [], body: []) },
            files: files,
            clock: AnyClock(clock)
        )
        var partial = PartialDownload(record, environment)
        let body = BodyPlacement(
            offset: 0,
            length: totalBytes,
            totalBytes: totalBytes,
            framing: .length(totalBytes),
            representation: RepresentationMetadata(),
            proof: nil
        )
        try partial.begin(body, for: "/folder/file.bin")
        return partial
    }

    private func record(_ partial: PartialDownload, on disk: MemoryDisk) throws -> ControlRecord? {
        let contents = try RecordFile(of: partial.path, calls: SharedFileSystem(disk.calls)).read()
        return if case .record(let record) = contents { record } else { nil }
    }

    /// Records a written range, and performs the checkpoint that is due a while later.
    private func write(_ range: Range<Int64>, to partial: PartialDownload, after wait: Duration = .seconds(1)) throws {
        clock.advance(by: wait)
        let isDue = try partial.ledger.wrote(range, at: clock.now.offset)
        #expect(isDue)
        partial.ledger.work(on: try #require(partial.target))
    }

    private func set(_ ranges: Range<Int64>...) -> ByteRangeSet { ByteRangeSet(ranges) }

    /// Regression: a status call on an unreachable network file system blocked a thread of the cooperative pool.
    @Test func `a checkpoint is prepared without a file call`() throws {
        let disk = MemoryDisk()
        let recorder = FileSystemRecorder(to: disk.calls)
        var partial = try partial(recorder.fileCalls)
        defer { partial.close() }
        clock.advance(by: CheckpointPolicy.recordInterval)
        let callCount = recorder.calls.count
        let isDue = try partial.ledger.wrote(0..<5, at: clock.now.offset)
        #expect(isDue && recorder.calls.count == callCount)
        partial.ledger.work(on: try #require(partial.target))
        let record = try #require(try record(partial, on: disk))
        #expect(record.written == set(0..<5))
        #expect(record.file == (try #require(try disk.calls.status(partial.path))).identity)
    }

    @Test func `a failed sync fails the transfer`() throws {
        let fails = Locked(false)
        let disk = MemoryDisk { change throws(SystemError) in
            if change == .sync(1), fails.withLock({ $0 }) { throw SystemError(errno: EIO) }
        }
        var partial = try partial(disk.calls)
        defer { partial.close() }
        try write(0..<10, to: partial, after: CheckpointPolicy.syncInterval)
        try partial.settle()
        #expect(partial.ledger.contents.policy.durable == set(0..<10))
        fails.withLock { $0 = true }
        try write(10..<20, to: partial, after: CheckpointPolicy.syncInterval)
        fails.withLock { $0 = false }
        for _ in 0..<2 {
            #expect(throws: DownloadError.self) { try partial.ledger.wrote(20..<30, at: clock.now.offset) }
        }
        #expect(throws: DownloadError.self) { try partial.settle() }
        try partial.settle()
        #expect(partial.held == set(0..<10))
        // The record claims only the bytes of earlier syncs, and nothing is saved from outside any more.
        partial.ledger.save(syncing: true)
        let record = try #require(try record(partial, on: disk))
        #expect(record.written == set(0..<10) && record.durable == set(0..<10))
    }

    @Test func `a record of the transfer does not undo one saved from outside`() throws {
        let disk = MemoryDisk()
        var partial = try partial(disk.calls)
        defer { partial.close() }
        _ = try partial.ledger.wrote(0..<100, at: .zero)
        partial.ledger.save(syncing: true)
        var saved = try #require(try record(partial, on: disk))
        #expect(saved.written == set(0..<100) && saved.durable == set(0..<100))
        try write(100..<150, to: partial)
        saved = try #require(try record(partial, on: disk))
        #expect(saved.written == set(0..<150) && saved.durable == set(0..<100))
        #expect(partial.ledger.contents.policy.hasRecord)
    }

    @Test func `after a failed sync from outside only the durable bytes are recorded`() throws {
        let fails = Locked(false)
        let disk = MemoryDisk { change throws(SystemError) in
            if change == .sync(1), fails.withLock({ $0 }) { throw SystemError(errno: EIO) }
        }
        var partial = try partial(disk.calls)
        defer { partial.close() }
        _ = try partial.ledger.wrote(0..<10, at: .zero)
        partial.ledger.save(syncing: true)
        _ = try partial.ledger.wrote(10..<100, at: .zero)
        fails.withLock { $0 = true }
        partial.ledger.save(syncing: true)
        fails.withLock { $0 = false }
        // The kernel reports a failure only once.
        partial.ledger.save(syncing: true)
        let record = try #require(try record(partial, on: disk))
        #expect(record.written == set(0..<10) && record.durable == set(0..<10))
        #expect(throws: DownloadError.self) { try partial.ledger.wrote(100..<101, at: clock.now.offset) }
        #expect(throws: DownloadError.self) { try partial.settle() }
    }

    @Test func `a record saved from outside has the piece digests that are known`() throws {
        let disk = MemoryDisk()
        var partial = try partial(disk.calls, totalBytes: 3 * ReceivedPieces.leastLength)
        defer { partial.close() }
        partial.keepPieces(true)
        let piece = ReceivedPieces.leastLength..<2 * ReceivedPieces.leastLength
        _ = try partial.ledger.wrote(piece, completing: [(1, 7)], at: .zero)
        partial.ledger.save(syncing: false)
        let record = try #require(try record(partial, on: disk))
        #expect(record.pieces?.known.map(\.value) == [7])
    }

    @Test func `ranges that are no longer written are not recorded as durable`() throws {
        let disk = MemoryDisk()
        var partial = try partial(disk.calls)
        defer { partial.close() }
        _ = try partial.ledger.wrote(0..<100, at: .zero)
        partial.ledger.save(syncing: true)
        partial.keepOnly(set(0..<40, 60..<100))
        partial.ledger.save(syncing: false)
        let record = try #require(try record(partial, on: disk))
        #expect(record.written == set(0..<40, 60..<100) && record.durable == set(0..<40, 60..<100))
    }

    @Test func `nothing is saved from outside before there are bytes or after the end`() throws {
        let disk = MemoryDisk()
        var partial = try partial(disk.calls)
        partial.ledger.save(syncing: true)
        #expect(try record(partial, on: disk) == nil)
        _ = try partial.ledger.wrote(0..<100, at: .zero)
        partial.ledger.end()
        partial.ledger.save(syncing: true)
        #expect(try record(partial, on: disk) == nil)
        partial.close()
    }
}

import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Two writers of one resume record: the transfer, and the app before it is suspended.
@Suite(.timeLimit(.minutes(4)))
struct ResumeRecordWriterTests {
    private final class Disk: Sendable {
        let records = Locked<[(written: ByteRangeSet, durable: ByteRangeSet)]>([])
        let pieces = Locked<ReceivedPieces?>(nil)
        let syncs = Locked(true)

        var work: ResumeRecordWriter.Work {
            ResumeRecordWriter.Work(
                sync: { [self] in syncs.withLock { $0 } },
                write: { [self] written, durable, pieces, _ in
                    records.withLock { $0.append((written, durable)) }
                    self.pieces.withLock { $0 = pieces }
                    return true
                }
            )
        }

        var last: (written: ByteRangeSet, durable: ByteRangeSet) {
            records.withLock { $0.last ?? (ByteRangeSet(), ByteRangeSet()) }
        }
    }

    private let recordWriter = ResumeRecordWriter()
    private let disk = Disk()

    private func set(_ ranges: Range<Int64>...) -> ByteRangeSet { ByteRangeSet(ranges) }

    private func write(
        _ written: ByteRangeSet,
        durable: ByteRangeSet = ByteRangeSet(),
        _ pieces: ReceivedPieces? = nil
    ) throws {
        var record = try ControlRecord.sample()
        (record.written, record.durable, record.pieces) = (written, durable, pieces)
        let isWritten = recordWriter.write(record) { record in
            disk.records.withLock { $0.append((record.written, record.durable)) }
        }
        #expect(isWritten)
    }

    @Test func `a late record of the transfer does not undo one saved from outside`() throws {
        recordWriter.began(durable: set(), disk.work)
        recordWriter.save(syncing: true) { set(0..<100) }
        #expect(disk.last.durable == set(0..<100))
        // A record that was created earlier arrives late.
        try write(set(0..<60))
        #expect(disk.last.written == set(0..<100) && disk.last.durable == set(0..<100))
        try write(set(0..<150))
        #expect(disk.last.written == set(0..<150) && disk.last.durable == set(0..<100))
        #expect(recordWriter.ended())
    }

    @Test func `after a failed sync nothing more is recorded as durable`() throws {
        for isOutside in [true, false] {
            recordWriter.began(durable: set(0..<10), disk.work)
            disk.syncs.withLock { $0 = false }
            if isOutside {
                recordWriter.save(syncing: true) { set(0..<100) }
            } else {
                #expect(!recordWriter.sync { false })
            }
            disk.syncs.withLock { $0 = true }
            // The kernel reports a failure only once.
            #expect(!recordWriter.sync { true })
            recordWriter.save(syncing: true) { set(0..<100) }
            #expect(disk.last.written == set(0..<100) && disk.last.durable == set(0..<10))
            recordWriter.closed()
        }
        recordWriter.began(durable: set(), disk.work)
        #expect(recordWriter.sync { true })
    }

    @Test func `a record saved from outside has the piece digests of the transfer's last record`() throws {
        var pieces = try #require(ReceivedPieces(fileSize: 3 * ReceivedPieces.leastLength))
        pieces.keep([(1, 7)])
        recordWriter.began(durable: set(), disk.work)
        try write(set(0..<100), pieces)
        recordWriter.save(syncing: false) { set(0..<200) }
        #expect(disk.pieces.withLock { $0 } == pieces)
        // Digests of another body mean nothing for this one.
        recordWriter.began(durable: set(), disk.work)
        recordWriter.save(syncing: false) { set(0..<200) }
        #expect(disk.pieces.withLock { $0 } == nil)
    }

    @Test func `ranges that are no longer written are not recorded as durable`() throws {
        recordWriter.began(durable: set(0..<100), disk.work)
        recordWriter.save(syncing: false) { set(0..<40, 60..<100) }
        #expect(disk.last.durable == set(0..<40, 60..<100))
        recordWriter.began(durable: set(0..<40), disk.work)
        try write(set(0..<40))
        #expect(disk.last.written == set(0..<40))
    }

    @Test func `nothing is saved from outside before there are bytes or after the end`() {
        recordWriter.save(syncing: true) { set(0..<100) }
        recordWriter.began(durable: set(), disk.work)
        recordWriter.save(syncing: true) { set() }
        #expect(!recordWriter.ended())
        recordWriter.save(syncing: true) { set(0..<100) }
        #expect(disk.records.withLock { $0.count } == 0)
    }
}

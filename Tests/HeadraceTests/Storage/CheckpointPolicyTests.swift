import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct CheckpointPolicyTests {
    typealias Action = CheckpointPolicy.Action

    private let mebibyte: Int64 = 1 << 20

    /// A function, because the macro cannot take a mutating call.
    private func expect(_ actions: [Action], _ expected: [Action], _ location: SourceLocation = #_sourceLocation) {
        #expect(actions == expected, sourceLocation: location)
    }

    /// A policy past its first second and mebibyte, with a record on disk.
    private func running(_ durability: CheckpointPolicy.Durability) -> CheckpointPolicy {
        var policy = CheckpointPolicy(durability, at: .zero)
        expect(policy.wrote(0..<mebibyte, at: .seconds(1)), [.writeRecord])
        return policy
    }

    @Test func `nothing is recorded in the first half second, however many bytes arrive`() {
        var policy = CheckpointPolicy(.full, at: .seconds(10))
        expect(policy.wrote(0..<1 << 30, at: .milliseconds(10_499)), [])
        expect(policy.wrote(1 << 30..<1 << 31, at: .milliseconds(10_500)), [.writeRecord, .startSync])
    }

    @Test func `a file that arrives in small pieces is recorded like any other`() {
        var policy = CheckpointPolicy(.none, at: .zero)
        expect(policy.wrote(0..<1, at: .milliseconds(499)), [])
        for byte in 1..<100 {
            expect(policy.wrote(Int64(byte)..<Int64(byte) + 1, at: .milliseconds(byte * 500)), [.writeRecord])
        }
    }

    @Test func `an empty file is synced before it gets its name, because it may have been longer`() {
        var policy = CheckpointPolicy(.full, at: .zero)
        expect(policy.stopping(.finishing, at: .seconds(2)), [.startSync])
        expect(policy.syncEnded(success: true, at: .seconds(2)), [])
        for (durability, stop) in [(.none, .finishing), (.full, .leaving)]
            as [(CheckpointPolicy.Durability, CheckpointPolicy.Stop)]
        {
            var policy = CheckpointPolicy(durability, at: .zero)
            expect(policy.stopping(stop, at: .seconds(2)), [])
        }
    }

    @Test func `the last bytes do not trigger a record of their own`() {
        var policy = CheckpointPolicy(.none, at: .zero)
        expect(policy.wrote(0..<10, isLast: true, at: .seconds(2)), [])
        expect(policy.stopping(.finishing, at: .seconds(2)), [])
    }

    @Test func `a record is written at most twice a second, and only for new bytes`() {
        var policy = running(.none)
        expect(policy.wrote(mebibyte..<2 * mebibyte, at: .milliseconds(1_499)), [])
        expect(policy.wrote(2 * mebibyte..<3 * mebibyte, at: .milliseconds(1_500)), [.writeRecord])
        expect(policy.wrote(5..<5, at: .seconds(4)), [])
        expect(policy.stopping(.finishing, at: .seconds(5)), [.writeRecord])
    }

    @Test func `a sync begins after five seconds`() {
        var policy = running(.full)
        expect(policy.wrote(mebibyte..<2 * mebibyte, at: .milliseconds(4_999)), [.writeRecord])
        expect(policy.wrote(2 * mebibyte..<3 * mebibyte, at: .seconds(5)), [.startSync])
        expect(policy.syncEnded(success: true, at: .milliseconds(5_490)), [])
        #expect(policy.durable == ByteRangeSet([0..<3 * mebibyte]))
        expect(policy.wrote(3 * mebibyte..<4 * mebibyte, at: .milliseconds(6_000)), [.writeRecord])
        expect(policy.wrote(4 * mebibyte..<5 * mebibyte, at: .milliseconds(10_489)), [.writeRecord])
        expect(policy.wrote(5 * mebibyte..<6 * mebibyte, at: .milliseconds(10_490)), [.startSync])
    }

    @Test func `ranges synced from outside are durable, and an earlier sync that ends later keeps them`() {
        var policy = running(.full)
        expect(policy.wrote(10 * mebibyte..<80 * mebibyte, at: .milliseconds(1_100)), [.startSync])
        expect(policy.wrote(mebibyte..<2 * mebibyte, at: .milliseconds(1_200)), [])
        policy.synced(ByteRangeSet([0..<2 * mebibyte, 900 * mebibyte..<901 * mebibyte]))
        #expect(policy.durable == ByteRangeSet([0..<2 * mebibyte]))
        expect(policy.syncEnded(success: true, at: .milliseconds(1_300)), [])
        #expect(policy.durable == policy.written)
    }

    @Test func `a sync begins after 64 MiB`() {
        var policy = running(.full)
        expect(policy.wrote(mebibyte..<64 * mebibyte - 1, at: .milliseconds(1_100)), [])
        expect(policy.wrote(64 * mebibyte - 1..<64 * mebibyte, at: .milliseconds(1_101)), [.startSync])
        expect(policy.syncEnded(success: true, at: .milliseconds(1_200)), [])
        expect(policy.wrote(64 * mebibyte..<128 * mebibyte - 1, at: .milliseconds(1_300)), [])
        expect(policy.wrote(128 * mebibyte - 1..<128 * mebibyte, at: .milliseconds(1_301)), [.startSync])
    }

    @Test func `bytes written during a sync are not made durable by it`() {
        var policy = running(.full)
        expect(policy.wrote(10 * mebibyte..<80 * mebibyte, at: .milliseconds(1_100)), [.startSync])
        expect(policy.wrote(mebibyte..<2 * mebibyte, at: .milliseconds(1_200)), [])
        expect(policy.wrote(200 * mebibyte..<300 * mebibyte, at: .milliseconds(2_000)), [.writeRecord])
        #expect(policy.durable.isEmpty)
        #expect(policy.isSyncing)
        // Two syncs never run at once; enough bytes arrived meanwhile for the next one.
        expect(policy.syncEnded(success: true, at: .milliseconds(2_100)), [.startSync])
        #expect(policy.durable == ByteRangeSet([0..<mebibyte, 10 * mebibyte..<80 * mebibyte]))
        expect(policy.syncEnded(success: true, at: .milliseconds(3_000)), [.writeRecord])
        #expect(policy.durable == policy.written)
    }

    @Test func `K06 a failed sync is not retried, and all bytes since the last good one are withdrawn`() {
        var policy = running(.full)
        expect(policy.wrote(mebibyte..<70 * mebibyte, at: .milliseconds(1_100)), [.startSync])
        expect(policy.syncEnded(success: true, at: .milliseconds(1_400)), [])
        expect(policy.wrote(70 * mebibyte..<140 * mebibyte, at: .milliseconds(2_000)), [.writeRecord, .startSync])
        expect(policy.wrote(140 * mebibyte..<150 * mebibyte, at: .milliseconds(2_010)), [])
        expect(policy.syncEnded(success: false, at: .milliseconds(2_020)), [.writeRecord])
        let good = ByteRangeSet([0..<70 * mebibyte])
        #expect(policy.durable == good)
        #expect(policy.written == good)
        expect(policy.wrote(150 * mebibyte..<300 * mebibyte, at: .seconds(100)), [])
        expect(policy.stopping(.keeping, at: .seconds(101)), [])
        #expect(policy.durable == good)
        #expect(policy.written == good)
    }

    @Test func `K06 a sync that fails at a stop withdraws what an existing record claims`() {
        var recorded = running(.full)
        expect(recorded.stopping(.keeping, at: .seconds(2)), [.startSync])
        expect(recorded.syncEnded(success: false, at: .seconds(3)), [.writeRecord])
        #expect(recorded.written.isEmpty)
        var small = CheckpointPolicy(.full, at: .zero)
        expect(small.wrote(0..<10, at: .milliseconds(1)), [])
        expect(small.stopping(.keeping, at: .milliseconds(2)), [.startSync])
        expect(small.syncEnded(success: false, at: .milliseconds(3)), [])
    }

    @Test func `without durability nothing is synced during the download or at completion`() {
        var policy = running(.none)
        expect(policy.wrote(mebibyte..<1 << 35, at: .seconds(60)), [.writeRecord])
        expect(policy.wrote(1 << 35..<1 << 36, at: .milliseconds(60_400)), [])
        #expect(policy.durable.isEmpty)
        expect(policy.stopping(.finishing, at: .milliseconds(60_600)), [.writeRecord])
        #expect(policy.durable.isEmpty)
    }

    /// Without this, a stop before an orderly reboot would lose all bytes.
    @Test func `a final stop writes a record and then syncs, whatever the durability`() {
        var policy = running(.none)
        expect(policy.wrote(mebibyte..<1 << 35, at: .milliseconds(1_100)), [])
        expect(policy.stopping(.leaving, at: .seconds(61)), [.writeRecord, .startSync])
        expect(policy.syncEnded(success: true, at: .seconds(62)), [.writeRecord])
        #expect(policy.durable == ByteRangeSet([0..<1 << 35]))
    }

    @Test func `without durability a retry does not sync`() {
        var policy = running(.none)
        expect(policy.wrote(mebibyte..<1 << 35, at: .milliseconds(1_100)), [])
        expect(policy.stopping(.keeping, at: .seconds(61)), [.writeRecord])
        #expect(policy.durable.isEmpty)
        #expect(!policy.isSyncing)
    }

    @Test func `K06 a failed sync at a final stop withdraws all claims`() {
        var policy = running(.none)
        expect(policy.stopping(.leaving, at: .seconds(61)), [.startSync])
        expect(policy.syncEnded(success: false, at: .seconds(62)), [.writeRecord])
        #expect(policy.written.isEmpty)
    }

    @Test func `without sync support, written bytes remain valid until the kernel stops`() {
        var policy = running(.none)
        expect(policy.syncUnavailable(at: .seconds(1)), [])
        expect(policy.wrote(mebibyte..<1 << 35, at: .seconds(60)), [.writeRecord])
        expect(policy.stopping(.leaving, at: .seconds(61)), [.startSync])
        expect(policy.syncUnavailable(at: .seconds(62)), [])
        #expect(policy.written == ByteRangeSet([0..<1 << 35]))
        #expect(policy.durable.isEmpty)
        #expect(!policy.isSyncing)
    }

    @Test func `a pause in the first second is recorded, even for a small file`() {
        var small = CheckpointPolicy(.none, at: .zero)
        expect(small.wrote(0..<10, at: .milliseconds(1)), [])
        expect(small.stopping(.leaving, at: .milliseconds(2)), [.writeRecord, .startSync])
        expect(small.syncEnded(success: true, at: .milliseconds(3)), [.writeRecord])
        #expect(small.durable == ByteRangeSet([0..<10]))
        #expect(!small.isSyncing)
    }

    @Test func `a stop before the first byte writes nothing`() {
        var policy = CheckpointPolicy(.full, at: .zero)
        expect(policy.stopping(.keeping, at: .seconds(9)), [])
    }

    @Test func `a stop during a sync syncs the remaining bytes, then writes the last record`() {
        var policy = running(.full)
        expect(policy.wrote(mebibyte..<70 * mebibyte, at: .milliseconds(1_100)), [.startSync])
        expect(policy.wrote(70 * mebibyte..<71 * mebibyte, at: .milliseconds(1_200)), [])
        expect(policy.stopping(.keeping, at: .milliseconds(1_300)), [])
        expect(policy.stopping(.keeping, at: .milliseconds(1_301)), [])
        expect(policy.wrote(71 * mebibyte..<72 * mebibyte, at: .milliseconds(1_400)), [])
        expect(policy.syncEnded(success: true, at: .milliseconds(1_500)), [.startSync])
        expect(policy.syncEnded(success: true, at: .milliseconds(1_600)), [.writeRecord])
        #expect(policy.durable == ByteRangeSet([0..<71 * mebibyte]))
        expect(policy.syncEnded(success: true, at: .milliseconds(1_700)), [])
    }

    @Test func `a file that is complete within half a second is synced without a record`() {
        var policy = CheckpointPolicy(.full, at: .zero)
        expect(policy.wrote(0..<1 << 30, at: .milliseconds(400)), [])
        expect(policy.stopping(.finishing, at: .milliseconds(401)), [.startSync])
        expect(policy.syncEnded(success: true, at: .milliseconds(499)), [])
        var unsynced = CheckpointPolicy(.none, at: .zero)
        expect(unsynced.wrote(0..<1 << 30, at: .milliseconds(400)), [])
        expect(unsynced.stopping(.finishing, at: .milliseconds(401)), [])
    }

    @Test func `X03 an existing record is updated before the file is renamed`() {
        for durability in [CheckpointPolicy.Durability.none, .full] {
            var policy = running(durability)
            var actions = policy.stopping(.finishing, at: .seconds(2))
            if durability == .full {
                expect(actions, [.startSync])
                actions = policy.syncEnded(success: true, at: .seconds(3))
            }
            expect(actions, [.writeRecord])
            expect(policy.stopping(.keeping, at: .seconds(4)), [])
        }
    }

    @Test func `X01 a resumed download starts with the trusted ranges of its record`() {
        var policy = CheckpointPolicy(
            .full,
            written: ByteRangeSet([0..<70 * mebibyte]),
            durable: ByteRangeSet([0..<10, 100 * mebibyte..<200 * mebibyte]),
            at: .zero
        )
        #expect(policy.durable == ByteRangeSet([0..<10]))
        // Bytes that the previous process wrote but did not sync need a sync just as much.
        expect(policy.wrote(70 * mebibyte..<71 * mebibyte, at: .seconds(1)), [.writeRecord, .startSync])
        expect(policy.syncEnded(success: true, at: .seconds(2)), [.writeRecord])
        #expect(policy.durable == ByteRangeSet([0..<71 * mebibyte]))
    }

    @Test func `a resumed download that stops at once still syncs its ranges`() {
        var policy = CheckpointPolicy(.full, written: ByteRangeSet([0..<50]), at: .zero)
        expect(policy.stopping(.keeping, at: .zero), [.startSync])
        expect(policy.syncEnded(success: true, at: .zero), [.writeRecord])
    }
}

import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)), .computing)
struct CheckpointPolicyWalkTests {
    @Test(arguments: 0..<30)
    func `X02 in a random walk a record never claims durable bytes that no sync covered`(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var walk = Walk(using: &random)
        for _ in 0..<300 { walk.step(using: &random) }
        walk.stop(using: &random)
    }
}

/// A download whose disk tracks written and synced bytes and checks each record against them.
private struct Walk {
    private static let total: Int64 = 4 << 30

    private let durability: CheckpointPolicy.Durability
    private let start: Duration
    private var policy: CheckpointPolicy
    private var now: Duration
    private var written = ByteRangeSet()
    /// The bytes written before the last successful sync, and before the running one.
    private var synced = ByteRangeSet()
    private var syncing: ByteRangeSet?
    private var hasSyncFailed = false
    private var recorded = (written: ByteRangeSet(), durable: ByteRangeSet())
    private var lastRecord: Duration?
    private let failsSyncs: Bool

    init(using random: inout SeededRandom) {
        durability = Int.random(in: 0..<4, using: &random) == 0 ? .none : .full
        failsSyncs = Bool.random(using: &random)
        start = .milliseconds(Int.random(in: 0...10_000, using: &random))
        now = start
        policy = CheckpointPolicy(durability, at: start)
    }

    mutating func step(using random: inout SeededRandom) {
        now += .milliseconds(Int.random(in: 0...300, using: &random))
        guard syncing == nil || Int.random(in: 0..<4, using: &random) > 0 else { return endSync(using: &random) }
        let offset = Int64.random(in: 0..<Self.total, using: &random)
        let range = offset..<min(Self.total, offset + .random(in: 0...8 << 20, using: &random))
        written.insert(range)
        perform(policy.wrote(range, at: now))
        guard !hasSyncFailed else { return }
        #expect(policy.written == written)
        if now - start >= .milliseconds(500), now - (lastRecord ?? start) >= .milliseconds(500) {
            #expect(recorded.written == written, "a kill would cost more than half a second")
        }
    }

    mutating func stop(using random: inout SeededRandom) {
        perform(policy.stopping(.leaving, at: now), isStopping: true)
        var syncs = 0
        while syncing != nil, syncs < 3 {
            now += .milliseconds(100)
            endSync(using: &random, isStopping: true)
            syncs += 1
        }
        #expect(syncs < 3 && !policy.isSyncing)
        #expect(recorded.written == (hasSyncFailed ? synced : written))
        #expect(recorded.durable == recorded.written)
    }

    private mutating func endSync(using random: inout SeededRandom, isStopping: Bool = false) {
        guard let covered = syncing else { return }
        syncing = nil
        let succeeds = !failsSyncs || Int.random(in: 0..<20, using: &random) > 0
        if succeeds { synced = covered } else { hasSyncFailed = true }
        perform(policy.syncEnded(success: succeeds, at: now), isStopping: isStopping || !succeeds)
    }

    /// A record may immediately follow another only if the download stops or a claim is withdrawn.
    private mutating func perform(_ actions: [CheckpointPolicy.Action], isStopping: Bool = false) {
        for action in actions {
            switch action {
            case .writeRecord:
                recorded = (policy.written, policy.durable)
                #expect(isStopping || now - (lastRecord ?? start) >= .milliseconds(500))
                lastRecord = now
            case .startSync:
                #expect(syncing == nil && !hasSyncFailed && (durability == .full || isStopping))
                syncing = written
            }
        }
        #expect(recorded.durable.isSubset(of: synced))
        #expect(recorded.written.isSubset(of: hasSyncFailed ? synced : written))
        #expect(policy.durable == synced)
    }
}

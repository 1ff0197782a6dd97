import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Crashes between any two disk changes: the registry that is read was valid at some time since the last call returned.
@Suite(.timeLimit(.minutes(4)), .computing)
struct RegistryCrashTests {
    private typealias Fixture = RegistryFixture

    /// The changes of a disk, and the states that may be read after each number of them.
    private struct History {
        var changes: [DiskChange] = []
        var allowed: [Int: [RegistrySnapshot]] = [:]
    }

    /// Random changes on a disk that sometimes refuses one, with small compactions and occasional reopening.
    ///
    /// With `unsynced`, some changes are not synced; those may be missing unless `keepsUnsynced` is set.
    private func history(
        seed: UInt64,
        syncs: Bool,
        unsynced: Bool = false,
        keepsUnsynced: Bool = true
    ) throws -> History {
        let fault = Locked<Int32?>(nil)
        let disk = MemoryDisk { change throws(SystemError) in
            guard let errno = fault.withLock({ $0 }) else { return }
            switch (change, errno) {
            case (.write, ENOSPC), (.sync, EIO), (.syncDirectory, ETIMEDOUT): throw SystemError(errno: errno)
            default: break
            }
        }
        var random = SeededRandom(seed: seed)
        var history = History()
        var acknowledged = RegistrySnapshot()
        var possible = [acknowledged]
        func note(from start: Int) {
            for count in start...disk.changes.count { history.allowed[count, default: []] += possible }
        }
        func open() throws -> RegistryList {
            let start = disk.changes.count
            let compaction = RegistryStore.Compaction(minBytes: 2000, factor: 2)
            let file = try RegistryFixture.open("/list", syncs: syncs, compaction: compaction, calls: disk.calls).list
            #expect(possible.contains(file.snapshot))
            acknowledged = file.snapshot
            note(from: start)
            return file
        }
        var file = try open()
        for _ in 0..<20 {
            let changes = (0..<Int.random(in: 1...3, using: &random)).map { _ in Fixture.randomChange(&random) }
            let faults: [Int32?] = [nil, nil, nil, nil, nil, ENOSPC, EIO, ETIMEDOUT]
            fault.withLock { $0 = faults.randomElement(using: &random) ?? nil }
            let start = disk.changes.count
            possible += changes.indices.map { index in
                var image = acknowledged
                for change in changes[...index] { image.apply(change) }
                return image
            }
            let syncing = !unsynced || Int.random(in: 0..<3, using: &random) == 0
            if (try? file.append(changes, syncing: syncing)) != nil {
                note(from: start)
                acknowledged = file.snapshot
                #expect(acknowledged == possible.last)
                if syncing || keepsUnsynced { possible = [acknowledged] }
                history.allowed[disk.changes.count] = possible
            } else {
                note(from: start)
                #expect(file.snapshot == acknowledged)
            }
            fault.withLock { $0 = nil }
            guard Int.random(in: 0..<10, using: &random) == 0 else { continue }
            file.close()
            file = try open()
        }
        file.close()
        note(from: disk.changes.count)
        history.changes = disk.changes
        return history
    }

    /// Stops after each change, reads the remaining registry, appends to it and reads it again.
    private func crashEverywhere(
        _ crash: Crash,
        syncs: Bool,
        unsynced: Bool = false,
        seeds: Range<UInt64>
    ) throws {
        for seed in seeds {
            let history = try history(seed: seed, syncs: syncs, unsynced: unsynced, keepsUnsynced: crash == .kill)
            var allowed = [RegistrySnapshot()]
            var unsynced = UnsyncedDisk()
            for count in 0...history.changes.count {
                if count > 0 { unsynced.apply(history.changes[count - 1]) }
                if let now = history.allowed[count] { allowed = now }
                let disk = MemoryDisk(crash.image(of: unsynced, seed: seed &+ UInt64(count)))
                let (file, report) = try RegistryFixture.open("/list", syncs: syncs, calls: disk.calls)
                #expect(!report.findings.hasLoss, "\(crash), seed \(seed), after \(count) changes")
                let found = file.snapshot
                #expect(allowed.contains(found), "\(crash), seed \(seed), after \(count) changes")
                try file.append([.added([Fixture.entry(1000)])])
                file.close()
                let again = try RegistryFixture.open("/list", syncs: syncs, calls: disk.calls)
                var expected = found
                expected.apply(.added([Fixture.entry(1000)]))
                #expect(again.list.snapshot == expected, "\(crash), seed \(seed), after \(count) changes")
                #expect(again.report == RegistryReport(), "\(crash), seed \(seed), after \(count) changes")
                let names = disk.image.names.keys.sorted()
                #expect(names == ["/list/registry.journal", "/list/registry.lock"])
            }
        }
    }

    @Test(arguments: Crash.allCases)
    func `X02 after a crash at any change the registry is in a state it had before`(_ crash: Crash) throws {
        try crashEverywhere(crash, syncs: true, seeds: 0..<2)
    }

    /// `cutByChance` is excluded: of two unsynced changes, the first may be lost alone.
    @Test(arguments: [Crash.kill, .cutOfAll, .cutOfBytes, .cutOfNames])
    func `X02 unsynced changes are lost only by a power cut, and in order`(_ crash: Crash) throws {
        try crashEverywhere(crash, syncs: true, unsynced: true, seeds: 30..<31)
    }

    @Test func `X01 without syncs a kill at any change leaves a state the registry had before`() throws {
        try crashEverywhere(.kill, syncs: false, seeds: 10..<12)
    }

    @Test(arguments: Crash.allCases)
    func `X02 without syncs a power cut leaves a readable registry`(_ crash: Crash) throws {
        for seed: UInt64 in 20..<21 {
            let history = try history(seed: seed, syncs: false)
            var unsynced = UnsyncedDisk()
            for count in 0...history.changes.count {
                if count > 0 { unsynced.apply(history.changes[count - 1]) }
                let disk = MemoryDisk(crash.image(of: unsynced, seed: seed &+ UInt64(count)))
                let file = try RegistryFixture.open("/list", syncs: false, calls: disk.calls).list
                #expect(file.snapshot.entries.allSatisfy { $0.id < 20 })
                let before = file.snapshot
                file.close()
                let again = try RegistryFixture.open("/list", syncs: false, calls: disk.calls)
                #expect(again.list.snapshot == before)
                #expect(!again.report.findings.hasLoss)
            }
        }
    }
}

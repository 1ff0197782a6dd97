import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The numbers of the downloads in a journal.
@Suite(.timeLimit(.minutes(4)))
struct RegistryNumberTests {
    private typealias Fixture = RegistryFixture

    private func entry(_ id: UInt64, number: Int?, label: Int64 = 0) -> RegistryEntry {
        var entry = Fixture.entry(id, label: label)
        entry.number = number
        return entry
    }

    private func numbers(_ image: RegistrySnapshot) -> [UInt64: Int] {
        Dictionary(uniqueKeysWithValues: image.entries.map { ($0.id, $0.number ?? 0) })
    }

    // MARK: The next number

    @Test(arguments: [
        ([], 1), ([1], 2), ([2], 3), ([1, 2, 3], 4), ([3, 1], 4), ([7], 8), ([999_999_999], 1),
        ([1, 2, 999_999_999], 3), ([999_999_998], 999_999_999), ([2, 999_999_999], 1),
    ])
    func `the next number is the highest plus one, or the lowest free one at the limit`(
        _ used: [Int],
        next: Int
    ) {
        #expect(DownloadNumbers(used).next == next)
    }

    @Test func `random allocation and release of numbers matches a set`() {
        for seed: UInt64 in 0..<20 {
            var random = SeededRandom(seed: seed)
            var (numbers, model) = (DownloadNumbers(), Set<Int>())
            for _ in 0..<200 {
                if Int.random(in: 0..<5, using: &random) < 3 {
                    let next = numbers.takeNext()
                    #expect(next == (model.max() ?? 0) + 1)
                    model.insert(next)
                } else if Int.random(in: 0..<4, using: &random) == 0, let highest = model.max() {
                    let number = Int.random(in: 1...highest + 2, using: &random)
                    numbers.take(number)
                    model.insert(number)
                } else if let number = model.randomElement(using: &random) {
                    numbers.release(number)
                    model.remove(number)
                }
                #expect(numbers.next == (model.max() ?? 0) + 1, "seed \(seed)")
            }
            #expect(DownloadNumbers(model).next == numbers.next)
        }
    }

    // MARK: Journals without numbers

    @Test(arguments: [
        ([nil, nil, nil], [1, 2, 3]), ([5, nil, nil], [5, 6, 7]), ([nil, nil, 2], [3, 4, 2]), ([2, 2, 1], [2, 3, 1]),
        ([4, nil, 4], [4, 5, 6]), ([3, 1, 2], [3, 1, 2]), ([999_999_999, nil, 1], [999_999_999, 2, 1]),
    ])
    func `downloads without a unique number get one in queue order`(_ read: [Int?], numbers: [Int]) {
        // Their lines are in another order.
        for order in [[0, 1, 2], [2, 0, 1]] {
            let entries = order.map { entry(UInt64($0), number: read[$0], label: Int64($0)) }
            var image = Fixture.image([.added(entries)])
            for isFirst in [true, false] {
                let isChanged = image.numberEntries()
                #expect(isChanged == (isFirst && read != numbers))
                #expect(image.ordered.map(\.number) == numbers)
            }
        }
    }

    @Test(arguments: [0, -1, 1_000_000_000, Int64.min, .max])
    func `an invalid number is ignored and reported`(_ number: Int64) throws {
        var bytes = RegistryJournal.header
        let line = #"["add",["0000000000000001",0,"http://h/a","file","/a","number",\#(number),"title","t"]]"#
        RegistryJournal.append(Array(line.utf8), to: &bytes)
        let reader = try Fixture.read(bytes)
        #expect(reader.snapshot[1]?.number == nil)
        #expect(reader.snapshot[1]?.request.title == "t")
        #expect(reader.findings.list == [.unknown("the number \(number)", line: 3)])
    }

    @Test func `an old journal has the same numbers for each reader and keeps them once opened`() async throws {
        try await withTemporaryDirectory { folder in
            let entries = (1...4).map { entry($0, number: nil, label: Int64($0)) }
            let journal = folder.appending(path: RegistryStore.fileName)
            let changes: [RegistryChange] = [.added(entries), .moved(4, label: 0), .removed([2])]
            try Data(Fixture.journal(changes)).write(to: journal)
            let expected: [UInt64: Int] = [4: 1, 1: 2, 3: 3]
            for _ in 0..<2 { #expect(numbers(try RegistryFile.read(folder.path).snapshot) == expected) }
            let (list, report) = try Fixture.open(folder)
            #expect(report == RegistryReport())
            #expect(numbers(list.snapshot) == expected)
            #expect(numbers(try Fixture.read(FileProbe.bytes(of: journal)).snapshot) == expected)
            try list.append([.moved(3, label: -1)])
            list.close()
            #expect(numbers(try RegistryFile.read(folder.path).snapshot) == expected)
            #expect(try FileProbe.names(in: folder) == ["registry.journal", "registry.lock"])
            let size = FileProbe.size(of: journal)
            try Fixture.open(folder).list.close()
            #expect(FileProbe.size(of: journal) == size)
        }
    }

    @Test func `an old journal that cannot be rewritten on opening is numbered with the next change`() throws {
        let isFull = Locked(false)
        let disk = MemoryDisk { change throws(SystemError) in
            if case .rename = change, isFull.withLock({ $0 }) { throw SystemError(errno: ENOSPC) }
        }
        let old = try Fixture.open("/list", calls: disk.calls).list
        try old.append([.added((1...3).map { entry($0, number: nil, label: Int64($0)) })])
        old.close()
        isFull.withLock { $0 = true }
        let list = try Fixture.open("/list", calls: disk.calls).list
        isFull.withLock { $0 = false }
        let move = RegistryChange.moved(3, label: 0)
        #expect(try list.file.append([move], live: 3) == .wholeListNeeded)
        try list.append([move])
        list.close()
        let image = try Fixture.open("/list", calls: disk.calls).list.snapshot
        #expect(image.ordered.map(\.id) == [3, 1, 2])
        #expect(numbers(image) == [1: 1, 2: 2, 3: 3])
    }
}

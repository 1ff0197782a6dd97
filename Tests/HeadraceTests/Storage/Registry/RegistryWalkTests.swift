import HeadraceTestSupport
import Testing

@testable import Headrace

/// Random changes and random damage: everything undamaged is read.
@Suite(.timeLimit(.minutes(4)), .computing)
struct RegistryWalkTests {
    private typealias Fixture = RegistryFixture

    @Test func `random changes are read back in pieces of any size and from a snapshot`() throws {
        for seed: UInt64 in 0..<60 {
            var random = SeededRandom(seed: seed)
            let changes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                Fixture.randomChange(&random, addingUpTo: 5)
            }
            let image = Fixture.image(changes)
            let journal = try Fixture.journal(changes)
            for pieceBytes in [Int.random(in: 1...200, using: &random), 1 << 20] {
                let reader = try Fixture.read(journal, pieceBytes: pieceBytes)
                #expect(reader.snapshot == image, "seed \(seed)")
                #expect(reader.findings == RegistryDiagnostics(), "seed \(seed)")
                #expect(reader.goodBytes == journal.count)
                #expect(reader.recordCount == changes.reduce(0) { $0 + $1.recordCount })
            }
            var snapshot = RegistryEncoder.journal(of: image.ordered)
            var written: [UInt8] = []
            while let piece = try snapshot.next() { written += piece }
            #expect(try Fixture.read(written).snapshot == image, "seed \(seed)")
        }
    }

    @Test func `K18 a journal truncated at any byte has all complete lines and can be continued`() throws {
        for seed: UInt64 in 0..<3 {
            var random = SeededRandom(seed: seed)
            let changes = (0..<4).map { _ in Fixture.randomChange(&random) }
            let journal = try Fixture.journal(changes)
            let ends = try Fixture.ends(of: changes)
            for length in 0...journal.count {
                let reader = try Fixture.read(Array(journal.prefix(length)))
                // A line that lacks only its line end is complete.
                let whole = ends.lastIndex { $0 - 1 <= length } ?? 0
                #expect(reader.snapshot == Fixture.image(changes.prefix(whole)), "seed \(seed), cut at \(length)")
                guard length >= ends[0] else { continue }
                #expect(!reader.findings.hasLoss)
                #expect(reader.findings.list.isEmpty == (reader.goodBytes == length))
                let later = RegistryChange.added([Fixture.entry(77)])
                let longer = journal.prefix(Int(reader.goodBytes)) + (try RegistryEncoder.lines(of: [later]))
                let again = try Fixture.read(Array(longer))
                #expect(again.snapshot == Fixture.image(changes.prefix(whole) + [later]))
                #expect(again.findings == RegistryDiagnostics())
            }
        }
    }

    @Test func `K19 every undamaged line is read, whatever bytes are flipped`() throws {
        for seed: UInt64 in 0..<60 {
            var random = SeededRandom(seed: seed)
            let changes = (0..<15).map { _ in Fixture.randomChange(&random) }
            var journal = try Fixture.journal(changes)
            let ends = try Fixture.ends(of: changes)
            var damaged: Set<Int> = []
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                // Half of the flips hit line ends, which are rare.
                let lineEnds = journal.indices.filter { journal[$0] == RegistryJournal.newline }
                let place =
                    Bool.random(using: &random)
                    ? Int.random(in: 0..<journal.count, using: &random) : lineEnds.randomElement(using: &random) ?? 0
                let flip = UInt8.random(in: 1...255, using: &random)
                journal[place] ^= flip
                damaged.insert(ends.firstIndex { place < $0 } ?? 0)
            }
            let intact = changes.enumerated().filter { !damaged.contains($0.offset + 1) }.map(\.element)
            let reader = try Fixture.read(journal, pieceBytes: Int.random(in: 1...500, using: &random))
            #expect(reader.snapshot == Fixture.image(intact), "seed \(seed)")
            #expect(!reader.findings.list.isEmpty, "seed \(seed)")
        }
    }

    @Test func `random bytes never crash`() throws {
        for seed: UInt64 in 0..<100 {
            var random = SeededRandom(seed: seed)
            let count = Int.random(in: 0...300, using: &random)
            var bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(ParserProperty.registry.violation(of: bytes) == nil, "seed \(seed)")
            bytes = try Fixture.journal([.added([Fixture.fullEntry(1)])]) + bytes
            #expect(try Fixture.read(bytes).snapshot.entries.count == 1, "seed \(seed)")
        }
    }
}

import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)), .computing)
struct ByteRangeSetTests {
    private let some = ByteRangeSet([10..<20, 30..<40])

    @Test(
        arguments: [
            (40..<50, [10..<20, 30..<50]), (50..<60, [10..<20, 30..<40, 50..<60]), (35..<50, [10..<20, 30..<50]),
            (32..<38, [10..<20, 30..<40]), (20..<30, [10..<40]), (0..<9, [0..<9, 10..<20, 30..<40]),
            (0..<10, [0..<20, 30..<40]), (0..<100, [0..<100]), (22..<25, [10..<20, 22..<25, 30..<40]),
            (15..<35, [10..<40]), (12..<13, [10..<20, 30..<40]), (7..<7, [10..<20, 30..<40]),
        ] as [(Range<Int64>, [Range<Int64>])]
    )
    func `an inserted range merges with overlapping and adjacent ranges`(
        _ range: Range<Int64>,
        _ ranges: [Range<Int64>]
    ) {
        var set = some
        set.insert(range)
        #expect(set.ranges == ranges)
    }

    @Test(
        arguments: [
            (0..<10, [10..<20, 30..<40]), (0..<15, [15..<20, 30..<40]), (12..<15, [10..<12, 15..<20, 30..<40]),
            (15..<35, [10..<15, 35..<40]), (10..<40, []), (0..<100, []), (20..<30, [10..<20, 30..<40]),
            (39..<Int64.max, [10..<20, 30..<39]), (15..<15, [10..<20, 30..<40]), (Int64.min..<11, [11..<20, 30..<40]),
        ] as [(Range<Int64>, [Range<Int64>])]
    )
    func `removing a range keeps the bytes around it`(_ range: Range<Int64>, _ ranges: [Range<Int64>]) {
        var set = some
        set.remove(range)
        #expect(set.ranges == ranges)
    }

    @Test(
        arguments: [
            (10..<20, true), (10..<21, false), (9..<11, false), (15..<15, true), (30..<40, true), (20..<30, false),
            (19..<31, false), (0..<1, false), (40..<41, false), (39..<40, true),
        ] as [(Range<Int64>, Bool)]
    )
    func `a range is contained if none of its bytes is missing`(_ range: Range<Int64>, _ isContained: Bool) {
        #expect(some.contains(range) == isContained)
    }

    @Test(
        arguments: [
            (0..<50, [0..<10, 20..<30, 40..<50]), (10..<40, [20..<30]), (12..<18, []), (15..<25, [20..<25]),
            (22..<24, [22..<24]), (50..<60, [50..<60]), (5..<5, []),
            (0..<Int64.max, [0..<10, 20..<30, 40..<Int64.max]),
        ] as [(Range<Int64>, [Range<Int64>])]
    )
    func `the gaps are the missing ranges`(_ range: Range<Int64>, _ gaps: [Range<Int64>]) {
        #expect(some.gaps(in: range) == gaps)
    }

    @Test(
        arguments: [
            (0, 100, 0..<10), (5, 100, 5..<10), (10, 100, 20..<30), (25, 100, 25..<30), (25, 27, 25..<27),
            (30, 100, 40..<100), (30, 40, nil), (35, 38, nil), (100, 100, nil), (45, 100, 45..<100), (10, 15, nil),
            (0, Int64.max, 0..<10), (30, Int64.max, 40..<Int64.max),
        ] as [(Int64, Int64, Range<Int64>?)]
    )
    func `the first gap starts at the first missing byte`(_ offset: Int64, _ end: Int64, _ gap: Range<Int64>?) {
        #expect(some.firstGap(from: offset, before: end) == gap)
    }

    @Test(
        arguments: [
            (0, [10..<20, 30..<40]), (3, [10..<20, 30..<37]), (10, [10..<20]), (12, [10..<18]), (20, []),
            (Int64.max, []),
            (-1, [10..<20, 30..<40]),
        ] as [(Int64, [Range<Int64>])]
    )
    func `removing the last bytes shortens as many ranges as needed`(_ count: Int64, _ ranges: [Range<Int64>]) {
        var set = some
        set.removeLast(count)
        #expect(set.ranges == ranges)
    }

    @Test(
        arguments: [
            (0, 0), (10, 0), (11, 1), (25, 10), (35, 15), (40, 20), (Int64.max, 20), (-1, 0), (Int64.min, 0),
        ] as [(Int64, Int64)]
    )
    func `K14 truncating leaves no byte beyond the length`(_ length: Int64, _ count: Int64) {
        var set = some
        set.truncate(to: length)
        #expect(set.count == count)
        #expect(set.isEmpty == (count == 0))
        #expect(set.end <= max(0, length))
    }

    @Test func `the range of the largest file fits`() {
        var set = ByteRangeSet([0..<1, 2..<Int64.max])
        #expect(set.count == .max - 1)
        set.insert(1..<2)
        #expect(set.count == .max)
        #expect(set.firstGap(from: 0) == nil)
        set.truncate(to: .max)
        #expect(set.ranges == [0..<Int64.max])
    }

    @Test func `a set has one encoding, which decodes to the same set`() throws {
        #expect(String(decoding: try JSONEncoder().encode(some), as: UTF8.self) == "[[10,20],[30,40]]")
        for set in [some, ByteRangeSet(), ByteRangeSet([0..<Int64.max])] {
            #expect(try JSONDecoder().decode(ByteRangeSet.self, from: try JSONEncoder().encode(set)) == set)
        }
    }

    @Test(arguments: [
        "[[30,40],[10,20]]", "[[10,20],[15,30]]", "[[10,20],[20,30]]", "[[10,20],[10,20]]", "[[20,10]]", "[[5,5]]",
        "[[-1,5]]", "[[-9223372036854775808,9223372036854775807]]", "[[0,9223372036854775808]]", "[[0,1e400]]",
        "[[0]]", "[[0,1,2]]", "[[]]", "[0,1]", "[[0,1.5]]", "[[0,null]]", "[[\"0\",1]]", "{}", "null", "7",
    ])
    func `K18 an invalid encoding is rejected`(_ text: String) {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(ByteRangeSet.self, from: Data(text.utf8))
        }
    }

    @Test func `appending to the last of many ranges is fast`() {
        var set = ByteRangeSet((0..<20_000).lazy.map { $0 * 2..<$0 * 2 + 1 })
        let end = set.end
        for offset in 0..<50_000 { set.insert(end + Int64(offset)..<end + Int64(offset) + 1) }
        #expect(set.ranges.count == 20_000)
        #expect(set.count == 70_000)
    }

    @Test(arguments: 0..<10)
    func `in a random walk the set matches a bit map`(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var (set, model) = (ByteRangeSet(), BitMap())
        var (other, otherModel) = (ByteRangeSet(), BitMap())
        for _ in 0..<1_000 {
            let range = BitMap.range(using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                set.insert(range)
                model.set(range, to: true)
            case 5..<8:
                set.remove(range)
                model.set(range, to: false)
            case 8:
                let length = Int64.random(in: 0...BitMap.size + 20, using: &random)
                set.truncate(to: length)
                model.set(length..<max(length, BitMap.size), to: false)
            default:
                swap(&set, &other)
                swap(&model, &otherModel)
            }
            #expect(set.ranges == model.runs(of: true, in: 0..<BitMap.size))
            #expect(set.count == model.bits.count { $0 })

            let probe = BitMap.range(using: &random)
            let gaps = model.runs(of: false, in: probe)
            #expect(set.gaps(in: probe) == gaps)
            #expect(set.contains(probe) == gaps.isEmpty)
            #expect(set.firstGap(from: probe.lowerBound, before: probe.upperBound) == gaps.first)
            let common = zip(model.bits, otherModel.bits).map { $0 && $1 }
            #expect(set.intersection(other).ranges == BitMap(bits: common).runs(of: true, in: 0..<BitMap.size))
            #expect(set.isSubset(of: other) == (common == model.bits))
        }
    }
}

/// A slow and simple implementation of a range set, for comparison.
private struct BitMap {
    static let size: Int64 = 120

    var bits = [Bool](repeating: false, count: Int(size))

    static func range(using random: inout SeededRandom) -> Range<Int64> {
        let bounds = [Int64.random(in: 0...size, using: &random), .random(in: 0...size, using: &random)]
        // Mostly short, so that there are many ranges.
        let length = Int64.random(in: 0...9, using: &random)
        return Bool.random(using: &random)
            ? min(bounds[0], bounds[1])..<max(bounds[0], bounds[1])
            : bounds[0]..<min(size, bounds[0] + length)
    }

    mutating func set(_ range: Range<Int64>, to value: Bool) {
        for index in range where index < Self.size { bits[Int(index)] = value }
    }

    func runs(of value: Bool, in range: Range<Int64>) -> [Range<Int64>] {
        var runs: [Range<Int64>] = []
        for index in range where bits[Int(index)] == value {
            if let last = runs.last, last.upperBound == index {
                runs[runs.count - 1] = last.lowerBound..<index + 1
            } else {
                runs.append(index..<index + 1)
            }
        }
        return runs
    }
}

import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)), .computing)
struct SegmentWalkTests {
    @Test(arguments: 0..<20)
    func `in a random walk no byte is written twice, and the plan finishes`(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var steps = 2_500
        while steps > 0 {
            var walk = Walk(using: &random)
            while steps > 0, !walk.isOver {
                walk.step(using: &random)
                steps -= 1
            }
            walk.end()
        }
    }
}

/// A file over connections that open, slow down, stall, break and lie; it records each written byte.
private struct Walk {
    private struct Connection {
        let range: Range<Int64>
        let source: Int
        var position: Int64
        var isStalled = false
    }

    private let total: Int64
    private let number: Int
    private var allowances: [Int]
    private var planner: SegmentPlanner
    private var written: ByteRangeSet
    private var connections: [SegmentID: Connection] = [:]
    private var seen: Set<SegmentID> = [.first]
    private var now = Duration.seconds(1)
    private var ends: [SegmentPlanner.Action] = []

    init(using random: inout SeededRandom) {
        total = Int64.random(in: 1...1 << Int64.random(in: 0...25, using: &random), using: &random)
        number = Int.random(in: 1...9, using: &random)
        allowances = (0..<Int.random(in: 1...3, using: &random)).map { _ in Int.random(in: 1...9, using: &random) }
        written = ByteRangeSet()
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            let (a, b) = (Int64.random(in: 0..<total, using: &random), Int64.random(in: 0..<total, using: &random))
            if a < b { written.insert(a..<b) }
        }
        let isFixed = Bool.random(using: &random)
        planner = SegmentPlanner(
            totalBytes: total,
            held: written,
            allowances: allowances,
            connections: ConcurrencyController(isFixed ? .fixed(number) : .automatic(max: number))
        )
        guard let gap = written.firstGap(from: 0, before: total) else { return }
        let isWhole = Int.random(in: 0..<5, using: &random) > 0
        let end = isWhole ? total : Int64.random(in: gap.lowerBound..<total, using: &random) + 1
        connections[.first] = Connection(range: gap.lowerBound..<end, source: 0, position: gap.lowerBound)
        perform(planner.headArrived(gap.lowerBound..<end, latency: .milliseconds(20), at: now))
        check()
    }

    var isOver: Bool { planner.isOver }

    mutating func step(using random: inout SeededRandom) {
        now += .milliseconds(Int.random(in: 0...20, using: &random))
        guard let id = connections.keys.sorted(by: { $0.number < $1.number }).randomElement(using: &random),
            let connection = connections[id]
        else { return }
        switch Int.random(in: 0..<100, using: &random) {
        case 0: connections[id]?.isStalled.toggle()
        case 1: lose(id) { $0.failed(id, .broken, at: $1) }
        case 2: lose(id) { $0.failed(id, .unusable, at: $1) }
        case 3: lose(id) { $0.ended(id, at: $1) }
        case 4:
            let source = allowances.indices.randomElement(using: &random) ?? 0
            allowances[source] = Int.random(in: 1...9, using: &random)
            perform(planner.allow(allowances[source], on: source, at: now))
        case 5: now += .seconds(Int.random(in: 0...4, using: &random))
        case 6:
            // A stopped or unknown connection changes nothing.
            let gone = SegmentID(number: id.number + 1_000_000)
            #expect(planner.accept(1, for: gone, at: now) == SegmentPlanner.Acceptance(range: nil, isDone: true))
            perform(planner.ended(gone, at: now) + planner.failed(gone, .unusable, at: now))
        case 7, 8:
            let ranges = (0..<Int.random(in: 0...3, using: &random)).map { _ in
                let start = Int64.random(in: 0..<total, using: &random)
                return start..<start + Int64.random(in: 0...total, using: &random)
            }
            perform(planner.want(ranges, at: now))
        case 9..<25: perform(planner.tick(at: now))
        default:
            guard !connection.isStalled else { break }
            // One connection in fifty sends more than was requested.
            let most = Int.random(in: 0..<50, using: &random) == 0 ? .max : connection.range.upperBound
            deliver(id, Int.random(in: 1...1 << Int.random(in: 0...18, using: &random), using: &random), most)
        }
        check()
    }

    /// Lets every open connection deliver; bytes that no connection delivers are left to another plan.
    mutating func end() {
        var rounds = 0
        while !planner.isOver, rounds < 10_000 {
            now += .milliseconds(10)
            for id in connections.keys.sorted(by: { $0.number < $1.number }) {
                if let connection = connections[id] { deliver(id, 1 << 18, connection.range.upperBound) }
            }
            perform(planner.tick(at: now))
            check()
            rounds += 1
        }
        #expect(planner.isOver, "the plan does not end")
        #expect(ends == [written.contains(0..<total) ? .finished : .exhausted])
        #expect(connections.isEmpty && planner.tick(at: now).isEmpty)
    }

    private mutating func deliver(_ id: SegmentID, _ count: Int, _ most: Int64) {
        guard let connection = connections[id] else { return }
        let count = Int(min(Int64(count), most - connection.position))
        if count > 0 {
            let range = connection.position..<connection.position + Int64(count)
            let acceptance = planner.accept(count, for: id, at: now)
            if let new = acceptance.range {
                #expect(new.clamped(to: range.clamped(to: connection.range)) == new, "bytes that did not come")
                #expect(written.gaps(in: new) == [new], "bytes are written twice")
                written.insert(new)
            }
            connections[id]?.position += Int64(count)
            guard acceptance.isDone || range.upperBound >= connection.range.upperBound else { return }
        }
        lose(id) { $0.ended(id, at: $1) }
    }

    private mutating func lose(
        _ id: SegmentID,
        _ verb: (inout SegmentPlanner, Duration) -> [SegmentPlanner.Action]
    ) {
        connections[id] = nil
        perform(verb(&planner, now))
    }

    private mutating func perform(_ actions: [SegmentPlanner.Action]) {
        for action in actions {
            switch action {
            case .open(let id, let range, let source):
                #expect(seen.insert(id).inserted && !range.isEmpty)
                #expect(written.firstGap(from: range.lowerBound, before: range.upperBound) == range, "held already")
                connections[id] = Connection(range: range, source: source, position: range.lowerBound)
            case .stop(let id, _):
                #expect(connections.removeValue(forKey: id) != nil)
            case .wasted(let count): #expect(count > 0)
            case .finished, .exhausted: ends.append(action)
            }
        }
    }

    /// Like `#expect`, which is too slow for a million calls.
    private func expect(_ isTrue: Bool, _ claim: String) {
        if !isTrue { Issue.record("Not so: \(claim).") }
    }

    private func check() {
        expect(planner.list.held == written, "what is held was written")
        expect(planner.segments.count == connections.count, "each connection has a segment")
        expect(planner.isOver == planner.segments.isEmpty, "the plan is over when nobody fetches")
        expect(planner.wantedConnections <= number, "no more connections are asked for than there may be")
        expect(connections.count <= number, "there are as many connections as were asked for")
        for (source, allowance) in allowances.enumerated() {
            expect(connections.values.count { $0.source == source } <= allowance, "each source has what it may")
        }
        var assigned = ByteRangeSet(planner.list.unassigned)
        for segment in planner.segments {
            let connection = connections[segment.id]
            expect(segment.position == connection?.position, "a segment is where its connection is")
            expect(segment.end <= connection?.range.upperBound ?? -1, "a segment ends with its request")
            guard let gap = written.firstGap(from: segment.rest.lowerBound, before: segment.end) else { continue }
            expect(gap.upperBound == segment.end, "a segment passes over nothing that is held")
            if assigned.gaps(in: gap) != [gap] {
                expect(planner.segments.count { $0.rest.overlaps(gap) } == 2, "two fetch the same bytes, not more")
            }
            assigned.insert(gap)
        }
        expect(assigned == ByteRangeSet(written.gaps(in: 0..<total)), "what is missing is tiled")
    }
}

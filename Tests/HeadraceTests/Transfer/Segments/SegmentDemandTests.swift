import Testing

@testable import Headrace

/// The plan for bytes that a reader waits for.
@Suite(.timeLimit(.minutes(4)), .computing)
struct SegmentDemandTests {
    private typealias Action = SegmentPlanner.Action

    private static let mebibyte: Int64 = 1 << 20
    private var mebibyte: Int64 { Self.mebibyte }

    private func id(_ number: Int) -> SegmentID { SegmentID(number: number) }
    private func displace(_ id: SegmentID) -> Action { .stop(id, because: .readerDemand) }

    /// A plan of 64 MiB whose first response is the whole file.
    private func begun(
        _ mode: ConcurrencyController.Mode,
        allowance: Int = .max,
        held: [Range<Int64>] = [],
        wanted: [Range<Int64>] = []
    ) -> SegmentPlanner {
        var planner = SegmentPlanner(
            totalBytes: 64 * mebibyte,
            held: ByteRangeSet(held),
            allowances: [allowance],
            connections: ConcurrencyController(mode),
            wanted: wanted
        )
        _ = planner.headArrived(0..<64 * mebibyte, latency: .milliseconds(20), roundTrip: .zero, at: .zero)
        return planner
    }

    /// Feeds segments for a second at steady speeds, in MiB a second by number.
    private func feed(_ planner: inout SegmentPlanner, _ rates: [Int: Int64]) {
        for step in 1...8 {
            for (number, rate) in rates {
                _ = planner.accept(Int(rate * mebibyte / 8), for: id(number), at: .milliseconds(125 * step))
            }
        }
    }

    /// A function, because the macro cannot take a mutating call.
    private func expect(_ actions: [Action], _ expected: [Action], _ location: SourceLocation = #_sourceLocation) {
        #expect(actions == expected, sourceLocation: location)
    }

    private func want(_ planner: inout SegmentPlanner, _ ranges: Range<Int64>..., after time: Int = 1000) -> [Action] {
        planner.want(ranges, at: .milliseconds(time))
    }

    /// The demanded position is given in MiB after the next byte, which arrives at 4 MiB a second.
    @Test(arguments: [(-1, false), (0, false), (1, false), (3, true), (40, true), (59, true)] as [(Int64, Bool)])
    func `a connection is opened if demanded bytes would be more than half a second late`(
        _ ahead: Int64,
        _ isLate: Bool
    ) {
        var planner = begun(.automatic(max: 8))
        feed(&planner, [0: 4])
        let start = (4 + ahead) * mebibyte
        expect(
            want(&planner, start..<64 * mebibyte),
            isLate ? [.open(id(1), start..<64 * mebibyte, source: 0)] : []
        )
        #expect(planner.list.unassigned == [])
    }

    @Test func `a new connection ends at the next received byte`() {
        var planner = begun(.fixed(1), held: [10 * mebibyte..<11 * mebibyte])
        feed(&planner, [0: 1])
        expect(
            want(&planner, 5 * mebibyte..<64 * mebibyte),
            [displace(.first), .open(id(1), 5 * mebibyte..<10 * mebibyte, source: 0)]
        )
    }

    @Test func `a single connection moves to the demanded bytes, and the rest follows`() {
        var planner = begun(.fixed(1))
        feed(&planner, [0: 1])
        let actions = want(&planner, 40 * mebibyte..<50 * mebibyte)
        #expect(actions == [displace(.first), .open(id(1), 40 * mebibyte..<64 * mebibyte, source: 0)])
        // A silent connection at the demanded position is not replaced: another one may be no better.
        expect(want(&planner, 40 * mebibyte..<50 * mebibyte, after: 1900), [])
        _ = planner.accept(24 << 20, for: id(1), at: .seconds(2))
        let rest = planner.ended(id(1), at: .seconds(2))
        #expect(rest == [.open(id(2), mebibyte..<40 * mebibyte, source: 0)])
    }

    @Test func `a seek back starts at the first missing byte and ends at received bytes`() {
        var planner = begun(.fixed(1))
        feed(&planner, [0: 1])
        _ = want(&planner, 40 * mebibyte..<64 * mebibyte)
        _ = planner.accept(1 << 20, for: id(1), at: .milliseconds(1100))
        let actions = want(&planner, 0..<64 * mebibyte, after: 1100)
        #expect(actions == [displace(id(1)), .open(id(2), mebibyte..<40 * mebibyte, source: 0)])
        #expect(planner.list.unassigned == [41 * mebibyte..<64 * mebibyte])
    }

    @Test func `the connection whose bytes are needed last is displaced`() {
        var planner = begun(.fixed(4))
        feed(&planner, [0: 1, 1: 1, 2: 1, 3: 1])
        let starts = planner.segments.map(\.position)
        // The demanded bytes are in the third connection's range, and the fourth begins shortly behind them. The other
        // connections are not needed for them, and the one with the most bytes left is stopped.
        let wanted = starts[2] + 2 * mebibyte
        let actions = want(&planner, wanted..<64 * mebibyte)
        guard case .stop(let victim, .readerDemand)? = actions.first else {
            Issue.record("nothing gave its place")
            return
        }
        #expect(victim != id(3))
        #expect(planner.segments.contains { $0.position == wanted })
        #expect(planner.segments.count == 4)
    }

    @Test func `a later demand displaces an earlier one, not the reverse`() {
        var planner = begun(.fixed(1))
        feed(&planner, [0: 1])
        let (early, late) = (20 * mebibyte..<30 * mebibyte, 50 * mebibyte..<51 * mebibyte)
        expect(want(&planner, early), [displace(.first), .open(id(1), 20 * mebibyte..<64 * mebibyte, source: 0)])
        expect(want(&planner, late, early), [displace(id(1)), .open(id(2), 50 * mebibyte..<64 * mebibyte, source: 0)])
        expect(want(&planner, late, early), [])
        // The first demand is satisfied, so the next one is served.
        _ = planner.accept(1 << 20, for: id(2), at: .milliseconds(1200))
        let next = planner.tick(at: .milliseconds(1200))
        #expect(next == [displace(id(2)), .open(id(3), 20 * mebibyte..<50 * mebibyte, source: 0)])
    }

    @Test func `more allowance is requested before a connection is stopped`() {
        var planner = begun(.automatic(max: 8), allowance: 1)
        feed(&planner, [0: 1])
        #expect(planner.wantedConnections == 1)
        expect(want(&planner, 40 * mebibyte..<64 * mebibyte), [])
        #expect(planner.wantedConnections == 2)
        var granted = planner
        let opened = granted.allow(2, on: 0, at: .milliseconds(1000))
        #expect(opened == [.open(id(1), 40 * mebibyte..<64 * mebibyte, source: 0)])
        let refused = planner.tick(at: .milliseconds(1050))
        #expect(refused == [displace(.first), .open(id(1), 40 * mebibyte..<64 * mebibyte, source: 0)])
        #expect(granted.wantedConnections == 2 && planner.wantedConnections == 1)
    }

    @Test func `no connection is stopped if no other can be opened`() {
        var planner = begun(.fixed(1))
        feed(&planner, [0: 1])
        planner.retire(0)
        expect(want(&planner, 40 * mebibyte..<64 * mebibyte), [])
        #expect(planner.segments.count == 1)
    }

    @Test func `if the new connection fails, its range returns to the previous one`() {
        var planner = begun(.automatic(max: 8))
        feed(&planner, [0: 1])
        _ = want(&planner, 20 * mebibyte..<64 * mebibyte)
        #expect(planner.segments.map(\.end) == [20 * mebibyte, 64 * mebibyte])
        for number in 1...2 { _ = planner.failed(id(number), .unusable, at: .milliseconds(1100)) }
        #expect(planner.segments.map(\.end) == [64 * mebibyte])
        #expect(planner.wantedConnections == 1)
    }

    @Test func `a reader from the start gets the first connection`() {
        let planner = begun(.fixed(1), wanted: [40 * mebibyte..<64 * mebibyte])
        #expect(planner.segments.map(\.rest) == [40 * mebibyte..<64 * mebibyte])
        let several = begun(.fixed(4), wanted: [40 * mebibyte..<64 * mebibyte])
        #expect(several.segments.contains { $0.position == 40 * mebibyte })
        #expect(several.segments.count == 4 && several.list.unassigned == [])
    }

    @Test(arguments: [[], [0..<0], [0..<1 << 20], [100 << 20..<200 << 20]] as [[Range<Int64>]])
    func `a demand for received bytes or bytes outside the file has no effect`(_ wanted: [Range<Int64>]) {
        var planner = begun(.fixed(1))
        feed(&planner, [0: 1])
        let actions = planner.want(wanted, at: .seconds(1))
        #expect(actions == [] && planner.wantedConnections == 1)
    }

    /// Simulates a whole download at 1 MiB a second.
    @Test(arguments: [ConcurrencyController.Mode.fixed(1), .fixed(4), .automatic(max: 8)])
    func `demanded bytes arrive within half a second at little cost`(
        _ mode: ConcurrencyController.Mode
    ) {
        var scene = SegmentSimulator(size: 16 << 20, mode: mode, latency: .milliseconds(20)) { _, _ in
            .flows(Double(1 << 20))
        }
        let plain = scene.run()
        scene.wants = [(.seconds(1), 11 << 20), (.seconds(2), 7 << 20)]
        let result = scene.run()
        #expect(result.isFinished && result.waits.count == 2)
        for wait in result.waits { #expect(wait <= SegmentPlanner.maxDemandDelay) }
        #expect(result.seconds <= plain.seconds + 0.5)
        print("\(mode): \(result.seconds) of \(plain.seconds) s, \(result.requestCount) requests, \(result.waits)")
    }
}

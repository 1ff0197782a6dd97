import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct SegmentPlannerTests {
    typealias Action = SegmentPlanner.Action

    private let mebibyte: Int64 = 1 << 20

    /// A function, because the macro cannot take a mutating call.
    private func expect(_ actions: [Action], _ expected: [Action], _ location: SourceLocation = #_sourceLocation) {
        #expect(actions == expected, sourceLocation: location)
    }

    private func id(_ number: Int) -> SegmentID { SegmentID(number: number) }

    private func planner(
        _ total: Int64,
        _ connections: Int,
        held: [Range<Int64>] = [],
        allowances: [Int] = [.max]
    ) -> SegmentPlanner {
        SegmentPlanner(
            totalBytes: total,
            held: ByteRangeSet(held),
            allowances: allowances,
            connections: ConcurrencyController(.fixed(connections))
        )
    }

    /// A plan whose first response is the whole file, at time zero.
    private func begun(_ total: Int64, _ connections: Int, allowances: [Int] = [.max]) -> SegmentPlanner {
        var planner = planner(total, connections, allowances: allowances)
        _ = planner.headArrived(0..<total, latency: .zero, at: .zero)
        return planner
    }

    /// Feeds segments at steady speeds, in MiB a second by number, for a time from a moment on.
    private func feed(_ planner: inout SegmentPlanner, _ rates: [Int: Int64], from start: Duration, seconds: Int) {
        for step in 1...seconds * 8 {
            for (number, rate) in rates {
                let count = Int(rate * mebibyte / 8)
                _ = planner.accept(count, for: id(number), at: start + .milliseconds(125 * step))
            }
        }
    }

    @Test func `R33 the first request continues over ranges that no other connection delivered`() {
        var planner = begun(8 * mebibyte, 4)
        _ = planner.failed(id(2), .unusable, at: .zero)
        for part in 0..<8 {
            let acceptance = planner.accept(Int(mebibyte), for: .first, at: .milliseconds(part))
            #expect(acceptance.range == Int64(part) * mebibyte..<Int64(part + 1) * mebibyte)
            #expect(acceptance.isDone == (part == 7))
        }
    }

    @Test func `a broken connection counts as a refusal if another connection continues`() {
        var planner = begun(8 * mebibyte, 4)
        for number in [2, 3] {
            planner.refused(id(number), at: .seconds(1))
            _ = planner.failed(id(number), .broken, at: .seconds(1))
        }
        #expect(planner.takeRefusals(at: .seconds(1)) == [:])
        // These bytes were already in transit.
        _ = planner.accept(1, for: .first, at: .milliseconds(1100))
        #expect(planner.takeRefusals(at: .milliseconds(1100)) == [:])
        _ = planner.accept(1, for: .first, at: .milliseconds(1900))
        // The first connection, and the one that has not delivered bytes yet.
        #expect(planner.takeRefusals(at: .milliseconds(1900)) == [0: 2])
        #expect(planner.takeRefusals(at: .milliseconds(1900)) == [:])
    }

    @Test func `connection failures of a host that is down do not lower its limit`() {
        var planner = begun(8 * mebibyte, 4)
        _ = planner.accept(1, for: .first, at: .seconds(1))
        for segment in planner.segments { _ = planner.failed(segment.id, .broken, at: .seconds(2)) }
        let opened = planner.segments.map(\.id)
        #expect(!opened.isEmpty)
        for segment in opened { planner.refused(segment, at: .seconds(2)) }
        _ = planner.accept(1, for: opened[0], at: .seconds(3))
        #expect(planner.takeRefusals(at: .seconds(3)) == [:])
    }

    @Test func `bytes of one source do not confirm another source's refusals`() {
        var planner = begun(8 * mebibyte, 2, allowances: [1, 1])
        #expect(planner.segments.map(\.source) == [0, 1])
        planner.refused(id(1), at: .seconds(1))
        _ = planner.accept(1, for: .first, at: .seconds(2))
        #expect(planner.takeRefusals(at: .seconds(2)) == [:])
    }

    // MARK: Joining

    @Test(
        arguments: [
            (1, 8, 0), (1 << 20, 8, 0), (2 << 20 - 1, 8, 0), (2 << 20, 8, 1), (8 << 20, 4, 3), (8 << 20, 1, 0),
            (100 << 20, 16, 15), (1 << 40, 100, 99), (.max, 8, 7),
        ] as [(Int64, Int, Int)]
    )
    func `R30 connections are added if each has a mebibyte to download`(
        _ total: Int64,
        _ connections: Int,
        _ joining: Int
    ) {
        var planner = planner(total, connections)
        let opened = planner.headArrived(
            0..<total,
            latency: .milliseconds(10),
            roundTrip: .milliseconds(1),
            at: .zero
        )
        #expect(opened.count == joining)
        #expect(planner.segments.count == joining + 1 && planner.list.unassigned == [])
        let sizes = planner.segments.map { $0.rest.upperBound - $0.rest.lowerBound }.sorted()
        #expect(sizes[joining] >= total / 2 && sizes.dropLast().max() ?? 0 <= sizes[0] + 1, "the ranges are not equal")
        #expect(planner.segments.map(\.end).max() == total)
    }

    @Test func `an automatic plan starts with one connection`() {
        var planner = SegmentPlanner(
            totalBytes: 1 << 40,
            held: ByteRangeSet(),
            allowances: [8],
            connections: ConcurrencyController(.automatic(max: 8))
        )
        expect(planner.headArrived(0..<1 << 40, latency: .zero, at: .zero), [])
        #expect(planner.wantedConnections == 1)
    }

    @Test(
        arguments: [
            (100 << 20, 60, 16), (100 << 20, 5, 8), (100 << 20, 4, 1), (6 << 20, 60, 6), (2 << 20 - 1, 60, 1),
            (1, 60, 1),
        ] as [(Int64, Int, Int)]
    )
    func `an automatic plan starts with several connections if they promise a gain`(
        _ size: Int64,
        _ roundTrip: Int,
        _ expected: Int
    ) {
        for maximum in [1, 2, 16] {
            var planner = SegmentPlanner(
                totalBytes: size,
                held: ByteRangeSet(),
                allowances: [16],
                connections: ConcurrencyController(.automatic(max: maximum))
            )
            let latency = Duration.milliseconds(90)
            let roundTrip = Duration.milliseconds(roundTrip)
            let opened = planner.headArrived(0..<size, latency: latency, roundTrip: roundTrip, at: .zero)
            #expect(opened.count + 1 == min(maximum, expected))
        }
    }

    @Test func `connections without gain are dropped`() {
        var planner = SegmentPlanner(
            totalBytes: 1 << 30,
            held: ByteRangeSet(),
            allowances: [16],
            connections: ConcurrencyController(.automatic(max: 16))
        )
        _ = planner.headArrived(0..<1 << 30, latency: .zero, roundTrip: .milliseconds(10), at: .zero)
        var (dropped, most) = ([Action](), 0)
        for step in 1...200 where dropped.isEmpty {
            let now = SegmentPlanner.tickInterval * step
            for segment in planner.segments {
                _ = planner.accept(Int(mebibyte) / planner.segments.count, for: segment.id, at: now)
            }
            most = max(most, planner.segments.count)
            dropped = planner.tick(at: now)
                .filter { if case .stop(_, .surplus) = $0 { true } else { false } }
        }
        #expect(most == 16 && dropped.count == 8 && planner.segments.count == 8)
        #expect(!dropped.contains(.stop(.first, because: .surplus)))
        #expect(planner.experience?.connections == 8)
    }

    @Test func `received ranges are not downloaded again`() {
        let held: [Range<Int64>] = [0..<100, 1 << 20..<2 << 20, 5 << 20..<6 << 20]
        var planner = planner(8 << 20, 4, held: held)
        let actions = planner.headArrived(100..<8 << 20, latency: .zero, at: .zero)
        #expect(actions.count == 3)
        #expect(planner.list.unassigned == [])
        #expect(planner.segments[0].end == 1 << 20, "the first connection stops at what is held")
        for segment in planner.segments { #expect(planner.list.held.gaps(in: segment.rest) == [segment.rest]) }
    }

    @Test func `R11 a body shorter than the missing range is followed by another request`() {
        var planner = planner(1000, 1)
        expect(planner.headArrived(0..<600, latency: .zero, at: .zero), [])
        #expect(planner.accept(600, for: .first, at: .zero).isDone)
        expect(planner.ended(.first, at: .zero), [.open(id(1), 600..<1000, source: 0)])
        _ = planner.accept(300, for: id(1), at: .zero)
        expect(planner.ended(id(1), at: .zero), [.open(id(2), 900..<1000, source: 0)])
        #expect(planner.accept(100, for: id(2), at: .zero) == .init(range: 900..<1000, isDone: true))
        expect(planner.ended(id(2), at: .zero), [.finished])
        #expect(planner.isOver)
    }

    // MARK: Bytes

    @Test func `the first connection stops where the next segment begins`() {
        var planner = begun(4 << 20, 2)
        #expect(planner.accept(1 << 20, for: .first, at: .zero) == .init(range: 0..<1 << 20, isDone: false))
        _ = planner.accept(1, for: id(1), at: .zero)
        #expect(planner.accept(3 << 20, for: .first, at: .zero) == .init(range: 1 << 20..<7 << 19, isDone: true))
        #expect(planner.accept(1, for: .first, at: .zero) == .init(range: nil, isDone: true))
        let actions = planner.ended(.first, at: .zero)
        #expect(actions.first == .wasted(1 << 19 + 1))
    }

    @Test func `the first connection continues into the next segment until that delivers`() {
        var planner = begun(4 << 20, 2)
        let end: Int64 = 7 << 19
        #expect(planner.accept(7 << 19, for: .first, at: .zero) == .init(range: 0..<end, isDone: false))
        #expect(planner.accept(1000, for: .first, at: .zero) == .init(range: end..<end + 1000, isDone: false))
        let late = planner.accept(1500, for: id(1), at: .zero)
        #expect(late == .init(range: end + 1000..<end + 1500, isDone: false))
        #expect(planner.accept(1000, for: .first, at: .zero) == .init(range: nil, isDone: true))
    }

    @Test func `the first connection downloads everything if the next one never responds`() {
        var planner = begun(4 << 20, 2)
        #expect(planner.accept(4 << 20, for: .first, at: .zero) == .init(range: 0..<4 << 20, isDone: true))
        #expect(planner.ended(.first, at: .zero).last == .finished)
    }

    @Test(arguments: [true, false])
    func `the next range is requested on the same connection if that stays open`(_ staysOpen: Bool) throws {
        var planner = begun(16 << 20, 2)
        let segment = try #require(planner.segments.first { $0.id == id(1) })
        _ = planner.accept(Int(segment.limit - segment.position), for: id(1), at: .seconds(1))
        _ = planner.ended(id(1), staysOpen: staysOpen, at: .seconds(1))
        let next = try #require(planner.segments.first { $0.id == id(2) })
        #expect((next.earlierRate != nil) == staysOpen)
    }

    @Test func `L04 no bytes beyond the request are accepted`() {
        var planner = begun(100, 1)
        #expect(planner.accept(150, for: .first, at: .zero) == .init(range: 0..<100, isDone: true))
        expect(planner.ended(.first, at: .zero), [.wasted(50), .finished])
    }

    @Test func `late calls have no effect`() {
        var planner = begun(100, 1)
        #expect(planner.accept(10, for: id(7), at: .zero) == .init(range: nil, isDone: true))
        expect(planner.ended(id(7), at: .zero), [])
        expect(planner.failed(id(7), .unusable, at: .zero), [])
        _ = planner.accept(100, for: .first, at: .zero)
        expect(planner.ended(.first, at: .zero), [.finished])
        expect(planner.ended(.first, at: .zero) + planner.tick(at: .seconds(9)), [])
        expect(planner.allow(0, on: 0, at: .seconds(9)), [])
    }

    // MARK: Free connections

    /// Ends a segment, and returns the range that a connection requests next.
    private func next(after number: Int, in planner: inout SegmentPlanner, at now: Duration) throws -> Range<Int64> {
        let actions = planner.ended(id(number), at: now)
        guard case .open(_, let range, _)? = actions.first, actions.count == 1 else {
            Issue.record("\(actions)")
            return 0..<0
        }
        return range
    }

    @Test func `a free connection takes over from the one that would finish last`() throws {
        var planner = begun(120 << 20, 3)
        // The first has 60 MiB left for 1.5 s, the second has finished its 10 MiB, the third has 9 MiB left for 9 s.
        feed(&planner, [0: 40, 1: 10, 2: 1], from: .zero, seconds: 1)
        let slow = planner.segments[2].rest
        let range = try next(after: 1, in: &planner, at: .seconds(1))
        #expect(slow.contains(range.lowerBound) && range.upperBound == slow.upperBound)
        #expect(range.count > slow.count / 2 && range.count < slow.count)
    }

    @Test func `a free connection requests half of its share, and the first one continues to the end`() throws {
        var planner = begun(32 << 20, 2)
        feed(&planner, [0: 4, 1: 4], from: .zero, seconds: 1)
        var (last, now) = (28 * mebibyte, Duration.seconds(1))
        for expected in [6 << 20, 3 << 20, 3 << 19] as [Int64] {
            let free = planner.segments[1].id.number
            let range = try next(after: free, in: &planner, at: now)
            #expect(range.upperBound == last && abs(Int64(range.count) - expected) < expected / 50)
            last = range.lowerBound
            // Both are equally fast, so the first one receives as much.
            for step in 1...16 {
                let count = range.count * step / 16 - range.count * (step - 1) / 16
                now += .seconds(1) * (Double(count) / Double(4 << 20))
                for segment in planner.segments { _ = planner.accept(count, for: segment.id, at: now) }
            }
        }
    }

    @Test(arguments: [(1, 5), (4, 5), (1, 0)] as [(Int64, Int)])
    func `a connection that has delivered its whole request is used for the next one`(
        _ rate: Int64,
        _ unread: Int
    ) throws {
        var planner = begun(120 << 20, 2)
        feed(&planner, [0: 4, 1: rate], from: .zero, seconds: 2)
        let end = planner.segments[1].rest.count
        _ = planner.accept(end - unread, for: id(1), at: .seconds(2))
        _ = planner.ended(id(1), at: .seconds(2))
        #expect((planner.segments[1].earlierRate != nil) == (unread == 0))
        #expect(planner.sources[0].idleRates.isEmpty)
    }

    @Test func `no connection is opened shortly before the end`() {
        var planner = begun(4 << 20, 2)
        feed(&planner, [0: 2], from: .zero, seconds: 1)
        _ = planner.accept(1 << 19, for: id(1), at: .seconds(1))
        _ = planner.accept(1500 << 10, for: .first, at: .seconds(1))
        expect(planner.ended(id(1), at: .seconds(1)), [])
    }

    @Test func `a broken connection is replaced at once, the next one after a delay`() {
        var planner = begun(8 << 20, 2)
        _ = planner.accept(100, for: .first, at: .milliseconds(10))
        expect(
            planner.failed(id(1), .broken, at: .milliseconds(10)),
            [.open(id(2), planner.segments[0].end..<8 << 20, source: 0)]
        )
        expect(planner.failed(id(2), .broken, at: .milliseconds(20)), [])
        expect(planner.tick(at: .milliseconds(519)), [])
        #expect(planner.tick(at: .milliseconds(520)).count == 1)
        // The delay doubles until bytes arrive.
        expect(planner.failed(id(3), .broken, at: .milliseconds(600)), [])
        expect(planner.tick(at: .milliseconds(1599)), [])
        #expect(planner.tick(at: .milliseconds(1600)).count == 1)
        _ = planner.accept(1 << 19, for: id(4), at: .milliseconds(1700))
        #expect(planner.failed(id(4), .broken, at: .milliseconds(1700)).count == 1)
    }

    @Test func `connections that break together count as one failure`() {
        var planner = begun(64 << 20, 8)
        let failed = (1..<8).map { planner.failed(id($0), .broken, at: .seconds(1)).count }
        #expect(failed == [1, 0, 0, 0, 0, 0, 0])
        let newest = planner.segments[1].id
        _ = planner.accept(1 << 16, for: newest, at: .milliseconds(1010))
        #expect(planner.tick(at: .milliseconds(1100)).count == 6)
    }

    @Test func `R26 an unusable response returns its range to the connection before it`() {
        var planner = begun(8 << 20, 2)
        #expect(planner.segments[0].end == 7 << 20)
        #expect(planner.failed(id(1), .unusable, at: .seconds(1)).count == 1)
        expect(planner.failed(id(2), .unusable, at: .seconds(1)), [])
        #expect(planner.segments.map(\.end) == [8 << 20])
        expect(planner.tick(at: .seconds(1000)), [])
        #expect(planner.accept(8 << 20, for: .first, at: .seconds(1000)) == .init(range: 0..<8 << 20, isDone: true))
        expect(planner.ended(.first, at: .seconds(1000)), [.finished])
    }

    @Test func `a plan that may open no more connections is exhausted`() {
        var planner = begun(8 << 20, 2)
        #expect(planner.failed(id(1), .unusable, at: .zero).count == 1)
        expect(planner.failed(id(2), .unusable, at: .zero), [])
        _ = planner.accept(100, for: .first, at: .zero)
        expect(planner.failed(.first, .broken, at: .zero), [.exhausted])
        #expect(planner.isOver && planner.list.held == ByteRangeSet([0..<100]))
        expect(planner.tick(at: .seconds(1000)), [])
    }

    // MARK: Late connections

    /// A plan with two connections: the second has `left` bytes in its last segment, and is silent from 2 s on.
    private func silent(_ left: Int64) -> SegmentPlanner {
        var planner = begun(40 << 20, 2)
        feed(&planner, [0: 9, 1: 2], from: .zero, seconds: 2)
        let rest = planner.segments[1].rest
        _ = planner.accept(Int(Int64(rest.count) - left), for: id(1), at: .seconds(2))
        let first = planner.segments[0].rest
        _ = planner.accept(first.count, for: .first, at: .milliseconds(2200))
        return planner
    }

    @Test func `the last piece is requested twice, and the first to finish stops the other`() {
        var planner = silent(10_000)
        let piece = 40 << 20 - 10_000..<Int64(40 << 20)
        expect(planner.ended(.first, at: .milliseconds(2300)), [.open(id(2), piece, source: 0)])
        expect(planner.tick(at: .milliseconds(2400)), [])
        #expect(planner.accept(4_000, for: id(2), at: .milliseconds(2400)).range?.count == 4_000)
        // The silent connection resumes, but only the end of its bytes is still missing.
        #expect(planner.accept(4_000, for: id(1), at: .milliseconds(2400)) == .init(range: nil, isDone: false))
        let end = planner.accept(6_000, for: id(1), at: .milliseconds(2400))
        #expect(end == .init(range: piece.lowerBound + 4_000..<piece.upperBound, isDone: true))
        let actions = planner.ended(id(1), at: .milliseconds(2400))
        expect(actions, [.wasted(4_000), .stop(id(2), because: .delivered), .finished])
    }

    @Test func `a connection whose bytes have all been handed out is not stopped as slow`() {
        var planner = silent(10_000)
        _ = planner.ended(.first, at: .milliseconds(2300))
        _ = planner.accept(10_000, for: id(1), at: .milliseconds(2400))
        // It still writes its bytes.
        let stops = [id(1), id(2)].map { Action.stop($0, because: .delivered) }
        expect(planner.tick(at: .milliseconds(2450)), stops + [.finished])
    }

    @Test func `a large last piece is split, and the silent connection keeps a part`() {
        var planner = silent(1 << 20)
        guard case .open(_, let range, _) = planner.ended(.first, at: .milliseconds(2300)).first else {
            Issue.record("nothing was opened")
            return
        }
        #expect(range.upperBound == 40 << 20 && planner.segments[0].rest.count >= SegmentPart.minPieceBytes / 2)
    }

    @Test func `a connection that still delivers is not duplicated`() {
        var planner = silent(10_000)
        _ = planner.accept(1, for: id(1), at: .milliseconds(2300))
        expect(planner.ended(.first, at: .milliseconds(2300)), [])
    }

    @Test func `T09 a silent connection is replaced after three seconds if others deliver`() {
        var planner = begun(1 << 30, 3)
        feed(&planner, [0: 1, 1: 1, 2: 1], from: .zero, seconds: 1)
        feed(&planner, [0: 1, 1: 1], from: .seconds(1), seconds: 2)
        expect(planner.tick(at: .milliseconds(3999)), [])
        let rest = planner.segments[2].rest
        expect(planner.tick(at: .seconds(4)), [.stop(id(2)), .open(id(3), rest, source: 0)])
    }

    @Test func `connections that are silent from the start are replaced at increasing intervals`() {
        var planner = begun(1 << 30, 2)
        feed(&planner, [0: 1], from: .zero, seconds: 3)
        #expect(planner.tick(at: .seconds(3)).count == 2)
        feed(&planner, [0: 1], from: .seconds(3), seconds: 3)
        // A server may need longer for a distant part of the file.
        expect(planner.tick(at: .seconds(6)), [])
        feed(&planner, [0: 1], from: .seconds(6), seconds: 3)
        expect(planner.tick(at: .seconds(9)), [.stop(id(2))])
        expect(planner.tick(at: .milliseconds(9499)), [])
        #expect(planner.tick(at: .milliseconds(9500)).count == 1)
    }

    @Test func `if all connections are silent none is replaced`() {
        var planner = begun(1 << 30, 3)
        feed(&planner, [0: 1, 1: 1, 2: 1], from: .zero, seconds: 1)
        expect(planner.tick(at: .seconds(100)), [])
    }

    @Test(arguments: [(3, true), (5, false), (12, false)] as [(Int64, Bool)])
    func `T10 a connection below a third of the others is replaced after three seconds`(_ rate: Int64, _ isSlow: Bool) {
        var planner = begun(1 << 40, 4)
        var actions: [Action] = []
        for second in 0..<6 {
            feed(&planner, [0: 12, 1: 12, 2: 12, 3: rate], from: .seconds(second), seconds: 1)
            actions += planner.tick(at: .seconds(second + 1))
            if second < 3 { #expect(actions.isEmpty) }
        }
        #expect(actions.first == (isSlow ? .stop(id(3)) : nil))
        #expect(actions.count == (isSlow ? 2 : 0))
    }

    @Test func `a slow connection stays if no other may be opened`() {
        var planner = begun(1 << 40, 4)
        // After two unusable responses, no further connection is opened to the source.
        for _ in 0..<2 { _ = planner.failed(planner.segments[3].id, .unusable, at: .zero) }
        for second in 0..<9 {
            feed(&planner, [0: 12, 1: 12, 2: 1], from: .seconds(second), seconds: 1)
            expect(planner.tick(at: .seconds(second + 1)), [])
        }
    }

    // MARK: Limits and mirrors

    @Test func `a lower allowance stops the slowest connections, a higher one opens more`() {
        var planner = begun(1 << 30, 4, allowances: [4])
        feed(&planner, [0: 3, 1: 1, 2: 4, 3: 2], from: .zero, seconds: 1)
        #expect(planner.wantedConnections == 4)
        let stopped = planner.allow(2, on: 0, at: .seconds(1))
        #expect(Set(stopped.map { "\($0)" }) == Set([Action.stop(id(1)), .stop(id(3))].map { "\($0)" }))
        expect(planner.allow(2, on: 0, at: .seconds(1)), [])
        #expect(planner.allow(9, on: 0, at: .seconds(1)).count == 2)
        #expect(planner.list.unassigned == [])
    }

    @Test func `each source stays within its allowance, and the best one gets the next connection`() {
        var planner = planner(1 << 30, 8, allowances: [2, 3, 1])
        let actions = planner.headArrived(0..<1 << 30, latency: .zero, at: .zero)
        let opened = actions.map { if case .open(_, _, let source) = $0 { source } else { -1 } }
        #expect(opened.sorted() == [0, 1, 2])
        let slow = planner.segments.filter { $0.source == 1 }.map(\.id.number)
        let rates = Dictionary(uniqueKeysWithValues: (0..<4).map { ($0, slow.contains($0) ? Int64(1) : 20) })
        feed(&planner, rates, from: .zero, seconds: 1)
        _ = planner.allow(9, on: 0, at: .seconds(1))
        #expect(planner.segments.suffix(2).map(\.source) == [0, 0])
    }
}

import HeadraceTestSupport
import Testing

@testable import Headrace

/// Simulated downloads with a failing or slow second source, compared with the same downloads without it.
@Suite(.timeLimit(.minutes(4)), .computing)
struct SourceStatsTests {
    enum Fault: CaseIterable {
        case unusable, broken, refused, silent, tenTimesSlower, threeTimesSlower, twiceSlower, cutAfterASecond

        func behaviour(
            of connection: SegmentSimulator.Connection,
            _ rate: Double,
            at now: Duration
        ) -> SegmentSimulator.Behaviour {
            switch self {
            case .unusable: .fails(.unusable)
            case .broken: .fails(.broken)
            case .refused: .fails(.refused)
            case .silent: .flows(0)
            case .tenTimesSlower: .flows(rate / 10)
            case .threeTimesSlower: .flows(rate / 3)
            case .twiceSlower: .flows(rate / 2)
            case .cutAfterASecond: now - connection.opened >= .seconds(1) ? .fails(.broken) : .flows(rate / 4)
            }
        }
    }

    @Test(
        arguments: Fault.allCases,
        [.automatic(max: 8), .fixed(3), .fixed(8)] as [ConcurrencyController.Mode]
    )
    func `a bad second source makes no download slower`(_ fault: Fault, _ mode: ConcurrencyController.Mode) {
        var random = SeededRandom(seed: 30)
        for hosts in [[0, 0], [0, 1]] {
            let rate = Double.random(in: 0.25...8, using: &random) * Double(1 << 20)
            let seconds = Double.random(in: 6...12, using: &random)
            let number = if case .fixed(let number) = mode { number } else { 8 }
            var scene = SegmentSimulator(size: Int64(rate * seconds) * Int64(number), mode: mode, allowances: [8]) {
                _,
                _ in
                .flows(rate)
            }
            scene.latency = .milliseconds(Int.random(in: 2...100, using: &random))
            scene.step = .milliseconds(10)
            let alone = scene.run()
            scene.allowances = [8, 8]
            scene.hosts = hosts
            scene.behaviour = { connection, now in
                connection.source == 0 ? .flows(rate) : fault.behaviour(of: connection, rate, at: now)
            }
            let result = scene.run()
            let claim: Comment = "\(result.seconds) s, \(alone.seconds) s alone, \(result.requests)"
            #expect(result.isFinished, claim)
            #expect(result.seconds <= alone.seconds * 1.04 + 0.1, claim)
            #expect(result.most == alone.most, claim)
            switch fault {
            case .unusable, .broken: #expect(result.requests[1] == 1, claim)
            case .refused: #expect(result.requests[1] == 2, claim)
            default: break
            }
        }
    }

    @Test(arguments: [[0, 0], [0, 1]], [.automatic(max: 8), .fixed(8)] as [ConcurrencyController.Mode])
    func `an equally fast second source adds its speed`(
        _ hosts: [Int],
        _ mode: ConcurrencyController.Mode
    ) {
        let line = Double(4 << 20)
        var scene = SegmentSimulator(size: Int64(line) * 40, mode: mode, allowances: [8, 8], hosts: hosts) { _, _ in
            .flows(line)
        }
        scene.step = .milliseconds(5)
        scene.sourceCapacity = line
        let result = scene.run()
        let claim: Comment = "\(result.seconds) s, \(result.sentBytes)"
        #expect(result.isFinished, claim)
        #expect(result.seconds <= 40 * 0.6, claim)
    }

    /// A plan with a mirror that no connection has been opened to.
    private func planner(_ mode: ConcurrencyController.Mode) -> SegmentPlanner {
        var planner = SegmentPlanner(
            totalBytes: 64 << 20,
            held: ByteRangeSet(),
            allowances: [1, 0],
            connections: ConcurrencyController(mode)
        )
        _ = planner.headArrived(0..<64 << 20, latency: .zero, at: .zero)
        return planner
    }

    @Test func `a mirror's host gets at most one connection more than are open`() throws {
        #expect(planner(.automatic(max: 8)).wantedConnections(to: 1, at: .zero) == 0)
        var planner = planner(.fixed(4))
        #expect(planner.wantedConnections(to: 1, at: .zero) == 1)
        _ = planner.allow([4, 1], at: .zero)
        #expect(planner.segments.map(\.source).sorted() == [0, 0, 0, 1])
        #expect(planner.wantedConnections(to: 0, at: .zero) == 4 && planner.wantedConnections(to: 1, at: .zero) == 2)
        let mirror = try #require(planner.segments.first { $0.source == 1 })
        _ = planner.failed(mirror.id, .broken, at: .zero)
        #expect(planner.wantedConnections(to: 0, at: .zero) == 4 && planner.wantedConnections(to: 1, at: .zero) == 0)
    }

    @Test func `a slow mirror gets another connection only if the main source allows none`() {
        var planner = planner(.fixed(4))
        _ = planner.allow([2, 1], at: .zero)
        planner.pool.sources[1].suspend()
        _ = planner.allow([3, 1], at: .zero)
        #expect(planner.segments.map(\.source).sorted() == [0, 0, 0, 1])
        _ = planner.allow([4, 1], at: .zero)
        #expect(planner.wantedConnections(to: 1, at: .zero) == 1)
        planner.retire(0)
        #expect(planner.wantedConnections(to: 1, at: .zero) == 2)
    }
}

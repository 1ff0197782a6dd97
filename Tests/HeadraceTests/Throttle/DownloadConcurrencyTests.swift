import HeadraceTestSupport
import Testing

@testable import Headrace

/// The automatic number of parallel downloads: tables, random walks and simulated lines.
@Suite(.timeLimit(.minutes(4)), .computing)
struct DownloadConcurrencyTests {
    private static func controller(_ maximum: Int = 64) -> DownloadConcurrency {
        DownloadConcurrency(maximum: maximum, maxConnectionsPerHost: 16)
    }

    private static func completion(
        at start: Double,
        bytes: Int64 = 50_000,
        latency: Double = 0.1,
        isRefused: Bool = false
    ) -> TransferMeasurement {
        var measurement = TransferMeasurement(start: .seconds(start))
        measurement.bytes = isRefused ? 0 : bytes
        measurement.latency = .seconds(latency)
        measurement.isRefused = isRefused
        return measurement
    }

    // MARK: Tables

    @Test(arguments: [(1, 1), (4, 4), (64, 16)])
    func `the first number is moderate and within the user's limit`(_ maximum: Int, _ first: Int) {
        #expect(Self.controller(maximum).limit == first)
    }

    @Test(arguments: [(false, Int64(50_000), 16), (true, 50_000, 58), (false, 1 << 30, 16), (true, 1 << 30, 16)])
    func `heads of small bodies raise the number at once`(_ isMultiplexed: Bool, _ size: Int64, _ limit: Int) {
        var controller = Self.controller()
        for _ in 0..<6 { controller.received(headOf: size, from: "h", isMultiplexed: isMultiplexed) }
        #expect(min(controller.limit, controller.limit(of: "h")) == limit)
    }

    @Test func `a head without a length changes nothing`() {
        var controller = Self.controller()
        controller.received(headOf: nil, from: "h", isMultiplexed: true)
        #expect(controller.limit == 16)
    }

    @Test func `large bodies lower the number`() {
        var controller = Self.controller()
        let large = Self.completion(at: 0, bytes: 1 << 30)
        controller.ended(large, from: "h", load: (5, true), at: .seconds(20))
        #expect(controller.limit == 4)
    }

    @Test func `a refusal halves the host's number, but only once for a burst`() {
        var controller = Self.controller()
        controller.received(headOf: 1000, from: "other", isMultiplexed: true)
        let refusal = Self.completion(at: 0, isRefused: true)
        controller.ended(refusal, from: "h", load: (15, true), at: .seconds(1))
        #expect(controller.limit(of: "h") == 8)
        controller.ended(refusal, from: "h", load: (14, true), at: .seconds(1))
        #expect(controller.limit(of: "h") == 8)
        #expect(controller.limit(of: "other") == 64)
        let second = Self.completion(at: 2, isRefused: true)
        controller.ended(second, from: "h", load: (7, true), at: .seconds(3))
        #expect(controller.limit(of: "h") == 4)
    }

    @Test func `a refused number is approached quickly, and exceeded only after a while`() {
        var controller = Self.controller()
        let refusal = Self.completion(at: 0, isRefused: true)
        controller.ended(refusal, from: "h", load: (15, true), at: .seconds(1))
        for _ in 0..<300 {
            controller.ended(Self.completion(at: 1), from: "h", load: (7, true), at: .seconds(2))
        }
        #expect(controller.limit(of: "h") == 15)
        for second in 7..<100 {
            for _ in 0..<20 {
                let completion = Self.completion(at: Double(second))
                controller.ended(completion, from: "h", load: (7, true), at: .seconds(second))
            }
        }
        #expect(controller.limit(of: "h") == 16)
    }

    @Test func `a lowered limit is probed while no download completes, at doubling intervals`() {
        var controller = Self.controller()
        var now = 1
        for (hold, limit) in [(5, 1), (10, 1), (20, 1)] {
            let refusal = Self.completion(at: Double(now), isRefused: true)
            controller.ended(refusal, from: "h", load: (1, true), at: .seconds(now))
            #expect(controller.limit(of: "h") == limit)
            #expect(controller.nextProbe(of: "h") == .seconds(now + hold))
            controller.probe("h", at: .seconds(now + hold - 1))
            #expect(controller.limit(of: "h") == limit)
            now += hold
            controller.probe("h", at: .seconds(now))
            #expect(controller.limit(of: "h") == limit + 1)
            now += 1
        }
        #expect(controller.nextProbe(of: "other") == nil)
    }

    @Test func `among many hosts, those without a recent refusal are forgotten`() {
        var controller = Self.controller()
        for number in 0..<300 {
            let second = number < 150 ? 10 : 4000
            let refusal = Self.completion(at: Double(second), isRefused: true)
            controller.ended(refusal, from: "h\(number)", load: (15, true), at: .seconds(second))
        }
        controller.ended(Self.completion(at: 4000), from: "other", load: (1, true), at: .seconds(4001))
        #expect(controller.limit(of: "h0") == 16)
        #expect(controller.limit(of: "h299") == 8)
    }

    @Test(arguments: [
        (DownloadError(.httpStatus, "", statusCode: 429), true),
        (DownloadError(.httpStatus, "", statusCode: 503), true),
        (DownloadError(.httpStatus, "", statusCode: 404), false), (DownloadError(.connectionLost, ""), true),
        (DownloadError(.stalled, ""), false),
    ])
    func `the errors of a busy server are refusals`(_ error: DownloadError, _ isRefused: Bool) {
        var measurement = TransferMeasurement(start: .zero)
        measurement.failed(error)
        #expect(measurement.isRefused == isRefused)
    }

    @Test func `a connection lost in the middle of a body is no refusal`() {
        var measurement = Self.completion(at: 0)
        measurement.failed(DownloadError(.connectionLost, ""))
        #expect(!measurement.isRefused)
    }

    @Test(arguments: [
        (ConcurrencyLimit.fixed(4), 8, nil), (.automatic, 8, 8), (.automatic, 3, 3), (.automatic, 32, 32),
    ])
    func `a low limit on connections holds for downloads too`(
        _ limit: ConcurrencyLimit,
        _ connections: Int,
        _ expected: Int?
    ) {
        let configuration = DownloadConfiguration { $0.maxConnectionsPerHost = connections }
        #expect(DownloadConcurrency(limit, configuration)?.limit(of: "h") == expected)
    }

    // MARK: Simulations

    @Test(arguments: 0..<2)
    func `on random lines the time is near that of the best fixed number`(_ part: UInt64) {
        var random = SeededRandom(seed: 100 + part)
        var ratios: [Double] = []
        for _ in 0..<100 {
            let line = SimulatedLine(using: &random)
            let most = line.isMultiplexed ? 64 : 16
            let fixed = [2, 4, 8, 16, 32, 64].filter { $0 <= most }.map { line.run(fixed: $0).seconds }
            let result = line.run(Self.controller())
            #expect(result.problem == nil && result.mostRunning <= most, "\(line)")
            // Refused downloads wait for a second, and the number is found within some round trips.
            let search = (line.serverLimit == nil ? 0 : 3) + 8 * (line.roundTrip + line.preparation)
            let best = fixed.min() ?? 0
            #expect(result.seconds <= 2.5 * best + search, "\(line): \(result.seconds) s, best \(best) s")
            ratios.append(result.seconds <= best + search ? 1 : result.seconds / best)
        }
        let mean = ratios.reduce(0, +) / Double(ratios.count)
        let near = ratios.count { $0 <= 1.15 }
        #expect(mean <= 1.05 && near >= 96, "mean \(mean), \(near) of 100 within 15 %")
    }

    @Test(arguments: 0..<12)
    func `random measurements never exceed a limit or stop the queue`(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let maximum = Int.random(in: 1...80, using: &random)
        let perHost = Int.random(in: 1...20, using: &random)
        var controller = DownloadConcurrency(maximum: maximum, maxConnectionsPerHost: perHost)
        var now = 0.0
        for _ in 0..<500 {
            now += Double.random(in: 0...1, using: &random)
            let host = "\(Int.random(in: 0..<3, using: &random))"
            let isMultiplexed = host == "2"
            var measurement = Self.completion(
                at: max(0, now - Double.random(in: 0...5, using: &random)),
                bytes: Int64.random(in: 0...(8 << 20), using: &random),
                latency: Double.random(in: 0...2, using: &random),
                isRefused: Int.random(in: 0..<6, using: &random) == 0
            )
            measurement.isMultiplexed = isMultiplexed
            if Bool.random(using: &random) {
                controller.received(headOf: measurement.bytes, from: host, isMultiplexed: isMultiplexed)
            }
            let running = Int.random(in: 0...maximum, using: &random)
            controller.ended(
                measurement,
                from: host,
                load: (running, Bool.random(using: &random)),
                at: .seconds(now)
            )
            #expect((1...maximum).contains(controller.limit))
            #expect((1...max(1, min(maximum, isMultiplexed ? 64 : perHost))).contains(controller.limit(of: host)))
        }
    }

    @Test(arguments: 0..<10)
    func `the number settles on a line that does not change`(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var line = SimulatedLine(using: &random)
        line.serverLimit = nil
        line.sizes = Array(repeating: 20_000, count: 1500)
        let result = line.run(Self.controller())
        // Most of the last decisions are the same.
        let last = result.limits.suffix(500)
        let counts = Dictionary(grouping: last) { $0 }.mapValues(\.count)
        #expect((counts.values.max() ?? 0) >= 250, "\(line): \(counts)")
    }
}

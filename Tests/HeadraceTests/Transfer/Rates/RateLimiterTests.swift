import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)), .computing)
struct RateLimiterTests {
    private static let rates: [Int64] = [100_000, 2_000_000, 50_000_000]

    /// Each connection sleeps at least 50 ms, or 150 ms if there are a hundred; all of them wake at the same times.
    @Test(arguments: rates, [(1, 20), (4, 30), (16, 110), (100, 675)])
    func `the rate stays within 3 percent of the limit without busy waiting`(
        _ limit: Int64,
        _ most: (connections: Int, sleepsPerSecond: Int)
    ) {
        for connectionsOfOne in Set([1, most.connections]) {
            var simulation = RateSimulation(seed: UInt64(most.connections))
            simulation.setLimit(limit)
            for download in 0..<most.connections / connectionsOfOne {
                simulation.add(UInt64(download), connections: connectionsOfOne)
            }
            simulation.run(for: .seconds(7))
            let extremes = simulation.extremes(from: 1, to: 7)
            #expect(extremes.isWithin(3, of: limit), "\(extremes)")
            #expect(simulation.sleeps / 7 <= most.sleepsPerSecond)
            #expect(simulation.turns.count / 7 <= 20)
        }
    }

    @Test func `a waiting connection always gets a later time`() {
        var limiter = RateLimiter()
        limiter.setLimit(1, for: .all, at: .zero)
        let lines = (0..<5).map { _ in limiter.connect(Download.ID(rawValue: 1), at: .zero) }
        for turn in 1...2000 {
            let now = RateLimiter.longestWait * turn
            for line in lines {
                guard case .wait(let time) = limiter.take(1000, for: line, at: now) else { continue }
                #expect(time > now && time <= now + RateLimiter.longestWait)
            }
        }
    }

    @Test(
        arguments: [
            (100_000, 2_000_000), (2_000_000, 100_000), (50_000_000, 100_000), (100_000, 50_000_000),
            (1_000_000, 900_000),
        ] as [(Int64, Int64)],
        [1, 16]
    )
    func `a changed limit applies after 200 ms`(_ limits: (Int64, Int64), _ connections: Int) {
        var simulation = RateSimulation()
        simulation.setLimit(limits.0)
        simulation.add(1, connections: connections)
        simulation.run(for: .seconds(4))
        simulation.setLimit(limits.1)
        simulation.run(for: .seconds(8))
        let extremes = simulation.extremes(from: 4.2, to: 12)
        #expect(extremes.isWithin(3, of: limits.1), "\(extremes)")
        #expect(simulation.rate(from: 4.2, to: 5.2).isWithin(15, of: limits.1))
        if limits.1 < limits.0 { #expect(simulation.rate(from: 4, to: 4.2) <= Double(limits.1) * 2) }
    }

    @Test func `removing a limit lets all connections continue within 200 ms`() {
        var simulation = RateSimulation()
        simulation.setLimit(1000)
        simulation.add(1, connections: 4, network: 1_000_000)
        simulation.run(for: .seconds(2))
        simulation.setLimit(nil)
        simulation.run(for: .seconds(2))
        #expect(simulation.rate(from: 0, to: 2).isWithin(10, of: 1000))
        #expect(simulation.rate(from: 2.2, to: 4) > 3_500_000)
    }

    @Test func `limits of groups and downloads apply below the global limit`() {
        var simulation = RateSimulation()
        simulation.setLimit(2_000_000)
        simulation.setLimit(500_000, for: .group("g"))
        simulation.setLimit(50_000, for: .download(Download.ID(rawValue: 1)))
        for download: UInt64 in 1...4 { simulation.add(download, group: "g", connections: 3) }
        simulation.add(5)
        simulation.add(6, connections: 8)
        simulation.run(for: .seconds(12))
        let rates = (1...6).map { simulation.rate(of: $0, from: 1, to: 11) }
        for (rate, expected) in zip(rates, [50_000, 150_000, 150_000, 150_000, 750_000, 750_000]) {
            #expect(rate.isWithin(3, of: expected), "\(rates)")
        }
        #expect(simulation.extremes(from: 1, to: 12).isWithin(3, of: 2_000_000))
    }

    @Test func `a limit for one download leaves the others unlimited`() {
        var simulation = RateSimulation()
        simulation.setLimit(50_000, for: .download(Download.ID(rawValue: 1)))
        simulation.add(1, connections: 2)
        simulation.add(2, network: 10_000_000)
        simulation.run(for: .seconds(6))
        #expect(simulation.rate(of: 1, from: 1, to: 6).isWithin(3, of: 50_000))
        #expect(simulation.rate(of: 2, from: 1, to: 6).isWithin(3, of: 10_000_000))
    }

    @Test(arguments: rates)
    func `downloads share equally, and so do their connections`(_ limit: Int64) {
        var simulation = RateSimulation()
        simulation.setLimit(limit)
        simulation.add(1, connections: 8)
        simulation.add(2)
        simulation.add(3, group: "g", connections: 2)
        simulation.add(4, group: "g")
        simulation.run(for: .seconds(11))
        let rates = (1...4).map { simulation.rate(of: $0, from: 1, to: 11) }
        for rate in rates { #expect(rate.isWithin(5, of: limit / 4), "\(rates)") }
        for line in simulation.lines.indices.prefix(8) {
            let connection = simulation.lines[line].connection
            let rate = simulation.rate(from: 1, to: 11) { $0.connection == connection }
            #expect(rate.isWithin(8, of: limit / 32), "\(rate)")
        }
    }

    @Test func `what a slow connection leaves over goes to the others`() {
        var simulation = RateSimulation()
        simulation.setLimit(2_000_000)
        simulation.add(1, network: 100_000)
        simulation.add(2, network: 300_000)
        simulation.add(3, connections: 4)
        simulation.add(4)
        simulation.run(for: .seconds(21))
        let rates = (1...4).map { simulation.rate(of: $0, from: 1, to: 21) }
        #expect(rates[0] > 95_000 && rates[1] > 250_000)
        #expect(abs(rates[2] - rates[3]) < 100_000, "\(rates)")
        #expect(simulation.extremes(from: 1, to: 21).isWithin(3, of: 2_000_000))
    }

    @Test(arguments: [Duration.zero, .milliseconds(50), .milliseconds(200)], [1, 16])
    func `a connection that wakes late loses nothing`(_ lateness: Duration, _ connections: Int) {
        var simulation = RateSimulation(lateness: lateness)
        simulation.setLimit(2_000_000)
        simulation.add(1, connections: connections)
        simulation.run(for: .seconds(41))
        #expect(simulation.rate(from: 1, to: 41).isWithin(1, of: 2_000_000))
    }

    /// Bandwidth that was not used during a pause is not saved up.
    @Test(arguments: [Duration.seconds(1), .seconds(100), .seconds(1_000_000)])
    func `after a pause at most one burst is granted at once`(_ pause: Duration) {
        var limiter = RateLimiter()
        limiter.setLimit(1_000_000, for: .all, at: .zero)
        let connection = limiter.connect(Download.ID(rawValue: 1), at: .zero)
        #expect(limiter.take(1 << 30, for: connection, at: pause) == .bytes(120_000))
        #expect(limiter.take(1, for: connection, at: pause) == .wait(until: pause + .milliseconds(50)))
        // The machine was suspended while a connection waited.
        guard case .bytes(let count) = limiter.take(1 << 30, for: connection, at: pause + .seconds(30_000)) else {
            return #expect(Bool(false), "nothing is granted")
        }
        #expect(count <= 300_000)
    }

    @Test func `without a limit every request is granted at once`() {
        var limiter = RateLimiter()
        limiter.setLimit(1, for: .group("other"), at: .zero)
        let connection = limiter.connect(Download.ID(rawValue: 1), group: "g", at: .zero)
        #expect(limiter.take(.max, for: connection, at: .zero) == .bytes(.max))
        #expect(limiter.take(1, for: connection, at: .zero) == .bytes(1))
    }

    @Test(arguments: [1, 2, Int.max - 1, .max])
    func `the smallest and largest limits work`(_ limit: Int) {
        var limiter = RateLimiter()
        limiter.setLimit(Int64(limit), for: .all, at: .zero)
        let connection = limiter.connect(Download.ID(rawValue: 1), at: .zero)
        var (now, taken) = (Duration.zero, 0)
        while now < .seconds(10) {
            switch limiter.take(100, for: connection, at: now) {
            case .bytes(let count):
                taken += count
                now += .milliseconds(1)
            case .wait(let time): now = time
            }
        }
        #expect(taken >= 9 * min(limit, 10_000))
        if limit <= 2 { #expect(taken <= 11 * limit) }
        #expect(limiter.take(.max, for: connection, at: .seconds(20)) != .bytes(0))
    }

    @Test func `a waiting connection has no share of a later limit until it requests bytes`() {
        var limiter = RateLimiter()
        limiter.setLimit(100_000, for: .all, at: .zero)
        let silent = limiter.connect(Download.ID(rawValue: 1), at: .zero)
        let busy = limiter.connect(Download.ID(rawValue: 2), at: .zero)
        #expect(limiter.take(1, for: silent, at: .zero) != .bytes(1))
        limiter.setLimit(nil, for: .all, at: .zero)
        limiter.setLimit(100_000, for: .all, at: .seconds(1))
        var (now, taken) = (Duration.seconds(1), 0)
        while now < .seconds(1.25) {
            switch limiter.take(.max, for: busy, at: now) {
            case .bytes(let count): taken += count
            case .wait(let time): now = time
            }
        }
        #expect(taken >= 20_000)
    }

    @Test(arguments: 0..<6)
    func `random changes of limits and connections keep the rate within its limits`(_ seed: UInt64) {
        var walk = RateWalk(seed: seed)
        for _ in 0..<40 { walk.step() }
    }
}

/// A random sequence of changes to limits and connections.
private struct RateWalk {
    private var random: SeededRandom
    private var simulation: RateSimulation
    private var time = 0.0
    private var downloads: UInt64 = 0

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        simulation = RateSimulation(seed: seed, lateness: .milliseconds(20))
    }

    mutating func step() {
        for _ in 0..<Int.random(in: 0...3, using: &random) { change() }
        let length = Double(Int.random(in: 1...30, using: &random)) / 10
        simulation.run(for: .milliseconds(Int64(length * 1000)))
        let end = time + length
        let open = simulation.lines.filter(\.isOpen)
        let ids = (0..<downloads).map { Download.ID(rawValue: $0) }
        let scopes: [RateLimiter.Scope] = [.all, .group("a"), .group("b")] + ids.map { .download($0) }
        for scope in scopes {
            guard let limit = simulation.limiter.limit(for: scope) else { continue }
            let rate = simulation.rate(from: time, to: end) { scope.contains($0) }
            // The limit may be exceeded by the bytes of a 120 ms burst at the start, and those of a late wake-up.
            #expect(rate * length <= Double(limit) * (length + 0.3) + 100, "\(scope) \(limit)")
            // If the network is fast enough and no other limit applies, the whole rate is used.
            let users = open.filter { scope.contains($0) && $0.network == .infinity }
            let isFree =
                scope == .all
                && users.contains { line in
                    scopes.dropFirst().allSatisfy { !$0.contains(line) || simulation.limiter.limit(for: $0) == nil }
                }
            if isFree { #expect(rate * length >= Double(limit) * (length - 0.3) * 0.97 - 100, "\(scope) \(limit)") }
        }
        time = end
    }

    private mutating func change() {
        switch Int.random(in: 0..<6, using: &random) {
        case 0, 1:
            let network: Double = Bool.random(using: &random) ? .infinity : .random(in: 1e3...1e6, using: &random)
            let group = ["a", "b", nil].randomElement(using: &random) ?? nil
            let connections = Int.random(in: 1...4, using: &random)
            simulation.add(downloads, group: group, connections: connections, network: network)
            downloads += 1
            // Downloads without a limit, from an infinitely fast network, would receive infinitely many bytes at once.
            if simulation.limiter.limit(for: .all) == nil { simulation.setLimit(1_000_000) }
        case 2:
            if let line = simulation.lines.indices.randomElement(using: &random) { simulation.close(line) }
        case 3: simulation.setLimit(.random(in: 1000...10_000_000, using: &random))
        case 4: simulation.setLimit(anyLimit(), for: .group(Bool.random(using: &random) ? "a" : "b"))
        default:
            guard downloads > 0 else { return }
            let download = UInt64.random(in: 0..<downloads, using: &random)
            simulation.setLimit(anyLimit(), for: .download(Download.ID(rawValue: download)))
        }
    }

    private mutating func anyLimit() -> Int64? {
        Bool.random(using: &random) ? .random(in: 1000...10_000_000, using: &random) : nil
    }
}

extension RateLimiter.Scope {
    fileprivate func contains(_ line: RateSimulation.Line) -> Bool {
        switch self {
        case .all: true
        case .group(let group): line.group == group
        case .download(let download): line.download == download
        }
    }
}

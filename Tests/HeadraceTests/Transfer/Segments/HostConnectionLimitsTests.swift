import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)), .computing)
struct HostConnectionLimitsTests {
    private let ids = (0..<12).map { Download.ID(rawValue: UInt64($0)) }

    /// Returns each download's share after it has requested one three times.
    private func shares(_ limits: inout HostConnectionLimits, _ wanted: [Int], at now: Duration = .zero) -> [Int] {
        var shares: [Int] = []
        for _ in 0..<3 {
            shares = zip(ids, wanted).map { limits.share(of: $0, on: "a", wanting: $1, at: now) }
        }
        return shares
    }

    @Test(
        arguments: [
            ([1], [1]), ([8], [8]), ([100], [8]), ([8, 8], [4, 4]), ([8, 1], [7, 1]), ([1, 8], [1, 7]),
            ([8, 2, 8], [3, 2, 3]), ([8, 8, 8], [2, 3, 3]), ([1, 1, 1, 9], [1, 1, 1, 5]),
            (.init(repeating: 8, count: 8), .init(repeating: 1, count: 8)),
            (.init(repeating: 8, count: 12), .init(repeating: 1, count: 12)),
        ] as [([Int], [Int])]
    )
    func `C02 the connections of a host are divided evenly`(_ wanted: [Int], _ expected: [Int]) {
        var limits = HostConnectionLimits(maximum: 8)
        #expect(shares(&limits, wanted) == expected)
    }

    /// A function, because the macro cannot take a mutating call.
    private func expect<Value: Equatable>(
        _ value: Value,
        _ expected: Value,
        _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(value == expected, sourceLocation: location)
    }

    @Test func `a new download gets its share when another one releases it`() {
        var limits = HostConnectionLimits(maximum: 8)
        expect(limits.share(of: ids[0], on: "a", wanting: 8, at: .zero), 8)
        expect(limits.share(of: ids[1], on: "a", wanting: 8, at: .zero), 1)
        expect(limits.share(of: ids[2], on: "b", wanting: 8, at: .zero), 8)
        expect(limits.share(of: ids[0], on: "a", wanting: 8, at: .zero), 4)
        expect(limits.share(of: ids[1], on: "a", wanting: 8, at: .zero), 4)
        limits.release(ids[0], "a", at: .zero)
        expect(limits.share(of: ids[1], on: "a", wanting: 8, at: .zero), 8)
    }

    @Test func `a new download waits until another one has given up a connection`() {
        var limits = HostConnectionLimits(maximum: 8)
        expect(limits.begin(ids[0], on: "a", at: .zero), true)
        expect(limits.share(of: ids[0], on: "a", wanting: 8, at: .zero), 8)
        expect(limits.begin(ids[1], on: "a", at: .zero), false)
        expect(limits.begin(ids[2], on: "a", at: .zero), false)
        expect(limits.begin(ids[3], on: "b", at: .zero), true)
        expect(limits.admitWaiting(on: "a", at: .zero), [])
        expect(limits.share(of: ids[0], on: "a", wanting: 8, at: .zero), 6)
        expect(limits.admitWaiting(on: "a", at: .zero), [ids[1], ids[2]])
        // The connections of its segments are closed, but its first one is not.
        limits.release(ids[0], "a", at: .zero)
        expect(limits.share(of: ids[1], on: "a", wanting: 8, at: .zero), 6)
        limits.end(ids[0], "a", at: .zero)
        expect(limits.share(of: ids[1], on: "a", wanting: 8, at: .zero), 7)
        limits.end(ids[1], "a", at: .zero)
        limits.end(ids[2], "a", at: .zero)
        limits.end(ids[3], "b", at: .zero)
        #expect(limits.isUntroubled)
    }

    @Test(arguments: [false, true])
    func `only a strict limit makes downloads with one connection each wait`(_ isStrict: Bool) {
        var limits = HostConnectionLimits(maximum: 8, isStrict: isStrict)
        for id in ids[..<8] { expect(limits.begin(id, on: "a", at: .zero), true) }
        expect(limits.begin(ids[8], on: "a", at: .zero), !isStrict)
        limits.end(ids[0], "a", at: .zero)
        expect(limits.admitWaiting(on: "a", at: .zero), isStrict ? [ids[8]] : [])
    }

    @Test func `a mirror is used only if a connection to it is free`() {
        var limits = HostConnectionLimits(maximum: 2)
        expect(limits.begin(ids[0], on: "a", at: .zero), true)
        #expect(limits.mayJoin(ids[1], "a", at: .zero))
        expect(limits.share(of: ids[1], on: "a", wanting: 1, at: .zero), 1)
        #expect(limits.mayJoin(ids[1], "a", at: .zero) && !limits.mayJoin(ids[2], "a", at: .zero))
    }

    @Test func `a download that wants no connection to a mirror releases its own`() {
        var limits = HostConnectionLimits(maximum: 1)
        expect(limits.share(of: ids[0], on: "a", wanting: 1, at: .zero), 1)
        #expect(!limits.mayJoin(ids[1], "a", at: .zero))
        expect(limits.share(of: ids[0], on: "a", wanting: 0, at: .zero), 0)
        #expect(limits.mayJoin(ids[1], "a", at: .zero) && limits.isUntroubled)
    }

    @Test func `each refusal lowers the limit by one, and each interval raises it again`() {
        var limits = HostConnectionLimits(maximum: 8)
        expect(limits.share(of: ids[0], on: "a", wanting: 6, at: .zero), 6)
        for _ in 0..<4 { limits.refused(ids[0], on: "a", retryAfter: nil, at: .seconds(10)) }
        expect(limits.share(of: ids[0], on: "a", wanting: 8, at: .seconds(14)), 2)
        expect(limits.share(of: ids[1], on: "b", wanting: 8, at: .seconds(14)), 8)
        for (seconds, expected) in [(15, 3), (19, 3), (20, 4), (40, 8), (10_000, 8)] {
            expect(limits.share(of: ids[0], on: "a", wanting: 9, at: .seconds(seconds)), expected)
        }
    }

    @Test func `each refusal after a raise doubles the time until the next one`() {
        var limits = HostConnectionLimits(maximum: 8)
        expect(limits.share(of: ids[0], on: "a", wanting: 8, at: .zero), 8)
        var now = 0
        for interval in [5, 10, 20, 40, 80, 160, 320, 320] {
            for _ in 0..<2 { limits.refused(ids[0], on: "a", retryAfter: nil, at: .seconds(now)) }
            let limit = limits.share(of: ids[0], on: "a", wanting: 8, at: .seconds(now))
            expect(limits.share(of: ids[0], on: "a", wanting: 8, at: .seconds(now + interval - 1)), limit)
            now += interval
            expect(limits.share(of: ids[0], on: "a", wanting: 8, at: .seconds(now)), limit + 1)
        }
    }

    @Test func `a refusal of the only connection does not lower the limit`() {
        var limits = HostConnectionLimits(maximum: 8)
        expect(limits.begin(ids[0], on: "a", at: .zero), true)
        limits.refused(ids[0], on: "a", retryAfter: nil, at: .seconds(1))
        expect(limits.share(of: ids[0], on: "a", wanting: 8, at: .seconds(1)), 8)
    }

    @Test func `a host that accepts a later request no longer requires a delay`() {
        var limits = HostConnectionLimits(maximum: 8)
        expect(limits.begin(ids[0], on: "a", at: .zero), true)
        limits.refused(ids[0], on: "a", retryAfter: .seconds(40), at: .seconds(1))
        limits.served(ids[0], on: "a", requested: .seconds(1), at: .seconds(2))
        #expect(limits.notBefore("a") == .seconds(41))
        limits.served(ids[0], on: "a", requested: .seconds(2), at: .seconds(3))
        #expect(limits.notBefore("a") == nil)
    }

    @Test func `a host that closes surplus connections is limited to those that it serves, not to fewer`() {
        var limits = HostConnectionLimits(maximum: 16)
        expect(limits.share(of: ids[1], on: "a", wanting: 2, at: .zero), 2)
        expect(limits.share(of: ids[0], on: "a", wanting: 8, at: .zero), 8)
        for _ in 0..<3 { limits.limit(ids[0], on: "a", to: 4, at: .seconds(1)) }
        expect(limits.share(of: ids[0], on: "a", wanting: 8, at: .seconds(2)), 4)
        expect(limits.share(of: ids[1], on: "a", wanting: 2, at: .seconds(2)), 2)
        #expect(limits.isLowered("a", at: .seconds(2)))
        expect(limits.share(of: ids[0], on: "a", wanting: 8, at: .seconds(6)), 5)
    }

    @Test func `a host that refuses everything keeps one connection for each download`() {
        var limits = HostConnectionLimits(maximum: 8)
        for _ in 0..<20 { limits.refused(ids[0], on: "a", retryAfter: nil, at: .zero) }
        #expect(shares(&limits, [8, 8]) == [1, 1])
    }

    @Test func `a refusal is due to the limit only while the host serves another download`() {
        var limits = HostConnectionLimits(maximum: 8)
        for id in ids[..<3] { expect(limits.begin(id, on: "a", at: .zero), true) }
        func isServingOthers(_ id: DownloadID, _ seconds: Int) -> Bool {
            limits.refused(id, on: "a", retryAfter: nil, at: .seconds(seconds))
        }
        // All downloads have a connection, but none has received a response.
        #expect(!isServingOthers(ids[0], 1) && !isServingOthers(ids[1], 1))
        limits.served(ids[2], on: "a", requested: .seconds(2), at: .seconds(2))
        #expect(isServingOthers(ids[0], 100) && !isServingOthers(ids[2], 100))
        limits.served(ids[2], on: "a", requested: .seconds(110), at: .seconds(110))
        limits.end(ids[2], "a", at: .seconds(111))
        #expect(isServingOthers(ids[0], 119) && !isServingOthers(ids[0], 120))
    }

    @Test func `the limit outlives the download that caused it`() {
        var limits = HostConnectionLimits(maximum: 8)
        expect(limits.share(of: ids[0], on: "a", wanting: 2, at: .zero), 2)
        limits.refused(ids[0], on: "a", retryAfter: nil, at: .zero)
        limits.release(ids[0], "a", at: .zero)
        expect(limits.share(of: ids[1], on: "a", wanting: 8, at: .seconds(1)), 1)
    }

    @Test func `a host is forgotten when its limit and its Retry-After have expired`() {
        var limits = HostConnectionLimits(maximum: 8)
        limits.refused(ids[0], on: "a", retryAfter: .seconds(40), at: .zero)
        limits.release(ids[0], "a", at: .seconds(39))
        #expect(!limits.isUntroubled)
        limits.release(ids[0], "a", at: .seconds(40))
        #expect(limits.isUntroubled)
    }

    @Test func `hosts that refused once are eventually forgotten`() {
        var limits = HostConnectionLimits(maximum: 8)
        for host in 0..<100 { limits.refused(ids[0], on: "\(host)", retryAfter: nil, at: .zero) }
        limits.release(ids[0], "a", at: .seconds(30))
        #expect(limits.isUntroubled)
    }

    @Test func `T05 Retry-After applies to the host`() {
        var limits = HostConnectionLimits(maximum: 8)
        #expect(shares(&limits, [3, 2]) == [3, 2])
        limits.refused(ids[0], on: "a", retryAfter: .seconds(120), at: .zero)
        limits.refused(ids[0], on: "a", retryAfter: .seconds(5), at: .seconds(1))
        #expect(limits.notBefore("a") == .seconds(120) && limits.notBefore("b") == nil)
        // The limit has recovered, but until the host accepts requests again, no download gets more connections.
        expect(limits.share(of: ids[1], on: "a", wanting: 8, at: .seconds(119)), 2)
        expect(limits.share(of: ids[2], on: "a", wanting: 8, at: .seconds(119)), 1)
        limits.release(ids[2], "a", at: .seconds(119))
        expect(limits.share(of: ids[1], on: "a", wanting: 8, at: .seconds(120)), 5)
        #expect(limits.notBefore("a") == nil)
    }

    @Test(arguments: 0..<20)
    func `C01 in a random walk begun downloads exceed the limit only with one connection each`(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let maximum = Int.random(in: 1...10, using: &random)
        let isStrict = Bool.random(using: &random)
        var limits = HostConnectionLimits(maximum: maximum, isStrict: isStrict)
        var granted: [Int: Int] = [:]
        for _ in 0..<1_000 {
            let index = Int.random(in: 0..<12, using: &random)
            switch (Int.random(in: 0..<4, using: &random), granted[index]) {
            case (0, _):
                limits.end(ids[index], "a", at: .zero)
                granted[index] = nil
            case (_, nil): granted[index] = limits.begin(ids[index], on: "a", at: .zero) ? 1 : 0
            case (_, 0): break
            default:
                let wanted = Int.random(in: 1...12, using: &random)
                granted[index] = limits.share(of: ids[index], on: "a", wanting: wanted, at: .zero)
            }
            for id in limits.admitWaiting(on: "a", at: .zero) { granted[Int(id.rawValue)] = 1 }
            let sum = granted.values.reduce(0, +)
            #expect(sum <= maximum || !isStrict && granted.values.allSatisfy { $0 <= 1 }, "\(granted)")
            // With free connections, none waits.
            #expect(sum >= maximum || !granted.values.contains(0), "\(granted)")
        }
    }

    @Test(arguments: 0..<20)
    func `C01 in a random walk a host never exceeds its limit`(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let maximum = Int.random(in: 1...10, using: &random)
        var limits = HostConnectionLimits(maximum: maximum)
        var granted: [Int: Int] = [:]
        var now = Duration.zero
        for _ in 0..<1_000 {
            now += .seconds(Int.random(in: 0...10, using: &random))
            let index = Int.random(in: 0..<6, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                limits.release(ids[index], "a", at: now)
                granted[index] = nil
            case 1 where granted[index] != nil:
                limits.refused(ids[index], on: "a", retryAfter: nil, at: now)
                granted[index] = granted[index].map { max(1, $0 - 1) }
            default:
                let wanted = Int.random(in: 1...12, using: &random)
                let before = granted[index] ?? 0
                let share = limits.share(of: ids[index], on: "a", wanting: wanted, at: now)
                granted[index] = share
                #expect((1...wanted).contains(share))
                // A download that gets more connections than before gets only free ones.
                let sum = granted.values.reduce(0, +)
                if share > max(1, before) { #expect(sum <= maximum) }
                #expect(sum <= maximum + granted.count)
            }
        }
    }
}

import HeadracePlatform
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct ConcurrencyControllerTests {
    /// Simulates a download whose speed is a function of the connection count, and returns the successive counts.
    private func counts(
        _ controller: inout ConcurrencyController,
        from start: Int = 0,
        seconds: Int,
        _ rate: (Int) -> Double
    ) -> [Int] {
        var (bytes, counts) = (0.0, [controller.count])
        for tick in 1...seconds * 10 {
            bytes += rate(controller.count) / 10
            controller.measured(Int64(bytes), on: controller.count, at: .seconds(start) + .milliseconds(100 * tick))
            if controller.count != counts.last { counts.append(controller.count) }
        }
        return counts
    }

    @Test(
        arguments: [
            (1, [1, 2, 1]), (1.05, [1, 2, 1]), (1.2, [1, 2]), (1.5, [1, 2, 4, 2]), (2, [1, 2, 4, 2]),
            (3, [1, 2, 4, 8, 4]),
            (4, [1, 2, 4, 8, 4]), (6, [1, 2, 4, 8]), (100, [1, 2, 4, 8]),
        ] as [(Double, [Int])]
    )
    func `connections are added while they increase the speed`(_ mostUseful: Double, _ expected: [Int]) {
        var controller = ConcurrencyController(.automatic(max: 8))
        let found = counts(&controller, seconds: 10) { min(Double($0), mostUseful) * 1e6 }
        #expect(found == expected)
    }

    @Test(arguments: [1, 2, 3, 20])
    func `the maximum is never exceeded`(_ maximum: Int) {
        var controller = ConcurrencyController(.automatic(max: maximum))
        let found = counts(&controller, seconds: 60) { Double($0) * 1e6 }
        #expect(found.max() == maximum && found.last == maximum)
    }

    @Test func `a fixed number of connections stays`() {
        var controller = ConcurrencyController(.fixed(16))
        #expect(counts(&controller, seconds: 60) { _ in 1e6 } == [16])
    }

    @Test func `a step without gain is retried at increasing intervals`() {
        var controller = ConcurrencyController(.automatic(max: 8))
        #expect(counts(&controller, seconds: 20) { _ in 1e6 } == [1, 2, 1])
        #expect(counts(&controller, from: 20, seconds: 10) { _ in 1e6 } == [1, 2, 1])
        #expect(counts(&controller, from: 30, seconds: 30) { _ in 1e6 } == [1])
        #expect(counts(&controller, from: 60, seconds: 30) { Double($0) * 1e6 } == [1, 2, 4, 8])
    }

    @Test func `the controller waits until all connections are in use`() {
        var controller = ConcurrencyController(.automatic(max: 64))
        _ = counts(&controller, seconds: 1) { Double($0) * 1e6 }
        let count = controller.count
        #expect(count > 1 && count < 64)
        for tick in 0..<1000 { controller.measured(Int64(tick), on: 1, at: .milliseconds(1000 + 100 * tick)) }
        #expect(controller.count == count)
    }

    @Test(
        arguments: [
            (Int64(100) << 20, 60, 16, 16), (100 << 20, 49, 16, 8), (100 << 20, 60, 3, 3), (100 << 20, 1, 16, 1),
            (5 << 20, 60, 16, 5),
            (100, 60, 16, 1), (0, 60, 16, 1), (.max, 60, 16, 16),
        ]
    )
    func `the first number depends on the missing bytes and the round trip`(
        _ missing: Int64,
        _ roundTrip: Int,
        _ maximum: Int,
        _ expected: Int
    ) {
        var controller = ConcurrencyController(.automatic(max: maximum))
        controller.begin(missingBytes: missing, roundTrip: .milliseconds(roundTrip))
        #expect(controller.count == expected)
        var fixed = ConcurrencyController(.fixed(5), after: HostExperience(connections: 9, rate: 1))
        fixed.begin(missingBytes: missing, roundTrip: .milliseconds(roundTrip))
        #expect(fixed.count == 5)
    }

    @Test(
        arguments: [
            (12, 16, Int64(100) << 20, 12), (12, 4, 100 << 20, 4), (1, 16, 100 << 20, 1), (12, 16, 8 << 20, 8),
            (12, 16, 1 << 20, 1), (0, 16, 100 << 20, 16),
        ]
    )
    func `a later download from the host starts with the number that was found`(
        _ found: Int,
        _ maximum: Int,
        _ missing: Int64,
        _ expected: Int
    ) {
        let experience = HostExperience(connections: found, rate: Double(2 << 20))
        var controller = ConcurrencyController(.automatic(max: maximum), after: experience)
        controller.begin(missingBytes: missing, roundTrip: .milliseconds(50))
        #expect(controller.count == expected)
    }

    @Test func `slow start is not taken for a lack of gain`() {
        // Each new connection needs two seconds to become fast.
        var controller = ConcurrencyController(.automatic(max: 8))
        controller.begin(missingBytes: 1 << 20, roundTrip: .milliseconds(250))
        var (bytes, opened, counts) = (0.0, [0.0], [1])
        for tick in 1...300 {
            let time = Double(tick) / 20
            while opened.count < controller.count { opened.append(time) }
            bytes += opened.reduce(0) { $0 + min(1e6, 1e6 * exp2(4 * (time - $1) - 8)) } / 20
            controller.measured(Int64(bytes), on: opened.count, at: .milliseconds(50 * tick))
            if controller.count != counts.last { counts.append(controller.count) }
        }
        #expect(counts == [1, 2, 4, 8])
    }

    @Test(arguments: [(1, [1, 2, 1]), (4, [1, 2, 4]), (100, [1, 2, 4, 8, 16, 8, 16])] as [(Double, [Int])])
    func `at the maximum, fewer connections are tried later`(_ mostUseful: Double, _ expected: [Int]) {
        var controller = ConcurrencyController(.automatic(max: mostUseful == 4 ? 4 : 16))
        let found = counts(&controller, seconds: mostUseful == 4 ? 10 : 30) { min(Double($0), mostUseful) * 1e6 }
        #expect(Array(found.prefix(expected.count)) == expected)
        // A line that has become slower needs only one.
        let later = counts(&controller, from: 30, seconds: 400) { _ in 0.5e6 }
        #expect(later.last == 1)
    }
}

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
            (1, [1, 2, 1]), (1.2, [1, 2, 1]), (1.5, [1, 2, 4, 2]), (2, [1, 2, 4, 2]), (3, [1, 2, 4, 8, 4]),
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
}

import Testing

@testable import Headrace

private let mebibyte = Double(1 << 20)

/// Simulated downloads over connections of given speeds, with the same result in every run.
@Suite(.timeLimit(.minutes(4)), .computing)
struct SegmentSceneTests {
    /// Prints the result, and compares it with the target.
    private func expect(
        _ result: SegmentSimulator.Result,
        within ratio: Double,
        of seconds: Double,
        _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(result.isFinished, sourceLocation: location)
        #expect(result.seconds <= seconds * ratio, sourceLocation: location)
        print(
            "\(result.seconds) s, \(result.seconds / seconds) of \(seconds) s; \(result.requestCount) requests,",
            "\(result.most) at once, \(result.wastedBytes) bytes wasted"
        )
    }

    @Test(arguments: 0..<3, [2, 20])
    func `slow connections among fast ones cost little time`(_ slow: Int, _ latency: Int) {
        let rate = { (number: Int) in number % 3 == slow ? 10 * mebibyte / 32 : 10 * mebibyte }
        let scene = SegmentSimulator(size: 64 << 20, mode: .fixed(8), latency: .milliseconds(latency)) { it, _ in
            .flows(rate(it.number))
        }
        let sum = (0..<8).map(rate).reduce(0, +)
        expect(scene.run(), within: 1.4, of: Double(64 << 20) / sum)
    }

    @Test(arguments: [0, 3, 7], [1, 10])
    func `T09 one of eight connections that stalls costs little time`(_ stalled: Int, _ rate: Double) {
        let scene = { (behaviour: @escaping (SegmentSimulator.Connection) -> SegmentSimulator.Behaviour) in
            SegmentSimulator(size: 64 << 20, mode: .fixed(8)) { connection, _ in behaviour(connection) }.run()
        }
        let sound = scene { _ in .flows(rate * mebibyte) }
        let faulty = scene { connection in
            let isStalled = connection.number == stalled && connection.deliveredBytes >= 0.3 * 8 * mebibyte
            return .flows(isStalled ? 0 : rate * mebibyte)
        }
        expect(faulty, within: 1.3, of: sound.seconds)
    }

    @Test(arguments: [2, 8, 16])
    func `equal connections finish together`(_ number: Int) {
        let scene = SegmentSimulator(size: 100 << 20, mode: .fixed(number)) { _, _ in .flows(10 * mebibyte) }
        let result = scene.run()
        expect(result, within: 1.05, of: 10 / Double(number))
        #expect(result.requestCount <= 8 * number && result.connectionCount <= number * 3 / 2)
    }

    @Test func `R28 a connection that breaks every second costs little time`() {
        let scene = SegmentSimulator(size: 64 << 20, mode: .fixed(4)) { connection, now in
            let isBroken = connection.number % 4 == 1 && now - connection.opened >= .seconds(1)
            return isBroken ? .fails(.broken) : .flows(4 * mebibyte)
        }
        expect(scene.run(), within: 1.05, of: 4)
    }

    @Test func `R25 without ranges the first connection downloads everything`() {
        let scene = SegmentSimulator(size: 64 << 20, mode: .fixed(8)) { connection, _ in
            connection.number == 0 ? .flows(10 * mebibyte) : .fails(.unusable)
        }
        let result = scene.run()
        expect(result, within: 1.01, of: 6.4)
        #expect(result.requestCount <= 9 && result.wastedBytes == 0, "no second answer is waited for")
    }

    @Test func `refused connections are retried at increasing intervals`() {
        let scene = SegmentSimulator(size: 256 << 20, mode: .fixed(8)) { connection, _ in
            connection.number == 0 ? .flows(10 * mebibyte) : .fails(.broken)
        }
        let result = scene.run()
        expect(result, within: 1.01, of: 25.6)
        #expect(result.requestCount < 20)
    }

    @Test(arguments: [5, 2_000])
    func `a link saturated by one connection gets at most two`(_ capacity: Double) {
        var scene = SegmentSimulator(size: Int64(capacity * 20 * mebibyte), mode: .automatic(max: 8)) { _, _ in
            .flows(.greatestFiniteMagnitude / 1e6)
        }
        scene.capacity = capacity * mebibyte
        scene.step = .milliseconds(4)
        let result = scene.run()
        expect(result, within: 1.02, of: 20)
        #expect(result.most == 2)
    }

    @Test func `a file that takes half a second uses one connection`() {
        let scene = SegmentSimulator(size: 512 << 20, mode: .automatic(max: 8)) { _, _ in .flows(1100 * mebibyte) }
        #expect(scene.run().requestCount == 1)
    }

    @Test func `slow connections soon reach the maximum`() {
        let scene = SegmentSimulator(size: 200 << 20, mode: .automatic(max: 8), latency: .milliseconds(20)) { _, _ in
            .flows(4 * mebibyte)
        }
        let result = scene.run()
        expect(result, within: 1.4, of: 200.0 / 32)
        #expect(result.most == 8)
    }

    @Test func `a small file from a server with slow connections uses several`() {
        let scene = SegmentSimulator(size: 3 << 20, mode: .automatic(max: 8), latency: .milliseconds(20)) { _, _ in
            .flows(0.1 * mebibyte)
        }
        let result = scene.run()
        expect(result, within: 1.6, of: 30.0 / 8)
        #expect(result.most == 8)
    }

    @Test(arguments: [2, 40], [20, 40])
    func `a server that sends in bursts is not sent repeated requests`(_ latency: Int, _ size: Int) {
        // nginx with a limit of 100 kB/s sends three buffers at once, and then one every third of a second.
        let (buffer, pause) = (Double(32 << 10), 0.32)
        var scene = SegmentSimulator(size: Int64(size) << 20, mode: .automatic(max: 8)) { connection, now in
            let pauses = ((now - connection.opened) / .seconds(1) / pause).rounded(.down)
            let due = buffer * (pauses == 0 ? 1 : pauses + 2)
            return .flows(max(0, due - connection.deliveredBytes) * 1000)
        }
        scene.latency = .milliseconds(latency)
        let result = scene.run()
        expect(result, within: 1.2, of: Double(size << 20) / (8 * buffer / pause))
        #expect(result.requestCount <= 80)
        #expect(result.sentBytes[0] <= size << 20 + size << 20 / 20)
    }

    @Test func `a slow mirror is used less and costs little time`() {
        let scene = SegmentSimulator(size: 160 << 20, mode: .fixed(4), allowances: [4, 4]) { connection, _ in
            .flows(connection.source == 0 ? 4 * mebibyte : mebibyte / 8)
        }
        let result = scene.run()
        expect(result, within: 1.25, of: 10)
        #expect(result.requests[1] > 0 && result.sentBytes[0] > 50 * result.sentBytes[1])
    }

    @Test func `a failing mirror is left alone`() {
        let scene = SegmentSimulator(size: 160 << 20, mode: .fixed(4), allowances: [4, 4]) { connection, _ in
            connection.source == 0 ? .flows(4 * mebibyte) : .fails(.broken)
        }
        let result = scene.run()
        expect(result, within: 1.05, of: 10)
        #expect(result.requests[1] < 10)
    }
}

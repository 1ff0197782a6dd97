import Testing

@testable import HeadraceTestSupport

/// The proxy's simulation of latency and bandwidth.
@Suite(.timeLimit(.minutes(4)))
struct DelayLineTests {
    @Test func `bytes arrive after the latency, in their order`() {
        var line = DelayLine(latency: .milliseconds(20))
        line.send([1], at: .zero)
        line.send([2], at: .milliseconds(5))
        #expect(line.nextArrival == .milliseconds(20))
        #expect(line.receive(at: .milliseconds(19)) == nil)
        #expect(line.receive(at: .milliseconds(20)) == [1])
        #expect(line.receive(at: .milliseconds(20)) == nil)
        #expect(line.receive(at: .milliseconds(25)) == [2])
        #expect(line.isEmpty)
    }

    @Test func `a bandwidth limit delivers bytes one after the other`() {
        var line = DelayLine(latency: .milliseconds(20), bytesPerSecond: 1000)
        line.send(ArraySlice(repeating: 1, count: 100), at: .zero)
        line.send(ArraySlice(repeating: 2, count: 100), at: .zero)
        #expect(line.nextArrival == .milliseconds(120))
        #expect(line.receive(at: .milliseconds(120))?.count == 100)
        #expect(line.nextArrival == .milliseconds(220))
        #expect(line.receive(at: .milliseconds(220))?.count == 100)
        // Unused bandwidth is not saved up.
        line.send(ArraySlice(repeating: 3, count: 100), at: .seconds(9))
        #expect(line.nextArrival == .milliseconds(9_120))
    }

    @Test func `a full line accepts no more until something has arrived`() {
        var line = DelayLine(latency: .seconds(1))
        while !line.isFull { line.send(ArraySlice(repeating: 0, count: 16 * 1024), at: .zero) }
        _ = line.receive(at: .seconds(1))
        #expect(!line.isFull)
    }
}

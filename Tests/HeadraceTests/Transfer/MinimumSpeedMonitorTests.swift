import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct MinimumSpeedMonitorTests {
    /// Returns the time in seconds at which the speed was below the minimum; `nil` if it never was.
    private func broken(after waits: [Double], bytes: Int, floor: Int64 = 1000) -> Int? {
        var speed = MinimumSpeedMonitor(bytesPerSecond: floor, timeout: .seconds(30))
        for (index, wait) in waits.enumerated() {
            speed.received(bytes, after: .seconds(wait))
            if (try? speed.check()) == nil { return index }
        }
        return nil
    }

    @Test func `T10 one byte per second is a stall after the timeout`() {
        #expect(broken(after: Array(repeating: 1, count: 100), bytes: 1) == 29)
        #expect(broken(after: Array(repeating: 29, count: 10), bytes: 1) == 1)
    }

    @Test func `T10 a speed at the minimum is not a stall, and below it is one`() {
        #expect(broken(after: Array(repeating: 0.1, count: 10_000), bytes: 110) == nil)
        #expect(broken(after: Array(repeating: 0.1, count: 10_000), bytes: 90) != nil)
    }

    @Test func `T10 a pause that later bytes make up for is not a stall`() {
        let waits = (0..<100).map { $0.isMultiple(of: 20) ? 25.0 : 0.1 }
        #expect(broken(after: waits, bytes: 50_000) == nil)
    }

    @Test func `T10 bytes that arrive without a wait are never too slow`() {
        #expect(broken(after: Array(repeating: 0, count: 1000), bytes: 1) == nil)
    }

    @Test func `T10 the error names the minimum speed and is transient`() throws {
        var speed = MinimumSpeedMonitor(bytesPerSecond: 1000, timeout: .seconds(30))
        speed.received(1, after: .seconds(60))
        let error = try #require(throws: DownloadError.self) { try speed.check() }
        #expect(error.message == "The server sent less than 1000 bytes per second for 30 s.")
        #expect(error.isTransient)
    }
}

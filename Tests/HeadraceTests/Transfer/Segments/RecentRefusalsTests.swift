import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct RecentRefusalsTests {
    @Test func `connections to all sources of a host count against its limit`() {
        var refusals = RecentRefusals()
        refusals.add(0, at: .seconds(2))
        let sources = [0, 0, 2].map { SourceStats(allowance: .max, host: $0) }
        let segments = (0..<5).map { number in
            let opened = Duration.seconds(number < 4 ? 1 : 3)
            return Segment(SegmentID(number: number), 0..<9, limit: 9, source: number % 3, opened: opened)
        }
        #expect(refusals.take(provenBy: segments, of: sources, at: .seconds(3)) == [:])
        var delivering = segments
        // The second source has the same host, and the third has another one.
        _ = delivering[1].received(1, at: .seconds(3))
        #expect(refusals.take(provenBy: delivering, of: sources, at: .seconds(3)) == [0: 3])
    }
}

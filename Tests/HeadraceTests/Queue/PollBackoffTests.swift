import Testing

@testable import Headrace

/// The interval between polls for commands.
@Suite(.timeLimit(.minutes(4)))
struct PollBackoffTests {
    @Test func `each failed poll doubles the delay up to a maximum, and a success resets it`() {
        var pace = PollBackoff()
        #expect(pace.delay == .milliseconds(500) && !pace.isFailing)
        var delays: [Duration] = []
        for _ in 0..<8 {
            pace.failed()
            delays.append(pace.delay)
        }
        #expect(delays == [1, 2, 4, 8, 16, 30, 30, 30].map { .seconds($0) } && pace.isFailing)
        pace.succeeded()
        #expect(pace.delay == .milliseconds(500) && !pace.isFailing)
        pace.failed()
        #expect(pace.delay == .seconds(1))
    }
}

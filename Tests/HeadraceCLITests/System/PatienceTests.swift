import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct PatienceTests {
    @Test
    func `the second request counts, and the echo of the first does not`() {
        let patience = Patience()
        let start = ContinuousClock.now
        #expect(!patience.isOver(at: start))
        #expect(!patience.isOver(at: start + .milliseconds(100)))
        #expect(patience.isOver(at: start + .milliseconds(101)))
    }
}

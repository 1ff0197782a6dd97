import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct SecondStopDetectorTests {
    @Test
    func `the second request counts, and the echo of the first does not`() {
        let timeout = SecondStopDetector()
        let start = ContinuousClock.now
        #expect(!timeout.isOver(at: start))
        #expect(!timeout.isOver(at: start + .milliseconds(100)))
        #expect(timeout.isOver(at: start + .milliseconds(101)))
    }
}

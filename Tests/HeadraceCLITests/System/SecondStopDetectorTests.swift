import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct SecondStopDetectorTests {
    @Test
    func `a second stop counts, and an echo of the first does not`() {
        let detector = SecondStopDetector()
        let start = ContinuousClock.now
        #expect(!detector.isSecondStop(at: start))
        #expect(!detector.isSecondStop(at: start + .milliseconds(100)))
        #expect(detector.isSecondStop(at: start + .milliseconds(101)))
    }
}

import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct ProgressMeterTests {
    @Test func `progress is reported at most ten times a second`() {
        var meter = ProgressMeter(start: .zero)
        var reports = 0
        for millisecond in 1...1000 where meter.received(10, at: .milliseconds(millisecond)) != nil { reports += 1 }
        #expect(reports == 10)
        #expect(meter.bytesReceived == 10_000)
    }

    @Test func `a steady speed is reported accurately`() {
        var meter = SmoothedSpeed(start: .zero)
        for tenth in 1...600 {
            meter.add(100_000, at: .milliseconds(tenth * 100))
            let speed = meter.bytesPerSecond(at: .milliseconds(tenth * 100))
            if tenth > 100 { #expect(abs(speed - 1_000_000) < 30_000) }
        }
    }

    @Test func `the speed of a stalled transfer falls to zero`() {
        var meter = SmoothedSpeed(start: .zero)
        for second in 1...10 { meter.add(1_000_000, at: .seconds(second)) }
        let speed = meter.bytesPerSecond(at: .seconds(30))
        #expect(speed < 2_000)
    }

    @Test func `the remaining time is the rest at the current speed`() {
        var meter = ProgressMeter(start: .zero)
        meter.totalBytes = 10_000_000
        for tenth in 1...50 { _ = meter.received(100_000, at: .milliseconds(tenth * 100)) }
        let progress = meter.progress(at: .seconds(5))
        let remaining = progress.timeRemaining ?? .zero
        #expect(remaining > .seconds(4) && remaining < .seconds(6))
        #expect(progress.fractionCompleted == 0.5)
    }

    @Test func `without a total there is no fraction and no remaining time`() {
        var meter = ProgressMeter(start: .zero)
        _ = meter.received(5, at: .seconds(1))
        let progress = meter.progress(at: .seconds(1))
        #expect(progress.fractionCompleted == nil)
        #expect(progress.timeRemaining == nil)
    }

    /// Regression: after a long pause the estimate overflowed `Duration`, and the process crashed.
    @Test(arguments: [10, 60, 24 * 60])
    func `after a long pause there is no estimate`(_ minutes: Int) {
        var meter = ProgressMeter(start: .zero)
        meter.totalBytes = 2_000_000_000
        for second in 1...10 { _ = meter.received(10_000_000, at: .seconds(second)) }
        let progress = meter.progress(at: .seconds(10 + 60 * minutes))
        #expect(progress.timeRemaining == nil)
    }

    @Test func `an empty file is complete`() {
        #expect(DownloadProgress(totalBytes: 0).fractionCompleted == 1)
    }
}

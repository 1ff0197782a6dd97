import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct FormatTests {
    @Test(arguments: [
        (0, "0 B"), (-1, "0 B"), (1, "1 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (1536, "1.50 KiB"),
        (10_239, "9.99 KiB"), (10_240, "10.0 KiB"), (102_399, "99.9 KiB"), (102_400, "100 KiB"),
        (1_048_575, "1023 KiB"), (1_048_576, "1.00 MiB"), (1_073_741_824, "1.00 GiB"),
        (.max, "7.99 EiB"),
    ])
    func `sizes have three digits and a unit`(_ bytes: Int64, text: String) {
        #expect(Format.size(bytes) == text)
        #expect(text.count <= Format.sizeWidth)
    }

    @Test(arguments: [
        (0, "0 B/s"), (1.9, "1 B/s"), (1_572_864, "1.50 MiB/s"), (.infinity, "0 B/s"), (.nan, "0 B/s"),
        (1e30, "7.99 EiB/s"), (-5, "0 B/s"),
    ])
    func `speeds are sizes per second, whatever the number`(_ speed: Double, text: String) {
        #expect(Format.speed(speed) == text)
    }

    @Test(arguments: [
        (Duration.zero, "0:00"), (.seconds(-5), "0:00"), (.milliseconds(7900), "0:07"), (.seconds(62), "1:02"),
        (.seconds(3599), "59:59"), (.seconds(11_045), "3:04:05"), (.seconds(359_999), "99:59:59"),
        (.seconds(442_800), "5d 03h"), (.seconds(Int64.max), ">999d"),
    ])
    func `durations are clocks, then days`(_ duration: Duration, text: String) {
        #expect(Format.duration(duration) == text)
        #expect(text.count <= Format.durationWidth)
    }

    @Test(arguments: [
        (Duration.zero, "1 ms"), (.milliseconds(12), "12 ms"), (.milliseconds(999), "999 ms"), (.seconds(1), "1.0 s"),
        (.milliseconds(2345), "2.3 s"), (.milliseconds(9999), "9.9 s"), (.seconds(10), "0:10"),
        (.seconds(75), "1:15"),
    ])
    func `a short elapsed time is formatted precisely`(_ duration: Duration, text: String) {
        #expect(Format.elapsed(duration) == text)
    }

    @Test(arguments: [(0, "0%"), (0.999, "99%"), (1, "100%"), (1.5, "100%"), (-1, "0%"), (.nan, "0%")])
    func `percentages are rounded down`(_ fraction: Double, text: String) {
        #expect(Format.percent(fraction) == text)
    }
}

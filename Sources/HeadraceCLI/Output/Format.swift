import Headrace

/// Formats sizes, speeds, durations and fractions for people to read.
enum Format {
    /// The maximum length of a result of ``size(_:)``, such as `1023 MiB`.
    static let sizeWidth = 8
    /// The maximum length of a result of ``speed(_:)``.
    static let speedWidth = sizeWidth + 2
    /// The maximum length of a result of ``duration(_:)``.
    static let durationWidth = 8

    private static let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]

    /// Formats a size with up to four digits and a unit: `512 B`, `1.50 KiB`, `12.3 MiB`, `1023 GiB`.
    static func size(_ bytes: Int64) -> String {
        guard bytes >= 1024 else { return "\(max(0, bytes)) B" }
        var unit = 1
        var rest = bytes
        while rest >= 1024 * 1024 {
            rest >>= 10
            unit += 1
        }
        // Truncated: rounding up would exaggerate the size, or produce 1024 of a unit.
        let hundredths = rest * 100 / 1024
        switch hundredths {
        case ..<1000: return "\(hundredths / 100).\((hundredths % 100).padded(to: 2)) \(units[unit])"
        case ..<10_000: return "\(hundredths / 100).\(hundredths / 10 % 10) \(units[unit])"
        default: return "\(hundredths / 100) \(units[unit])"
        }
    }

    static func speed(_ bytesPerSecond: Double) -> String {
        size(wholeNumber(bytesPerSecond)) + "/s"
    }

    /// Formats a duration: `0:07`, `1:02`, `3:04:05`; from 100 hours on, as days and hours: `5d 03h`.
    static func duration(_ duration: Duration) -> String {
        let seconds = max(0, duration.components.seconds)
        let (days, hours, minutes) = (seconds / 86_400, seconds / 3600, seconds / 60 % 60)
        switch hours {
        case 0: return "\(minutes):\((seconds % 60).padded(to: 2))"
        case 1..<100: return "\(hours):\(minutes.padded(to: 2)):\((seconds % 60).padded(to: 2))"
        default: return days < 1000 ? "\(days)d \((hours % 24).padded(to: 2))h" : ">999d"
        }
    }

    /// Formats an elapsed time: `12 ms`, `2.3 s`; from ten seconds on, like ``duration(_:)``.
    static func elapsed(_ duration: Duration) -> String {
        guard duration >= .seconds(1) else { return "\(max(1, wholeNumber(duration / .milliseconds(1)))) ms" }
        guard duration < .seconds(10) else { return Self.duration(duration) }
        let tenths = wholeNumber(duration / .milliseconds(100))
        return "\(tenths / 10).\(tenths % 10) s"
    }

    /// Formats a fraction in percent, rounded down, so that 100% means complete.
    static func percent(_ fraction: Double) -> String {
        "\(min(100, max(0, wholeNumber(fraction * 100))))%"
    }

    /// Returns the number rounded down and clamped to the range of `Int64`; 0 for NaN and infinity.
    static func wholeNumber(_ value: Double) -> Int64 {
        guard value.isFinite else { return 0 }
        return Int64(exactly: value.rounded(.down)) ?? (value < 0 ? .min : .max)
    }
}

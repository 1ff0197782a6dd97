import HeadracePlatform

/// Formats numbers and dates without Foundation.
enum Format {
    static func decimal(_ value: Double, places: Int) -> String {
        let scale = pow(10, Double(places))
        let scaled = Int64((abs(value) * scale).rounded())
        let sign = value < 0 && scaled != 0 ? "-" : ""
        guard places > 0 else { return sign + String(scaled) }
        let digits = String(scaled)
        let padded = String(repeating: "0", count: max(0, places + 1 - digits.count)) + digits
        return sign + padded.dropLast(places) + "." + padded.suffix(places)
    }

    static func mebibytes(_ bytes: Int) -> String {
        decimal(Double(bytes) / 1_048_576, places: 1)
    }

    static func ratio(_ value: Double) -> String {
        decimal(value, places: 2) + "x"
    }

    /// Formats a size in the largest unit that divides it.
    static func size(_ bytes: Int) -> String {
        if bytes >= 1 << 30, bytes.isMultiple(of: 1 << 30) { return "\(bytes >> 30) GiB" }
        if bytes >= 1 << 20, bytes.isMultiple(of: 1 << 20) { return "\(bytes >> 20) MiB" }
        if bytes >= 1000, bytes.isMultiple(of: 1000) { return "\(bytes / 1000) kB" }
        return "\(bytes) bytes"
    }

    /// Returns the current time in UTC, in ISO 8601 format.
    static func now() -> String {
        var seconds = time(nil)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        var buffer = [CChar](repeating: 0, count: 32)
        let count = strftime(&buffer, buffer.count, "%Y-%m-%dT%H:%M:%SZ", &parts)
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

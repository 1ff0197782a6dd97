extension Int64 {
    /// The number of bytes formatted for a message, such as `512 bytes`, `1.5 KiB` or `12.3 MiB`.
    var inBytes: String {
        guard self >= 1024 else { return self == 1 ? "1 byte" : "\(self) bytes" }
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
        let unit = (63 - leadingZeroBitCount) / 10
        // Shifted in two steps, since ten times the number may overflow.
        let tenths = ((self >> ((unit - 1) * 10)) * 10) >> 10
        return "\(tenths / 10).\(tenths % 10) \(units[unit - 1])"
    }
}

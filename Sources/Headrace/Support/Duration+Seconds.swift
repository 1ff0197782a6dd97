extension Duration {
    /// The duration in milliseconds, rounded down and clamped to `0...Int64.max`.
    var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        let (sum, sumOverflow) = product.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
        return overflow || sumOverflow ? (self < .zero ? 0 : .max) : max(0, sum)
    }

    /// The duration formatted for a message, such as `30 s`, `0.2 s` or `0.001 s`.
    var inSeconds: String {
        let seconds = self / .seconds(1)
        let parts: Double = seconds < 0.1 ? 1000 : 10
        return seconds == seconds.rounded()
            ? "\(Int64(clamping: components.seconds)) s" : "\((seconds * parts).rounded() / parts) s"
    }
}

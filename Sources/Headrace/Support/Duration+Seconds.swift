extension Duration {
    /// As in `30 s` or `0.2 s`.
    var inSeconds: String {
        let seconds = self / .seconds(1)
        return seconds == seconds.rounded()
            ? "\(Int64(clamping: components.seconds)) s" : "\((seconds * 10).rounded() / 10) s"
    }
}

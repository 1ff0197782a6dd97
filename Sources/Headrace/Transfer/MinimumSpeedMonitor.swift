/// Detects a server that is slower than the minimum speed.
///
/// Performs no I/O. Only the time spent waiting for bytes is measured, so that a slow disk is not blamed on the server.
struct MinimumSpeedMonitor: Sendable {
    private let bytesPerSecond: Int64
    private let timeout: Duration
    private var meter = SmoothedSpeed(start: .zero)
    private var waited = Duration.zero
    /// The total waiting time at the moment when the speed last reached the minimum.
    private var lastFast = Duration.zero

    init(bytesPerSecond: Int64, timeout: Duration) {
        self.bytesPerSecond = bytesPerSecond
        self.timeout = timeout
    }

    /// Counts received bytes and the time spent waiting for them.
    mutating func received(_ count: Int, after wait: Duration) {
        waited += wait
        meter.add(count, at: waited)
        if meter.bytesPerSecond(at: waited) >= Double(bytesPerSecond) { lastFast = waited }
    }

    /// Throws `stalled` if the speed has been below the minimum for the whole timeout, counting only waiting time.
    func check() throws(DownloadError) {
        guard waited - lastFast >= timeout else { return }
        throw DownloadError(
            .stalled,
            "The server sent less than \(bytesPerSecond) bytes per second for \(timeout.inSeconds)."
        )
    }
}

/// Detects a server that is slower than the minimum speed.
///
/// Pure. It measures only the time spent waiting for bytes: disk time is not the server's.
struct MinimumSpeedMonitor: Sendable {
    private let bytesPerSecond: Int64
    private let timeout: Duration
    private var meter = SpeedMeter(start: .zero)
    private var waited = Duration.zero
    /// The time at which the speed was last high enough.
    private var lastFast = Duration.zero

    init(bytesPerSecond: Int64, timeout: Duration) {
        self.bytesPerSecond = bytesPerSecond
        self.timeout = timeout
    }

    /// Counts bytes that were received after waiting for this long.
    mutating func received(_ count: Int, after wait: Duration) {
        waited += wait
        meter.add(count, at: waited)
        if meter.bytesPerSecond(at: waited) >= Double(bytesPerSecond) { lastFast = waited }
    }

    /// Throws `stalled` if the speed was below the minimum for the whole timeout.
    func check() throws(DownloadError) {
        guard waited - lastFast >= timeout else { return }
        throw DownloadError(
            .stalled,
            "The server sent less than \(bytesPerSecond) bytes per second for \(timeout.inSeconds)."
        )
    }
}

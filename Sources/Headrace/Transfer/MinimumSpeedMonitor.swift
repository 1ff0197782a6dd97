/// Watches that a server is not slower than it may be.
///
/// Pure. Its time is the time in which bytes were waited for: what the disk takes is not the server's.
struct MinimumSpeedMonitor: Sendable {
    private let bytesPerSecond: Int64
    private let timeout: Duration
    private var meter = SpeedMeter(start: .zero)
    private var waited = Duration.zero
    /// When the speed was last high enough.
    private var lastFast = Duration.zero

    init(bytesPerSecond: Int64, timeout: Duration) {
        self.bytesPerSecond = bytesPerSecond
        self.timeout = timeout
    }

    /// Counts bytes for which was waited so long.
    mutating func received(_ count: Int, after wait: Duration) {
        waited += wait
        meter.add(count, at: waited)
        if meter.bytesPerSecond(at: waited) >= Double(bytesPerSecond) { lastFast = waited }
    }

    /// Throws `stalled` where the speed was below the floor for the whole timeout.
    func check() throws(DownloadError) {
        guard waited - lastFast >= timeout else { return }
        throw DownloadError(
            .stalled,
            "The server sent less than \(bytesPerSecond) bytes per second for \(timeout.inSeconds)."
        )
    }
}

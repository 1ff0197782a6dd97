/// Counts the bytes of a download and decides when to publish its progress.
struct ProgressMeter: Sendable {
    /// The minimum time between two progress reports.
    static let interval = Duration.milliseconds(100)
    /// The interval at which progress is published even if no bytes arrive.
    static let longestSilence = Duration.seconds(1)

    private(set) var bytesReceived: Int64
    var totalBytes: Int64?
    private var speed: SmoothedSpeed
    private var lastReport: Duration?

    init(start: Duration, bytesReceived: Int64 = 0) {
        self.bytesReceived = bytesReceived
        speed = SmoothedSpeed(start: start)
    }

    /// Counts received bytes; returns the progress if it is time to publish it, else `nil`.
    mutating func received(_ count: Int, at now: Duration) -> DownloadProgress? {
        bytesReceived += Int64(count)
        speed.add(count, at: now)
        if let lastReport, now - lastReport < Self.interval { return nil }
        lastReport = now
        return progress(at: now)
    }

    /// Sets the count to the number of bytes on the disk, after some were discarded, or found from an earlier run.
    mutating func correct(to bytes: Int64) { bytesReceived = bytes }

    mutating func progress(at now: Duration) -> DownloadProgress {
        let bytesPerSecond = speed.bytesPerSecond(at: now)
        return DownloadProgress(
            bytesReceived: bytesReceived,
            totalBytes: totalBytes,
            bytesPerSecond: bytesPerSecond,
            timeRemaining: totalBytes.flatMap {
                DownloadProgress.timeRemaining(max(0, $0 - bytesReceived), bytesPerSecond: bytesPerSecond)
            }
        )
    }
}

/// A meter shared by the task that counts bytes and the task that publishes progress while no bytes arrive.
final class SharedMeter: Sendable {
    private let meter: Locked<ProgressMeter>

    init(_ meter: ProgressMeter) {
        self.meter = Locked(meter)
    }

    var value: ProgressMeter { meter.withLock { $0 } }

    func received(_ count: Int, at now: Duration) -> DownloadProgress? {
        meter.withLock { $0.received(count, at: now) }
    }
}

/// The progress of a download at one moment.
///
///     for await progress in download.progress {
///         print(progress.bytesReceived, progress.totalBytes ?? 0)
///     }
public struct DownloadProgress: Sendable, Hashable {
    /// The number of bytes of the file received so far, including those of earlier runs.
    public var bytesReceived: Int64
    /// The size of the file in bytes; `nil` if unknown.
    public var totalBytes: Int64?
    /// The smoothed speed over the last seconds, in bytes per second; for a finished download, its last speed.
    ///
    /// 0 if the download is waiting, paused, failed or cancelled, and while the file is being verified.
    public var bytesPerSecond: Double
    /// The estimated remaining time; `nil` if the size is unknown, the speed is 0, or the time exceeds a hundred years.
    public var timeRemaining: Duration?

    /// The number of bytes checked so far while the file is read from disk to verify it; otherwise `nil`.
    public var bytesVerified: Int64?

    /// The received fraction of the file, from 0 to 1; `nil` if the size is unknown.
    public var fractionCompleted: Double? {
        guard let totalBytes else { return nil }
        return totalBytes == 0 ? 1 : min(1, Double(bytesReceived) / Double(totalBytes))
    }

    /// Returns the time in which the missing bytes arrive at this speed.
    ///
    /// Returns `nil` if the speed is 0 or the time exceeds a hundred years: a longer time could overflow a `Duration`.
    static func timeRemaining(_ missingBytes: Int64, bytesPerSecond: Double) -> Duration? {
        let seconds = Double(missingBytes) / bytesPerSecond
        return seconds < 3.2e9 ? .seconds(seconds) : nil
    }

    /// Creates a value, for example to test or preview a user interface.
    /// - Parameters:
    ///   - bytesReceived: The number of bytes received.
    ///   - totalBytes: The size of the file in bytes, if known.
    ///   - bytesPerSecond: The smoothed speed in bytes per second.
    ///   - timeRemaining: The estimated remaining time, if known.
    public init(
        bytesReceived: Int64 = 0,
        totalBytes: Int64? = nil,
        bytesPerSecond: Double = 0,
        timeRemaining: Duration? = nil
    ) {
        self.bytesReceived = bytesReceived
        self.totalBytes = totalBytes
        self.bytesPerSecond = bytesPerSecond
        self.timeRemaining = timeRemaining
    }
}

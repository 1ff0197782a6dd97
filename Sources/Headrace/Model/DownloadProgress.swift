/// How far a download is: a snapshot.
public struct DownloadProgress: Sendable, Hashable {
    /// Bytes of the file that are received.
    public var bytesReceived: Int64
    /// The size of the file in bytes; nil while, or where, the server does not tell.
    public var totalBytes: Int64?
    /// The speed over the last seconds, smoothed, in bytes per second; 0 of a download that does not run.
    public var bytesPerSecond: Double
    /// The time the rest will take at this speed; nil while the total or the speed is unknown, or the download does not run.
    public var timeRemaining: Duration?

    /// Bytes that were compared with a checksum, while the file is read for it; nil at all other times.
    public var bytesVerified: Int64?

    /// The part that is received, from 0 to 1; nil where the total is unknown.
    public var fractionCompleted: Double? {
        guard let totalBytes else { return nil }
        return totalBytes == 0 ? 1 : min(1, Double(bytesReceived) / Double(totalBytes))
    }

    /// Creates a snapshot.
    /// - Parameters:
    ///   - bytesReceived: Bytes of the file that are received.
    ///   - totalBytes: The size of the file in bytes, or nil.
    ///   - bytesPerSecond: The smoothed speed.
    ///   - timeRemaining: The estimated rest, or nil.
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

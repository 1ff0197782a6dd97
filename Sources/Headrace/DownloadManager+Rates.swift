/// Rate limits in bytes per second: for all downloads together, for a group, and for one download.
///
/// Each limit covers all connections, and the lowest limit that applies to a download is the effective one. The
/// downloads under a limit share it equally, and what one of them does not use is distributed to the others. Changes
/// take effect within 200 ms. A throttled download also slows down its server, since the transport reads no more from
/// the network than it can pass on.
extension DownloadManager {
    /// The rate limit in effect now for all downloads together, the lower of limit and schedule; `nil` for none.
    public nonisolated var rateLimit: Int64? { environment.rates.limit }

    /// Changes the rate limit for all downloads together.
    ///
    /// If there is a schedule too, the lower limit applies.
    /// - Parameter bytesPerSecond: The limit, above zero; `nil` for none.
    /// - Throws: `invalidRequest` if the limit is not above zero; nothing changes then.
    public func setRateLimit(_ bytesPerSecond: Int64?) throws(DownloadError) {
        try bytesPerSecond?.validateAsRate()
        environment.rates.setLimit(bytesPerSecond)
        observers.publish(.rateLimitChanged(bytesPerSecond, group: nil))
    }

    /// Returns the rate limit for the downloads of a group together.
    /// - Parameter group: The name of the group.
    /// - Returns: The limit in bytes per second; `nil` for none.
    public nonisolated func rateLimit(ofGroup group: String) -> Int64? { environment.rates.limit(ofGroup: group) }

    /// Changes the rate limit for the downloads of a group together, including those added later.
    /// - Parameters:
    ///   - bytesPerSecond: The limit, above zero; `nil` for none.
    ///   - group: The name of the group.
    /// - Throws: `invalidRequest` if the limit is not above zero; nothing changes then.
    public func setRateLimit(
        _ bytesPerSecond: Int64?,
        ofGroup group: String
    ) throws(DownloadError) {
        try bytesPerSecond?.validateAsRate()
        environment.rates.setLimit(bytesPerSecond, ofGroup: group)
        observers.publish(.rateLimitChanged(bytesPerSecond, group: group))
    }

    /// Changes the schedule of rate limits.
    /// - Parameter schedule: The schedule, in the system's time zone; `nil` for none.
    public func setRateSchedule(_ schedule: RateSchedule?) {
        environment.rates.setSchedule(schedule)
    }
}

extension Download {
    /// The rate limit of this download alone, in bytes per second; `nil` for none.
    public var rateLimit: Int64? { record.rateLimit }

    /// Changes the rate limit of this download, which is saved with the queue.
    ///
    /// Does nothing if the download has been removed.
    /// - Parameter bytesPerSecond: The limit, above zero; `nil` for none.
    /// - Throws: `invalidRequest` if the limit is not above zero; nothing changes then.
    public func setRateLimit(_ bytesPerSecond: Int64?) async throws(DownloadError) {
        try bytesPerSecond?.validateAsRate()
        await manager.change { $0.setRateLimit(bytesPerSecond, of: id) }
        manager.environment.rates.limitChanged(of: record)
    }
}

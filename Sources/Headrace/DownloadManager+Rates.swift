/// Limits of bytes per second, for all downloads together, for those of a group, and for one.
///
/// Each holds over any number of connections, and the lowest one that is for a download is the one that is felt. Those of a
/// limit that want bytes have equal shares; what one does not use goes to the others. A change is felt within 200 ms. What
/// has come from the network and is not taken yet waits in memory and in the system's buffers, so that a download which is
/// slowed down slows down its server.
extension DownloadManager {
    /// The bytes per second of all downloads together that hold now, be it by the limit or by the schedule; nil for no limit.
    public nonisolated var rateLimit: Int64? { environment.rates.limit }

    /// Changes the limit on the bytes per second of all downloads together, from now on.
    ///
    /// Where there is a schedule too, the lower one holds.
    /// - Parameter bytesPerSecond: More than nothing, or nil for none.
    /// - Throws: `invalidRequest` for a limit that lets nothing through, and nothing changes.
    public nonisolated func setRateLimit(_ bytesPerSecond: Int64?) throws(DownloadError) {
        try bytesPerSecond?.validateAsRate()
        environment.rates.setLimit(bytesPerSecond)
        list.observers.publish(.rateLimitChanged(bytesPerSecond, group: nil))
    }

    /// The limit on the bytes per second of a group's downloads together; nil for none.
    /// - Parameter group: The group's name.
    /// - Returns: Bytes per second.
    public nonisolated func rateLimit(ofGroup group: String) -> Int64? { environment.rates.limit(ofGroup: group) }

    /// Changes the limit on the bytes per second of a group's downloads together, from now on.
    ///
    /// It holds for downloads that are added later as well.
    /// - Parameters:
    ///   - bytesPerSecond: More than nothing, or nil for none.
    ///   - group: The group's name.
    /// - Throws: `invalidRequest` for a limit that lets nothing through, and nothing changes.
    public nonisolated func setRateLimit(
        _ bytesPerSecond: Int64?,
        ofGroup group: String
    ) throws(DownloadError) {
        try bytesPerSecond?.validateAsRate()
        environment.rates.setLimit(bytesPerSecond, ofGroup: group)
        list.observers.publish(.rateLimitChanged(bytesPerSecond, group: group))
    }

    /// Changes the limits by the hours of the day, from now on.
    /// - Parameter schedule: The hours and their limits, by the system's clock and time zone; nil for none.
    public nonisolated func setRateSchedule(_ schedule: RateSchedule?) {
        environment.rates.setSchedule(schedule)
    }
}

extension Download {
    /// The limit on the bytes per second of this download alone; nil for none.
    public var rateLimit: Int64? { record.rateLimit }

    /// Changes the limit on the bytes per second of this download, from now on; it is kept with the list.
    ///
    /// Does nothing to a download that was taken out of the list.
    /// - Parameter bytesPerSecond: More than nothing, or nil for none.
    /// - Throws: `invalidRequest` for a limit that lets nothing through, and nothing changes.
    public func setRateLimit(_ bytesPerSecond: Int64?) throws(DownloadError) {
        try bytesPerSecond?.validateAsRate()
        manager.list.setRateLimit(bytesPerSecond, of: id)
        manager.environment.rates.limitChanged(of: record)
    }
}

/// Limits on the number of running downloads, and on their rates in bytes per second.
///
/// A rate limit applies to all downloads together, to a group, or to one download with all of its connections. Each
/// download is subject to the lowest of its limits. The downloads under a limit share it equally, and the part that one
/// of them does not use is distributed to the others. Changes take effect within 200 ms. A limit also slows down the
/// server, because the transport stops reading from the network.
extension DownloadManager {
    /// Changes how many downloads may run in parallel.
    ///
    /// A higher limit starts more downloads immediately. A lower limit sends the running downloads that started last
    /// back to the queue; they retain their positions and their bytes. Requests that must not be repeated continue.
    /// With an automatic limit, the manager discards its measurements and begins again with up to 16 downloads.
    /// - Parameter limit: A number of at least 1, or ``ConcurrencyLimit/automatic``.
    /// - Throws: `invalidRequest` if the limit is below 1; nothing changes then.
    public func setMaxConcurrentDownloads(_ limit: ConcurrencyLimit) throws(DownloadError) {
        try limit.validate()
        let concurrency = DownloadConcurrency(limit, environment.configuration)
        // A limit of 0 belongs to a manager that starts nothing, and is never raised.
        environment.hosts.setStrict(limit.isAutomatic, at: clock.now())
        setLimits { $0.limits.maximum > 0 ? $0.setLimit(limit.maximum, concurrency) : [] }
    }

    /// Changes how many downloads from one host may run in parallel.
    ///
    /// A host at its limit does not delay other hosts. A lower limit sends the running downloads that started last back
    /// to the queue, except for requests that must not be repeated.
    /// - Parameter limit: The maximum number of running downloads per host, at least 1; `nil` for no limit.
    /// - Throws: `invalidRequest` if the limit is below 1; nothing changes then.
    public func setMaxConcurrentDownloadsPerHost(_ limit: Int?) throws(DownloadError) {
        guard limit ?? 1 >= 1 else {
            throw DownloadError(.invalidRequest, "The limit per host must be at least 1, not \(limit ?? 0).")
        }
        setLimits { $0.setHostLimit(limit) }
    }

    private func setLimits(_ decision: (inout Scheduler) -> [Scheduler.Action]) {
        perform(queue.effects(of: decision(&queue.scheduler)))
        let limits = queue.scheduler.limits
        observers.publish(.limitsChanged(downloads: limits.maximum, perHost: limits.perHost))
    }

    /// The rate limit in effect now for all downloads together, in bytes per second; `nil` for none.
    ///
    /// This is the lower of the limit that was set and the limit of the schedule at this time.
    public nonisolated var rateLimit: Int64? { environment.rates.limit }

    /// Changes the rate limit for all downloads together; if there is a schedule too, the lower limit applies.
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
    public func setRateLimit(_ bytesPerSecond: Int64?, ofGroup group: String) throws(DownloadError) {
        try bytesPerSecond?.validateAsRate()
        environment.rates.setLimit(bytesPerSecond, ofGroup: group)
        observers.publish(.rateLimitChanged(bytesPerSecond, group: group))
    }

    /// Changes the schedule of rate limits.
    /// - Parameter schedule: The schedule, in the system's time zone; `nil` for none.
    public func setRateSchedule(_ schedule: RateSchedule?) { environment.rates.setSchedule(schedule) }
}

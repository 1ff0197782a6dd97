import HeadracePlatform

/// Changes to the request of a queued download.
extension QueueState {
    /// Removes a download's start time from its request and from the journal.
    mutating func removeStartTime(of id: DownloadID) {
        guard let record = records[id], record.request.earliestBegin != nil else { return }
        record.removeStartTime()
        recordRequest(of: id)
    }

    /// Changes a download's rate limit in bytes per second, if the download is in the queue; `nil` for none.
    mutating func setRateLimit(_ bytesPerSecond: Int64?, of id: DownloadID) {
        guard let record = records[id] else { return }
        record.setRateLimit(bytesPerSecond)
        recordRequest(of: id)
    }
}

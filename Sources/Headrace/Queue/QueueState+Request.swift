import HeadracePlatform

/// Changes to the request of a queued download.
extension QueueState {
    /// Removes a download's start time from its request and from the journal.
    mutating func removeStartTime(of id: DownloadID) {
        guard let record = records[id], record.request.earliestBegin != nil else { return }
        record.removeStartTime()
        recordRequest(of: id)
    }

    /// Changes a download's rate limit (`nil` for none); returns `false` if the download is not in the queue.
    func setRateLimit(_ bytesPerSecond: Int64?, of id: DownloadID) -> Bool {
        guard let record = records[id] else { return false }
        record.setRateLimit(bytesPerSecond)
        recordRequest(of: id)
        return true
    }

    /// Saves the state of a download's background task; returns `false` if nothing has changed.
    func setBackgroundNote(_ note: BackgroundTaskState?, of id: DownloadID) -> Bool {
        guard let record = records[id], record.setBackgroundNote(note) else { return false }
        recordRequest(of: id)
        return true
    }
}

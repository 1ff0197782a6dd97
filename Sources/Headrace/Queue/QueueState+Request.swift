import HeadracePlatform

/// What of a request is changed while its download is in the list.
extension QueueState {
    /// Has a download begin that was to begin later, now and after a restart.
    mutating func forgetBegin(of id: DownloadID) {
        guard let record = records[id], record.request.earliestBegin != nil else { return }
        record.forgetBegin()
        recordRequest(of: id)
    }

    /// Changes the limit on a download's bytes per second; false where it is not in the list.
    func setRateLimit(_ bytesPerSecond: Int64?, of id: DownloadID) -> Bool {
        guard let record = records[id] else { return false }
        record.setRateLimit(bytesPerSecond)
        recordRequest(of: id)
        return true
    }

    /// Keeps what the system has of a download; false where nothing changes.
    func setBackgroundNote(_ note: BackgroundTaskState?, of id: DownloadID) -> Bool {
        guard let record = records[id], record.setBackgroundNote(note) else { return false }
        recordRequest(of: id)
        return true
    }
}

/// The downloads that use each partial file, and the pending removals of partial files.
///
/// A partial file is identified by its path, and has at most one active download. A download can become active while an
/// earlier download of the same file is still being cancelled or removed. Its transfer then waits until the earlier
/// download has stopped.
struct PartialFileUsers {
    /// For each partial file, the download that has not ended and is not being cancelled or removed.
    private var active: [String: DownloadRecord] = [:]
    /// For each partial file, the last failed download; it may resume from that partial file.
    private var failed: [String: DownloadID] = [:]
    /// For each partial file, the download that is being cancelled or removed but still uses it.
    private var departing: [String: DownloadID] = [:]
    /// For each partial file, the number of pending removals, and a latch for each download that waits for them.
    ///
    /// A download in ``departing`` counts as a removal, even if its partial file is not deleted.
    private var removals: [String: (count: Int, waiting: [DownloadID: Latch])] = [:]

    // MARK: Users

    /// Returns the active download of a partial file; `nil` if there is none.
    func active(at path: String) -> DownloadRecord? { active[path] }

    func isActive(_ record: DownloadRecord) -> Bool { active[record.partialPath] === record }

    /// Whether a download may become active: its partial file has no other active download.
    func mayActivate(_ record: DownloadRecord) -> Bool { active[record.partialPath, default: record] === record }

    /// Returns the failed download that may resume from the partial file of `record`; `nil` if there is none, or if an
    /// active download uses the file.
    func failed(sharingFileOf record: DownloadRecord) -> DownloadID? {
        guard !failed.isEmpty, active[record.partialPath] == nil else { return nil }
        return failed[record.partialPath]
    }

    /// Whether a download's partial file may be removed: no other download uses it or may resume from it.
    func mayRemove(_ record: DownloadRecord) -> Bool {
        let (path, id) = (record.partialPath, record.id)
        if let owner = departing[path] { return owner == id }
        return mayActivate(record) && failed[path, default: id] == id
    }

    /// Makes a download the active one of its partial file.
    ///
    /// Returns the earlier download of that file that is still being cancelled or removed, if any.
    mutating func activate(_ record: DownloadRecord) -> DownloadID? {
        active[record.partialPath] = record
        return departing[record.partialPath]
    }

    /// Records that a download waits or runs, so that no failed download may resume from its partial file.
    mutating func reopened(_ record: DownloadRecord) { failed.discard(record.partialPath) }

    mutating func failed(_ record: DownloadRecord) { failed[record.partialPath] = record.id }

    /// Lets a new download use the partial file of an active download, `record`, that is being cancelled or removed.
    ///
    /// The transfer of the new download waits until `record` has stopped. The result determines when the caller must
    /// record the cancellation of `record`:
    /// - `true`: when ``activate(_:)`` of the new download returns the identity of `record`.
    /// - `false`: at once. An earlier removal of the file is pending, so `record` has not opened the file yet.
    mutating func depart(_ record: DownloadRecord) -> Bool {
        let path = record.partialPath
        active[path] = nil
        guard removals[path] == nil else { return false }
        departing[path] = record.id
        beginRemoval(record)
        return true
    }

    /// Records that a download has ended, so that its file can be downloaded again.
    mutating func ended(_ record: DownloadRecord) {
        let path = record.partialPath
        if let index = active.index(forKey: path), active.values[index] === record { active.remove(at: index) }
        if !failed.isEmpty, failed[path] == record.id { failed[path] = nil }
    }

    // MARK: Removals

    /// Whether a download must not start yet, because its partial file is still being removed for another download.
    func isRemoving(_ record: DownloadRecord) -> Bool {
        removals[record.partialPath] != nil && departing[record.partialPath] != record.id
    }

    /// Returns a latch that opens after the removal for which a download must wait; `nil` if it need not wait.
    mutating func follow(_ record: DownloadRecord) -> Latch? {
        guard isRemoving(record) else { return nil }
        let latch = Latch()
        removals[record.partialPath]?.waiting[record.id] = latch
        return latch
    }

    mutating func beginRemoval(_ record: DownloadRecord) {
        removals[record.partialPath, default: (0, [:])].count += 1
    }

    /// Records that a partial file was removed; returns the latches of the downloads that may start now, or none if
    /// another removal of the file is pending.
    mutating func endRemoval(_ record: DownloadRecord) -> [Latch] {
        let path = record.partialPath
        guard var removal = removals.removeValue(forKey: path) else { return [] }
        removal.count -= 1
        guard removal.count == 0 else {
            removals[path] = removal
            return []
        }
        return removal.waiting.sorted { $0.key.rawValue < $1.key.rawValue }.map(\.value)
    }

    /// Records that a download has stopped; returns the latches of the downloads that may start now.
    mutating func stopped(_ record: DownloadRecord) -> [Latch] {
        let path = record.partialPath
        guard departing[path] == record.id else { return [] }
        departing[path] = nil
        return endRemoval(record)
    }
}

/// The partial files that are about to be deleted, by path, and the downloads that must wait for the deletion before
/// they start.
struct PartialRemovals {
    /// For each path, the number of pending removals, and a latch for each download that waits for the last removal.
    private var removals: [String: (count: Int, waiting: [DownloadID: Latch])] = [:]
    /// For each path, the download that is being cancelled or removed but still uses the partial file.
    private var departingOwners: [String: DownloadID] = [:]

    /// Whether a download, before it starts, must wait until another download has removed the partial file at the path.
    func isRemoving(_ path: String, before id: DownloadID) -> Bool {
        removals[path] != nil && departingOwners[path] != id
    }

    /// Returns the download that is being cancelled or removed but still uses the partial file; `nil` if there is none.
    func owner(of path: String) -> DownloadID? { departingOwners[path] }

    mutating func begin(_ path: String) {
        removals[path, default: (0, [:])].count += 1
    }

    /// Makes other downloads with the same partial file wait until the given download has stopped.
    ///
    /// Does nothing and returns `false` if the given download itself waits for a removal: it has no partial file yet,
    /// and must not wait for its own end.
    mutating func yieldPath(_ path: String, _ id: DownloadID) -> Bool {
        guard removals[path] == nil else { return false }
        departingOwners[path] = id
        begin(path)
        return true
    }

    /// Records that a download has stopped; returns the latches of the downloads that may start now.
    mutating func ended(_ path: String, _ id: DownloadID) -> [Latch] {
        guard departingOwners[path] == id else { return [] }
        departingOwners[path] = nil
        return end(path)
    }

    /// Returns a latch that opens after the removal for which a download must wait; `nil` if it need not wait.
    mutating func follow(_ path: String, before id: DownloadID) -> Latch? {
        guard isRemoving(path, before: id) else { return nil }
        let latch = Latch()
        removals[path]?.waiting[id] = latch
        return latch
    }

    /// Records that a partial file was deleted; returns the latches to open, or none if another removal is pending.
    mutating func end(_ path: String) -> [Latch] {
        guard var removal = removals.removeValue(forKey: path) else { return [] }
        removal.count -= 1
        guard removal.count == 0 else {
            removals[path] = removal
            return []
        }
        return Array(removal.waiting.values)
    }
}

/// The partials that are about to go, by their paths, and the downloads that are to begin after that.
struct PartialRemovals {
    /// By how many at a time, and the downloads that wait for the last of them.
    private var removals: [String: (count: Int, waiting: [DownloadID: Latch])] = [:]
    /// Those that still run and have made way for another download of the same file.
    private var leaving: [String: DownloadID] = [:]

    /// Whether a download has to wait before it begins; never for its own end.
    func isRemoving(_ path: String, before id: DownloadID) -> Bool { removals[path] != nil && leaving[path] != id }

    /// The one that still has a partial open, and whose it is until it has ended.
    func owner(of path: String) -> DownloadID? { leaving[path] }

    mutating func begin(_ path: String) {
        removals[path, default: (0, [:])].count += 1
    }

    /// Has a partial count as one that is about to go until its download has ended.
    ///
    /// One that waits for a removal itself has none yet, and must not wait for its own end: then false.
    mutating func makeWay(_ path: String, _ id: DownloadID) -> Bool {
        guard removals[path] == nil else { return false }
        leaving[path] = id
        begin(path)
        return true
    }

    /// Takes note that a download has ended; returns those who wait for that.
    mutating func ended(_ path: String, _ id: DownloadID) -> [Latch] {
        guard leaving[path] == id else { return [] }
        leaving[path] = nil
        return end(path)
    }

    /// Has what a download waits for told; false where there is nothing.
    mutating func follow(_ latch: Latch, _ path: String, before id: DownloadID) -> Bool {
        guard isRemoving(path, before: id) else { return false }
        removals[path]?.waiting[id] = latch
        return true
    }

    /// Takes note that a download waits no more.
    mutating func endFollowing(_ path: String, before id: DownloadID) {
        removals[path]?.waiting[id] = nil
    }

    /// Takes note that a partial is gone; returns those who wait for that, unless somebody else is about to remove it too.
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

extension QueueState {
    mutating func removal(_ record: DownloadRecord, _ stateChange: StateChange) -> Effect {
        removals.begin(record.names.partialPath)
        return .remove(record, partial: true, nil, stateChange)
    }

    func isRemoving(_ record: DownloadRecord) -> Bool {
        removals.isRemoving(record.names.partialPath, before: record.id)
    }

    /// Follows the removal of a download's partial, which another one before it has asked for; false where there is none.
    mutating func follow(_ latch: Latch, removalFor record: DownloadRecord) -> Bool {
        removals.follow(latch, record.names.partialPath, before: record.id)
    }

    /// Takes note that a download does not wait for the removal of its partial any more.
    mutating func endFollowing(removalFor record: DownloadRecord) {
        removals.endFollowing(record.names.partialPath, before: record.id)
    }

    /// Takes note that a partial is gone; returns those who wait for that, unless somebody else is about to remove it too.
    mutating func removed(_ record: DownloadRecord) -> [Latch] {
        removals.end(record.names.partialPath)
    }
}

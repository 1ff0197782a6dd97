/// Reads the queue, and takes its changes to write them to the journal.
extension QueueState {
    /// Returns the selected downloads: those selected by identity in the given order, others in queue order.
    ///
    /// Throws `unknownDownload` for an unknown identity, unless `skippingUnknown` is set.
    func ids(_ selection: DownloadSelection, skippingUnknown: Bool = false) throws(DownloadError) -> [DownloadID] {
        try downloads.ids(selection, in: scheduler.order, skippingUnknown: skippingUnknown)
    }

    /// The downloads as the journal stores them, in queue order.
    var members: [QueueJournal.Member] { scheduler.ids.compactMap { member($0) } }

    /// The running downloads.
    var runningRecords: [DownloadRecord] { scheduler.startNumbers.keys.compactMap { records[$0] } }

    /// Takes the changes that are not on the disk yet; see ``QueueJournal/takeChanges(syncing:always:members:count:)``.
    mutating func takeChanges(syncing: Bool, always: Bool = false) -> QueueJournal.Write? {
        let (members, count) = (journal?.isBehind == true ? members : [], records.count)
        return journal?.takeChanges(syncing: syncing, always: always, members: members, count: count)
    }

    /// Takes the whole queue to write it; see ``QueueJournal/takeAll(_:isOptional:)``.
    mutating func takeAll(isOptional: Bool) -> QueueJournal.Write? {
        let members = members
        return journal?.takeAll(members, isOptional: isOptional)
    }

    /// Writes the changes that are not on the disk yet, then the whole queue if the journal requires it; blocks.
    mutating func writeChanges(to file: RegistryFile) throws(DownloadError) {
        guard let changes = takeChanges(syncing: true) else { return }
        guard try changes.perform(on: file) == .wholeListNeeded else { return }
        _ = try takeAll(isOptional: false)?.perform(on: file)
    }

    func member(_ id: DownloadID) -> QueueJournal.Member? {
        guard let record = records[id], let label = scheduler.order.label(of: id) else { return nil }
        return QueueJournal.Member(record: record, label: label, priority: scheduler.priority(of: id) ?? 0)
    }

    /// Returns snapshots of the downloads of a group, or of all downloads if `group` is `nil`, in queue order.
    ///
    /// Sets ``DownloadSnapshot/position`` only if `group` is `nil`.
    func snapshots(group: String? = nil, at now: Duration) -> [DownloadSnapshot] {
        let ids = (try? ids(group.map { .group($0) } ?? .all)) ?? []
        return ids.enumerated().compactMap { index, id in
            var snapshot = DownloadSnapshot(of: id, in: self, at: now)
            if group == nil { snapshot?.position = index }
            return snapshot
        }
    }
}

extension DownloadSnapshot {
    /// Creates a snapshot of a download; returns `nil` if it is not in the queue.
    fileprivate init?(of id: DownloadID, in queue: QueueState, at now: Duration) {
        guard let record = queue.records[id] else { return nil }
        let (state, progress) = record.status.now
        self.init(
            id: id,
            number: record.number,
            request: record.request,
            state: state,
            priority: DownloadPriority(rawValue: queue.scheduler.priority(of: id) ?? 0),
            progress: progress,
            networkBlocker: queue.scheduler.networkBlocker(of: id),
            nextAttempt: queue.scheduler.waitEnd(of: id).map { WallTime.date(after: $0 - now) },
            lastFailure: queue.attempts[id]?.lastFailure
        )
        let times = record.status.times
        setDates(added: record.added, started: times.started, ended: times.ended)
    }

    /// Sets the dates from times in milliseconds since 1970; ignores `ended` unless the download has ended.
    mutating func setDates(added: Int64?, started: Int64?, ended: Int64?) {
        self.added = added.map(WallTime.date(milliseconds:))
        self.started = started.map(WallTime.date(milliseconds:))
        self.ended = state.isEnded ? ended.map(WallTime.date(milliseconds:)) : nil
    }
}

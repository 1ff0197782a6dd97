/// Snapshots of the queue and of single downloads.
extension QueueState {
    /// The downloads as the journal stores them, in queue order.
    var members: [QueueJournal.Member] {
        scheduler.ids.compactMap { member($0) }
    }

    func member(_ id: DownloadID) -> QueueJournal.Member? {
        guard let record = records[id], let label = scheduler.order.label(of: id) else { return nil }
        return QueueJournal.Member(record: record, label: label, priority: scheduler.priority(of: id) ?? 0)
    }

    func snapshot(of id: DownloadID, at now: Duration) -> DownloadSnapshot? {
        guard let record = records[id] else { return nil }
        let (state, progress) = record.status.now
        let priority = DownloadPriority(rawValue: scheduler.priority(of: id) ?? 0)
        return DownloadSnapshot(
            id: id,
            number: record.number,
            request: record.request,
            state: state,
            priority: priority,
            progress: progress,
            networkBlocker: scheduler.networkBlocker(of: id),
            nextAttempt: scheduler.waitEnd(of: id).map { WallTime.date(after: $0 - now) },
            lastFailure: attempts[id]?.lastFailure
        )
    }
}

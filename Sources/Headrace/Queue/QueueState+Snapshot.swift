/// Snapshots of the queue and of single downloads.
extension QueueState {
    /// The downloads as the journal stores them, in queue order.
    var members: [QueueJournal.Member] {
        queue.ids.compactMap { member($0) }
    }

    func member(_ id: DownloadID) -> QueueJournal.Member? {
        guard let record = records[id], let label = queue.order.label(of: id) else { return nil }
        return QueueJournal.Member(record: record, label: label, priority: queue.priority(of: id) ?? 0)
    }

    func snapshot(of id: DownloadID, at now: Duration) -> DownloadSnapshot? {
        guard let record = records[id] else { return nil }
        let (state, progress) = record.status.now
        let priority = DownloadPriority(rawValue: queue.priority(of: id) ?? 0)
        return DownloadSnapshot(
            id: id,
            number: record.number,
            request: record.request,
            state: state,
            priority: priority,
            progress: progress,
            networkBlocker: queue.networkBlocker(of: id),
            nextAttempt: queue.waitEnd(of: id).map { WallTime.date(after: $0 - now) },
            lastFailure: attempts[id]?.lastFailure
        )
    }
}

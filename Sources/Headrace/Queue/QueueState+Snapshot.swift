/// What is told of one download.
extension QueueState {
    func snapshot(of id: DownloadID, at now: Duration) -> DownloadSnapshot? {
        guard let record = records[id] else { return nil }
        let (state, progress) = record.status.now
        let priority = DownloadPriority(rawValue: queue.priority(of: id) ?? 0)
        return DownloadSnapshot(
            id: id,
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

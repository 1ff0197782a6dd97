/// Operations on one download, which do nothing if it is not in the queue; see ``Download``.
extension DownloadManager {
    /// Requeues a download and removes its start time, so that it may start at once.
    func start(_ id: DownloadID) {
        try? requeue(.downloads([id]), skippingUnknown: true) { state, id, now in
            state.removeStartTime(of: id)
            return state.scheduler.resume(id, at: now)
        }
    }

    /// Requeues a finished download, so that its file is downloaded again.
    func restart(_ id: DownloadID) {
        try? requeue(.downloads([id]), skippingUnknown: true) { $0.scheduler.restart($1, at: $2) }
    }

    func preempt(for id: DownloadID) {
        apply { $0.preempt(for: id) }
    }

    func setPriority(_ priority: DownloadPriority, of id: DownloadID) {
        guard queue.records[id] != nil else { return }
        let now = clock.now()
        change { $0.setPriority(priority.rawValue, of: id, at: now) }
        observers.publish(.priorityChanged(id, priority))
    }

    /// Moves a download; throws `unknownDownload` if `position` is an index out of range, or relative to a download that
    /// is not queued.
    func move(_ id: DownloadID, to position: QueuePosition) throws(DownloadError) {
        guard queue.records[id] != nil else { return }
        switch position {
        case .before(let other), .after(let other):
            guard queue.records[other] != nil else { throw .unknown(other) }
            guard other != id else { return }
        case .index(let index):
            guard queue.records.count > index, index >= 0 else {
                throw DownloadError(
                    .unknownDownload,
                    "The queue has no position \(index): it has \(queue.records.count) downloads, counted from 0."
                )
            }
        case .first, .last: break
        }
        let now = clock.now()
        change { $0.move(id, to: position, at: now) }
        observers.publish(.moved(id))
    }
}

/// Decides which download may run: a limit for all together, and the order of adding.
///
///     waiting ── a place is free ──▶ running ── ended ──▶ gone
///        └───── cancel, shut down ─────┴──────────────────▶ gone
struct Scheduler: Sendable {
    enum Action: Equatable {
        /// Begin the transfer of a download.
        case start(Download.ID)
        /// Tell a running transfer to stop; ``ended(_:)`` is to follow.
        case stop(Download.ID, StopSignal.Reason)
        /// End a download that was waiting.
        case end(Download.ID, StopSignal.Reason)
    }

    let limit: Int
    private(set) var running: Set<Download.ID> = []
    /// In order; those before `nextWaiting` have left, as have those not in `waiting`.
    private var queue: [Download.ID] = []
    private var nextWaiting = 0
    private(set) var waiting: Set<Download.ID> = []

    init(limit: Int) {
        self.limit = limit
    }

    mutating func add(_ ids: [Download.ID]) -> [Action] {
        queue.append(contentsOf: ids)
        waiting.formUnion(ids)
        return startNext()
    }

    /// A transfer has ended, however it did; does nothing for one that does not run.
    mutating func ended(_ id: Download.ID) -> [Action] {
        guard running.remove(id) != nil else { return [] }
        return startNext()
    }

    /// Does nothing for a download that has ended.
    mutating func cancel(_ id: Download.ID) -> [Action] {
        if waiting.remove(id) != nil { return [.end(id, .cancelled)] }
        return running.contains(id) ? [.stop(id, .cancelled)] : []
    }

    mutating func shutDown() -> [Action] {
        let ended = queue[nextWaiting...].filter(waiting.contains)
        waiting = []
        return ended.map { .end($0, .shutDown) } + running.map { .stop($0, .shutDown) }
    }

    private mutating func startNext() -> [Action] {
        var actions: [Action] = []
        while running.count < limit, nextWaiting < queue.count {
            let id = queue[nextWaiting]
            nextWaiting += 1
            guard waiting.remove(id) != nil else { continue }
            running.insert(id)
            actions.append(.start(id))
        }
        if nextWaiting == queue.count {
            queue.removeAll(keepingCapacity: true)
            nextWaiting = 0
        }
        return actions
    }
}

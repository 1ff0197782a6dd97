extension Scheduler {
    /// Requeues a running download of lower priority, if a waiting download could start but finds no free slot.
    ///
    /// Chooses the running download with the lowest priority or, if several have it, the one that started last.
    mutating func preempt(for id: ID) -> [Action] {
        guard let entry = entries[id], entry.phase == .waiting, notBefore[id] == nil, blockers[id] == nil
        else { return [] }
        let isHostFull = active.count { entries[$0]?.host == entry.host } >= limit(of: entry.host)
        guard isHostFull || active.count >= limit || descriptors.isFull else { return [] }
        // If the host is at its limit, only a slot of the same host helps.
        let victims = active.reversed().filter { id in
            guard let other = entries[id], !isHostFull || other.host == entry.host else { return false }
            return other.priority < entry.priority
        }
        let victim = victims.min { entries[$0]?.priority ?? 0 < entries[$1]?.priority ?? 0 }
        return victim.map { stop($0, .requeue) } ?? []
    }
}

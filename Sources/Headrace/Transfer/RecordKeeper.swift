/// Writes the record of a running download: for its transfer, and for those outside who want it up to date at once.
///
/// One writes at a time. A transfer says when there is something to write, and that there is no more before it removes the
/// record or gives the file its name.
final class RecordKeeper: Sendable {
    /// What there is to write while bytes come; both block, and say whether they succeeded.
    struct Work: Sendable {
        /// Waits until the bytes are on the disk.
        let sync: @Sendable () -> Bool
        /// Replaces the record by one of these ranges.
        let write: @Sendable (_ written: ByteRangeSet, _ durable: ByteRangeSet) -> Bool
    }

    private struct State {
        var work: Work?
        /// What the last record called durable.
        var durable = ByteRangeSet()
        /// Whether somebody outside has written a record that the transfer does not know of.
        var isUnknown = false
    }

    private let state = Locked(State())

    /// From now on bytes come, besides those that are durable already.
    func began(durable: ByteRangeSet, _ work: Work) {
        state.withLock { state in
            state.work = work
            state.durable = durable
        }
    }

    /// Nobody outside writes any more; true where somebody has since the last time.
    @discardableResult
    func ended() -> Bool {
        state.withLock { state in
            state.work = nil
            defer { state.isUnknown = false }
            return state.isUnknown
        }
    }

    /// Writes the transfer's record, which calls these ranges durable.
    func write(durable: ByteRangeSet, _ write: () -> Bool) -> Bool {
        state.withLock { state in
            guard write() else { return false }
            state.durable = durable
            return true
        }
    }

    /// Brings the record up to date from outside, where bytes come; blocks.
    /// - Parameters:
    ///   - syncing: Whether the bytes are to outlive a power cut too, which takes longer.
    ///   - held: What is written, looked up when nobody else writes.
    func save(syncing: Bool, _ held: () -> ByteRangeSet) {
        state.withLock { state in
            guard let work = state.work else { return }
            // Bytes that come during the sync may not be covered.
            let written = held()
            guard !written.isEmpty else { return }
            let durable = syncing && work.sync() ? written : state.durable
            guard work.write(written, durable) else { return }
            (state.durable, state.isUnknown) = (durable, true)
        }
    }
}

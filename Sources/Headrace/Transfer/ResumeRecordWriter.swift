/// Writes the record of a running download: for its transfer, and for those outside who want it up to date at once.
///
/// One writes or syncs at a time. A transfer says when there is something to write, and that there is no more before it removes
/// the record or gives the file its name.
final class ResumeRecordWriter: Sendable {
    /// What there is to write while bytes come; both block, and say whether they succeeded.
    struct Work: Sendable {
        /// Waits until the bytes are on the disk; nil where nothing is to outlive a power cut.
        let sync: (@Sendable () -> Bool)?
        /// Replaces the record by one of these ranges and pieces, and waits until that is on the disk if it is to.
        let write:
            @Sendable (
                _ written: ByteRangeSet, _ durable: ByteRangeSet, _ pieces: ReceivedPieces?, _ syncing: Bool
            ) -> Bool
    }

    private struct State {
        var work: Work?
        /// What somebody outside has recorded as written, and what the last record called durable.
        var written = ByteRangeSet()
        var durable = ByteRangeSet()
        /// Those of the last record; nil before there is one with some.
        var pieces: ReceivedPieces?
        /// Whether somebody outside has written a record that the transfer does not know of.
        var isUnknown = false
        /// A failure is told to one sync alone, and by then the kernel has given up bytes.
        var hasSyncFailed = false
        /// Why the transfer's last record could not be written; nil where it was.
        var failure: SystemError?
    }

    private let state = Locked(State())

    /// Why the record on the disk is not the transfer's last; nil where it is.
    var failure: SystemError? { state.withLock { $0.failure } }

    /// From now on bytes come, besides those that are durable already.
    func began(durable: ByteRangeSet, _ work: Work) {
        state.withLock { state in
            state.work = work
            (state.written, state.durable, state.pieces) = (ByteRangeSet(), durable, nil)
        }
    }

    /// Nobody outside writes any more; true where somebody has since the last time.
    @discardableResult
    func ended() -> Bool {
        state.withLock { state in
            state.work = nil
            state.written = ByteRangeSet()
            defer { state.isUnknown = false }
            return state.isUnknown
        }
    }

    /// The file is closed, and with it what is known of its syncs.
    func closed() {
        ended()
        state.withLock { ($0.hasSyncFailed, $0.failure) = (false, nil) }
    }

    /// Syncs for the transfer; false where this one, or one from outside, has failed.
    func sync(_ sync: () -> Bool) -> Bool {
        state.withLock { state in
            if !sync() { state.hasSyncFailed = true }
            return !state.hasSyncFailed
        }
    }

    /// Writes the transfer's record, which may be older than one that was written from outside.
    func write(_ record: ControlRecord, _ write: (ControlRecord) throws(SystemError) -> Void) -> Bool {
        state.withLock { state in
            var record = record
            for range in state.written.ranges { record.written.insert(range) }
            for range in state.durable.intersection(record.written).ranges { record.durable.insert(range) }
            do throws(SystemError) {
                try write(record)
            } catch {
                state.failure = error
                return false
            }
            state.failure = nil
            (state.durable, state.pieces) = (record.durable, record.pieces)
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
            var durable = state.durable.intersection(written)
            if syncing, let sync = work.sync {
                if !sync() { state.hasSyncFailed = true }
                if !state.hasSyncFailed { durable = written }
            }
            guard work.write(written, durable, state.pieces, syncing) else { return }
            (state.written, state.durable, state.isUnknown) = (written, durable, true)
        }
    }
}

/// Writes the resume record of a running download, for its transfer and for other threads that need an up-to-date
/// record at once.
///
/// One thread at a time writes or syncs. The transfer calls ``began(durable:_:)`` when it receives bytes, and
/// ``ended()`` before it removes the record or renames the file.
final class ResumeRecordWriter: Sendable {
    /// The operations that other threads may use while bytes are received; both block and return whether they
    /// succeeded.
    struct Work: Sendable {
        /// Syncs the received bytes to the disk; `nil` if the bytes need not survive a power cut.
        let sync: (@Sendable () -> Bool)?
        /// Replaces the record by one with the given ranges and pieces, and syncs it if requested.
        let write:
            @Sendable (
                _ written: ByteRangeSet, _ durable: ByteRangeSet, _ pieces: ReceivedPieces?, _ syncing: Bool
            ) -> Bool
    }

    private struct State {
        var work: Work?
        /// The ranges that another thread last recorded as written.
        var written = ByteRangeSet()
        /// The synced ranges according to the last record or, before the first record, according to the transfer.
        var durable = ByteRangeSet()
        /// The pieces of the last record; `nil` before the first record that has any.
        var pieces: ReceivedPieces?
        /// Whether the transfer does not know the record on the disk, because another thread has written it since the
        /// last call of ``ended()``.
        var isUnknown = false
        /// Whether a sync has failed; stored, since the kernel reports a failed sync only once and discards the bytes.
        var hasSyncFailed = false
        /// The error of the transfer's last write of the record; `nil` if it succeeded.
        var failure: SystemError?
    }

    private let state = Locked(State(), rank: .resumeRecordWriter)

    /// The error of the transfer's last write of the record; `nil` if it succeeded.
    var failure: SystemError? { state.withLock { $0.failure } }

    /// Lets other threads write the record from now on; `durable` contains the synced ranges.
    func began(durable: ByteRangeSet, _ work: Work) {
        state.withLock { state in
            state.work = work
            (state.written, state.durable, state.pieces) = (ByteRangeSet(), durable, nil)
        }
    }

    /// Stops other threads from writing the record; returns whether any of them wrote one since this method was last
    /// called.
    @discardableResult
    func ended() -> Bool {
        state.withLock { state in
            state.work = nil
            state.written = ByteRangeSet()
            defer { state.isUnknown = false }
            return state.isUnknown
        }
    }

    /// Stops other threads from writing the record and clears earlier failures, because the partial file was closed.
    func closed() {
        ended()
        state.withLock { ($0.hasSyncFailed, $0.failure) = (false, nil) }
    }

    /// Performs a sync for the transfer; returns `false` if this or any earlier sync failed.
    func sync(_ sync: () -> Bool) -> Bool {
        state.withLock { state in
            if !sync() { state.hasSyncFailed = true }
            return !state.hasSyncFailed
        }
    }

    /// Writes the transfer's record, merged with a newer one that another thread may have written; returns whether the
    /// write succeeded.
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

    /// Writes an up-to-date record if the transfer is receiving bytes.
    ///
    /// Called on threads other than the transfer's; blocks.
    /// - Parameters:
    ///   - syncing: Whether the bytes must survive a power cut too, which takes longer.
    ///   - held: Returns the ranges of the received bytes; called when no other thread is writing.
    func save(syncing: Bool, _ held: () -> ByteRangeSet) {
        state.withLock { state in
            guard let work = state.work else { return }
            // Read before the sync, which may not cover later bytes.
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

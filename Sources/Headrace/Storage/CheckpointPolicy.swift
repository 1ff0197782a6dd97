/// Decides when a download's resume record is written and when its data is synced.
///
///     running ── stop, sync due or running ──▶ stopping ── all synced, or no sync possible ──▶ stopped
///        └────────── stop, no sync due or running ────────────────────────────────────────────────▲
///
/// This type performs no I/O. It tracks what a record may claim: a range is ``written`` once its write returned, and
/// ``durable`` once a sync that started later has succeeded.
struct CheckpointPolicy: Sendable {
    typealias Durability = DownloadConfiguration.Durability

    enum Stop: Sendable {
        /// A stop after which the same process will retry or continue the download within seconds.
        case keeping
        /// A stop because of a pause, a failure, a shutdown or a long wait; the download may be resumed after a reboot.
        case leaving
        /// A stop because the file is complete; it is renamed to its final name after the last action.
        case finishing
    }

    enum Action: Sendable, Equatable {
        /// Replace the record on disk with one of the current ``written`` and ``durable`` ranges.
        case writeRecord
        /// Sync the data, then call ``syncEnded(success:at:)``.
        case startSync
    }

    private enum Phase {
        case running
        case stopping(Stop)
        case stopped
    }

    /// The minimum time before the first periodic record and between periodic records of a running transfer.
    ///
    /// A new download that finishes earlier writes no record.
    static let recordInterval = Duration.milliseconds(500)
    /// The interval between two syncs of a running transfer with the durability `full`; a sync is due earlier if
    /// ``syncBytes`` bytes are unsynced.
    static let syncInterval = Duration.seconds(5)
    static let syncBytes: Int64 = 64 << 20

    private(set) var written: ByteRangeSet
    private(set) var durable: ByteRangeSet

    private let durability: Durability
    private let start: Duration
    private var phase = Phase.running
    private var lastRecord: Duration?
    /// Whether a record is on disk or about to be written, so that it must be kept accurate.
    private(set) var hasRecord: Bool
    /// Whether a record written now may differ from the record that was written last.
    private var isRecordOutdated = false
    /// The ranges that the running sync makes durable: those written before it started; `nil` if no sync is running.
    private var claim: ByteRangeSet?
    private var hasSyncFailed = false
    /// Whether the file system does not support sync, so that the last bytes are recorded without a sync.
    private var isWithoutSync = false
    private var lastSync: Duration
    private var unsyncedBytes: Int64
    private var hasSynced = false
    /// Whether the policy was stopped by a ``Stop/leaving``.
    private var hasLeft = false

    /// Creates the policy for one transfer of a download.
    /// - Parameters:
    ///   - durability: With `full`, data is also synced during the transfer and before the file gets its final name.
    ///   - written: The valid ranges that the file already contains; unless empty, a record is assumed to exist.
    ///   - durable: The synced ranges; only those within `written` count.
    ///   - replacesRecord: Whether a record on disk may claim more than these ranges, and must be replaced.
    ///   - now: The start of the transfer.
    init(
        _ durability: Durability,
        written: ByteRangeSet = ByteRangeSet(),
        durable: ByteRangeSet = ByteRangeSet(),
        replacesRecord: Bool = false,
        at now: Duration
    ) {
        self.durability = durability
        self.written = written
        self.durable = durable.intersection(written)
        start = now
        lastSync = now
        hasRecord = !written.isEmpty || replacesRecord
        isRecordOutdated = replacesRecord
        unsyncedBytes = written.count - self.durable.count
    }

    var isSyncing: Bool { claim != nil }

    /// Whether a record must be synced, so that it survives a power cut.
    ///
    /// Always `true` with `full` durability. Otherwise, `true` only after a `leaving` stop whose bytes were all synced.
    var syncsRecord: Bool {
        durability == .full || hasLeft && written == durable && !isWithoutSync && !hasSyncFailed
    }

    /// Records that bytes were written, and returns the actions that are due; ignored after a stop or a failed sync.
    ///
    /// With `isLast`, no action is due, because a stop follows.
    mutating func wrote(_ range: Range<Int64>, isLast: Bool = false, at now: Duration) -> [Action] {
        guard case .running = phase, !hasSyncFailed, !range.isEmpty else { return [] }
        written.insert(range)
        unsyncedBytes += range.upperBound - range.lowerBound
        isRecordOutdated = true
        return isLast ? [] : checkpoint(at: now)
    }

    /// Records that the caller has written a resume record without an ``Action/writeRecord`` from this policy.
    mutating func recordWritten() { hasRecord = true }

    /// Records that these ranges were synced, possibly without a ``Action/startSync`` from this policy.
    mutating func synced(_ ranges: ByteRangeSet) {
        for range in ranges.intersection(written).ranges { durable.insert(range) }
    }

    /// Withdraws the written ranges that are not durable, after a failed sync; later writes are ignored.
    mutating func syncFailed() {
        // The kernel now considers the lost pages clean: a later sync or a read would not detect the loss.
        hasSyncFailed = true
        isRecordOutdated = isRecordOutdated || written != durable
        written = durable
    }

    /// Records the result of a sync, and returns the actions that are due; ignored if no sync is running.
    mutating func syncEnded(success: Bool, at now: Duration) -> [Action] {
        guard let covered = claim else { return [] }
        claim = nil
        lastSync = now
        if success {
            hasSynced = true
            let earlier = durable
            synced(covered)
            isRecordOutdated = isRecordOutdated || earlier != durable
        } else {
            syncFailed()
        }
        switch phase {
        case .running where hasSyncFailed: return hasRecord ? writeRecord(at: now) : []
        case .running: return checkpoint(at: now)
        case .stopping(let stop): return finish(stop, at: now)
        case .stopped: return []
        }
    }

    /// Ends a sync that the file system did not support, and returns the actions that are due.
    ///
    /// The call is ignored if no sync is running.
    mutating func syncUnavailable(at now: Duration) -> [Action] {
        guard claim.take() != nil, case .stopping(let stop) = phase else { return [] }
        isWithoutSync = true
        return finish(stop, at: now)
    }

    /// Stops the policy and returns the actions that are due; later writes are ignored.
    ///
    /// The stop is complete once no action is left. If a sync is running or is one of these actions,
    /// ``syncEnded(success:at:)`` or ``syncUnavailable(at:)`` returns the remaining actions. A second call does
    /// nothing.
    mutating func stopping(_ stop: Stop, at now: Duration) -> [Action] {
        guard case .running = phase else { return [] }
        phase = .stopping(stop)
        hasLeft = stop == .leaving
        // The running sync does not cover the last bytes; another one follows it.
        return isSyncing ? [] : finish(stop, at: now)
    }

    private mutating func checkpoint(at now: Duration) -> [Action] {
        guard now - start >= Self.recordInterval else { return [] }
        var actions: [Action] = []
        if isRecordOutdated, now - (lastRecord ?? start) >= Self.recordInterval { actions += writeRecord(at: now) }
        let isSyncDue = unsyncedBytes >= Self.syncBytes || now - lastSync >= Self.syncInterval
        if isSyncDue, !isSyncing, durability == .full { actions += startSync() }
        return actions
    }

    private mutating func finish(_ stop: Stop, at now: Duration) -> [Action] {
        // An existing record must name the final file before the rename. Without a record, the rename needs none.
        let isRecordDue = stop == .finishing ? hasRecord : isRecordOutdated && (hasRecord || !written.isEmpty)
        // An empty file may have been longer, and a power cut could undo the truncation but not the rename.
        let isTruncated = stop == .finishing && written.isEmpty && !hasSynced && !hasSyncFailed
        // After a failed sync, `written` and `durable` are equal, so no other sync starts.
        if written != durable || isTruncated, !isWithoutSync {
            if durability == .full { return startSync() }
            // After a reboot, it is unknown whether unsynced bytes reached the disk. The record is also written
            // before the sync, because the process may be killed during the sync.
            if stop == .leaving { return (isRecordDue ? writeRecord(at: now) : []) + startSync() }
        }
        phase = .stopped
        return isRecordDue ? writeRecord(at: now) : []
    }

    private mutating func startSync() -> [Action] {
        claim = written
        unsyncedBytes = 0
        return [.startSync]
    }

    private mutating func writeRecord(at now: Duration) -> [Action] {
        hasRecord = true
        isRecordOutdated = false
        lastRecord = now
        return [.writeRecord]
    }
}

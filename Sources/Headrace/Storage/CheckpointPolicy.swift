/// Decides when a download's record is written and when its data is synced.
///
///     running ── stop, bytes to sync ──▶ stopping ── all synced, or a sync failed ──▶ stopped
///        └────────── stop, nothing to sync ──────────────────────────────────────────────▲
///
/// Pure. It holds what a record may claim: a range is ``written`` once its write returned, and ``durable`` once a sync that
/// began after that has succeeded.
struct CheckpointPolicy: Sendable {
    typealias Durability = DownloadConfiguration.Durability

    enum Stop: Sendable {
        /// The bytes are for the next attempt of this process.
        case keeping
        /// Paused, failed or shut down: the bytes may be for another start of the system.
        case leaving
        /// Complete: the file is to get its final name when the last action is done.
        case finishing
    }

    enum Action: Sendable, Equatable {
        /// Replace the record on disk by one with the present ``written`` and ``durable``.
        case writeRecord
        /// Sync the data; ``syncEnded(success:at:)`` is to follow.
        case startSync
    }

    private enum Phase {
        case running
        case stopping(Stop)
        case stopped
    }

    /// The least time between two records, and before the first: a fast download needs none.
    static let recordInterval = Duration.milliseconds(500)
    /// The time and the bytes since the last sync, either of which makes another one due.
    static let syncInterval = Duration.seconds(5)
    static let syncBytes: Int64 = 64 << 20

    private(set) var written: ByteRangeSet
    private(set) var durable: ByteRangeSet

    private let durability: Durability
    private let start: Duration
    private var phase = Phase.running
    private var lastRecord: Duration?
    /// Whether there is a record on disk, which then must be kept true.
    private(set) var hasRecord: Bool
    /// Whether a record would now say something else than the last one.
    private var hasNews = false
    /// What the running sync will have made durable, from before its start; nil while none runs.
    private var claim: ByteRangeSet?
    private var hasSyncFailed = false
    /// Whether the file system has no sync, and the last bytes are kept without one.
    private var isWithoutSync = false
    private var lastSync: Duration
    private var unsyncedBytes: Int64

    /// - Parameters:
    ///   - durability: Whether data is synced also while bytes come, and before the file gets its name.
    ///   - written: What an earlier record may be trusted with; not empty means that there is a record.
    ///   - durable: What that record called durable.
    ///   - now: The transfer's start.
    init(
        _ durability: Durability,
        written: ByteRangeSet = ByteRangeSet(),
        durable: ByteRangeSet = ByteRangeSet(),
        at now: Duration
    ) {
        self.durability = durability
        self.written = written
        self.durable = durable.intersection(written)
        start = now
        lastSync = now
        hasRecord = !written.isEmpty
        unsyncedBytes = written.count - self.durable.count
    }

    var isSyncing: Bool { claim != nil }

    /// Bytes were written; does nothing once stopping, and after a failed sync.
    ///
    /// The last ones of a file need no record of their own: the stop is to follow.
    mutating func wrote(_ range: Range<Int64>, isLast: Bool = false, at now: Duration) -> [Action] {
        guard case .running = phase, !hasSyncFailed, !range.isEmpty else { return [] }
        written.insert(range)
        unsyncedBytes += range.upperBound - range.lowerBound
        hasNews = true
        return isLast ? [] : checkpoint(at: now)
    }

    /// There is a record on disk that somebody else has written.
    mutating func recordWritten() {
        hasRecord = true
    }

    /// A sync has ended; does nothing where none runs.
    mutating func syncEnded(success: Bool, at now: Duration) -> [Action] {
        guard let covered = claim else { return [] }
        claim = nil
        lastSync = now
        if success {
            hasNews = hasNews || covered != durable
            durable = covered
        } else {
            // The kernel calls the lost pages clean now: no later sync proves them, and reading them proves nothing.
            hasSyncFailed = true
            hasNews = hasNews || written != durable
            written = durable
        }
        switch phase {
        case .running where hasSyncFailed: return hasRecord ? writeRecord(at: now) : []
        case .running: return checkpoint(at: now)
        case .stopping(let stop): return finish(stop, at: now)
        case .stopped: return []
        }
    }

    /// The file system has no sync: what is kept is true as long as the kernel runs; does nothing where none was begun.
    mutating func syncUnavailable(at now: Duration) -> [Action] {
        guard claim.take() != nil, case .stopping(let stop) = phase else { return [] }
        isWithoutSync = true
        return finish(stop, at: now)
    }

    /// The transfer ends; the stop is complete when no sync runs after the actions.
    ///
    /// A second stop does nothing.
    mutating func stopping(_ stop: Stop, at now: Duration) -> [Action] {
        guard case .running = phase else { return [] }
        phase = .stopping(stop)
        // The sync that runs does not cover the last bytes; another one follows it.
        return isSyncing ? [] : finish(stop, at: now)
    }

    private mutating func checkpoint(at now: Duration) -> [Action] {
        guard now - start >= Self.recordInterval else { return [] }
        var actions: [Action] = []
        if hasNews, now - (lastRecord ?? start) >= Self.recordInterval { actions += writeRecord(at: now) }
        let isSyncDue = unsyncedBytes >= Self.syncBytes || now - lastSync >= Self.syncInterval
        if isSyncDue, !isSyncing, durability == .full { actions += startSync() }
        return actions
    }

    private mutating func finish(_ stop: Stop, at now: Duration) -> [Action] {
        // A record on disk must tell that the file is being named; a file that had none so far needs none for that.
        let isRecordDue = stop == .finishing ? hasRecord : hasNews && (hasRecord || !written.isEmpty)
        // After a failed sync the two are the same.
        if written != durable, !isWithoutSync {
            if durability == .full { return startSync() }
            // After another start of the system it is too late to ask whether the bytes reached the disk. The record comes
            // before that, too, since a sync may take longer than the process has left.
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
        hasNews = false
        lastRecord = now
        return [.writeRecord]
    }
}

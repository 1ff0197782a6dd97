import HeadracePlatform

/// The received and the durable bytes of one download's file, and the contents of its resume record.
///
/// One ledger is shared by the transfer, its connections, the readers of the file, and the threads that must save the
/// record immediately, for example before the system suspends the app. A record is created from the state when it is
/// written, so it is never older than the record that it replaces.
///
/// The ledger has two locks. `state` is never locked during a file call. `disk` is locked during each sync and each
/// write of the record, so that only one of these calls runs at a time.
final class FileLedger: Sendable {
    typealias ReaderID = ReadableFile.ReaderID

    /// The received bytes and everything that the resume record states about them.
    struct Contents: Sendable {
        /// The received and the durable ranges, and the decisions when to save them.
        var policy: CheckpointPolicy
        /// The validators and metadata of the version that the received bytes belong to; `nil` until a body is accepted
        /// or received bytes are found.
        var representation: RepresentationMetadata?
        /// The final path, as determined by the last accepted response, possibly of an earlier run; `nil` before the
        /// first one.
        var finalPath: String?
        /// The digests of the file's pieces, computed when they were received; `nil` if they are not stored.
        var pieces: ReceivedPieces?
        var state = ControlRecord.State.receiving
    }

    /// The open partial file, and the properties of the download that the resume record contains.
    struct Target: Sendable {
        let file: PartialFile
        /// The path of the partial file.
        let path: String
        let url: URL
        let names: DestinationPaths
        let environment: TransferEnvironment
        /// The resume record of the original partial file, if ``file`` is a decoded version or a copy of that file.
        ///
        /// `nil` if ``file`` is the original.
        var original: ControlRecord?

        var syncsData: Bool { environment.configuration.durability == .full }
    }

    struct State {
        var readable = ReadableFile()
        var waiting: [ReaderID: Latch] = [:]
        var onDemand: (@Sendable () -> Void)?
        var contents = Contents(policy: CheckpointPolicy(.none, at: .zero))
        /// The file whose record any thread may write; `nil` unless a transfer is receiving bytes.
        var target: Target?
        /// The checkpoint actions that have not been started.
        var actions: [CheckpointPolicy.Action] = []
        /// Whether a thread is performing actions.
        var isBusy = false
        /// The error of a sync that the transfer has not handled yet.
        var syncFailure: DownloadError?
        /// The error of the last write of the record; `nil` if it succeeded, or if there was none.
        var recordFailure: SystemError?
    }

    let state: Locked<State>
    private let disk = Locked((), rank: .ledgerDisk)

    /// Creates a ledger without readers.
    /// - Parameters:
    ///   - kept: The state of the partial file after an earlier transfer, if known.
    ///   - isDecoded: Whether the file is decoded once it is complete, and can be read only then.
    init(_ kept: SuspendedPartial?, isDecoded: Bool) {
        var state = State()
        state.readable.isReadAtEnd = isDecoded
        if let kept {
            let totalBytes = kept.contents.representation?.totalBytes
            state.readable.opened(kept.path, kept.contents.policy.written, totalBytes: totalBytes, isSame: false)
            state.readable.kept(kept.stamp)
        }
        self.state = Locked(state, rank: .ledgerState)
    }

    var contents: Contents { state.withLock { $0.contents } }

    /// Returns a part of the contents, without copying the rest.
    func read<Part: Sendable>(_ part: (borrowing Contents) -> Part) -> Part {
        state.withLock { part($0.contents) }
    }

    /// The ranges of the received bytes.
    var received: ByteRangeSet { state.withLock { $0.contents.policy.written } }
    /// The number of received bytes before the first gap.
    var prefixCount: Int64 { state.withLock { $0.contents.policy.written.prefixCount } }
    var recordFailure: SystemError? { state.withLock { $0.recordFailure } }

    /// Sets the size of the complete file, which the next resume record then contains.
    func recordSize(_ size: Int64) { change { contents, _ in contents.representation?.totalBytes = size } }

    /// Changes what the next resume record states and what readers can read, then wakes the readers that can continue.
    func change<Result: Sendable>(_ verb: (inout Contents, inout ReadableFile) -> Result) -> Result {
        let (result, ready) = state.withLock { state in
            let result = verb(&state.contents, &state.readable)
            return (result, state.takeReady())
        }
        for latch in ready { latch.open() }
        return result
    }

    // MARK: Checkpoints

    /// Lets ``save(syncing:)`` write the record of this file, on any thread, until ``end()`` or a failed sync.
    func begin(_ target: Target) { state.withLock { $0.target = target } }

    /// Stops other threads from writing the record, and waits for one that is doing so; called before the record is
    /// removed or the file is renamed.
    func end() { disk.withLock { _ in state.withLock { $0.target = nil } } }

    /// Records a range that was written to the file, and the digests of the pieces that it completed; returns `true` if
    /// ``work(on:)`` must be called.
    ///
    /// Throws if a sync failed meanwhile; the caller handles that with ``settle(on:)``.
    func wrote(
        _ range: Range<Int64>,
        completing pieces: [ReceivedPieces.Digest] = [],
        at now: Duration
    ) throws(DownloadError) -> Bool {
        let (ready, isWorkDue) = try state.withLock { state throws(DownloadError) in
            state.readable.wrote(range)
            if !pieces.isEmpty { state.contents.pieces?.keep(pieces) }
            let written = state.contents.policy.written.count + range.upperBound - range.lowerBound
            let isLast = written == state.contents.representation?.totalBytes
            state.actions += state.contents.policy.wrote(range, isLast: isLast, at: now)
            if let failure = state.syncFailure { throw failure }
            return (state.takeReady(), !state.isBusy && !state.actions.isEmpty)
        }
        for latch in ready { latch.open() }
        return isWorkDue
    }

    /// Performs the due checkpoint actions, including those that become due meanwhile; blocks.
    ///
    /// Does nothing if another thread is already performing them.
    func work(on target: Target) {
        guard state.withLock({ $0.startWork() }) else { return }
        while let action = state.withLock({ $0.nextAction() }) { perform(action, on: target) }
    }

    /// Stops the checkpoints for this reason, and performs the remaining actions; blocks.
    ///
    /// Called when no other thread is in ``work(on:)``. Throws if a sync failed; the resume record then claims only the
    /// bytes of earlier syncs.
    func stop(_ stop: CheckpointPolicy.Stop, on target: Target) throws(DownloadError) {
        let now = target.environment.clock.now()
        state.withLock { $0.actions += $0.contents.policy.stopping(stop, at: now) }
        try settle(on: target)
    }

    /// Performs the remaining actions; throws if a sync failed.
    func settle(on target: Target) throws(DownloadError) {
        work(on: target)
        if let failure = state.withLock({ $0.syncFailure.take() }) { throw failure }
    }

    private func perform(_ action: CheckpointPolicy.Action, on target: Target) {
        disk.withLock { _ in
            switch action {
            case .writeRecord: write(to: target, syncing: contents.policy.syncsRecord)
            case .startSync: endSync(isSynced: target.file.syncOnce(), target)
            }
        }
    }

    /// Records the result of a sync.
    ///
    /// A file system without sync is accepted if the configured durability is `none`.
    private func endSync(isSynced: Bool, _ target: Target) {
        let now = target.environment.clock.now()
        state.withLock { state in
            if !isSynced, !target.syncsData, target.file.syncFailure?.isSyncUnsupported == true {
                state.actions += state.contents.policy.syncUnavailable(at: now)
                return
            }
            state.actions += state.contents.policy.syncEnded(success: isSynced, at: now)
            if !isSynced { state.syncFailed(target.file) }
        }
    }

    /// Writes a record of the present state; called with `disk` locked.
    ///
    /// If the write fails while bytes are received, the download continues, and the record is written again later. If a
    /// sync has failed too, the old record is removed when it claims bytes that may be lost.
    private func write(to target: Target, syncing: Bool) {
        let contents = contents
        do throws(SystemError) {
            // At the old path of a moved file, the record would describe no file, or another one.
            if contents.state == .receiving, target.file.hasLostName { throw SystemError(errno: ENOENT) }
            let bootID = try target.environment.files.bootID()
            try target.recordFile.write(contents.record(of: target, bootID: bootID), syncing: syncing)
        } catch {
            let hasSyncFailed = state.withLock { state in
                state.recordFailure = error
                return state.syncFailure != nil
            }
            // The record of a decoded or copied file claims bytes of the original, whose syncs succeeded.
            if hasSyncFailed, target.original == nil { target.recordFile.remove(unlessWithin: contents.policy.durable) }
            return
        }
        state.withLock { $0.recordFailure = nil }
    }

    /// Writes the record now, whatever the policy says; blocks.
    func writeRecord(to target: Target) { disk.withLock { _ in write(to: target, syncing: target.syncsData) } }

    /// Writes an up-to-date record if a transfer is receiving bytes; blocks.
    ///
    /// With `syncing`, first syncs the bytes if the durability is `full`, so that they survive a power cut; that takes
    /// longer.
    func save(syncing: Bool) {
        disk.withLock { _ in
            // Read before the sync, which may not cover later bytes.
            guard
                let (target, written) = state.withLock({ state in
                    state.target.map { ($0, state.contents.policy.written) }
                }), !written.isEmpty
            else { return }
            let syncing = syncing && target.syncsData
            if syncing {
                let isSynced = target.file.syncOnce()
                state.withLock { state in
                    guard !isSynced else { return state.contents.policy.synced(written) }
                    state.contents.policy.syncFailed()
                    state.syncFailed(target.file)
                }
            }
            write(to: target, syncing: syncing)
            state.withLock { state in
                if state.recordFailure == nil { state.contents.policy.recordWritten() }
            }
        }
    }

    /// Discards the pending actions and earlier failures, because the partial file is about to be closed.
    func close() {
        end()
        state.withLock { state in
            (state.actions, state.syncFailure, state.recordFailure) = ([], nil, nil)
        }
        change { $1.closed() }
    }
}

extension FileLedger.State {
    /// Prevents other threads from writing the record, and stores the error for the transfer.
    fileprivate mutating func syncFailed(_ file: PartialFile) {
        target = nil
        syncFailure = file.syncError
    }

    /// Removes and returns the latches of the waiting readers that can continue.
    mutating func takeReady() -> [Latch] {
        guard !waiting.isEmpty else { return [] }
        let ids = waiting.keys.filter { readable.step(of: $0) != .wait }
        return ids.compactMap { waiting.removeValue(forKey: $0) }
    }

    /// Returns whether actions are due and no thread performs them; if `true`, the caller must perform them.
    fileprivate mutating func startWork() -> Bool {
        guard !isBusy, !actions.isEmpty else { return false }
        isBusy = true
        return true
    }

    /// Removes and returns the next action; returns `nil` if none is left, which ends the work of the calling thread.
    fileprivate mutating func nextAction() -> CheckpointPolicy.Action? {
        guard !actions.isEmpty else {
            isBusy = false
            return nil
        }
        return actions.removeFirst()
    }
}

extension FileLedger.Contents {
    func record(of target: FileLedger.Target, bootID: String) -> ControlRecord {
        if var original = target.original {
            original.state = state
            original.decoded = ControlRecord.DecodedFile(
                device: target.file.identity.device,
                inode: target.file.identity.inode,
                size: policy.written.count,
                isDurable: policy.durable == policy.written
            )
            return original
        }
        var record = ControlRecord(
            url: target.url,
            fileName: target.names.name(of: finalPath ?? target.names.plannedPath),
            representation: representation ?? RepresentationMetadata(),
            totalBytes: representation?.totalBytes,
            bootID: bootID,
            file: target.file.identity
        )
        record.written = policy.written
        record.durable = policy.durable
        record.state = state
        record.pieces = pieces
        return record
    }
}

extension FileLedger.Target {
    var recordFile: RecordFile { RecordFile(of: path, calls: environment.sharedFiles) }
}

extension PartialFile {
    /// Syncs the file; returns `false` if this or any earlier sync failed, since the kernel reports a failed sync only
    /// once and discards the bytes.
    fileprivate func syncOnce() -> Bool { (try? sync()) != nil && syncFailure == nil }

    /// The error to throw after a failed sync.
    var syncError: DownloadError {
        let error = syncFailure ?? SystemError(errno: EIO)
        return .storage("\(path) could not be synced to the disk, and bytes may be lost", error)
    }
}

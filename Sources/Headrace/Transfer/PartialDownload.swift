import HeadracePlatform

/// The bytes of one download on the disk, across all attempts: the partial file, its resume record, and the version of
/// the bytes.
///
/// Methods that access the disk block, and must be called on the blocking executor.
struct PartialDownload {
    /// The state of the bytes that an earlier run received.
    enum RecoveredState: Sendable, Equatable {
        case nothing
        /// Bytes that can be resumed if the server still has their version; `lost` is the number of written bytes that
        /// the disk lost.
        case bytes(lost: Int64)
        /// The file at this path is complete; only its resume record still has to be removed.
        case complete(String)
        /// Bytes that cannot be resumed for the given reason; they were deleted.
        case discarded(RestartReason, bytes: Int64)
    }

    /// How many responses and sources the bytes came from, and thus whether they may be of different versions.
    enum Composition: Sendable {
        /// One response, over one connection.
        case oneResponse
        /// Several responses of one source, or bytes of an earlier run.
        case severalResponses
        /// Several responses of different sources.
        case severalSources
    }

    let record: DownloadRecord
    let url: URL
    let names: DestinationPaths
    let environment: TransferEnvironment
    /// A fingerprint of the login and header fields of the requests; see ``DownloadRequest/requesterFingerprint(_:)``.
    let requesterFingerprint: String
    /// The requester for which the server sent the last accepted response; `nil` before the first response.
    var requester: Requester?
    /// The readers of the file; notified of new bytes after the write, and of lost bytes before their removal.
    let readers: FileReaders
    /// The open file, which several connections may write at once; `nil` until one is found or created.
    var partial: PartialFile?
    var policy: CheckpointPolicy
    /// The validators and metadata of the version that the received bytes belong to; `nil` if there are no bytes.
    var representation: RepresentationMetadata?
    private(set) var composition = Composition.oneResponse
    private(set) var state = ControlRecord.State.receiving
    /// The final path, as determined by the last accepted response, possibly of an earlier run; `nil` before any.
    var finalPath: String?
    /// The digests of the file's pieces, computed when they were received; `nil` if they are not stored.
    var pieces: ReceivedPieces?
    /// Computes the digests of pieces from the appended bytes.
    private var pieceDigester: PieceDigester?
    /// Whether a resume record without a partial file was found; it is removed once a new partial file is locked.
    var hasStaleRecord = false

    init(_ record: DownloadRecord, _ environment: TransferEnvironment) {
        self.record = record
        url = record.requested { $0.url }
        names = record.names
        self.environment = environment
        requesterFingerprint = record.requested { $0.requesterFingerprint(environment.configuration) }
        readers = record.readers()
        policy = CheckpointPolicy(environment.configuration.durability, at: .zero)
    }

    var path: String { names.partialPath }
    var recordFile: RecordFile { RecordFile(of: path, calls: environment.sharedFiles) }

    /// The ranges of the received bytes.
    var held: ByteRangeSet { policy.written }

    /// The number of received bytes before the first gap.
    var heldBytes: Int64 { held.prefixCount }

    /// Whether received bytes follow a gap, which is a range of missing bytes.
    var hasGaps: Bool { held.end > heldBytes }

    /// Discards all bytes; removes the resume record first, so that it never describes bytes of another version.
    mutating func discard() throws(DownloadError) {
        readers.change { $0.lost() }
        readers.recordWriter.ended()
        do {
            try recordFile.removeIfPresent()
        } catch {
            throw .storage("\(recordFile.path) could not be removed", error)
        }
        try? syncFolder()
        try partial?.truncate(to: 0)
        resetBytes()
    }

    mutating func resetBytes() {
        composition = .oneResponse
        representation = nil
        finalPath = nil
        pieces = nil
        policy = CheckpointPolicy(environment.configuration.durability, at: .zero)
    }

    func syncFolder() throws(SystemError) {
        if environment.configuration.durability == .full { try environment.files.syncNames(in: names.directory) }
    }

    /// Records that the bytes come from more than one response or source.
    mutating func compose(of composition: Composition) {
        if self.composition != .severalSources { self.composition = composition }
    }

    /// Whether the received bytes contradict this size of the complete file.
    func isOfOtherSize(than size: Int64) -> Bool {
        guard !held.isEmpty else { return false }
        return held.end > size || representation?.totalBytes ?? size != size
    }

    // MARK: Receiving

    /// Prepares the partial file for an accepted body, which continues the received bytes.
    mutating func begin(_ body: BodyPlacement, for finalPath: String) throws(DownloadError) {
        let partial = try opened()
        representation = body.representation
        representation?.totalBytes = body.totalBytes
        let size = body.totalBytes ?? record.requested { $0.expectedSize }
        if let size { try partial.requireSpace(for: size - held.count) }
        // Resuming does not postpone the next record; otherwise many short responses could postpone it forever.
        if held.isEmpty { policy = newPolicy() } else { compose(of: .severalResponses) }
        self.finalPath = finalPath
        readers.change { [path, totalBytes = body.totalBytes] in $0.began(path, totalBytes: totalBytes) }
        registerCheckpoint(partial)
    }

    /// Lets other threads update the resume record from now on.
    private func registerCheckpoint(_ partial: PartialFile) {
        let sync: @Sendable () -> Bool = { (try? partial.sync()) != nil }
        let isFull = environment.configuration.durability == .full
        let work = ResumeRecordWriter.Work(sync: isFull ? sync : nil) { [self] written, durable, pieces, syncing in
            guard var record = try? controlRecord(of: partial) else { return false }
            (record.written, record.durable) = (written, durable)
            if let pieces { record.pieces = pieces }
            return (try? write(record, syncing: syncing)) != nil
        }
        readers.recordWriter.began(durable: policy.durable, work)
    }

    /// Writes a resume record.
    ///
    /// If that fails while bytes are received, the download continues, and the record is written again later.
    func write(_ record: ControlRecord, syncing: Bool = true) throws(SystemError) {
        let directory = syncing && environment.configuration.durability == .full ? names.directory : nil
        try recordFile.write(record, syncing: directory)
    }

    /// Marks all received bytes except the `kept` ranges as missing, for the readers and in the resume record too.
    mutating func keepOnly(_ kept: ByteRangeSet) {
        readers.change { $0.lost(keeping: kept) }
        pieces?.forget(allBut: kept)
        policy = newPolicy(of: kept)
        renewCheckpoint()
    }

    /// Registers the current metadata with the resume record writer, for records that are saved from other threads.
    func renewCheckpoint() {
        if let partial { registerCheckpoint(partial) }
    }

    /// Returns a checkpoint policy for the next attempt; `written` are the ranges it starts with, by default all
    /// received ones.
    func newPolicy(of written: ByteRangeSet? = nil) -> CheckpointPolicy {
        CheckpointPolicy(
            environment.configuration.durability,
            written: written ?? policy.written,
            durable: policy.durable,
            at: environment.clock.now()
        )
    }

    /// Writes bytes at the first missing position; returns the checkpoint actions that are due.
    mutating func append(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) -> [CheckpointPolicy.Action] {
        guard let partial else { preconditionFailure("append(_:) was called before begin(_:for:)") }
        let offset = heldBytes
        try partial.write(bytes, at: offset)
        if let whole = pieceDigester?.update(bytes, at: offset) { pieces?.keep(whole) }
        return wrote(offset..<offset + Int64(bytes.count))
    }

    /// Records a range that was written to ``partial``; returns the checkpoint actions that are due.
    mutating func wrote(_ range: Range<Int64>) -> [CheckpointPolicy.Action] {
        let count = held.count + range.upperBound - range.lowerBound
        readers.change { $0.wrote(range) }
        return policy.wrote(range, isLast: count == representation?.totalBytes, at: environment.clock.now())
    }

    /// Starts to store the digests of received pieces if `isWanted` is `true` and the file size is known; otherwise
    /// discards the digests stored so far.
    mutating func keepPieces(_ isWanted: Bool) {
        let fileSize = isWanted ? representation?.totalBytes : nil
        if pieces == nil || pieces?.fileSize != fileSize { pieces = fileSize.flatMap(ReceivedPieces.init(fileSize:)) }
        pieceDigester = pieces.map(PieceDigester.init)
    }

    /// Discards the bytes after the first gap, because a single response will deliver the rest; returns their number.
    mutating func abandonParts() throws(DownloadError) -> Int64 {
        let kept = ByteRangeSet(held.ranges.prefix { $0.lowerBound == 0 })
        let count = held.count - kept.count
        guard kept.isEmpty else {
            keepOnly(kept)
            return count
        }
        // The metadata of the current response still applies.
        let (known, path) = (representation, finalPath)
        try discard()
        (representation, finalPath) = (known, path)
        readers.change { $0.began(self.path, totalBytes: known?.totalBytes) }
        renewCheckpoint()
        return count
    }

    /// Whether the given bytes equal the bytes already received at this offset.
    func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DownloadError) -> Bool {
        guard let partial else { return false }
        return try partial.holds(bytes, at: offset)
    }

    /// Returns a closure that performs an action and returns whether it succeeded; it may run on another thread.
    ///
    /// This method does not access the disk itself, because callers hold locks.
    func work(for action: CheckpointPolicy.Action) -> @Sendable () -> Bool {
        guard let partial else { return { true } }
        switch action {
        case .startSync:
            return { [readers] in readers.recordWriter.sync { (try? partial.sync()) != nil } }
        case .writeRecord:
            guard let record = try? controlRecord(of: partial) else { return { false } }
            return { [self] in readers.recordWriter.write(record) { record throws(SystemError) in try write(record) } }
        }
    }

    /// Handles the result of a sync; returns the checkpoint actions that are due.
    ///
    /// Throws if the sync failed; the resume record then claims only the bytes of earlier syncs. A file system without
    /// sync is accepted if the configured durability is `none`.
    mutating func syncEnded(success: Bool) throws(DownloadError) -> [CheckpointPolicy.Action] {
        // After a failure, the policy rewrites an existing record, which another thread may have written.
        if !success, readers.recordWriter.ended() { policy.recordWritten() }
        if !success, environment.configuration.durability == .none, partial?.syncFailure?.isSyncUnsupported == true {
            return policy.syncUnavailable(at: environment.clock.now())
        }
        let actions = policy.syncEnded(success: success, at: environment.clock.now())
        guard success else {
            try? complete(actions)
            throw syncFailure
        }
        return actions
    }

    /// Handles the result of the last sync and performs the remaining checkpoint actions.
    mutating func settle(_ side: Checkpointer) throws(DownloadError) {
        var actions = side.takeActions()
        if let success = side.takeSyncResult() { actions += try syncEnded(success: success) }
        try complete(actions)
    }

    /// The error to throw after a failed sync.
    var syncFailure: DownloadError {
        let error = partial?.syncFailure ?? SystemError(errno: EIO)
        return .storage("\(path) could not be synced to the disk, and bytes may be lost", error)
    }

    /// Performs checkpoint actions, and further actions that become due meanwhile, on the calling thread.
    mutating func complete(_ actions: [CheckpointPolicy.Action]) throws(DownloadError) {
        var actions = actions
        while !actions.isEmpty {
            let action = actions.removeFirst()
            let success = work(for: action)()
            if action == .startSync { actions += try syncEnded(success: success) }
        }
    }

    // MARK: Finishing

    /// Gives the complete file its final name.
    ///
    /// The order is: sync the data, write the record, rename, sync the directory.
    ///
    /// - Parameters:
    ///   - finalPath: The intended final path.
    ///   - source: The URL that the file came from.
    ///   - willRename: Called before each attempted rename, with the path and the stamp of the file.
    /// - Returns: The final path and the stamp of the file.
    /// - Throws: `fileExists`, `fileSystem`, `permission` or `diskFull`; the partial file is kept, unless it has its
    ///   final name and only the directory could not be synced.
    mutating func finish(
        as finalPath: String,
        from source: URL,
        willRename: (String, FileStamp) async throws(DownloadError) -> Void
    ) async throws(DownloadError) -> (path: String, stamp: FileStamp) {
        // A last safeguard, wherever the name came from.
        guard names.contains(finalPath) else {
            throw DownloadError(.fileSystem, "\(finalPath) is not the name of a file in \(names.directory).")
        }
        let (partial, conflictPolicy) = (try opened(), record.requested { $0.replacement })
        var candidates = NumberedNames(finalPath, names, mayRename: conflictPolicy == .rename)
        var candidate = finalPath
        state = .finalising(names.name(of: candidate))
        setRemoteTime(of: partial)
        if readers.recordWriter.ended() { policy.recordWritten() }
        try complete(policy.stopping(.finishing, at: environment.clock.now()))
        let status: FileStatus?
        do {
            status = try partial.namedStatus()
        } catch {
            throw nameless("\(path) could not be checked", error)
        }
        guard let status, status.size == heldBytes else {
            throw DownloadError(.fileSystem, "\(path) was changed or removed during the download. Start it again.")
        }
        let stamp = FileStamp(status)
        let version = setVersion(source, on: partial, stamp)
        while true {
            try await willRename(candidate, stamp)
            do throws(SystemError) {
                if conflictPolicy == .overwrite {
                    try partial.replace(candidate)
                    break
                }
                if try partial.move(to: candidate) { break }
                guard let next = candidates.next() else { throw SystemError(errno: EEXIST) }
                candidate = next
            } catch {
                throw nameless("\(path) could not be renamed to \(candidate)", error, taken: candidate)
            }
            state = .finalising(names.name(of: candidate))
            if policy.hasRecord { _ = work(for: .writeRecord)() }
        }
        if let version { environment.versions?.keep(version, of: candidate, inode: stamp.inode) }
        // The record is removed only after the folder is synced, since a power cut may restore the old name.
        let sync = Result { () throws(SystemError) in try syncFolder() }
        if policy.hasRecord { recordFile.remove() }
        readers.change { $0.named(candidate) }
        do throws(SystemError) {
            try sync.get()
        } catch {
            // The file belongs to the user now: this download must not write to it again.
            self.partial = nil
            partial.close()
            resetBytes()
            let what = "\(candidate) is complete, but its folder could not be synced to the disk"
            throw .storage(what, error, " A power cut may remove the file.")
        }
        return (candidate, stamp)
    }

    /// Writes the resume record of a complete file that could not be renamed, so that the file need not be downloaded
    /// again; returns the error to throw.
    private func nameless(_ what: String, _ error: SystemError, taken name: String? = nil) -> DownloadError {
        _ = work(for: .writeRecord)()
        // An empty partial file is not worth mentioning.
        let advice = heldBytes > 0 ? " The download is kept as \(path)." : ""
        guard let name, error.errno == EEXIST else { return .storage(what, error, advice) }
        return DownloadError(.fileExists, "\(name) exists already.\(advice)")
    }

    /// Returns the partial file, creating it if necessary.
    mutating func opened() throws(DownloadError) -> PartialFile {
        if let partial { return partial }
        let created = try PartialFile.create(path, calls: environment.sharedFiles)
        partial = created
        if hasStaleRecord { recordFile.remove() }
        return created
    }

    func bootID() throws(DownloadError) -> String {
        do {
            return try environment.files.bootID()
        } catch {
            throw .storage("The boot of this machine could not be identified", error)
        }
    }

    func controlRecord(of partial: PartialFile) throws(DownloadError) -> ControlRecord {
        var record = ControlRecord(
            url: url,
            fileName: names.name(of: finalPath ?? names.plannedPath),
            representation: representation ?? RepresentationMetadata(),
            totalBytes: representation?.totalBytes,
            bootID: try bootID(),
            file: partial.identity
        )
        record.written = policy.written
        record.durable = policy.durable
        record.state = state
        record.pieces = pieces
        return record
    }
}

import HeadracePlatform

/// The bytes of one download on the disk, across all attempts: the partial file, its resume record, and the version of
/// the bytes.
///
/// Methods that access the disk block, and must be called on the blocking executor.
struct PartialDownload {
    /// How many responses and sources the bytes came from, and thus whether they may be of different versions.
    enum Composition: Sendable {
        /// The bytes came from one response, over one connection.
        case oneResponse
        /// The bytes came from several responses of one source; bytes resumed from an earlier run count as one of them.
        case severalResponses
        /// The bytes came from responses of different sources.
        case severalSources
    }

    let record: DownloadRecord
    /// The URL in the resume record, by which a later run recognizes the bytes of this download; see
    /// ``DownloadRequest/key``.
    let url: URL
    let names: DestinationPaths
    /// The path of the partial file.
    let path: String
    let environment: TransferEnvironment
    /// A fingerprint of the credentials and the request; see ``DownloadRequest/requesterFingerprint(_:)``.
    let requesterFingerprint: String
    /// The requester for which the server sent the last accepted response; `nil` before the first response.
    var requester: Requester?
    /// The received ranges, the resume record and the readers.
    ///
    /// New bytes are recorded here after they are written, and lost bytes before they are removed, so that readers
    /// never read bytes that are not there.
    let ledger: FileLedger
    /// The open file, which several connections may write at once; `nil` until one is found or created.
    var file: PartialFile?
    private(set) var composition = Composition.oneResponse
    /// Computes the digests of pieces from the appended bytes.
    private var pieceDigester: PieceDigester?
    /// The complete partial file while ``file`` is the file decoded or copied from it; `nil` at any other time.
    var original: OriginalFile?
    /// Whether a resume record without a partial file was found; it is removed once a new partial file is locked, or if
    /// no file is needed.
    var hasStaleRecord = false

    init(_ record: DownloadRecord, _ environment: TransferEnvironment) {
        self.record = record
        url = record.requested { $0.key }
        names = record.names
        path = names.partialPath(in: environment.configuration.partialsDirectory)
        self.environment = environment
        requesterFingerprint = record.requested { $0.requesterFingerprint(environment.configuration) }
        ledger = record.ledger()
    }

    var recordFile: RecordFile { RecordFile(of: path, calls: environment.sharedFiles) }

    /// The ranges of the received bytes.
    var held: ByteRangeSet { ledger.received }
    /// The number of received bytes before the first gap.
    var heldBytes: Int64 { ledger.prefixCount }
    /// The validators and metadata of the version that the received bytes belong to; `nil` until a body is accepted or
    /// received bytes are found.
    var representation: RepresentationMetadata? { ledger.read { $0.representation } }
    /// The final path, as determined by the last accepted response, possibly of an earlier run; `nil` before the first
    /// one.
    var finalPath: String? { ledger.read { $0.finalPath } }
    /// The digests of the file's pieces, computed when they were received; `nil` if they are not stored.
    var pieces: ReceivedPieces? { ledger.read { $0.pieces } }
    /// The open file, with what its resume record states about the download; `nil` if no file is open.
    var target: FileLedger.Target? {
        file.map(target(_:))
    }

    private func target(_ file: PartialFile) -> FileLedger.Target {
        FileLedger.Target(
            file: file,
            path: path,
            url: url,
            names: names,
            environment: environment,
            original: original?.record
        )
    }

    /// Whether the received bytes have a validator, so that a response can be verified to be of their version.
    var hasValidator: Bool { representation.flatMap(EntityValidator.init(of:)) != nil }

    /// Whether received bytes follow a gap, which is a range of missing bytes.
    var hasGaps: Bool {
        let held = held
        return held.end > held.prefixCount
    }

    /// Opens and locks the partial file of an earlier run, if there is one, and adopts its bytes or discards unusable
    /// ones; throws `busy` if another process or download writes the file.
    mutating func open() throws(DownloadError) -> PartialRecovery.Outcome {
        resetBytes()
        file = try PartialFile.existing(path, calls: environment.sharedFiles)
        return try PartialRecovery(contents: try recordFile.read()).recover(&self)
    }

    /// The attributes of the complete file.
    var finalAttributes: FinalAttributes {
        FinalAttributes(record: record, environment: environment, representation: representation, requester: requester)
    }

    /// Discards all bytes, and reports `reason` to their readers; removes the resume record first, so that it never
    /// describes bytes of another version.
    ///
    /// A file with other names is replaced by an empty one.
    mutating func discard(for reason: RestartReason? = nil) throws(DownloadError) {
        returnToOriginal()
        ledger.change { $1.lost(for: reason) }
        ledger.end()
        // A file without a name has no record: one at its path belongs to another process.
        if file?.isUnnamed != true { try removeRecord() }
        if let linked = file, try linked.hasOtherNames {
            file = nil
            linked.close()
            file = try createNamed()
        } else {
            try file?.truncate(to: 0)
        }
        resetBytes()
    }

    /// Returns the reason why the received bytes must be replaced, whatever the server responds; `nil` if none applies.
    ///
    /// - The bytes are unverified, and nothing will verify the complete file.
    /// - The bytes are another requester's, and neither the request's checksums nor the next response can verify them.
    /// - The bytes exceed or contradict the expected size.
    func restartReason(_ expectedSize: Int64?, _ verification: Verification) -> RestartReason? {
        if let known = representation {
            if !verification.isNeeded, known.isUnverified == true { return .unverified }
            // A server's checksum cannot verify the bytes: it is that of the file sent to the other requester.
            let requester = requesterFingerprint
            if verification.isFromServer, known.requesterFingerprint ?? requester != requester {
                // If the file is complete, no further response can verify it.
                guard case .strong? = EntityValidator(of: known), known.totalBytes != heldBytes else {
                    return .differentRequester
                }
            }
        }
        guard let expectedSize, isOfOtherSize(than: expectedSize) else { return nil }
        return .wrongSize(expected: expectedSize)
    }

    /// Removes the resume record before its bytes are removed; syncs the directory if the configuration requires it.
    private func removeRecord() throws(DownloadError) {
        do {
            try recordFile.removeIfPresent()
        } catch {
            throw .storage("\(recordFile.path) could not be removed", error)
        }
        try? syncFolder(of: path)
    }

    mutating func resetBytes() {
        composition = .oneResponse
        let policy = CheckpointPolicy(environment.configuration.durability, at: .zero)
        ledger.change { contents, _ in contents = FileLedger.Contents(policy: policy) }
    }

    /// Closes the file without changing it, because it was removed, or has another name now and belongs to the user.
    mutating func detachFile() {
        file.take()?.close()
        original.take()?.file.close()
        resetBytes()
    }

    /// Syncs the directory of a file if the configuration requires it.
    func syncFolder(of path: String) throws(SystemError) {
        guard environment.configuration.durability == .full else { return }
        try environment.files.syncNames(in: FileSystem.parent(of: path))
    }

    /// Records that the bytes come from more than one response or source.
    mutating func compose(of composition: Composition) {
        if self.composition != .severalSources { self.composition = composition }
    }

    /// Whether the received bytes contradict this size of the complete file.
    func isOfOtherSize(than size: Int64) -> Bool {
        let held = held
        guard !held.isEmpty else { return false }
        return held.end > size || representation?.totalBytes ?? size != size
    }

    // MARK: Receiving

    /// Prepares the partial file for an accepted body, which begins the file or continues the received bytes; throws
    /// `diskFull` if the file system has too little space for the missing bytes.
    ///
    /// The file of a small body is created when its first bytes arrive.
    mutating func begin(_ body: BodyPlacement, for finalPath: String) throws(DownloadError) {
        let held = held
        let isLater = file == nil && held.isEmpty && body.totalBytes ?? .max <= Self.maxUnnamedBytes
        if !isLater {
            let file = try opened().file
            let size = body.totalBytes ?? record.requested { $0.expectedSize }
            if let size {
                try file.requireSpace(for: size - held.count)
                try requireSpaceForCopy(of: size)
            }
        }
        // Resuming does not postpone the next record; otherwise many short responses could postpone it forever.
        if !held.isEmpty { compose(of: .severalResponses) }
        let policy = held.isEmpty ? newPolicy() : nil
        ledger.change { contents, _ in
            if let policy { contents.policy = policy }
            contents.representation = body.representation
            contents.representation?.totalBytes = body.totalBytes
            contents.finalPath = finalPath
        }
        if !isLater { beginNamed() }
    }

    /// Marks all received bytes except the `kept` ranges as missing, for the readers and in the resume record too.
    func keepOnly(_ kept: ByteRangeSet) {
        let policy = newPolicy(of: kept, replacesRecord: ledger.read { $0.policy.hasRecord })
        ledger.change { contents, readable in
            readable.lost(keeping: kept)
            contents.pieces?.forget(allBut: kept)
            contents.policy = policy
        }
        if let target { ledger.begin(target) }
    }

    /// Begins the checkpoints anew with the given ranges, by default the present ones.
    func renewPolicy(of written: ByteRangeSet? = nil, durable: ByteRangeSet? = nil) {
        let policy = newPolicy(of: written, durable: durable)
        ledger.change { contents, _ in contents.policy = policy }
    }

    /// Returns a new checkpoint policy that starts with the given ranges, by default the present ones;
    /// `replacesRecord` is whether the record on the disk claims more bytes than these.
    func newPolicy(
        of written: ByteRangeSet? = nil,
        durable: ByteRangeSet? = nil,
        replacesRecord: Bool = false
    ) -> CheckpointPolicy {
        let policy = ledger.read { $0.policy }
        return CheckpointPolicy(
            environment.configuration.durability,
            written: written ?? policy.written,
            durable: durable ?? policy.durable,
            replacesRecord: replacesRecord,
            at: environment.clock.now()
        )
    }

    /// Writes bytes at `offset`, which must be the first missing position; returns `true` if ``FileLedger/work(on:)``
    /// must be called.
    mutating func append(
        _ bytes: UnsafeRawBufferPointer,
        at offset: Int64,
        _ monitor: BottleneckMonitor? = nil
    ) throws(DownloadError) -> Bool {
        let file = if let file { file } else { try create(for: bytes.count) }
        try monitor.write { () throws(DownloadError) in try file.write(bytes, at: offset) }
        let whole = pieceDigester?.update(bytes, at: offset) ?? []
        let range = offset..<offset + Int64(bytes.count)
        return try ledger.wrote(range, completing: whole, at: environment.clock.now())
    }

    /// Performs the due checkpoint actions; throws if a sync failed.
    func settle() throws(DownloadError) {
        if let target { try ledger.settle(on: target) }
    }

    /// Starts to store the digests of received pieces if `isWanted` is `true` and the file size is known; otherwise
    /// discards the digests stored so far.
    mutating func keepPieces(_ isWanted: Bool) {
        let pieces = ledger.change { contents, _ in
            let fileSize = isWanted ? contents.representation?.totalBytes : nil
            if contents.pieces == nil || contents.pieces?.fileSize != fileSize {
                contents.pieces = fileSize.flatMap(ReceivedPieces.init(fileSize:))
            }
            return contents.pieces
        }
        pieceDigester = pieces.map(PieceDigester.init)
    }

    /// Discards the bytes after the first gap, because a single response will deliver the rest; returns their number.
    mutating func abandonParts() throws(DownloadError) -> Int64 {
        let held = held
        let kept = ByteRangeSet(held.ranges.prefix { $0.lowerBound == 0 })
        let count = held.count - kept.count
        guard kept.isEmpty else {
            keepOnly(kept)
            return count
        }
        // The metadata of the current response still applies.
        let contents = ledger.contents
        try discard()
        ledger.change { new, readable in
            (new.representation, new.finalPath) = (contents.representation, contents.finalPath)
            readable.began(path, totalBytes: contents.representation?.totalBytes)
        }
        if let target { ledger.begin(target) }
        return count
    }

    /// Whether the given bytes equal the bytes already received at this offset.
    func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DownloadError) -> Bool {
        try file?.holds(bytes, at: offset) ?? false
    }

    /// Returns the partial file with its name, creating it if necessary.
    mutating func opened() throws(DownloadError) -> FileLedger.Target {
        try giveName()
        if let target { return target }
        let created = try createNamed()
        file = created
        return target(created)
    }

    /// Creates and locks the partial file, and removes a resume record that an earlier partial file has left.
    ///
    /// If another process has created the file since ``open()``, empties and reuses it, or throws `busy` while that
    /// process still uses it.
    mutating func createNamed() throws(DownloadError) -> PartialFile {
        let created = try PartialFile.create(path, calls: environment.sharedFiles, willReuse: removeRecord)
        removeStaleRecord()
        return created
    }

    mutating func removeStaleRecord() {
        if hasStaleRecord { recordFile.remove() }
        hasStaleRecord = false
    }
}

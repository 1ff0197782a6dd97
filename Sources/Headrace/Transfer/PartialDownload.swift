import HeadracePlatform

/// The bytes of one download on the disk, over all its attempts: the partial, its record, and what they can prove.
///
/// All calls block: they belong on the blocking executor.
struct PartialDownload {
    /// What an earlier run left.
    enum RecoveredState: Sendable, Equatable {
        case nothing
        /// Bytes that can be gone on with, if the server proves that they are still of its version, and how many were written
        /// besides that the disk has lost.
        case bytes(lost: Int64)
        /// The file under this path is complete: only the record's removal was left to do.
        case complete(String)
        /// Bytes that nothing vouches for; they are gone.
        case discarded(reason: String, bytes: Int64)
    }

    /// The responses that the bytes came from, as far as they may not belong together.
    enum Composition: Sendable {
        /// One response, over one connection.
        case oneResponse
        /// Several responses, or an earlier run.
        case severalResponses
        /// Responses of several sources.
        case severalSources
    }

    let record: DownloadRecord
    let url: URL
    let names: DestinationPaths
    let environment: TransferEnvironment
    /// Who asks for the file.
    let asker: String
    /// The requester that the last accepted response was sent to; `nil` before one.
    var requester: Requester?
    /// Those who read the file, told of all that becomes of its bytes: of new ones after they are there, of others before
    /// they go.
    let readers: FileReaders
    /// Several connections may write to it at once; nil before ``begin(_:for:)``.
    var partial: PartialFile?
    var policy: CheckpointPolicy
    /// The version that the bytes are of; nil where there are none.
    var representation: RepresentationMetadata?
    private(set) var composition = Composition.oneResponse
    private(set) var state = ControlRecord.State.receiving
    /// The final path as the last answer that was used meant it.
    var finalPath: String?
    /// The pieces as they came; nil where nobody compares them.
    var pieces: ReceivedPieces?
    /// That of the bytes that are appended.
    private var pieceDigester: PieceDigester?
    /// A record was found without its partial; it goes as soon as the lock on a new one is had.
    var hasStaleRecord = false

    init(_ record: DownloadRecord, _ environment: TransferEnvironment) {
        self.record = record
        url = record.requested { $0.url }
        names = record.names
        self.environment = environment
        asker = record.requested { $0.asker(environment.configuration) }
        readers = record.readers()
        policy = CheckpointPolicy(environment.configuration.durability, at: .zero)
    }

    var path: String { names.partialPath }
    var recordFile: RecordFile { RecordFile(of: path, calls: environment.sharedFiles) }

    /// The bytes that need not be fetched again, wherever in the file they are.
    var held: ByteRangeSet { policy.written }

    /// Those of them from the file's start on.
    var heldBytes: Int64 { held.prefixCount }

    /// Whether bytes are held behind others that are missing.
    var hasGaps: Bool { held.end > heldBytes }

    /// Forgets all bytes; the record goes first, so that it never speaks of bytes of another version.
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
        holdNothing()
    }

    mutating func holdNothing() {
        composition = .oneResponse
        representation = nil
        finalPath = nil
        pieces = nil
        policy = CheckpointPolicy(environment.configuration.durability, at: .zero)
    }

    func syncFolder() throws(SystemError) {
        if environment.configuration.durability == .full { try environment.files.syncNames(in: names.directory) }
    }

    /// Records that the bytes come from more than one response.
    mutating func compose(of composition: Composition) {
        if self.composition != .severalSources { self.composition = composition }
    }

    /// Whether what is held cannot be of a file of so many bytes.
    func isOfOtherSize(than size: Int64) -> Bool {
        guard !held.isEmpty else { return false }
        return held.end > size || representation?.totalBytes ?? size != size
    }

    // MARK: While bytes come

    /// Makes ready for a body that was accepted, which continues the held bytes.
    mutating func begin(_ body: BodyPlacement, for finalPath: String) throws(DownloadError) {
        let partial = try opened()
        representation = body.representation
        representation?.totalBytes = body.totalBytes
        let size = body.totalBytes ?? record.requested { $0.expectedSize }
        if let size { try partial.requireSpace(for: size - held.count) }
        // An answer that goes on does not put off the next record, which many short ones would do for ever.
        if held.isEmpty { policy = newPolicy() } else { compose(of: .severalResponses) }
        self.finalPath = finalPath
        readers.change { [path, totalBytes = body.totalBytes] in $0.began(path, totalBytes: totalBytes) }
        registerCheckpoint(partial)
    }

    /// From now on others may have the record brought up to date.
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

    /// Writes a record; one that cannot be is written a little later, and the download goes on.
    func write(_ record: ControlRecord, syncing: Bool = true) throws(SystemError) {
        let directory = syncing && environment.configuration.durability == .full ? names.directory : nil
        try recordFile.write(record, syncing: directory)
    }

    /// Goes by fewer bytes than before from now on, as do those outside.
    mutating func keepOnly(_ kept: ByteRangeSet) {
        readers.change { $0.lost(keeping: kept) }
        pieces?.forget(allBut: kept)
        policy = newPolicy(of: kept)
        renewCheckpoint()
    }

    /// Has those outside go by what is known now, where they may save it.
    func renewCheckpoint() {
        if let partial { registerCheckpoint(partial) }
    }

    /// A policy for another attempt with the bytes that there are.
    func newPolicy(of written: ByteRangeSet? = nil) -> CheckpointPolicy {
        CheckpointPolicy(
            environment.configuration.durability,
            written: written ?? policy.written,
            durable: policy.durable,
            at: environment.clock.now()
        )
    }

    /// Writes at the end of the held bytes.
    mutating func append(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) -> [CheckpointPolicy.Action] {
        guard let partial else { preconditionFailure("Bytes came before begin(_:)") }
        let offset = heldBytes
        try partial.write(bytes, at: offset)
        if let whole = pieceDigester?.update(bytes, at: offset) { pieces?.keep(whole) }
        return wrote(offset..<offset + Int64(bytes.count))
    }

    /// Takes note of bytes, missing so far, that were written to ``partial``.
    mutating func wrote(_ range: Range<Int64>) -> [CheckpointPolicy.Action] {
        let count = held.count + range.upperBound - range.lowerBound
        readers.change { $0.wrote(range) }
        return policy.wrote(range, isLast: count == representation?.totalBytes, at: environment.clock.now())
    }

    /// Has digests kept of the pieces that come from now on, or forgets all of them.
    mutating func keepPieces(_ isWanted: Bool) {
        let fileSize = isWanted ? representation?.totalBytes : nil
        if pieces == nil || pieces?.fileSize != fileSize { pieces = fileSize.flatMap(ReceivedPieces.init(fileSize:)) }
        pieceDigester = pieces.map(PieceDigester.init)
    }

    /// Gives up what is held behind missing bytes, where only one stream from the start can be trusted; returns how much.
    mutating func abandonParts() throws(DownloadError) -> Int64 {
        let kept = ByteRangeSet(held.ranges.prefix { $0.lowerBound == 0 })
        let count = held.count - kept.count
        guard kept.isEmpty else {
            keepOnly(kept)
            return count
        }
        // What the answer said that goes on holds.
        let (known, path) = (representation, finalPath)
        try discard()
        (representation, finalPath) = (known, path)
        readers.change { $0.began(self.path, totalBytes: known?.totalBytes) }
        renewCheckpoint()
        return count
    }

    /// Whether bytes that came again are those that are held at their place.
    func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DownloadError) -> Bool {
        guard let partial else { return false }
        return try partial.holds(bytes, at: offset)
    }

    /// The work that an action means, which may be done on another thread; true says that it succeeded.
    ///
    /// Makes no file call itself: it is called under locks that must not wait for the disk.
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

    /// Takes note of a sync.
    ///
    /// One that failed ends the download, and its record claims what was synced before. Where there is none to be had, and none
    /// was asked for, nothing changes.
    mutating func syncEnded(success: Bool) throws(DownloadError) -> [CheckpointPolicy.Action] {
        // Of a failure less is held than was written, which a record from outside may tell otherwise.
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

    /// What is told of the last sync, which has failed.
    var syncFailure: DownloadError {
        let error = partial?.syncFailure ?? SystemError(errno: EIO)
        return .storage("\(path) could not be synced to the disk, and bytes may be lost", error)
    }

    /// Does the actions, and those that follow from them, on this thread.
    mutating func complete(_ actions: [CheckpointPolicy.Action]) throws(DownloadError) {
        var actions = actions
        while !actions.isEmpty {
            let action = actions.removeFirst()
            let success = work(for: action)()
            if action == .startSync { actions += try syncEnded(success: success) }
        }
    }

    // MARK: At the end of all

    /// Gives the complete file its final name: data, record, name, folder, in this order.
    ///
    /// - Parameters:
    ///   - finalPath: The name it is meant to get.
    ///   - source: Where it came from.
    ///   - willName: Told each name before it is tried, with what tells the file from one that has the name already.
    /// - Returns: The name that it has got, and what tells it from another file.
    /// - Throws: `fileExists`, `fileSystem`, `permission` or `diskFull`; the partial is kept, unless it has its name and the
    ///   folder could not be synced.
    mutating func finish(
        as finalPath: String,
        from source: URL,
        willName: (String, FileStamp) -> Void
    ) throws(DownloadError) -> (path: String, stamp: FileStamp) {
        // The last look, whoever decided the name.
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
            throw nameless("\(path) could not be looked at", error)
        }
        guard let status, status.size == heldBytes else {
            throw DownloadError(.fileSystem, "\(path) was changed or removed while it was written. Start again.")
        }
        let stamp = FileStamp(status)
        let version = setVersion(source, on: partial, stamp)
        do throws(SystemError) {
            willName(candidate, stamp)
            if conflictPolicy == .overwrite {
                try partial.replace(candidate)
            } else {
                while try !partial.move(to: candidate) {
                    guard let next = candidates.next() else { throw SystemError(errno: EEXIST) }
                    candidate = next
                    state = .finalising(names.name(of: candidate))
                    if policy.hasRecord { _ = work(for: .writeRecord)() }
                    willName(candidate, stamp)
                }
            }
        } catch {
            throw nameless("\(path) could not be renamed to \(candidate)", error, taken: candidate)
        }
        if let version { environment.versions?.keep(version, of: candidate, inode: stamp.inode) }
        // Until then the record vouches for the file, and a power cut may give it its old name again.
        let sync = Result { () throws(SystemError) in try syncFolder() }
        if policy.hasRecord { recordFile.remove() }
        readers.change { $0.named(candidate) }
        do throws(SystemError) {
            try sync.get()
        } catch {
            // It is the user's file now: nothing is to be written to it, nor kept for later.
            self.partial = nil
            partial.close()
            holdNothing()
            let what = "\(candidate) is complete, but its folder could not be synced to the disk"
            throw .storage(what, error, " A power cut may take the file away.")
        }
        return (candidate, stamp)
    }

    /// What is thrown of a complete file that has no name yet, and must not be fetched again; `taken` is the name it was to get.
    private func nameless(_ what: String, _ error: SystemError, taken name: String? = nil) -> DownloadError {
        _ = work(for: .writeRecord)()
        // An empty one is not worth keeping.
        let advice = heldBytes > 0 ? " The download is kept as \(path)." : ""
        guard let name, error.errno == EEXIST else { return .storage(what, error, advice) }
        return DownloadError(.fileExists, "\(name) exists already.\(advice)")
    }

    /// The partial, which is created where there is none yet.
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

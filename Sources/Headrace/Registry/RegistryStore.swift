import HeadracePlatform

/// An open journal: appends changes to it and rewrites it.
///
/// The caller maintains the queue itself. The store only counts the records, to determine how many are dead: replaced
/// by later records. All calls block; make them one at a time.
struct RegistryStore: Sendable {
    /// The result of an append that did not throw.
    enum Outcome: Sendable, Hashable {
        /// The changes are in the journal.
        case recorded
        /// The changes are in the journal, and most of its records are dead now: the caller should rewrite it.
        case recordedAndDue
        /// The changes are not in the journal: the caller must write the whole queue.
        case wholeListNeeded
    }

    static let fileName = ReservedFileNames.registry
    static let newSuffix = ReservedFileNames.newSuffix
    static let unreadSuffix = ReservedFileNames.unreadSuffix
    private static let pieceBytes = 1 << 20

    let directory: String
    let path: String
    private let syncs: Bool
    let compaction: Compaction
    let calls: FileSystem
    var file: Int32?
    /// The total length of the complete lines; the next line is written at this offset.
    var size: Int64 = 0
    /// Whether bytes of a failed or interrupted append follow the complete lines; the next append truncates them first.
    var hasTornTail = false
    /// The number of records in the journal, including dead ones.
    var recordCount = 0
    /// Whether some lines may not have been synced, by this process or an earlier one.
    var isUnsynced = false
    /// Whether the next change must be recorded by rewriting the journal instead of appending to it.
    ///
    /// There are two reasons. After a failed sync, the kernel may have dropped bytes or the file's name, and a later
    /// sync would not report that. The journal may lack the numbers of downloads, if an earlier release wrote it.
    var needsRewrite = false
    /// Whether the journal has unreadable parts, and must be copied before it is replaced.
    var needsCopy = false
    /// The record count at which to retry a failed compaction; 0 if none has failed.
    var postponedCount = 0

    /// Opens or creates the journal of a locked directory, reads its queue into `snapshot`, and rewrites the journal if
    /// needed.
    init(
        in directory: String,
        _ options: RegistryFile.Options,
        calls: FileSystem,
        snapshot: inout RegistrySnapshot,
        report: inout RegistryReport
    ) throws(DownloadError) {
        self.directory = directory
        syncs = options.syncs
        compaction = options.compaction
        self.calls = calls
        path = "\(directory)/\(Self.fileName)"
        do throws(DownloadError) {
            (snapshot, report.findings) = try load()
            needsRewrite = snapshot.numberEntries()
            needsCopy = report.findings.hasLoss
            report.unreadCopy = try rewriteIfNeeded(snapshot)
        } catch {
            close()
            throw error
        }
    }

    /// Closes the file.
    ///
    /// If this queue syncs its changes, lines that have not been synced are synced first. This sync is omitted if
    /// ``needsRewrite`` is set.
    mutating func close() {
        guard let file = file.take() else { return }
        if syncs, isUnsynced, !needsRewrite { try? calls.sync(file) }
        try? calls.close(file)
    }

    // MARK: Writing

    /// Appends changes; if it throws, none of them counts as recorded.
    ///
    /// With `syncing`, the file is synced once after the append, for these and all earlier changes; a queue that does
    /// not sync its changes requires `always` as well. `live` is the number of downloads in the queue.
    mutating func append(
        _ changes: some Collection<RegistryChange>,
        syncing: Bool,
        always: Bool,
        live: Int
    ) throws(DownloadError) -> Outcome {
        let syncing = syncing && (syncs || always)
        if changes.isEmpty, !(syncing && isUnsynced) { return .recorded }
        guard let file, !needsRewrite else { return .wholeListNeeded }
        // If another process has removed or replaced the file, the next manager would not see the changes.
        if calls.hasLostName(path, file) { return .wholeListNeeded }
        var lines = RegistryLines(of: changes)
        let end: Int64
        do throws(WriteFailure) {
            end = try appendAll(&lines, to: file)
        } catch {
            cutTail(of: file)
            if case .encoding(.indivisible) = error { return .wholeListNeeded }
            throw .registry("The queue file \(path)", error)
        }
        do throws(SystemError) {
            if syncing, isUnsynced || end > size { try calls.sync(file) }
        } catch {
            needsRewrite = true
            cutTail(of: file)
            throw .registry("The queue file \(path) could not be written to the disk", error)
        }
        (hasTornTail, isUnsynced) = (false, !syncing)
        size = end
        recordCount += lines.recordCount
        return isCompactionDue(live: live) ? .recordedAndDue : .recorded
    }

    /// The reason why lines could not be written.
    enum WriteFailure: Error {
        case encoding(RegistryEncoder.Failure)
        case disk(SystemError)
    }

    /// Appends lines to the existing ones; returns the new size.
    private mutating func appendAll(
        _ lines: inout RegistryLines<some Sequence<RegistryChange>>,
        to file: Int32
    ) throws(WriteFailure) -> Int64 {
        do throws(SystemError) {
            if hasTornTail { try calls.truncate(file, size) }
        } catch {
            throw .disk(error)
        }
        hasTornTail = true
        return try writeAll(&lines, to: file, at: size)
    }

    /// Removes the lines of a failed append, so that a later run does not read changes that were not recorded.
    private mutating func cutTail(of file: Int32) {
        if (try? calls.truncate(file, size)) != nil { hasTornTail = false }
    }

    /// Writes lines in pieces; returns the offset after the last one.
    func writeAll(
        _ lines: inout RegistryLines<some Sequence<RegistryChange>>,
        to file: Int32,
        at start: Int64
    ) throws(WriteFailure) -> Int64 {
        var end = start
        while true {
            let piece: [UInt8]?
            do throws(RegistryEncoder.Failure) { piece = try lines.next() } catch { throw .encoding(error) }
            guard let piece else { return end }
            do throws(SystemError) { try calls.writeAll(file, piece, at: end) } catch { throw .disk(error) }
            end += Int64(piece.count)
        }
    }

    // MARK: Opening

    private mutating func load() throws(DownloadError) -> (RegistrySnapshot, RegistryDiagnostics) {
        var reader = RegistryReader()
        do throws(SystemError) {
            guard try calls.status(path) != nil else { return (reader.snapshot, reader.findings) }
            file = try calls.open(path)
            // A killed process may have created or renamed the file without syncing its name.
            try calls.syncNames(in: directory)
        } catch {
            throw .registry("The queue file \(path) could not be opened", error)
        }
        let bytes = try forEachPiece { piece throws(DownloadError) in
            do throws(RegistryReader.TooNew) {
                try reader.read(piece)
            } catch {
                throw .registry(path, error)
            }
        }
        do throws(RegistryReader.TooNew) {
            try reader.finish()
        } catch {
            throw .registry(path, error)
        }
        // The leftover of a process that was killed while it rewrote the journal.
        try? calls.remove(path + Self.newSuffix)
        if let file { try? calls.setMode(file, FileSystem.privateMode) }
        (size, recordCount, hasTornTail) = (reader.goodBytes, reader.recordCount, bytes > reader.goodBytes)
        // The process that wrote the lines may have been killed before it synced them.
        isUnsynced = size > 0
        return (reader.snapshot, reader.findings)
    }

    /// The path of the copy of a journal with unreadable parts.
    var copyPath: String { path + Self.unreadSuffix }

    /// Copies a journal with unreadable parts, if it was not copied yet; replaces the copy of an earlier journal.
    mutating func saveCopyIfNeeded() throws(DownloadError) {
        guard needsCopy else { return }
        let copy = try DownloadError.registry("\(copyPath) could not be created") { () throws(SystemError) in
            try? calls.remove(copyPath)
            return try calls.create(copyPath)
        }
        defer { try? calls.close(copy) }
        do throws(DownloadError) {
            var offset: Int64 = 0
            _ = try forEachPiece { piece throws(DownloadError) in
                try DownloadError.registry("\(copyPath) could not be written") { () throws(SystemError) in
                    try calls.writeAll(copy, piece, at: offset)
                }
                offset += Int64(piece.count)
            }
            try DownloadError.registry("\(copyPath) could not be written to the disk") { () throws(SystemError) in
                try calls.sync(copy)
            }
        } catch {
            try? calls.remove(copyPath)
            throw error
        }
        needsCopy = false
    }

    /// Passes the journal to `body` in pieces, from its start; returns the journal's length in bytes.
    private func forEachPiece(_ body: ([UInt8]) throws(DownloadError) -> Void) throws(DownloadError) -> Int64 {
        guard let file else { return 0 }
        var offset: Int64 = 0
        while true {
            let piece = try DownloadError.registry("The queue file \(path) could not be read") {
                () throws(SystemError) in
                let status = try calls.openStatus(file)
                guard status.kind == .regular else { throw SystemError(errno: EEXIST) }
                let piece = try calls.readAt(file, offset, Self.pieceBytes)
                // Bytes that a short read left out would be lost when the journal is rewritten.
                let hasAll = offset + Int64(piece.count) >= status.size
                guard hasAll || piece.count == Self.pieceBytes else { throw SystemError(errno: EIO) }
                return piece
            }
            try body(piece)
            offset += Int64(piece.count)
            guard piece.count == Self.pieceBytes else { return offset }
        }
    }
}

extension DownloadError {
    private static var maxEntrySize: String { "\(RegistryJournal.maxEntryBytes >> 10) KiB" }

    static func registry(_ what: String, _ failure: RegistryStore.WriteFailure) -> DownloadError {
        switch failure {
        case .disk(let error): .registry("\(what) could not be written", error)
        case .encoding(.tooLarge(let id)):
            DownloadError(
                .invalidRequest,
                "The download \(id.hexadecimal) takes more than the \(maxEntrySize) that a queue can store. "
                    + "Shorten its URL, headers, title or notes."
            )
        case .encoding(.indivisible):
            DownloadError(.invalidRequest, "The change of the queue is too large to be stored. Split it.")
        }
    }

    static func registry(_ path: String, _ error: RegistryReader.TooNew) -> DownloadError {
        DownloadError(
            .fileSystem,
            "\(path) was written by a later release (version \(error.version)). "
                + "Use that release, or choose another folder.",
            cause: error
        )
    }
}

/// Restores the state of an earlier run, before the first request.
extension PartialDownload {
    /// Opens and locks the partial file of an earlier run, if there is one; returns its state, or discards unusable
    /// bytes.
    mutating func open() throws(DownloadError) -> RecoveredState {
        partial = try PartialFile.existing(path, calls: environment.sharedFiles)
        let contents = try recordFile.read()
        guard let partial else { return try recoverFinishedFile(contents) ?? lostPartial(contents) }
        recordFile.removeUnfinished()
        let status = try partial.status()
        if let held = record.takeSuspended(), held.stamp == FileStamp(status) {
            return try resumeSuspended(held, partial)
        }
        // The file size would include the gaps between received ranges.
        let bytes = if case .record(let record) = contents { record.written.count } else { status.size }
        guard environment.configuration.resumesPartialDownloads else {
            return try discardRecovered(.resumingDisabled, bytes)
        }
        switch contents {
        case .none:
            return try discardRecovered(.recordMissing, bytes)
        case .unusable(let reason):
            return try discardRecovered(reason, bytes)
        case .record(let record):
            guard record.url == url.identity else {
                return try discardRecovered(.recordOfOtherURL, bytes)
            }
            // The actual file size is checked below: a file that is too short may have lost other bytes too.
            let trusted = record.trusted(bootID: try bootID(), fileSize: .max, file: status.identity)
            finalPath = names.knownPath ?? names.directory + "/" + record.fileName
            representation = record.representation
            representation?.totalBytes = record.totalBytes
            pieces = record.pieces
            return try resumeBytes(with: trusted, durable: record.durable, in: partial, status.size, of: bytes)
        }
    }

    /// Resumes from the bytes that an earlier transfer of this process received; returns the recovered state.
    private mutating func resumeSuspended(
        _ held: SuspendedPartial,
        _ partial: PartialFile
    ) throws(DownloadError) -> RecoveredState {
        finalPath = held.finalPath
        representation = held.representation
        // Cookies may have changed. The local copy avoids an overlapping access to `self` on Apple platforms.
        let requesterFingerprint = requesterFingerprint
        representation?.requesterFingerprint = requesterFingerprint
        pieces = held.pieces
        return try resumeBytes(with: held.written, durable: held.durable, in: partial, held.stamp.size, isSame: true)
    }

    /// Resumes the written ranges that the file still contains; discards the file if none are left.
    ///
    /// `count` is the number of bytes to report if all are lost. `isSame` is `true` if this process received the bytes,
    /// so that present readers can continue.
    private mutating func resumeBytes(
        with written: ByteRangeSet,
        durable: ByteRangeSet,
        in partial: PartialFile,
        _ size: Int64,
        of count: Int64? = nil,
        isSame: Bool = false
    ) throws(DownloadError) -> RecoveredState {
        let found = try partial.found(written, durable: durable, size: size)
        guard !found.isEmpty else {
            return try discardRecovered(.bytesNotOnDisk, count ?? written.count)
        }
        compose(of: .severalResponses)
        pieces?.forget(allBut: found)
        let total = representation?.totalBytes
        readers.change { $0.opened(path, found, totalBytes: total, isSame: isSame) }
        policy = CheckpointPolicy(
            environment.configuration.durability,
            written: found,
            durable: durable,
            at: environment.clock.now()
        )
        // Once the holes are filled, only the record shows that the bytes next to them were lost.
        if found != written { try rewriteRecord(of: partial) }
        try partial.truncate(to: found.end)
        return .bytes(lost: written.count - found.count)
    }

    private func rewriteRecord(of partial: PartialFile) throws(DownloadError) {
        let record = try controlRecord(of: partial)
        try DownloadError.storage("\(recordFile.path) could not be written") { () throws(SystemError) in
            try write(record)
        }
    }

    /// Returns `.complete` if the resume record shows that the missing partial file already has its final name, else
    /// `nil`.
    private mutating func recoverFinishedFile(_ contents: RecordFile.Contents) throws(DownloadError) -> RecoveredState?
    {
        readers.change { $0.lost() }
        guard contents != .none else { return nil }
        hasStaleRecord = true
        guard case .record(let record) = contents, case .finalising(let name) = record.state,
            record.url == url.identity,
            record.representation.requesterFingerprint ?? requesterFingerprint == requesterFingerprint
        else { return nil }
        let final = names.directory + "/" + name
        let bootID = try bootID()
        guard let status = try? environment.files.status(final), record.matches(status.identity),
            (try? environment.files.belongsToAnotherUser(status, at: final)) == false,
            status.size == record.written.end,
            status.size == record.totalBytes ?? status.size
        else { return nil }
        // A name may survive a power cut while the bytes of the file do not.
        let trusted = record.trusted(bootID: bootID, fileSize: status.size, file: status.identity)
        guard trusted.count == status.size, isIntact(trusted, durable: record.durable, at: final, status.size)
        else { return nil }
        return .complete(final)
    }

    /// Whether the file at the final path still contains all bytes that were written to it.
    private func isIntact(_ written: ByteRangeSet, durable: ByteRangeSet, at path: String, _ size: Int64) -> Bool {
        let files = environment.files
        guard let file = try? files.openForReading(path) else { return false }
        defer { try? files.close(file) }
        return (try? files.found(written, durable: durable, in: file, size: size)) == written
    }

    /// Returns the state for a missing partial file: `.discarded` if its resume record lists bytes, else `.nothing`.
    private func lostPartial(_ contents: RecordFile.Contents) -> RecoveredState {
        guard case .record(let record) = contents, record.state == .receiving,
            record.url == url.identity, !record.written.isEmpty, !isSetAside(record)
        else { return .nothing }
        return .discarded(.partialFileGone, bytes: record.written.count)
    }

    private mutating func discardRecovered(
        _ reason: RestartReason,
        _ size: Int64
    ) throws(DownloadError) -> RecoveredState {
        try discard()
        return size == 0 ? .nothing : .discarded(reason, bytes: size)
    }
}

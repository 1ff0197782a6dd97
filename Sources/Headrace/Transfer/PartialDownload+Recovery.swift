/// Restores the state of an earlier run, before the first request.
extension PartialDownload {
    /// Opens and locks the partial file of an earlier run, if there is one; returns its state, or discards unusable
    /// bytes.
    mutating func open() throws(DownloadError) -> RecoveredState {
        resetBytes()
        file = try PartialFile.existing(path, calls: environment.sharedFiles)
        let contents = try recordFile.read()
        guard let file else { return try recoverFinishedFile(contents) ?? lostPartial(contents) }
        recordFile.removeUnfinished()
        let status = try file.status()
        if let held = record.takeSuspended(), held.stamp == FileStamp(status) {
            return try resumeSuspended(held, file)
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
            var contents = FileLedger.Contents(
                policy: policy(written: trusted, durable: record.durable),
                representation: record.representation,
                finalPath: names.knownPath ?? names.directory + "/" + record.fileName,
                pieces: record.pieces
            )
            contents.representation?.totalBytes = record.totalBytes
            if let state = try resume(contents, in: file, size: status.size) { return state }
            return try discardRecovered(.bytesNotOnDisk, bytes)
        }
    }

    /// Resumes from the bytes that an earlier transfer of this process received.
    private mutating func resumeSuspended(
        _ held: SuspendedPartial,
        _ file: PartialFile
    ) throws(DownloadError) -> RecoveredState {
        var contents = held.contents
        contents.state = .receiving
        // Cookies may have changed.
        contents.representation?.requesterFingerprint = requesterFingerprint
        if let state = try resume(contents, in: file, size: held.stamp.size, isSame: true) { return state }
        return try discardRecovered(.bytesNotOnDisk, contents.policy.written.count)
    }

    /// Resumes the written ranges that the file still contains; returns `nil` if none are left.
    ///
    /// `isSame` is `true` if this process received the bytes, so that present readers can continue.
    private mutating func resume(
        _ contents: FileLedger.Contents,
        in file: PartialFile,
        size: Int64,
        isSame: Bool = false
    ) throws(DownloadError) -> RecoveredState? {
        let (written, durable) = (contents.policy.written, contents.policy.durable)
        let found = try file.found(written, durable: durable, size: size)
        guard !found.isEmpty else { return nil }
        compose(of: .severalResponses)
        var contents = contents
        contents.pieces?.forget(allBut: found)
        contents.policy = policy(written: found, durable: durable)
        ledger.change { [contents] recorded, readable in
            recorded = contents
            readable.opened(path, found, totalBytes: contents.representation?.totalBytes, isSame: isSame)
        }
        // Once the holes are filled, only the record shows that the bytes next to them were lost.
        if found != written { try rewriteRecord() }
        try file.truncate(to: found.end)
        return .bytes(lost: written.count - found.count)
    }

    private func bootID() throws(DownloadError) -> String {
        do {
            return try environment.files.bootID()
        } catch {
            throw .storage("The boot of this machine could not be identified", error)
        }
    }

    private func policy(written: ByteRangeSet, durable: ByteRangeSet) -> CheckpointPolicy {
        let durability = environment.configuration.durability
        return CheckpointPolicy(durability, written: written, durable: durable, at: environment.clock.now())
    }

    private func rewriteRecord() throws(DownloadError) {
        guard let target else { return }
        let record = ledger.contents.record(of: target, bootID: try bootID())
        try DownloadError.storage("\(recordFile.path) could not be written") { () throws(SystemError) in
            try target.write(record)
        }
    }

    /// Returns `.complete` if the resume record shows that the missing partial file already has its final name, else
    /// `nil`.
    private mutating func recoverFinishedFile(_ contents: RecordFile.Contents) throws(DownloadError) -> RecoveredState?
    {
        ledger.change { $1.lost() }
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

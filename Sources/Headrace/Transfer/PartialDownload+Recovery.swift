/// What an earlier run left, before the first request.
extension PartialDownload {
    /// Opens what an earlier run left, if anything, and locks it.
    mutating func open() throws(DownloadError) -> RecoveredState {
        partial = try PartialFile.existing(path, calls: environment.sharedFiles)
        let contents = try recordFile.read()
        guard let partial else { return try takeOverFinal(contents) ?? lostPartial(contents) }
        recordFile.removeUnfinished()
        let status = try partial.status()
        if let held = record.takeSuspended(), held.stamp == FileStamp(status) {
            return try takeUp(held, partial)
        }
        // A file that came in parts is as long as the last of them reaches.
        let bytes = if case .record(let record) = contents { record.written.count } else { status.size }
        guard environment.configuration.resumesPartialDownloads else {
            return try discardLegacy("Going on with the bytes of an earlier run is switched off.", bytes)
        }
        switch contents {
        case .none:
            return try discardLegacy("Nothing tells which version of the file the bytes so far are of.", bytes)
        case .unusable(let reason):
            return try discardLegacy(reason, bytes)
        case .record(let record):
            guard record.url == url.identity else {
                return try discardLegacy("The bytes so far are of another URL.", bytes)
            }
            // A file that is too short has lost bytes, maybe others as well.
            let trusted = record.trusted(bootID: try bootID(), fileSize: .max, file: status.identity)
            finalPath = names.knownPath ?? names.directory + "/" + record.fileName
            representation = record.representation
            representation?.totalBytes = record.totalBytes
            pieces = record.pieces
            return try goOn(with: trusted, durable: record.durable, in: partial, status.size, of: bytes)
        }
    }

    /// Goes on with what an earlier run of this manager has written.
    private mutating func takeUp(
        _ held: SuspendedPartial,
        _ partial: PartialFile
    ) throws(DownloadError) -> RecoveredState {
        finalPath = held.finalPath
        representation = held.representation
        // Cookies may be others by now. Through a local: on Apple platforms the session's memory would be accessed twice at once.
        let asker = asker
        representation?.asker = asker
        pieces = held.pieces
        return try goOn(with: held.written, durable: held.durable, in: partial, held.stamp.size, isSame: true)
    }

    /// Goes on with those of the bytes that were written which the disk has; `count` is how many there were said to be, and
    /// `isSame` whether those who read know them.
    private mutating func goOn(
        with written: ByteRangeSet,
        durable: ByteRangeSet,
        in partial: PartialFile,
        _ size: Int64,
        of count: Int64? = nil,
        isSame: Bool = false
    ) throws(DownloadError) -> RecoveredState {
        let found = try partial.found(written, durable: durable, size: size)
        guard !found.isEmpty else {
            let reason = "None of the bytes so far are known to be on the disk."
            return try discardLegacy(reason, count ?? written.count)
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
        // Once the holes are filled, nothing tells any more that bytes beside them were lost.
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

    /// Without a partial, a record can only be that of a file that got its name just before the end of the process.
    private mutating func takeOverFinal(_ contents: RecordFile.Contents) throws(DownloadError) -> RecoveredState? {
        readers.change { $0.lost() }
        guard contents != .none else { return nil }
        hasStaleRecord = true
        guard case .record(let record) = contents, case .finalising(let name) = record.state,
            record.url == url.identity, record.representation.asker ?? asker == asker
        else { return nil }
        let final = names.directory + "/" + name
        let bootID = try bootID()
        guard let status = try? environment.files.status(final), record.matches(status.identity),
            (try? environment.files.isStrangers(status, at: final)) == false, status.size == record.written.end,
            status.size == record.totalBytes ?? status.size
        else { return nil }
        // A name outlives a power cut sooner than the bytes behind it.
        let trusted = record.trusted(bootID: bootID, fileSize: status.size, file: status.identity)
        guard trusted.count == status.size, has(trusted, durable: record.durable, at: final, status.size)
        else { return nil }
        return .complete(final)
    }

    /// Whether the file with the final name has all bytes that were written to it.
    private func has(_ written: ByteRangeSet, durable: ByteRangeSet, at path: String, _ size: Int64) -> Bool {
        let files = environment.files
        guard let file = try? files.openForReading(path) else { return false }
        defer { try? files.close(file) }
        return (try? files.found(written, durable: durable, in: file, size: size)) == written
    }

    /// What a record tells of a partial that is gone.
    private func lostPartial(_ contents: RecordFile.Contents) -> RecoveredState {
        guard case .record(let record) = contents, record.state == .receiving,
            record.url == url.identity, !record.written.isEmpty, !isSetAside(record)
        else { return .nothing }
        let reason =
            "The partial file is gone: somebody has removed it, perhaps the system to make room, or has given it a second "
            + "name, which has it now."
        return .discarded(reason: reason, bytes: record.written.count)
    }

    private mutating func discardLegacy(_ reason: String, _ size: Int64) throws(DownloadError) -> RecoveredState {
        try discard()
        return size == 0 ? .nothing : .discarded(reason: reason, bytes: size)
    }
}

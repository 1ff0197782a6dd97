/// What an earlier run left, before the first request.
extension PartialSession {
    /// Opens what an earlier run left, if anything, and locks it.
    mutating func open() throws(DownloadError) -> Legacy {
        partial = try PartialFile.existing(path, calls: environment.files)
        let contents = try recordFile.read()
        guard let partial else { return try takeOverFinal(contents) ?? lostPartial(contents) }
        recordFile.removeUnfinished()
        let status = try partial.status()
        if let held = record.takeHeld(), held.stamp == FileStamp(status) {
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
            guard record.url == ControlRecord.identity(of: url) else {
                return try discardLegacy("The bytes so far are of another URL.", bytes)
            }
            let trusted = record.trusted(
                bootID: try bootID(),
                fileSize: status.size,
                file: status.identity
            )
            guard !trusted.isEmpty else {
                return try discardLegacy("None of the bytes so far are known to be on the disk.", bytes)
            }
            finalPath = names.knownPath ?? names.directory + "/" + record.fileName
            representation = record.representation
            representation?.totalBytes = record.totalBytes
            pieces = record.pieces
            pieces?.forget(allBut: trusted)
            readers.change { $0.opened(path, trusted, totalBytes: record.totalBytes, isSame: false) }
            policy = CheckpointPolicy(
                environment.configuration.durability,
                written: trusted,
                durable: record.durable,
                at: environment.clock.now()
            )
            try partial.truncate(to: trusted.end)
            return .bytes
        }
    }

    /// Goes on with what an earlier run of this manager has written.
    private mutating func takeUp(_ held: HeldBytes, _ partial: PartialFile) throws(DownloadError) -> Legacy {
        finalPath = held.finalPath
        representation = held.representation
        pieces = held.pieces
        pieces?.forget(allBut: held.written)
        policy = CheckpointPolicy(
            environment.configuration.durability,
            written: held.written,
            durable: held.durable,
            at: environment.clock.now()
        )
        let total = held.representation.totalBytes
        readers.change { $0.opened(path, held.written, totalBytes: total, isSame: true) }
        try partial.truncate(to: self.held.end)
        return .bytes
    }

    /// Without a partial, a record can only be that of a file that got its name just before the end of the process.
    private mutating func takeOverFinal(_ contents: RecordFile.Contents) throws(DownloadError) -> Legacy? {
        readers.change { $0.lost() }
        guard contents != .none else { return nil }
        hasStaleRecord = true
        guard case .record(let record) = contents, case .finalising(let name) = record.state,
            record.url == ControlRecord.identity(of: url)
        else { return nil }
        let final = names.directory + "/" + name
        let bootID = try bootID()
        guard let status = try? environment.files.status(final), record.isOf(status.identity, bootID: bootID),
            status.size == record.written.end, status.size == record.totalBytes ?? status.size
        else { return nil }
        // A name outlives a power cut sooner than the bytes behind it.
        let trusted = record.trusted(bootID: bootID, fileSize: status.size, file: status.identity)
        guard trusted.count == status.size else { return nil }
        recordFile.remove()
        return .complete(final)
    }

    /// What a record tells of a partial that is gone.
    private func lostPartial(_ contents: RecordFile.Contents) -> Legacy {
        guard case .record(let record) = contents, record.url == ControlRecord.identity(of: url),
            !record.written.isEmpty
        else { return .nothing }
        let reason = "The partial file is gone: somebody has removed it, perhaps the system to make room."
        return .discarded(reason: reason, bytes: record.written.count)
    }

    /// Removes the record of a file that got its name just before the end of the process, where nothing else asks for it.
    func removeStaleRecord() {
        guard environment.files.isMissing(path), case .record(let record) = try? recordFile.read(),
            case .finalising = record.state
        else { return }
        recordFile.remove()
    }

    private mutating func discardLegacy(_ reason: String, _ size: Int64) throws(DownloadError) -> Legacy {
        try discard()
        return size == 0 ? .nothing : .discarded(reason: reason, bytes: size)
    }
}

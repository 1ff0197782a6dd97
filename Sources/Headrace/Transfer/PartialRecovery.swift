/// Restores the state that an earlier run has left on the disk, before the first request.
struct PartialRecovery {
    /// The state of the bytes that an earlier run received.
    enum Outcome: Sendable, Equatable {
        case nothing
        /// Bytes that can be resumed if the server still has their version.
        ///
        /// `lost` is the number of written bytes that the disk lost. `isSame` is `true` if no other process has changed
        /// the file since this process received the bytes.
        case bytes(lost: Int64, isSame: Bool)
        /// The file at this path is complete; only its resume record still has to be removed.
        case complete(String)
        /// Bytes that cannot be resumed for the given reason, and are no longer on the disk.
        case discarded(RestartReason, bytes: Int64)
    }

    /// The contents of the resume record.
    let contents: RecordFile.Contents

    /// Adopts the bytes of the partial file, or discards unusable ones; without a partial file, finds out whether the
    /// file already has its final name.
    func recover(_ partial: inout PartialDownload) throws(DownloadError) -> Outcome {
        // An earlier process linked the file to its final name, and was killed before it removed the partial name.
        if let file = partial.file, hasFinalName(file, partial) {
            file.remove()
            partial.detachFile()
        }
        guard let file = partial.file else {
            partial.ledger.change { $1.lost(for: .partialFileGone) }
            partial.hasStaleRecord = contents != .none
            if let path = try finishedFile(partial) { return .complete(path) }
            return lostPartial(partial)
        }
        if let path = try outputFile(of: file, &partial) { return .complete(path) }
        partial.recordFile.removeUnfinished()
        let status = try file.status()
        let mayRepeat = partial.record.requested { $0.mayRepeat }
        if let suspended = partial.record.takeSuspended(), mayRepeat, suspended.stamp == FileStamp(status) {
            return try resume(suspended, &partial)
        }
        let bytes =
            if case .record(let record) = contents {
                record.written.count
            } else {
                partial.environment.files.dataCount(partial.path, status)
            }
        let mayResume = partial.environment.configuration.resumesPartialDownloads
        guard mayResume, mayRepeat else {
            return try discard(bytes, .resumingDisabled, &partial)
        }
        switch contents {
        case .none: return try discard(bytes, .recordMissing, &partial)
        case .unusable(let reason): return try discard(bytes, reason, &partial)
        case .record(let record):
            guard record.url == partial.url.identity else { return try discard(bytes, .recordOfOtherURL, &partial) }
            let names = partial.names
            // The actual file size is checked below: a file that is too short may have lost other bytes too.
            let trusted = record.trusted(bootID: try bootID(partial), fileSize: .max, file: status.identity)
            var contents = FileLedger.Contents(
                policy: partial.newPolicy(of: trusted, durable: record.durable),
                representation: record.representation,
                finalPath: names.knownPath ?? names.directory + "/" + record.fileName,
                pieces: record.pieces
            )
            contents.representation?.totalBytes = record.totalBytes
            let lost = try resume(contents, size: status.size, isSame: false, &partial)
            if let lost { return .bytes(lost: lost, isSame: false) }
            return try discard(bytes, .bytesNotOnDisk, &partial)
        }
    }

    /// Resumes from the bytes that an earlier transfer of this process received.
    private func resume(
        _ suspended: SuspendedPartial,
        _ partial: inout PartialDownload
    ) throws(DownloadError) -> Outcome {
        var contents = suspended.contents
        contents.state = .receiving
        // Cookies may have changed.
        contents.representation?.requesterFingerprint = partial.requesterFingerprint
        let lost = try resume(contents, size: suspended.stamp.size, isSame: true, &partial)
        if let lost { return .bytes(lost: lost, isSame: true) }
        return try discard(contents.policy.written.count, .bytesNotOnDisk, &partial)
    }

    /// Resumes the written ranges that the file still contains; returns the number of bytes that the file has lost, or
    /// `nil` if it has lost all.
    ///
    /// `isSame` is `true` if this process received the bytes, so that present readers can continue.
    private func resume(
        _ contents: FileLedger.Contents,
        size: Int64,
        isSame: Bool,
        _ partial: inout PartialDownload
    ) throws(DownloadError) -> Int64? {
        let (written, durable) = (contents.policy.written, contents.policy.durable)
        guard let file = partial.file else { return nil }
        let found = try file.found(written, durable: durable, size: size)
        guard !found.isEmpty else { return nil }
        partial.compose(of: .severalResponses)
        var contents = contents
        contents.pieces?.forget(allBut: found)
        contents.policy = partial.newPolicy(of: found, durable: durable)
        partial.ledger.change { [contents, path = partial.path] recorded, readable in
            recorded = contents
            readable.opened(path, found, totalBytes: contents.representation?.totalBytes, isSame: isSame)
        }
        // Lost bytes are detected by the holes that they leave in the file. Once a hole is filled, only the record
        // shows which bytes around it were lost.
        if found != written { try rewriteRecord(of: partial) }
        try file.truncate(to: found.end)
        return written.count - found.count
    }

    private func bootID(_ partial: PartialDownload) throws(DownloadError) -> String {
        do {
            return try partial.environment.files.bootID()
        } catch {
            throw .storage("The boot of this machine could not be identified", error)
        }
    }

    private func rewriteRecord(of partial: PartialDownload) throws(DownloadError) {
        guard let target = partial.target else { return }
        let record = partial.ledger.contents.record(of: target, bootID: try bootID(partial))
        try DownloadError.storage("\(partial.recordFile.path) could not be written") { () throws(SystemError) in
            try target.recordFile.write(record, syncing: target.syncsData)
        }
    }

    private func discard(
        _ count: Int64,
        _ reason: RestartReason,
        _ partial: inout PartialDownload
    ) throws(DownloadError) -> Outcome {
        try partial.discard(for: reason)
        return count == 0 ? .nothing : .discarded(reason, bytes: count)
    }

    // MARK: A decoded or copied file

    /// Returns the final path if a file that was decoded or copied from the partial file already has its final name;
    /// then also removes the partial file.
    ///
    /// Otherwise returns `nil`, and removes the unfinished decoded or copied file, if there is one.
    private func outputFile(of file: PartialFile, _ partial: inout PartialDownload) throws(DownloadError) -> String? {
        guard case .record(let record) = contents, record.decoded != nil, let path = try finishedFile(partial) else {
            partial.removeOutputs()
            return nil
        }
        file.remove()
        partial.detachFile()
        partial.hasStaleRecord = true
        return path
    }

    // MARK: A missing partial file

    /// Whether the partial file also has the final name that its resume record announces.
    private func hasFinalName(_ file: PartialFile, _ partial: PartialDownload) -> Bool {
        guard case .record(let record) = contents, case .finalising(let name) = record.state else { return false }
        let final = try? partial.environment.files.status(partial.names.directory + "/" + name)
        return final?.identity == file.identity
    }

    /// Returns the final path if the resume record shows that the file already has that name, else `nil`.
    private func finishedFile(_ partial: PartialDownload) throws(DownloadError) -> String? {
        let requester = partial.requesterFingerprint
        guard case .record(let written) = contents, case let record = written.ofFinalFile,
            case .finalising(let name) = record.state,
            record.url == partial.url.identity, record.representation.requesterFingerprint ?? requester == requester
        else { return nil }
        let (files, final) = (partial.environment.files, partial.names.directory + "/" + name)
        let bootID = try bootID(partial)
        guard let status = try? files.status(final), record.matches(status.identity),
            (try? files.belongsToAnotherUser(status, at: final)) == false,
            status.size == record.written.end,
            status.size == record.totalBytes ?? status.size
        else { return nil }
        // A name may survive a power cut while the bytes of the file do not.
        let trusted = record.trusted(bootID: bootID, fileSize: status.size, file: status.identity)
        guard trusted.count == status.size, let file = try? files.openForReading(final) else { return nil }
        defer { try? files.close(file) }
        let found = try? files.found(trusted, durable: record.durable, in: file, size: status.size)
        return found == trusted ? final : nil
    }

    /// Returns `.discarded` if the resume record lists received bytes that are lost with the partial file; returns
    /// `.nothing` if it lists none, is for another URL, or belongs to a file that was renamed.
    private func lostPartial(_ partial: PartialDownload) -> Outcome {
        guard case .record(let record) = contents, record.state == .receiving, record.url == partial.url.identity,
            !record.written.isEmpty, !WrongFile.isSaved(record, of: partial)
        else { return .nothing }
        return .discarded(.partialFileGone, bytes: record.written.count)
    }
}

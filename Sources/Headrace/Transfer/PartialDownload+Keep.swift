/// Creates and names the file, and saves or removes the received bytes at the end of an attempt.
///
/// A small file that arrives at once has no name until it is complete.
extension PartialDownload {
    /// The maximum size in bytes of a file that may be created without a name.
    static let maxUnnamedBytes: Int64 = 256 << 10
    /// The largest block size, in bytes, that file systems commonly use.
    ///
    /// A file can occupy up to this much more space than its length.
    private static let blockBytes: Int64 = 64 << 10

    /// Creates the file of a small body for its first bytes; without a name if these are all.
    mutating func create(for count: Int) throws(DownloadError) -> PartialFile {
        let size = representation?.totalBytes
        if size == Int64(count), !hasStaleRecord {
            file = PartialFile.createUnnamed(path, in: names.directory, calls: environment.sharedFiles)
        }
        let created = if let file { file } else { try opened().file }
        try created.requireSpace(for: size ?? 0)
        if !created.isUnnamed { beginNamed() }
        return created
    }

    /// Gives a file without a name that of the partial file, because its bytes are needed after this attempt.
    mutating func giveName() throws(DownloadError) {
        guard let unnamed = file, unnamed.isUnnamed else { return }
        do {
            try unnamed.giveName()
        } catch {
            // Not every system that creates files without names can give them one later.
            file = try copy(of: unnamed)
            unnamed.close()
        }
        beginNamed()
    }

    /// Returns a partial file with the bytes of a file without a name.
    private func copy(of unnamed: PartialFile) throws(DownloadError) -> PartialFile {
        let named = try PartialFile.create(path, calls: environment.sharedFiles)
        do throws(DownloadError) {
            // A record that an earlier process left does not describe the copy.
            recordFile.remove()
            let bytes = try unnamed.read(at: 0, maxBytes: Int(Self.maxUnnamedBytes))
            let copied = bytes.withUnsafeBytes { bytes in
                Result { () throws(DownloadError) in try named.write(bytes, at: 0) }
            }
            try copied.get()
            guard environment.configuration.durability == .full else { return named }
            // A sync of the original does not cover the copy.
            try DownloadError.storage("\(path) could not be synced to the disk") { () throws(SystemError) in
                try named.sync()
            }
            return named
        } catch {
            named.remove()
            named.close()
            throw error
        }
    }

    /// Lets readers open the file by its name, and other threads write its record.
    func beginNamed() {
        ledger.change { contents, readable in readable.began(path, totalBytes: contents.representation?.totalBytes) }
        if let target { ledger.begin(target) }
    }

    // MARK: The end of an attempt

    /// Updates the resume record, so that the next attempt finds the received bytes.
    ///
    /// With `leaving`, the next attempt finds the received bytes even after a reboot.
    ///
    /// If the update fails, the previous record remains, which lists fewer bytes.
    mutating func keep(leaving: Bool) {
        do {
            try giveName()
        } catch {
            return resetBytes()
        }
        // A hole among bytes that are recorded as durable would count as zeros.
        _ = try? releaseLostBytes()
        if let target { try? ledger.stop(leaving ? .leaving : .keeping, on: target) }
        let policy = newPolicy()
        ledger.change { contents, _ in contents.policy = policy }
        makeRoomForRecord()
        let contents = ledger.contents
        guard let status = try? file?.status(), contents.representation != nil, !contents.policy.written.isEmpty
        else { return }
        let suspended = SuspendedPartial(stamp: FileStamp(status), contents: contents)
        record.keep(suspended)
        ledger.change { $1.kept(suspended.stamp) }
    }

    /// Truncates the file if the disk is full and there is no resume record yet, so that one can be written; without a
    /// record, the next run would lose all bytes.
    private func makeRoomForRecord() {
        guard ledger.recordFailure?.isDiskFull == true, let target, environment.files.isMissing(recordFile.path),
            case .receiving = ledger.contents.state, let bootID = try? environment.files.bootID(),
            let size = ledger.contents.record(of: target, bootID: bootID).encoded()?.count
        else { return }
        // A failed write may have left bytes that are not counted.
        for room in [0, Int64(size) + Self.blockBytes] where ledger.recordFailure != nil && room < held.count {
            var kept = held
            kept.removeLast(room)
            keepOnly(kept)
            guard (try? target.file.truncate(to: kept.end)) != nil else { return }
            ledger.writeRecord(to: target)
        }
    }

    /// Removes the partial file and the resume record.
    func remove() {
        ledger.end()
        guard let file, !file.isUnnamed, (try? file.namedStatus()) != nil else { return }
        recordFile.remove()
        file.remove()
    }

    /// Removes the files of an earlier run, unless another process is writing them or a later release wrote them.
    mutating func removeLeftovers() {
        guard (try? recordFile.read()) != nil else { return }
        do {
            file = try PartialFile.existing(path, calls: environment.sharedFiles)
        } catch {
            return
        }
        if file == nil { return recordFile.remove() }
        remove()
        close()
    }

    func close() {
        ledger.close()
        file?.close()
    }
}

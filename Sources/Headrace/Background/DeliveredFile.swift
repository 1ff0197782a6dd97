import HeadracePlatform

/// A file that the system delivered and that is now the partial file of its download, not yet verified and renamed.
struct DeliveredFile: Sendable, Hashable {
    let head: ResponseHead
    let body: BodyPlacement
    /// The path to which the file is renamed after verification; the name may come from the response.
    let path: String
}

extension DeliveredFile {
    /// Checks a file that the system fetched, and moves it to the path of its download's partial file.
    ///
    /// Blocks for a rename, or for a copy if the volumes differ. The resume record is written before the move. It
    /// contains the file's inode, so that after a kill between the two steps, it is not applied to an older partial
    /// file.
    /// - Parameters:
    ///   - file: The path of the system's file.
    ///   - head: The final response.
    ///   - record: The download.
    ///   - configuration: The settings of the manager.
    ///   - calls: The file system.
    /// - Throws: The error with which the download fails or is retried. An existing partial file is unchanged; its
    ///   resume record may be replaced if the move fails.
    init(
        takingOver file: String,
        _ head: ResponseHead,
        for record: DownloadRecord,
        _ configuration: DownloadConfiguration,
        _ calls: FileSystem
    ) throws(DownloadError) {
        let names = record.names
        let size = try DownloadError.storage("The status of \(file) could not be read") { () throws(SystemError) in
            try calls.status(file)?.size
        }
        guard let size else { throw DownloadError(.fileSystem, "\(RestartReason.filePurged)") }
        self.head = head
        body = try BodyPlacement(ofFile: head, size: size, askedFor: record.request.url, configuration)
        if let expected = record.request.expectedSize, size != expected {
            throw ResponseRejection.wrongSize(size, expected: expected).error()
        }
        path = names.path(for: head)
        let partialPath = names.partialPath(in: configuration.partialsDirectory)
        try DownloadError.storage("\(file) could not be moved to \(partialPath)") { () throws(SystemError) in
            do throws(SystemError) {
                // Checked first, because `adopt` replaces the record of an older partial file, and the copy may fail.
                guard try calls.status(file)?.device == calls.status(FileSystem.parent(of: partialPath) + "/")?.device
                else {
                    throw SystemError(errno: EXDEV)
                }
                try adopt(file, for: record, configuration, calls)
            } catch  where error.errno == EXDEV {
                let copy = partialPath + ReservedFileNames.copySuffix
                do throws(SystemError) {
                    try calls.copy(file, to: copy)
                    try adopt(copy, for: record, configuration, calls)
                } catch {
                    try? calls.remove(copy)
                    throw error
                }
            }
        }
    }

    private func adopt(
        _ file: String,
        for download: DownloadRecord,
        _ configuration: DownloadConfiguration,
        _ calls: FileSystem
    ) throws(SystemError) {
        let names = download.names
        var representation = body.representation
        representation.requesterFingerprint = download.requested { $0.requesterFingerprint(configuration) }
        guard let status = try calls.status(file) else { throw SystemError(errno: ENOENT) }
        var record = ControlRecord(
            url: download.requested { $0.key },
            fileName: names.name(of: path),
            representation: representation,
            totalBytes: body.totalBytes,
            bootID: try calls.bootID(),
            file: status.identity
        )
        if status.size > 0 { record.written.insert(0..<status.size) }
        let partialPath = names.partialPath(in: configuration.partialsDirectory)
        let syncs = configuration.durability == .full
        try RecordFile(of: partialPath, calls: SharedFileSystem(calls)).write(record, syncing: syncs)
        try calls.replace(file, partialPath)
        // This process can trust the bytes, whatever its settings are and even if the boot is unknown.
        download.keep(
            SuspendedPartial(
                partialPath,
                stamp: FileStamp(status),
                contents: FileLedger.Contents(
                    policy: CheckpointPolicy(.none, written: record.written, at: .zero),
                    representation: representation,
                    finalPath: path
                )
            )
        )
    }
}

extension FileSystem {
    /// Copies a file, replacing any file at the new path; after an error, a part of the copy may be left.
    fileprivate func copy(_ path: String, to newPath: String) throws(SystemError) {
        try? remove(newPath)
        let source = try openForReading(path)
        defer { try? close(source) }
        let target = try create(newPath)
        do throws(SystemError) {
            var offset: Int64 = 0
            while true {
                let bytes = try readAt(source, offset, FileChunks.maxBytes)
                try writeAll(target, bytes, at: offset)
                offset += Int64(bytes.count)
                guard bytes.count == FileChunks.maxBytes else { break }
            }
        } catch {
            try? close(target)
            throw error
        }
        try close(target)
    }
}

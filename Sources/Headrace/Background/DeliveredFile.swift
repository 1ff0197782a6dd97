import HeadracePlatform

/// A file from the system that is the complete partial of its download: what is left to do is to compare and to name it.
struct DeliveredFile: Sendable, Hashable {
    let head: ResponseHead
    let body: BodyPlacement
    /// The final path as the answer means it.
    let path: String
}

extension DeliveredFile {
    private static let copySuffix = ".copy"

    /// Checks a file that the system has fetched, and makes it the partial of its download, with a record that all is there.
    ///
    /// Blocks; on one volume for a rename, whatever the size. The record comes first, and is of the file whatever that is
    /// called: a kill in between leaves both where they are.
    /// - Parameters:
    ///   - file: Where the system has put it.
    ///   - head: The last answer.
    ///   - record: The download.
    ///   - configuration: What is allowed.
    ///   - calls: The file calls.
    /// - Throws: What the download fails with; a partial that was there stays.
    init(
        takingOver file: String,
        _ head: ResponseHead,
        for record: DownloadRecord,
        _ configuration: DownloadConfiguration,
        _ calls: FileSystem
    ) throws(DownloadError) {
        let names = record.names
        let size = try DownloadError.storage("\(file) could not be looked at") { () throws(SystemError) in
            try calls.status(file)?.size
        }
        guard let size else { throw DownloadError(.fileSystem, BackgroundRestart.filePurged.sentence) }
        self.head = head
        body = try BodyPlacement(ofFile: head, size: size, askedFor: record.request.url, configuration)
        if let expected = record.request.expectedSize, size != expected {
            throw ResponseRejection.wrongSize(size, expected: expected).error()
        }
        path = names.path(for: head)
        try DownloadError.storage("\(file) could not be moved to \(names.partialPath)") { () throws(SystemError) in
            do throws(SystemError) {
                try adopt(file, for: record, configuration, calls)
            } catch  where error.errno == EXDEV {
                let copy = names.partialPath + Self.copySuffix
                try calls.copy(file, to: copy)
                try adopt(copy, for: record, configuration, calls)
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
        representation.asker = download.requested { $0.asker(configuration) }
        guard let status = try calls.status(file) else { throw SystemError(errno: ENOENT) }
        var record = ControlRecord(
            url: download.request.url,
            fileName: names.name(of: path),
            representation: representation,
            totalBytes: body.totalBytes,
            bootID: try calls.bootID(),
            file: status.identity
        )
        if status.size > 0 { record.written.insert(0..<status.size) }
        let directory = configuration.durability == .full ? names.directory : nil
        try RecordFile(of: names.partialPath, calls: SharedFileSystem(calls)).write(record, syncing: directory)
        try calls.replace(file, names.partialPath)
        // This process need not doubt it, whatever its settings are, and whether or not it knows the boot.
        download.keep(
            SuspendedPartial(
                stamp: FileStamp(status),
                written: record.written,
                durable: ByteRangeSet(),
                representation: representation,
                finalPath: path,
                pieces: nil
            )
        )
    }
}

extension FileSystem {
    /// Copies a file over whatever has the other name.
    fileprivate func copy(_ path: String, to newPath: String) throws(SystemError) {
        try? remove(newPath)
        let source = try openForReading(path)
        defer { try? close(source) }
        let target = try create(newPath)
        do throws(SystemError) {
            var offset: Int64 = 0
            while true {
                let bytes = try readAt(source, offset, Self.readBytes)
                try writeAll(target, bytes, at: offset)
                offset += Int64(bytes.count)
                guard bytes.count == Self.readBytes else { break }
            }
        } catch {
            try? close(target)
            try? remove(newPath)
            throw error
        }
        try close(target)
    }
}

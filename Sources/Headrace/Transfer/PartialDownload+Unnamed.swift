/// Small files that arrive at once: they have no name until they are complete.
extension PartialDownload {
    /// The maximum size in bytes of a file that may be created without a name.
    static let maxUnnamedBytes: Int64 = 256 << 10
    /// Creates the file of a small body when its first bytes arrive; `count` is their number.
    ///
    /// The file gets no name yet if all of these conditions are met:
    /// - The bytes are the whole body, and need no decoding.
    /// - There is no stale resume record.
    /// - The file system supports files without a name.
    mutating func create(for count: Int) throws(DownloadError) -> PartialFile {
        let (size, isDecoded) = ledger.read { ($0.representation?.totalBytes, $0.representation?.isDecoded == true) }
        if size == Int64(count), !hasStaleRecord, !isDecoded {
            file = PartialFile.createUnnamed(path, in: names.directory, calls: environment.sharedFiles)
        }
        let created = if let file { file } else { try opened().file }
        try created.requireSpace(for: size ?? 0)
        if !created.isUnnamed { beginNamed() }
        return created
    }

    /// Gives the file its name as a partial file if it has none yet; if that fails, replaces the file by a copy that
    /// has the name.
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
    private mutating func copy(of unnamed: PartialFile) throws(DownloadError) -> PartialFile {
        let named = try createNamed()
        do throws(DownloadError) {
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
}

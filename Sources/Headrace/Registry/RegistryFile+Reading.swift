import HeadracePlatform

extension RegistryFile {
    private static let spareBytes = 1 << 16

    /// Reads the queue of a directory in its current state, without a lock and without writing.
    ///
    /// If another process is writing the last line, that line may be reported as torn; see
    /// ``RegistryDiagnostics/ofReader``.
    /// - Parameters:
    ///   - directory: The registry's directory.
    ///   - calls: The file system.
    /// - Returns: The queue, which is empty if there is no registry, and the problems in the journal.
    /// - Throws: `fileSystem` or `permission` if the journal cannot be read or was written by a later release.
    static func read(
        _ directory: String,
        calls: FileSystem = .system
    ) throws(DownloadError) -> (snapshot: RegistrySnapshot, findings: RegistryDiagnostics) {
        let path = "\(directory)/\(RegistryStore.fileName)"
        var reader = RegistryReader()
        let bytes = try DownloadError.registry("The queue file \(path) could not be read") { () throws(SystemError) in
            try contents(path, calls)
        }
        do throws(RegistryReader.TooNew) {
            try reader.read(bytes)
            try reader.finish()
        } catch {
            throw .registry(path, error)
        }
        var snapshot = reader.snapshot
        _ = snapshot.numberEntries()
        return (snapshot, reader.findings)
    }

    /// Returns the contents of a file; empty if it is missing.
    ///
    /// If another file replaces it while it is read, the contents of the two are not mixed.
    private static func contents(_ path: String, _ calls: FileSystem) throws(SystemError) -> [UInt8] {
        guard let status = try calls.status(path) else { return [] }
        guard status.kind == .regular else { throw SystemError(errno: EEXIST) }
        var maxBytes = Int(clamping: status.size) + spareBytes
        while true {
            let bytes = try calls.read(path, maxBytes)
            guard bytes.count == maxBytes else { return bytes }
            maxBytes *= 2
        }
    }
}

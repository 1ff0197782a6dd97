import HeadracePlatform

extension RegistryFile {
    private static let spareBytes = 1 << 16

    /// Reads the queue of a directory as it is at this moment, without a lock; writes nothing.
    ///
    /// A torn last line may be one that another process is writing.
    /// - Parameters:
    ///   - directory: The registry's directory.
    ///   - calls: The file system.
    /// - Returns: The queue, empty if there is none, and the problems in the journal.
    /// - Throws: `fileSystem` or `permission` if it cannot be read or was written by a later release.
    static func read(
        _ directory: String,
        calls: FileSystem = .system
    ) throws(DownloadError) -> (image: RegistrySnapshot, findings: RegistryDiagnostics) {
        let path = "\(directory)/\(RegistryStore.fileName)"
        var reader = RegistryReader()
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try contents(path, calls)
        } catch {
            throw .registry("The queue file \(path) could not be read", error)
        }
        do throws(RegistryReader.TooNew) {
            try reader.read(bytes)
            try reader.finish()
        } catch {
            throw .registry(path, error)
        }
        var image = reader.image
        _ = image.numberEntries()
        return (image, reader.findings)
    }

    /// Reads one file completely; a file that replaces it meanwhile is not mixed with it.
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

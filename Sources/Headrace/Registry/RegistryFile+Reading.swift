import HeadracePlatform

extension RegistryFile {
    private static let spareBytes = 1 << 16

    /// Reads the list of a directory as it is at this moment, whoever has it, and writes nothing.
    ///
    /// A last line that is torn may be one that is being written.
    /// - Parameters:
    ///   - directory: The list's own directory.
    ///   - calls: The file calls.
    /// - Returns: The list, which is empty where there is none, and what in the journal is not as it was written.
    /// - Throws: `fileSystem` or `permission` where it cannot be read, also where a later release wrote it.
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
            throw .registry("The list \(path) could not be read", error)
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

    /// All bytes of one file: one that gets the name meanwhile is not mixed with it.
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

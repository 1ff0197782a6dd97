import HeadracePlatform

/// The directory for partial files of the manager that ran a queue most recently, saved in the registry's directory.
///
/// Processes that only show or change the queue find the partial files by it. All calls block.
struct RegistryPartials {
    static let fileName = ReservedFileNames.registryPartials
    private static let maxBytes = 16 << 10

    private let path: String
    private let bases: RegistryBaseDirectories
    private let calls: FileSystem

    init(in directory: String, bases: RegistryBaseDirectories, calls: FileSystem) {
        path = "\(directory)/\(Self.fileName)"
        (self.bases, self.calls) = (bases, calls)
    }

    /// The saved directory; `nil` if the partial files are beside their destinations, or the directory is unknown.
    var directory: URL? {
        saved?.resolved(in: bases).map { URL(filePath: $0, directoryHint: .isDirectory) }
    }

    private var saved: RelocatablePath? {
        guard let bytes = try? calls.read(path, Self.maxBytes), bytes.last == UInt8(ascii: "\n") else { return nil }
        return RelocatablePath(String(decoding: bytes.dropLast(), as: UTF8.self))
    }

    /// Saves the directory of a manager that runs the queue; `nil` means that partial files are beside their
    /// destinations.
    ///
    /// Errors are ignored: other processes then do not find the partial files.
    func save(_ directory: URL?) {
        let new = directory.map { RelocatablePath($0.filePath, bases: bases) }
        guard new != saved else { return }
        guard let new else {
            try? calls.remove(path)
            return
        }
        let newPath = path + ReservedFileNames.newSuffix
        try? calls.replaceFile(path, by: newPath, with: Array("\(new)\n".utf8), syncing: .nothing)
    }
}

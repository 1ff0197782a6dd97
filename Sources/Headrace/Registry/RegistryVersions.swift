import HeadracePlatform

/// The versions of finished files whose file systems have no extended attributes: a file in the registry's directory.
///
/// A line for each, `PATH-HASH INODE VERSION`, of which the last of a path holds; what is no such line, as a crash may leave,
/// is passed over. It belongs to the manager that has the registry. All calls block.
final class RegistryVersions: Sendable {
    static let fileName = ReservedFileNames.registryVersions
    /// The largest file; before it grows beyond, the older half goes, and with it most of the files that are gone.
    static let maxBytes = 1 << 20

    private let path: String
    private let calls: FileSystem
    /// Nil until somebody asks, since few file systems lack attributes.
    private let index = Locked<VersionIndex?>(nil)

    init(in directory: String, calls: FileSystem) {
        path = "\(directory)/\(Self.fileName)"
        self.calls = calls
    }

    /// What is kept of the file that has a path, where it is still the one with this number.
    func version(of file: String, inode: UInt64) -> SavedValidator? {
        let text = index.withLock { index in
            let read = index ?? self.read()
            index = read
            return read[VersionIndex.key(of: file)]
        }
        let prefix = "\(inode) "
        guard let text, text.hasPrefix(prefix) else { return nil }
        return SavedValidator(decoding: Array(text.utf8.dropFirst(prefix.utf8.count)))
    }

    /// Keeps the encoded version of a file in the place of an earlier one of its path; where that fails, none is kept.
    func keep(_ version: [UInt8], of file: String, inode: UInt64) {
        let (key, text) = (VersionIndex.key(of: file), "\(inode) \(String(decoding: version, as: UTF8.self))")
        index.withLock { index in
            // After a failure, what is on the disk is read again.
            var new = index.take() ?? read()
            new[key] = Substring(text)
            guard (try? append("\(key) \(text)", to: &new)) != nil else { return }
            index = new
        }
    }

    private func read() -> VersionIndex {
        VersionIndex(reading: (try? calls.read(path, Self.maxBytes)) ?? [])
    }

    private func append(_ line: String, to index: inout VersionIndex) throws(SystemError) {
        let file = try calls.openOrCreate(path)
        defer { try? calls.close(file) }
        let status = try calls.openStatus(file)
        guard status.kind == .regular else { throw SystemError(errno: EEXIST) }
        // A line that was torn off ends here.
        let bytes = Array("\n\(line)".utf8)
        guard status.size + Int64(bytes.count) > Int64(Self.maxBytes) else {
            return try calls.writeAll(file, bytes, at: status.size)
        }
        index.keepNewest(maxBytes: Self.maxBytes / 2)
        try calls.replaceFile(path, by: path + RegistryStore.newSuffix, with: index.bytes, syncing: nil)
    }
}

/// The lines of a file of versions.
struct VersionIndex: Sendable {
    private struct Entry {
        /// What the line has after its key.
        var text: Substring
        /// The later, the newer.
        var turn: Int
    }

    private var entries: [Substring: Entry] = [:]
    private var turn = 0

    init(reading bytes: [UInt8]) {
        for line in String(decoding: bytes, as: UTF8.self).utf8.split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: UInt8(ascii: " "), maxSplits: 1)
            if words.count == 2 { self[Substring(words[0])] = Substring(words[1]) }
        }
    }

    /// Where the line of a file is found.
    static func key(of file: String) -> Substring {
        Substring(Fingerprint(url: URL(filePath: file, directoryHint: .notDirectory), name: "").description)
    }

    subscript(key: Substring) -> Substring? {
        get { entries[key]?.text }
        set {
            turn += 1
            entries[key] = newValue.map { Entry(text: $0, turn: turn) }
        }
    }

    /// Forgets the oldest lines beyond a size.
    mutating func keepNewest(maxBytes: Int) {
        var size = 0
        let kept = entries.sorted { $0.value.turn > $1.value.turn }.prefix { key, entry in
            size += key.utf8.count + entry.text.utf8.count + 2
            return size <= maxBytes
        }
        entries = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
    }

    /// The file that has these lines, from the oldest to the newest.
    var bytes: [UInt8] {
        Array(entries.sorted { $0.value.turn < $1.value.turn }.map { "\n\($0.key) \($0.value.text)" }.joined().utf8)
    }
}

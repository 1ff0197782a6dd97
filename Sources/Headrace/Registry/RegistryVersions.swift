import HeadracePlatform

/// The validators of finished files on file systems without extended attributes, saved in the registry's directory.
///
/// The lines have the form `PATH-HASH INODE VERSION`; VERSION is an encoded ``SavedValidator``. For each path, the last
/// line applies. Invalid lines, as left by a crash, are skipped. The file belongs to the manager that owns the
/// registry. All calls block.
final class RegistryVersions: Sendable {
    static let fileName = ReservedFileNames.registryVersions
    /// The maximum size of the file in bytes.
    ///
    /// An append that would exceed it rewrites the file with the newest lines, up to half this size; most of the other
    /// lines are for files that no longer exist.
    static let maxBytes = 1 << 20

    private let path: String
    private let calls: FileSystem
    /// The lines of the file; `nil` before the first use, and after a failed write.
    ///
    /// Not read earlier, because most file systems have extended attributes and need no such file.
    private let index = Locked<VersionIndex?>(nil)

    init(in directory: String, calls: FileSystem) {
        path = "\(directory)/\(Self.fileName)"
        self.calls = calls
    }

    /// Returns the saved validator of the file with this path; `nil` if there is no valid one, or if it was saved for
    /// another inode.
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

    /// Saves the encoded validator of a file, and replaces an earlier one of the same path; does nothing if the write
    /// fails.
    func keep(_ version: [UInt8], of file: String, inode: UInt64) {
        let (key, text) = (VersionIndex.key(of: file), "\(inode) \(String(decoding: version, as: UTF8.self))")
        index.withLock { index in
            // After a failure, `index` remains `nil`, so that the file is read again.
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
        // The newline ends a torn line.
        let bytes = Array("\n\(line)".utf8)
        guard status.size + Int64(bytes.count) > Int64(Self.maxBytes) else {
            return try calls.writeAll(file, bytes, at: status.size)
        }
        index.keepNewest(maxBytes: Self.maxBytes / 2)
        try calls.replaceFile(path, by: path + RegistryStore.newSuffix, with: index.bytes, syncing: .nothing)
    }
}

/// The lines of the file of ``RegistryVersions``, by key.
struct VersionIndex: Sendable {
    private struct Entry {
        /// The part of the line after its key.
        var text: Substring
        /// The sequence number of the line; a newer line has a higher number.
        var sequence: Int
    }

    private var entries: [Substring: Entry] = [:]
    private var sequence = 0

    init(reading bytes: [UInt8]) {
        for line in String(decoding: bytes, as: UTF8.self).utf8.split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: UInt8(ascii: " "), maxSplits: 1)
            if words.count == 2 { self[Substring(words[0])] = Substring(words[1]) }
        }
    }

    /// Returns the key of a file's line, a hash of the path.
    static func key(of file: String) -> Substring {
        Substring(Fingerprint(url: URL(filePath: file, directoryHint: .notDirectory), name: "").description)
    }

    subscript(key: Substring) -> Substring? {
        get { entries[key]?.text }
        set {
            sequence += 1
            entries[key] = newValue.map { Entry(text: $0, sequence: sequence) }
        }
    }

    /// Drops the oldest lines until the remaining lines have at most `maxBytes` bytes in total.
    mutating func keepNewest(maxBytes: Int) {
        var size = 0
        let kept = entries.sorted { $0.value.sequence > $1.value.sequence }.prefix { key, entry in
            size += key.utf8.count + entry.text.utf8.count + 2
            return size <= maxBytes
        }
        entries = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
    }

    /// The contents of the file, from the oldest to the newest line.
    var bytes: [UInt8] {
        let lines = entries.sorted { $0.value.sequence < $1.value.sequence }.map { "\n\($0.key) \($0.value.text)" }
        return Array(lines.joined().utf8)
    }
}

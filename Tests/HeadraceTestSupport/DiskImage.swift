/// One change of a disk; files are identified by number, because names may move.
package enum DiskChange: Sendable, Equatable {
    case create(String, Int)
    case write(Int, at: Int64, [UInt8])
    case truncate(Int, to: Int64)
    case sync(Int)
    case rename(String, String)
    case remove(String)
    case syncDirectory(String)
}

/// The names and bytes at one moment.
package struct DiskImage: Sendable {
    package var names: [String: Int] = [:]
    package var files: [Int: [UInt8]] = [:]

    package init() {}

    package mutating func apply(_ change: DiskChange) {
        switch change {
        case .create(let path, let node):
            names[path] = node
            if files[node] == nil { files[node] = [] }
        case .write(let node, let offset, let bytes):
            let start = Int(offset)
            var file = files.removeValue(forKey: node) ?? []
            if file.count < start { file += [UInt8](repeating: 0, count: start - file.count) }
            file.replaceSubrange(start..<min(start + bytes.count, file.count), with: bytes)
            files[node] = file
        case .truncate(let node, let size):
            var file = files.removeValue(forKey: node) ?? []
            let excess = file.count - Int(size)
            if excess > 0 { file.removeLast(excess) } else { file += [UInt8](repeating: 0, count: -excess) }
            files[node] = file
        case .rename(let path, let newPath):
            names[newPath] = names.removeValue(forKey: path)
        case .remove(let path):
            names[path] = nil
        case .sync, .syncDirectory:
            break
        }
    }

    package func bytes(of path: String) -> [UInt8]? {
        names[path].map { files[$0] ?? [] }
    }
}

/// The changes of a disk, separated into synced and unsynced ones.
package struct UnsyncedDisk {
    private(set) var synced: DiskImage
    private(set) var bytes: [DiskChange] = []
    private(set) var names: [DiskChange] = []

    package init(_ synced: DiskImage = DiskImage()) {
        self.synced = synced
    }

    package mutating func apply(_ change: DiskChange) {
        switch change {
        case .create, .rename, .remove:
            names.append(change)
        case .write, .truncate:
            bytes.append(change)
        case .sync(let node):
            for change in bytes where change.node == node { synced.apply(change) }
            bytes.removeAll { $0.node == node }
        case .syncDirectory(let path):
            // A journal commits what happened to a file before it was renamed into the directory.
            let renamed = names.filter { $0.directory == path[...] }.compactMap(\.oldPath)
            func isCommitted(_ change: DiskChange) -> Bool {
                change.directory == path[...] || renamed.contains { $0 == change.path }
            }
            for change in names where isCommitted(change) { synced.apply(change) }
            names.removeAll(where: isCommitted)
        }
    }
}

/// The way in which a machine stops, and the unsynced changes that remain on its disk.
package enum Crash: Sendable, CaseIterable {
    /// The process ends, but the kernel continues: nothing is lost.
    case kill
    /// No unsynced changes remain.
    case cutOfAll
    /// All names remain, but no unsynced bytes.
    case cutOfBytes
    /// All bytes remain, but no unsynced names.
    case cutOfNames
    /// Each write remains, is missing or is torn at random; the names are those of some moment since the last sync.
    case cutByChance

    /// The contents of the disk if the machine stops after these changes.
    package func image(
        after changes: some Sequence<DiskChange>,
        on start: DiskImage = DiskImage(),
        seed: UInt64
    ) -> DiskImage {
        image(of: changes.reduce(into: UnsyncedDisk(start)) { $0.apply($1) }, seed: seed)
    }

    /// The contents of a disk after the crash.
    package func image(of disk: UnsyncedDisk, seed: UInt64) -> DiskImage {
        var random = SeededRandom(seed: seed)
        var image = disk.synced
        let kept = countOfKept(&random, of: disk.names.count)
        for change in disk.names.prefix(kept) { image.apply(change) }
        for change in disk.bytes { if let change = survivor(of: change, &random) { image.apply(change) } }
        return image
    }

    private func countOfKept(_ random: inout SeededRandom, of count: Int) -> Int {
        switch self {
        case .kill, .cutOfBytes: count
        case .cutOfAll, .cutOfNames: 0
        case .cutByChance: Int.random(in: 0...count, using: &random)
        }
    }

    private func survivor(of change: DiskChange, _ random: inout SeededRandom) -> DiskChange? {
        switch self {
        case .kill, .cutOfNames: return change
        case .cutOfAll, .cutOfBytes: return nil
        case .cutByChance:
            switch (Int.random(in: 0..<4, using: &random), change) {
            case (0, _): return nil
            case (1, .write(let node, let offset, let bytes)):
                return .write(node, at: offset, Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random))))
            case (2, .write(let node, let offset, let bytes)):
                // As if the new length reached the disk before the bytes.
                return .write(node, at: offset, [UInt8](repeating: 0, count: bytes.count))
            default: return change
            }
        }
    }
}

extension DiskChange {
    /// The file whose bytes are changed or synced.
    package var node: Int? {
        switch self {
        case .write(let node, _, _), .truncate(let node, _), .sync(let node): node
        case .create, .rename, .remove, .syncDirectory: nil
        }
    }

    /// The path that is created, removed or, for a renamed file, its new one.
    fileprivate var path: String? {
        switch self {
        case .create(let path, _), .rename(_, let path), .remove(let path): path
        case .write, .truncate, .sync, .syncDirectory: nil
        }
    }

    /// The directory whose names are changed; for a renamed file, the one that it is moved to.
    fileprivate var directory: Substring? { path.map { $0[..<($0.lastIndex(of: "/") ?? $0.startIndex)] } }

    /// The path that a renamed file had.
    fileprivate var oldPath: String? { if case .rename(let path, _) = self { path } else { nil } }
}

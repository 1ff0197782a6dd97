import HeadracePlatform
import HeadraceTestSupport

@testable import Headrace

/// An in-memory disk that logs its changes, so that a test can reconstruct what a crash would leave.
final class MemoryDisk: Sendable {
    private struct State {
        var image: DiskImage
        var changes: [DiskChange] = []
        var open: [Int32: Int] = [:]
        var lastFile: Int32 = 1000
        var lastNode: Int
    }

    private let state: Locked<State>
    private let bootID: String
    private let intercept: @Sendable (DiskChange) throws(SystemError) -> Void

    /// - Parameters:
    ///   - image: The initial contents.
    ///   - bootID: The boot ID that the machine reports.
    ///   - intercept: Called before each change; an error it throws becomes the result of the call.
    init(
        _ image: DiskImage = DiskImage(),
        bootID: String = "first",
        intercept: @escaping @Sendable (DiskChange) throws(SystemError) -> Void = { _ throws(SystemError) in }
    ) {
        state = Locked(State(image: image, lastNode: image.files.keys.max() ?? 0))
        self.bootID = bootID
        self.intercept = intercept
    }

    var image: DiskImage { state.withLock { $0.image } }

    /// All changes that succeeded, in order.
    var changes: [DiskChange] { state.withLock { $0.changes } }

    var calls: FileSystem {
        FileSystem(
            create: { path throws(SystemError) in try self.create(path) },
            createUnnamed: { _ in
                self.state.withLock { state in
                    state.lastNode += 1
                    state.lastFile += 1
                    state.open[state.lastFile] = state.lastNode
                    return state.lastFile
                }
            },
            linkOpen: { file, path throws(SystemError) in
                try self.change { state throws(SystemError) in
                    guard state.image.names[path] == nil else { throw SystemError(errno: EEXIST) }
                    return .create(path, try Self.node(of: file, state))
                }
            },
            open: { path throws(SystemError) in try self.open(path) },
            openForReading: { path throws(SystemError) in try self.open(path) },
            lock: { _ in true },
            read: { path, maxBytes throws(SystemError) in try self.read(path, maxBytes) },
            readAt: { file, offset, maxBytes throws(SystemError) in
                try self.state.withLock { state throws(SystemError) in
                    let bytes = state.image.files[try Self.node(of: file, state)] ?? []
                    return Array(bytes.dropFirst(Int(offset)).prefix(maxBytes))
                }
            },
            write: { file, bytes, offset throws(SystemError) in
                try self.change { state throws(SystemError) in
                    .write(try Self.node(of: file, state), at: offset, Array(bytes))
                }
                return bytes.count
            },
            dataRange: { file, offset throws(SystemError) in
                try self.state.withLock { state throws(SystemError) in
                    let size = Self.status(of: try Self.node(of: file, state), state).size
                    return offset < size ? offset..<size : nil
                }
            },
            truncate: { file, size throws(SystemError) in
                try self.change { state throws(SystemError) in .truncate(try Self.node(of: file, state), to: size) }
            },
            sync: { file throws(SystemError) in
                try self.change { state throws(SystemError) in .sync(try Self.node(of: file, state)) }
            },
            syncDirectory: { _ throws(SystemError) in try self.change { _ in .syncDirectory } },
            setMode: { _, _ in },
            setGroup: { _, _ in },
            setModified: { _, _ in },
            setAttribute: { _, _, _ throws(SystemError) in throw SystemError(errno: ENOTSUP) },
            attribute: { _, _, _ throws(SystemError) in throw SystemError(errno: ENOTSUP) },
            close: { file in self.state.withLock { $0.open[file] = nil } },
            replace: { path, newPath throws(SystemError) in try self.rename(path, newPath, replacing: true) },
            move: { path, newPath throws(SystemError) in try self.rename(path, newPath, replacing: false) },
            remove: { path throws(SystemError) in
                try self.change { state throws(SystemError) in
                    guard state.image.names[path] != nil else { throw SystemError(errno: ENOENT) }
                    return .remove(path)
                }
            },
            status: { path in
                self.state.withLock { state in state.image.names[path].map { Self.status(of: $0, state) } }
            },
            openStatus: { file throws(SystemError) in
                try self.state.withLock { state throws(SystemError) in
                    Self.status(of: try Self.node(of: file, state), state)
                }
            },
            names: { directory in
                self.image.names.keys.filter { $0.hasPrefix(directory + "/") }.map {
                    String($0.dropFirst(directory.count + 1))
                }
            },
            createDirectory: { _, _ in },
            checkDirectory: { _ in },
            freeSpace: { _ in .max },
            bootID: { self.bootID }
        )
    }

    private func create(_ path: String) throws(SystemError) -> Int32 {
        try change { state throws(SystemError) in
            guard state.image.names[path] == nil else { throw SystemError(errno: EEXIST) }
            state.lastNode += 1
            return .create(path, state.lastNode)
        }
        return try open(path)
    }

    private func open(_ path: String) throws(SystemError) -> Int32 {
        try state.withLock { state throws(SystemError) in
            guard let node = state.image.names[path] else { throw SystemError(errno: ENOENT) }
            state.lastFile += 1
            state.open[state.lastFile] = node
            return state.lastFile
        }
    }

    private func read(_ path: String, _ maxBytes: Int) throws(SystemError) -> [UInt8] {
        try state.withLock { state throws(SystemError) in
            guard let node = state.image.names[path] else { throw SystemError(errno: ENOENT) }
            return Array((state.image.files[node] ?? []).prefix(maxBytes))
        }
    }

    private func rename(_ path: String, _ newPath: String, replacing: Bool) throws(SystemError) {
        try change { state throws(SystemError) in
            guard state.image.names[path] != nil else { throw SystemError(errno: ENOENT) }
            guard replacing || state.image.names[newPath] == nil else { throw SystemError(errno: EEXIST) }
            return .rename(path, newPath)
        }
    }

    /// Makes a change unless the test makes it fail.
    private func change(_ make: (inout State) throws(SystemError) -> DiskChange) throws(SystemError) {
        let change = try state.withLock { state throws(SystemError) in try make(&state) }
        try intercept(change)
        state.withLock { state in
            state.image.apply(change)
            state.changes.append(change)
        }
    }

    private static func node(of file: Int32, _ state: State) throws(SystemError) -> Int {
        guard let node = state.open[file] else { throw SystemError(errno: EBADF) }
        return node
    }

    private static func status(of node: Int, _ state: State) -> FileStatus {
        FileStatus(
            kind: .regular,
            size: Int64(state.image.files[node]?.count ?? 0),
            modified: 0,
            device: 1,
            inode: UInt64(node)
        )
    }
}

/// One change of a disk; files are identified by number, because names may move.
enum DiskChange: Sendable, Equatable {
    case create(String, Int)
    case write(Int, at: Int64, [UInt8])
    case truncate(Int, to: Int64)
    case sync(Int)
    case rename(String, String)
    case remove(String)
    case syncDirectory
}

/// The names and bytes at one moment.
struct DiskImage: Sendable {
    var names: [String: Int] = [:]
    var files: [Int: [UInt8]] = [:]

    mutating func apply(_ change: DiskChange) {
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

    func bytes(of path: String) -> [UInt8]? {
        names[path].map { files[$0] ?? [] }
    }
}

/// The changes of a disk, separated into synced and unsynced ones.
struct UnsyncedDisk {
    private(set) var synced = DiskImage()
    private(set) var bytes: [DiskChange] = []
    private(set) var names: [DiskChange] = []

    mutating func apply(_ change: DiskChange) {
        switch change {
        case .create, .rename, .remove:
            names.append(change)
        case .write, .truncate:
            bytes.append(change)
        case .sync(let node):
            for change in bytes where change.node == node { synced.apply(change) }
            bytes.removeAll { $0.node == node }
        case .syncDirectory:
            names.forEach { synced.apply($0) }
            names = []
        }
    }
}

/// How a machine stops, and which unsynced changes remain on its disk.
enum Crash: Sendable, CaseIterable {
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
    func image(after changes: some Sequence<DiskChange>, seed: UInt64) -> DiskImage {
        image(of: changes.reduce(into: UnsyncedDisk()) { $0.apply($1) }, seed: seed)
    }

    /// The contents of a disk after the crash.
    func image(of disk: UnsyncedDisk, seed: UInt64) -> DiskImage {
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
    var node: Int? {
        switch self {
        case .write(let node, _, _), .truncate(let node, _), .sync(let node): node
        case .create, .rename, .remove, .syncDirectory: nil
        }
    }
}

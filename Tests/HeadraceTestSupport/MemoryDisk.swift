package import Headrace
import HeadracePlatform

/// An in-memory disk that logs its changes, so that a test can reconstruct what a crash would leave.
package final class MemoryDisk: Sendable {
    private struct Handle {
        let node: Int
        let process: Int
    }

    private struct State {
        var image: DiskImage
        var changes: [DiskChange] = []
        var open: [Int32: Handle] = [:]
        /// The open files that have locked theirs, by the number of the file.
        var locks: [Int: Int32] = [:]
        var killed: Set<Int> = []
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
    package init(
        _ image: DiskImage = DiskImage(),
        bootID: String = "first",
        intercept: @escaping @Sendable (DiskChange) throws(SystemError) -> Void = { _ throws(SystemError) in }
    ) {
        state = Locked(State(image: image, lastNode: image.files.keys.max() ?? 0))
        self.bootID = bootID
        self.intercept = intercept
    }

    package var image: DiskImage { state.withLock { $0.image } }

    /// All changes that succeeded, in order.
    package var changes: [DiskChange] { state.withLock { $0.changes } }

    /// The file calls of the only process.
    package var calls: FileSystem { calls(of: 0) }

    /// The file calls of one of several processes.
    package func calls(of process: Int) -> FileSystem {
        var calls = FileSystem.system
        calls.create = { path throws(SystemError) in try self.create(path, process) }
        calls.createUnnamed = { _ throws(SystemError) in try self.createUnnamed(process) }
        calls.linkOpen = { file, path throws(SystemError) in
            try self.change(by: process) { state throws(SystemError) in
                guard state.image.names[path] == nil else { throw SystemError(errno: EEXIST) }
                return .create(path, try Self.node(of: file, state))
            }
        }
        calls.open = { path throws(SystemError) in try self.open(path, process) }
        calls.openForReading = { path throws(SystemError) in try self.open(path, process) }
        calls.lock = { file throws(SystemError) in try self.lock(file) }
        calls.read = { path, maxBytes throws(SystemError) in try self.read(path, maxBytes) }
        calls.readAt = { file, offset, maxBytes throws(SystemError) in
            try self.state.withLock { state throws(SystemError) in
                let bytes = state.image.files[try Self.node(of: file, state)] ?? []
                return Array(bytes.dropFirst(Int(offset)).prefix(maxBytes))
            }
        }
        calls.write = { file, bytes, offset throws(SystemError) in
            try self.change(by: process) { state throws(SystemError) in
                .write(try Self.node(of: file, state), at: offset, Array(bytes))
            }
            return bytes.count
        }
        calls.dataRange = { file, offset throws(SystemError) in
            try self.state.withLock { state throws(SystemError) in
                let size = Self.status(of: try Self.node(of: file, state), state).size
                return offset < size ? offset..<size : nil
            }
        }
        calls.truncate = { file, size throws(SystemError) in
            try self.change(by: process) { state throws(SystemError) in
                .truncate(try Self.node(of: file, state), to: size)
            }
        }
        calls.sync = { file throws(SystemError) in
            try self.change(by: process) { state throws(SystemError) in .sync(try Self.node(of: file, state)) }
        }
        calls.syncDirectory = { path throws(SystemError) in
            try self.change(by: process) { _ in .syncDirectory(path) }
        }
        calls.setMode = { _, _ in }
        calls.setGroup = { _, _ in }
        calls.setModified = { _, _ in }
        calls.setAttribute = { _, _, _ throws(SystemError) in throw SystemError(errno: ENOTSUP) }
        calls.attribute = { _, _, _ throws(SystemError) in throw SystemError(errno: ENOTSUP) }
        calls.flush = { _ in }
        calls.close = { file in self.close(file) }
        calls.replace = { path, newPath throws(SystemError) in try self.rename(path, newPath, replacing: true, process)
        }
        calls.move = { path, newPath throws(SystemError) in try self.rename(path, newPath, replacing: false, process) }
        calls.remove = { path throws(SystemError) in
            try self.change(by: process) { state throws(SystemError) in
                guard state.image.names[path] != nil else { throw SystemError(errno: ENOENT) }
                return .remove(path)
            }
        }
        calls.status = { path in
            self.state.withLock { state in state.image.names[path].map { Self.status(of: $0, state) } }
        }
        calls.openStatus = { file throws(SystemError) in
            try self.state.withLock { state throws(SystemError) in
                Self.status(of: try Self.node(of: file, state), state)
            }
        }
        calls.names = { directory in
            let names = self.image.names.keys.filter { $0.hasPrefix(directory + "/") }.map {
                String($0.dropFirst(directory.count + 1))
            }
            return names.filter { !$0.contains("/") }.sorted()
        }
        calls.createDirectory = { _, _ in }
        calls.checkDirectory = { _ in }
        calls.freeSpace = { _ in .max }
        calls.isOpen = { path, _ in self.isLocked(path) }
        calls.bootID = { self.bootID }
        return calls
    }

    /// Ends a process: its files are closed, and it changes nothing any more.
    package func kill(_ process: Int) {
        state.withLock { state in
            state.killed.insert(process)
            state.locks = state.locks.filter { state.open[$0.value]?.process != process }
            state.open = state.open.filter { $0.value.process != process }
        }
    }

    private func lock(_ file: Int32) throws(SystemError) -> Bool {
        try state.withLock { state throws(SystemError) in
            let node = try Self.node(of: file, state)
            guard state.locks[node, default: file] == file else { return false }
            state.locks[node] = file
            return true
        }
    }

    private func isLocked(_ path: String) -> Bool {
        state.withLock { state in state.image.names[path].map { state.locks[$0] != nil } ?? false }
    }

    private func close(_ file: Int32) {
        state.withLock { state in
            guard let handle = state.open.removeValue(forKey: file) else { return }
            if state.locks[handle.node] == file { state.locks[handle.node] = nil }
        }
    }

    private func createUnnamed(_ process: Int) throws(SystemError) -> Int32 {
        try state.withLock { state throws(SystemError) in
            guard !state.killed.contains(process) else { throw SystemError(errno: EIO) }
            state.lastNode += 1
            state.lastFile += 1
            state.open[state.lastFile] = Handle(node: state.lastNode, process: process)
            return state.lastFile
        }
    }

    private func create(_ path: String, _ process: Int) throws(SystemError) -> Int32 {
        try change(by: process) { state throws(SystemError) in
            guard state.image.names[path] == nil else { throw SystemError(errno: EEXIST) }
            state.lastNode += 1
            return .create(path, state.lastNode)
        }
        return try open(path, process)
    }

    private func open(_ path: String, _ process: Int) throws(SystemError) -> Int32 {
        try state.withLock { state throws(SystemError) in
            guard !state.killed.contains(process) else { throw SystemError(errno: EIO) }
            guard let node = state.image.names[path] else { throw SystemError(errno: ENOENT) }
            state.lastFile += 1
            state.open[state.lastFile] = Handle(node: node, process: process)
            return state.lastFile
        }
    }

    private func read(_ path: String, _ maxBytes: Int) throws(SystemError) -> [UInt8] {
        try state.withLock { state throws(SystemError) in
            guard let node = state.image.names[path] else { throw SystemError(errno: ENOENT) }
            return Array((state.image.files[node] ?? []).prefix(maxBytes))
        }
    }

    private func rename(
        _ path: String,
        _ newPath: String,
        replacing: Bool,
        _ process: Int
    ) throws(SystemError) {
        try change(by: process) { state throws(SystemError) in
            guard state.image.names[path] != nil else { throw SystemError(errno: ENOENT) }
            guard replacing || state.image.names[newPath] == nil else { throw SystemError(errno: EEXIST) }
            return .rename(path, newPath)
        }
    }

    /// Makes a change unless the test makes it fail.
    private func change(
        by process: Int,
        _ make: (inout State) throws(SystemError) -> DiskChange
    ) throws(SystemError) {
        let change = try state.withLock { state throws(SystemError) in
            guard !state.killed.contains(process) else { throw SystemError(errno: EIO) }
            return try make(&state)
        }
        try intercept(change)
        state.withLock { state in
            state.image.apply(change)
            state.changes.append(change)
        }
    }

    private static func node(of file: Int32, _ state: State) throws(SystemError) -> Int {
        guard let handle = state.open[file] else { throw SystemError(errno: EBADF) }
        return handle.node
    }

    private static func status(of node: Int, _ state: State) -> FileStatus {
        FileStatus(size: Int64(state.image.files[node]?.count ?? 0), inode: UInt64(node))
    }
}

package import Headrace
import HeadracePlatform

/// Records file calls, and makes them fail or wait as the test requires; the others reach the file system.
package final class FileSystemRecorder: Sendable {
    /// One call, without details that differ from run to run.
    package enum Call: Sendable, Hashable {
        /// A file was created.
        case create
        /// A file without a name was created.
        case createUnnamed
        /// An open file without a name was given one.
        case linkOpen
        /// A write of `count` bytes at an offset.
        case write(offset: Int64, count: Int)
        /// The mode was set.
        case setMode(UInt32)
        /// The modification time was set, in seconds since 1970.
        case setModified(Int64)
        /// An extended attribute was set.
        case setAttribute(String)
        /// An extended attribute was read.
        case attribute(String)
        /// A file was closed.
        case close
        /// A file was renamed, replacing any existing one.
        case replace
        /// A file was renamed to a name that must be free.
        case move
        /// A file was removed.
        case remove
        /// An existing file was opened.
        case open
        /// A file was locked.
        case lock
        /// A file was read.
        case read
        /// An open file was read from an offset, at most `count` bytes.
        case readAt(offset: Int64, count: Int)
        /// A file was truncated.
        case truncate(Int64)
        /// A file's data was synced.
        case sync
        /// A directory's entries were synced.
        case syncDirectory
        /// A path's status was read.
        case status
        /// An open file's status was read.
        case openStatus
        /// The names in a directory were read.
        case names
        /// A directory was created.
        case createDirectory
        /// A directory was checked.
        case checkDirectory
        /// The free space was read.
        case freeSpace
        /// An existing file was opened for reading.
        case openForReading
        /// The data of a file was searched for holes.
        case dataRange
        /// The group was set.
        case setGroup
        /// The identifier of the boot was read.
        case bootID

        /// Whether the call is only passed to the closure of the recorder, and not listed in ``calls``.
        var isUnlisted: Bool {
            switch self {
            case .openForReading, .dataRange, .setGroup, .bootID: true
            default: false
            }
        }
    }

    private let system: FileSystem
    private let log = Locked<[Call]>([])
    /// The paths of the open files.
    private let paths = Locked<[Int32: String]>([:])
    private let intercept: @Sendable (Call, _ path: String) throws(SystemError) -> Void

    /// All calls so far, including those that failed.
    package var calls: [Call] { log.withLock { $0 } }

    /// All calls except those that only read a status.
    package var callsExceptStatus: [Call] { calls.filter { $0 != .status && $0 != .openStatus } }

    /// Creates a recorder.
    /// - Parameters:
    ///   - system: The implementation that receives the calls.
    ///   - intercept: Runs before each call, on the same thread; an error that it throws becomes the call's result.
    package init(
        to system: FileSystem = .system,
        _ intercept: @escaping @Sendable (Call) throws(SystemError) -> Void = { _ throws(SystemError) in }
    ) {
        self.system = system
        self.intercept = { call, _ throws(SystemError) in try intercept(call) }
    }

    /// Creates a recorder whose closure also receives the path of each call, for an open file the path at which it was
    /// opened.
    package init(
        to system: FileSystem,
        withPaths intercept: @escaping @Sendable (Call, _ path: String) throws(SystemError) -> Void
    ) {
        self.system = system
        self.intercept = intercept
    }

    /// Creates a recorder of a disk that is full, rejecting writes and new files, while `isFull` returns true.
    package convenience init(to system: FileSystem = .system, fullWhile isFull: @escaping @Sendable () -> Bool) {
        self.init(to: system) { call throws(SystemError) in
            guard isFull() else { return }
            switch call {
            case .write, .create, .createUnnamed: throw SystemError(errno: ENOSPC)
            default: break
            }
        }
    }

    /// The file calls to pass to a manager.
    package var fileCalls: FileSystem {
        let system = system
        var calls = system
        calls.create = { path throws(SystemError) in
            try self.note(.create, path)
            return self.opened(try system.create(path), path)
        }
        calls.createUnnamed = { directory throws(SystemError) in
            try self.note(.createUnnamed, directory)
            return self.opened(try system.createUnnamed(directory), directory)
        }
        calls.linkOpen = { file, path throws(SystemError) in
            try self.note(.linkOpen, path)
            try system.linkOpen(file, path)
        }
        calls.write = { file, bytes, offset throws(SystemError) in
            try self.note(.write(offset: offset, count: bytes.count), self.path(of: file))
            return try system.write(file, bytes, offset)
        }
        calls.setMode = { file, mode throws(SystemError) in
            try self.note(.setMode(mode), self.path(of: file))
            try system.setMode(file, mode)
        }
        calls.setModified = { file, seconds throws(SystemError) in
            try self.note(.setModified(seconds), self.path(of: file))
            try system.setModified(file, seconds)
        }
        calls.setAttribute = { file, name, bytes throws(SystemError) in
            try self.note(.setAttribute(name), self.path(of: file))
            try system.setAttribute(file, name, bytes)
        }
        calls.attribute = { path, name, maxBytes throws(SystemError) in
            try self.note(.attribute(name), path)
            return try system.attribute(path, name, maxBytes)
        }
        calls.close = { file throws(SystemError) in
            let path = self.paths.withLock { $0.removeValue(forKey: file) ?? "" }
            do throws(SystemError) {
                try self.note(.close, path)
            } catch {
                // The descriptor is closed whatever `close` returns.
                try? system.close(file)
                throw error
            }
            try system.close(file)
        }
        calls.replace = { path, newPath throws(SystemError) in
            try self.note(.replace, path)
            try system.replace(path, newPath)
        }
        calls.move = { path, newPath throws(SystemError) in
            try self.note(.move, path)
            try system.move(path, newPath)
        }
        calls.remove = { path throws(SystemError) in
            try self.note(.remove, path)
            try system.remove(path)
        }
        calls.open = { path throws(SystemError) in
            try self.note(.open, path)
            return self.opened(try system.open(path), path)
        }
        calls.lock = { file throws(SystemError) in
            try self.note(.lock, self.path(of: file))
            return try system.lock(file)
        }
        calls.read = { path, maxBytes throws(SystemError) in
            try self.note(.read, path)
            return try system.read(path, maxBytes)
        }
        calls.readAt = { file, offset, maxBytes throws(SystemError) in
            try self.note(.readAt(offset: offset, count: maxBytes), self.path(of: file))
            return try system.readAt(file, offset, maxBytes)
        }
        calls.truncate = { file, size throws(SystemError) in
            try self.note(.truncate(size), self.path(of: file))
            try system.truncate(file, size)
        }
        calls.sync = { file throws(SystemError) in
            try self.note(.sync, self.path(of: file))
            try system.sync(file)
        }
        calls.syncDirectory = { path throws(SystemError) in
            try self.note(.syncDirectory, path)
            try system.syncDirectory(path)
        }
        calls.status = { path throws(SystemError) in
            try self.note(.status, path)
            return try system.status(path)
        }
        calls.openStatus = { file throws(SystemError) in
            try self.note(.openStatus, self.path(of: file))
            return try system.openStatus(file)
        }
        calls.names = { path throws(SystemError) in
            try self.note(.names, path)
            return try system.names(path)
        }
        calls.createDirectory = { path, mode throws(SystemError) in
            try self.note(.createDirectory, path)
            try system.createDirectory(path, mode)
        }
        calls.checkDirectory = { path throws(SystemError) in
            try self.note(.checkDirectory, path)
            try system.checkDirectory(path)
        }
        calls.freeSpace = { file throws(SystemError) in
            try self.note(.freeSpace, self.path(of: file))
            return try system.freeSpace(file)
        }
        calls.openForReading = { path throws(SystemError) in
            try self.note(.openForReading, path)
            return self.opened(try system.openForReading(path), path)
        }
        calls.dataRange = { file, offset throws(SystemError) in
            try self.note(.dataRange, self.path(of: file))
            return try system.dataRange(file, offset)
        }
        calls.setGroup = { file, group throws(SystemError) in
            try self.note(.setGroup, self.path(of: file))
            try system.setGroup(file, group)
        }
        calls.bootID = { () throws(SystemError) in
            try self.note(.bootID, "")
            return try system.bootID()
        }
        return calls
    }

    private func opened(_ file: Int32, _ path: String) -> Int32 {
        paths.withLock { $0[file] = path }
        return file
    }

    private func path(of file: Int32) -> String { paths.withLock { $0[file] ?? "" } }

    private func note(_ call: Call, _ path: String) throws(SystemError) {
        if !call.isUnlisted { log.withLock { $0.append(call) } }
        try intercept(call, path)
    }
}

extension FileSystem {
    /// The system's calls without syncing, which takes a second each time on a loaded disk.
    package static var unsynced: FileSystem {
        var calls = FileSystem.system
        calls.sync = { _ in }
        calls.syncDirectory = { _ in }
        return calls
    }

    /// These calls with a directory on another volume: no file can be moved or linked into it or out of it.
    package func divided(at directory: String) -> FileSystem {
        @Sendable func check(_ path: String, _ newPath: String) throws(SystemError) {
            let isInside = [path, newPath].map { $0.hasPrefix(directory + "/") }
            guard isInside[0] == isInside[1] else { throw SystemError(errno: EXDEV) }
        }
        var calls = self
        calls.move = { [move] path, newPath throws(SystemError) in
            try check(path, newPath)
            try move(path, newPath)
        }
        calls.replace = { [replace] path, newPath throws(SystemError) in
            try check(path, newPath)
            try replace(path, newPath)
        }
        calls.linkOpen = { [linkOpen] file, path throws(SystemError) in
            // Files without names are created outside of the directory.
            try check("", path)
            try linkOpen(file, path)
        }
        return calls
    }

    /// These calls on a file system in which each file has a name from the start.
    package var withoutUnnamedFiles: FileSystem {
        var calls = self
        calls.createUnnamed = { _ throws(SystemError) in throw SystemError(errno: EOPNOTSUPP) }
        return calls
    }
}

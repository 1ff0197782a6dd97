package import Headrace
import HeadracePlatform

/// File calls that are recorded, and fail or wait where a test says so; all others reach the file system.
package final class FileSystemRecorder: Sendable {
    /// One call, without what differs from run to run.
    package enum Call: Sendable, Hashable {
        /// A file was created.
        case create
        /// So many bytes were to be written at an offset.
        case write(offset: Int64, count: Int)
        /// The mode was set.
        case setMode(UInt32)
        /// The time was set, in seconds since 1970.
        case setModified(Int64)
        /// An extended attribute was set.
        case setAttribute(String)
        /// An extended attribute was read.
        case attribute(String)
        /// A file was closed.
        case close
        /// A file got a name that may be taken.
        case replace
        /// A file got a name that must be free.
        case move
        /// A name was removed.
        case remove
        /// A file that exists was opened.
        case open
        /// A file was locked.
        case lock
        /// A file was read.
        case read
        /// An open file was read from an offset, so many bytes at most.
        case readAt(offset: Int64, count: Int)
        /// A file was cut.
        case truncate(Int64)
        /// A file's bytes were synced.
        case sync
        /// A directory's names were synced.
        case syncDirectory
        /// A name was looked up.
        case status
        /// An open file was looked at.
        case openStatus
        /// The names in a directory were read.
        case names
        /// A directory was created.
        case createDirectory
        /// A directory was checked.
        case checkDirectory
        /// The free space was asked for.
        case freeSpace
    }

    private let system: FileSystem
    private let log = Locked<[Call]>([])
    private let intercept: @Sendable (Call) throws(SystemError) -> Void

    /// All calls so far, those that failed included.
    package var calls: [Call] { log.withLock { $0 } }

    /// Those but looks at what a name, or an open file, is.
    package var callsExceptStatus: [Call] { calls.filter { $0 != .status && $0 != .openStatus } }

    /// Creates a recorder.
    /// - Parameters:
    ///   - system: What the calls reach.
    ///   - intercept: Runs before each call on its thread; what it throws is the call's result.
    package init(
        to system: FileSystem = .system,
        _ intercept: @escaping @Sendable (Call) throws(SystemError) -> Void = { _ throws(SystemError) in }
    ) {
        self.system = system
        self.intercept = intercept
    }

    /// Creates a recorder of a disk that takes no new bytes and files for as long as it is said to be full.
    package convenience init(to system: FileSystem = .system, fullWhile isFull: @escaping @Sendable () -> Bool) {
        self.init(to: system) { call throws(SystemError) in
            guard isFull() else { return }
            switch call {
            case .write, .create: throw SystemError(errno: ENOSPC)
            default: break
            }
        }
    }

    /// The calls to hand to a manager.
    package var fileCalls: FileSystem {
        let system = system
        var calls = system
        calls.create = { path throws(SystemError) in
            try self.note(.create)
            return try system.create(path)
        }
        calls.write = { file, bytes, offset throws(SystemError) in
            try self.note(.write(offset: offset, count: bytes.count))
            return try system.write(file, bytes, offset)
        }
        calls.setMode = { file, mode throws(SystemError) in
            try self.note(.setMode(mode))
            try system.setMode(file, mode)
        }
        calls.setModified = { file, seconds throws(SystemError) in
            try self.note(.setModified(seconds))
            try system.setModified(file, seconds)
        }
        calls.setAttribute = { file, name, bytes throws(SystemError) in
            try self.note(.setAttribute(name))
            try system.setAttribute(file, name, bytes)
        }
        calls.attribute = { path, name, maxBytes throws(SystemError) in
            try self.note(.attribute(name))
            return try system.attribute(path, name, maxBytes)
        }
        calls.close = { file throws(SystemError) in
            try self.note(.close)
            try system.close(file)
        }
        calls.replace = { path, newPath throws(SystemError) in
            try self.note(.replace)
            try system.replace(path, newPath)
        }
        calls.move = { path, newPath throws(SystemError) in
            try self.note(.move)
            try system.move(path, newPath)
        }
        calls.remove = { path throws(SystemError) in
            try self.note(.remove)
            try system.remove(path)
        }
        calls.open = { path throws(SystemError) in
            try self.note(.open)
            return try system.open(path)
        }
        calls.lock = { file throws(SystemError) in
            try self.note(.lock)
            return try system.lock(file)
        }
        calls.read = { path, maxBytes throws(SystemError) in
            try self.note(.read)
            return try system.read(path, maxBytes)
        }
        calls.readAt = { file, offset, maxBytes throws(SystemError) in
            try self.note(.readAt(offset: offset, count: maxBytes))
            return try system.readAt(file, offset, maxBytes)
        }
        calls.truncate = { file, size throws(SystemError) in
            try self.note(.truncate(size))
            try system.truncate(file, size)
        }
        calls.sync = { file throws(SystemError) in
            try self.note(.sync)
            try system.sync(file)
        }
        calls.syncDirectory = { path throws(SystemError) in
            try self.note(.syncDirectory)
            try system.syncDirectory(path)
        }
        calls.status = { path throws(SystemError) in
            try self.note(.status)
            return try system.status(path)
        }
        calls.openStatus = { file throws(SystemError) in
            try self.note(.openStatus)
            return try system.openStatus(file)
        }
        calls.names = { path throws(SystemError) in
            try self.note(.names)
            return try system.names(path)
        }
        calls.createDirectory = { path, mode throws(SystemError) in
            try self.note(.createDirectory)
            try system.createDirectory(path, mode)
        }
        calls.checkDirectory = { path throws(SystemError) in
            try self.note(.checkDirectory)
            try system.checkDirectory(path)
        }
        calls.freeSpace = { file throws(SystemError) in
            try self.note(.freeSpace)
            return try system.freeSpace(file)
        }
        return calls
    }

    private func note(_ call: Call) throws(SystemError) {
        log.withLock { $0.append(call) }
        try intercept(call)
    }
}

extension FileSystem {
    /// The system's calls without waiting for the disk, which under load takes a second each time.
    package static var unsynced: FileSystem {
        var calls = FileSystem.system
        calls.sync = { _ in }
        calls.syncDirectory = { _ in }
        return calls
    }
}

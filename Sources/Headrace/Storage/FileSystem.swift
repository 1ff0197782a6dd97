import HeadracePlatform

/// The file system as the storage layer uses it: one closure a system call, so that tests can fail and record them.
///
/// All of them block and throw the call's `errno`; meaning is added by the caller, with the path.
package struct FileSystem: Sendable {
    /// Creates a file that must not exist, mode 0600, and opens it for reading and writing; links are not followed.
    package var create: @Sendable (_ path: String) throws(SystemError) -> Int32
    /// Opens a file that exists for reading and writing; links are not followed.
    package var open: @Sendable (_ path: String) throws(SystemError) -> Int32
    /// Opens a file that exists for reading; links are not followed.
    package var openForReading: @Sendable (_ path: String) throws(SystemError) -> Int32
    /// Locks a file against every other opening of it until it is closed; false where somebody has it.
    package var lock: @Sendable (Int32) throws(SystemError) -> Bool
    /// Reads a file from its start, so many bytes at most; links are not followed.
    package var read: @Sendable (_ path: String, _ maxBytes: Int) throws(SystemError) -> [UInt8]
    /// Reads an open file from an offset, so many bytes at most; less than that is all there is.
    package var readAt: @Sendable (Int32, _ offset: Int64, _ maxBytes: Int) throws(SystemError) -> [UInt8]
    /// Writes at an offset; may write less than was given.
    package var write: @Sendable (Int32, UnsafeRawBufferPointer, _ offset: Int64) throws(SystemError) -> Int
    /// The first run of an open file's bytes, at or after an offset, that is no hole; nil where only a hole is left.
    package var dataRange: @Sendable (Int32, _ offset: Int64) throws(SystemError) -> Range<Int64>?
    /// Cuts a file to a size.
    package var truncate: @Sendable (Int32, _ size: Int64) throws(SystemError) -> Void
    /// Waits until the file's bytes are on the disk.
    package var sync: @Sendable (Int32) throws(SystemError) -> Void
    /// Waits until the names in a directory are on the disk.
    package var syncDirectory: @Sendable (_ path: String) throws(SystemError) -> Void
    /// Sets the mode of an open file.
    package var setMode: @Sendable (Int32, _ mode: UInt32) throws(SystemError) -> Void
    /// Gives an open file to a group.
    package var setGroup: @Sendable (Int32, _ group: UInt32) throws(SystemError) -> Void
    /// Sets the time of the last change of an open file's bytes, in seconds since 1970.
    package var setModified: @Sendable (Int32, _ seconds: Int64) throws(SystemError) -> Void
    /// Sets an extended attribute of an open file, which not every file system takes.
    package var setAttribute: @Sendable (Int32, _ name: String, [UInt8]) throws(SystemError) -> Void
    /// Reads an extended attribute of so many bytes at most, also where there is none an error; a link is not followed.
    package var attribute: @Sendable (_ path: String, _ name: String, _ maxBytes: Int) throws(SystemError) -> [UInt8]
    /// Closes a file.
    package var close: @Sendable (Int32) throws(SystemError) -> Void
    /// Renames a file over whatever has the new name.
    package var replace: @Sendable (_ path: String, _ newPath: String) throws(SystemError) -> Void
    /// Renames a file to a name that must be free.
    package var move: @Sendable (_ path: String, _ newPath: String) throws(SystemError) -> Void
    /// Removes a file's name.
    package var remove: @Sendable (_ path: String) throws(SystemError) -> Void
    /// What has a name, and nil where nothing has; a link is not followed.
    package var status: @Sendable (_ path: String) throws(SystemError) -> FileStatus?
    /// What an open file is.
    package var openStatus: @Sendable (Int32) throws(SystemError) -> FileStatus
    /// The names in a directory, in no order and without those that are of no UTF-8; a link at its name is not followed.
    package var names: @Sendable (_ directory: String) throws(SystemError) -> [String]
    /// Creates a directory that must not exist, in one that does; its mode is this one by the process's mask.
    package var createDirectory: @Sendable (_ path: String, _ mode: UInt32) throws(SystemError) -> Void
    /// Throws unless files can be made in the directory.
    package var checkDirectory: @Sendable (_ path: String) throws(SystemError) -> Void
    /// The bytes that this user can still write to the open file's file system.
    package var freeSpace: @Sendable (Int32) throws(SystemError) -> Int64
    /// The bytes that this user could write if the system purged what it can, which takes longer to find out than ``freeSpace``.
    package var spaceAfterPurging: @Sendable (Int32) throws(SystemError) -> Int64 = { _ in 0 }
    /// How the file system of a directory compares names.
    package var nameComparison: @Sendable (_ directory: String) -> NameComparison = { _ in .bytes }
    /// What tells one run of the kernel from another; empty where the system does not tell.
    package var bootID: @Sendable () throws(SystemError) -> String
}

/// What a path names.
package struct FileStatus: Sendable, Hashable {
    /// A kind of file.
    package enum Kind: Sendable {
        /// A file with bytes.
        case regular
        /// A directory.
        case directory
        /// A symbolic link.
        case link
        /// A device, a pipe or a socket.
        case other
    }

    /// The kind of file.
    package var kind: Kind
    /// The size in bytes.
    package var size: Int64
    /// The time of the last change of the bytes, in nanoseconds since 1970.
    package var modified: Int64
    /// How many names the file has.
    package var linkCount: UInt64 = 1
    /// The number of its file system.
    package var device: UInt64
    /// The number of the file in its file system.
    package var inode: UInt64
    /// The number of the user whose it is; nil for this one.
    package var owner: UInt32?
    /// The number of the group whose it is.
    package var group: UInt32 = 0
    /// The nine bits of who may read, write and execute it.
    package var mode: UInt32 = FileSystem.privateMode
    /// Whether it is this user's, and not for everybody to write.
    var isOwn: Bool { owner == nil && mode & UInt32(S_IWOTH) == 0 }
}

extension FileSystem {
    /// The calls of the operating system.
    package static let system: FileSystem = FileSystem(
        create: { path throws(SystemError) in
            try checked { libraryOpen(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC) }
        },
        open: { path throws(SystemError) in
            // Without O_NONBLOCK, a pipe put in the file's place would hold the caller.
            try checked { libraryOpen(path, O_NOFOLLOW | O_RDWR | O_CLOEXEC | O_NONBLOCK) }
        },
        openForReading: { path throws(SystemError) in try openToRead(path, followingLinks: false) },
        lock: { file throws(SystemError) in
            do throws(SystemError) {
                _ = try checked { flock(file, LOCK_EX | LOCK_NB) }
                return true
            } catch  where error.errno == EWOULDBLOCK {
                return false
            }
        },
        read: { path, maxBytes throws(SystemError) in
            let file = try openToRead(path, followingLinks: false)
            defer { _ = libraryClose(file) }
            return try readAll(file, 0, maxBytes)
        },
        readAt: { file, offset, maxBytes throws(SystemError) in
            try readAll(file, offset, maxBytes)
        },
        write: { file, bytes, offset throws(SystemError) in
            try checked { pwrite(file, bytes.baseAddress, bytes.count, off_t(offset)) }
        },
        dataRange: { file, offset throws(SystemError) in try nextData(file, from: offset) },
        truncate: { file, size throws(SystemError) in
            _ = try checked { ftruncate(file, off_t(size)) }
        },
        sync: { file throws(SystemError) in
            _ = try checked { syncData(file) }
        },
        syncDirectory: { path throws(SystemError) in
            let directory = try checked { libraryOpen(path + "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
            defer { _ = libraryClose(directory) }
            _ = try checked { syncEntries(directory) }
        },
        setMode: { file, mode throws(SystemError) in
            _ = try checked { fchmod(file, mode_t(mode)) }
        },
        setGroup: { file, group throws(SystemError) in
            _ = try checked { fchown(file, uid_t.max, gid_t(group)) }
        },
        setModified: { file, seconds throws(SystemError) in
            _ = try checked { setModifiedTime(file, seconds) }
        },
        setAttribute: { file, name, bytes throws(SystemError) in
            _ = try checked { setExtendedAttribute(file, name, bytes, bytes.count) }
        },
        attribute: { path, name, maxBytes throws(SystemError) in
            var bytes = [UInt8](repeating: 0, count: maxBytes)
            let count = try checked {
                bytes.withUnsafeMutableBytes { extendedAttribute(path, name, $0.baseAddress, maxBytes) }
            }
            return Array(bytes.prefix(count))
        },
        close: { file throws(SystemError) in
            // A process that is just being forked has the descriptor as well, and with it the lock, until it is another one.
            flock(file, LOCK_UN)
            let result = libraryClose(file)
            // After EINTR the descriptor is gone all the same.
            guard result == 0 || errno == EINTR else { throw SystemError(errno: errno) }
        },
        replace: { path, newPath throws(SystemError) in
            _ = try checked { rename(path, newPath) }
        },
        move: { path, newPath throws(SystemError) in
            try FileSystem.system.takeFreeName(path, newPath) { path, newPath throws(SystemError) in
                _ = try checked { renameWithoutReplacing(path, newPath) }
            } linking: { path, newPath throws(SystemError) in
                _ = try checked { link(path, newPath) }
            }
        },
        remove: { path throws(SystemError) in
            _ = try checked { unlink(path) }
        },
        status: { path throws(SystemError) in
            var status = stat()
            do throws(SystemError) {
                _ = try checked { path.withCString { lstat($0, &status) } }
            } catch  where error.errno == ENOENT {
                return nil
            }
            return FileStatus(status)
        },
        openStatus: { file throws(SystemError) in
            var status = stat()
            _ = try checked { fstat(file, &status) }
            return FileStatus(status)
        },
        names: { path throws(SystemError) in
            let file = try checked { libraryOpen(path, O_NOFOLLOW | O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
            guard let directory = fdopendir(file) else {
                let error = SystemError(errno: errno)
                _ = libraryClose(file)
                throw error
            }
            defer { closedir(directory) }
            var names: [String] = []
            while true {
                errno = 0
                guard let entry = readdir(directory) else {
                    guard errno == 0 else { throw SystemError(errno: errno) }
                    return names
                }
                let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                    String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self)
                }
                if let name, name != ".", name != ".." { names.append(name) }
            }
        },
        createDirectory: { path, mode throws(SystemError) in
            _ = try checked { mkdir(path, mode_t(mode)) }
        },
        checkDirectory: { path throws(SystemError) in
            // The slash makes anything but a directory an error.
            _ = try checked { access(path + "/", W_OK | X_OK) }
        },
        freeSpace: { file throws(SystemError) in
            let (size, blocks, available) = try fileSystemBlocks(file)
            // One that counts no blocks does not tell, and is not full.
            guard blocks > 0 else { throw SystemError(errno: ENOTSUP) }
            let (bytes, overflow) = available.multipliedReportingOverflow(by: size)
            return overflow ? .max : Int64(clamping: bytes)
        },
        spaceAfterPurging: { file throws(SystemError) in try capacityAfterPurging(file) },
        nameComparison: { directory in volumeComparison(of: directory) },
        bootID: { () throws(SystemError) in try BootID.current() }
    )

    /// The mode of a new file by the process's mask.
    static let newFileMode = UInt32(0o666 & ~currentMask())
}

extension FileStatus {
    fileprivate init(_ status: stat) {
        kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .directory
            case S_IFLNK: .link
            default: .other
            }
        size = Int64(status.st_size)
        modified = status.modified
        linkCount = UInt64(status.st_nlink)
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(truncatingIfNeeded: status.st_ino)
        owner = status.st_uid == geteuid() ? nil : status.st_uid
        group = status.st_gid
        mode = UInt32(status.st_mode) & 0o777
    }
}

extension FileSystem {
    /// How much of a file is read at once where all of it is.
    static let readBytes = 512 << 10

    /// Opens a file for reading only.
    static func openToRead(_ path: String, followingLinks: Bool) throws(SystemError) -> Int32 {
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK
        return try checked { libraryOpen(path, followingLinks ? flags : flags | O_NOFOLLOW) }
    }
}

/// The C library's calls whose names are those of the closures above.
///
/// A file that is created is its owner's only.
private func libraryOpen(_ path: String, _ flags: Int32) -> Int32 {
    // Handed over as a String, the path would be copied for the call.
    path.withCString { open($0, flags, mode_t(FileSystem.privateMode)) }
}

private func libraryClose(_ file: Int32) -> Int32 {
    close(file)
}

/// Reads until there are so many bytes, or no more.
private func readAll(_ file: Int32, _ offset: Int64, _ maxBytes: Int) throws(SystemError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: maxBytes)
    var filled = 0
    while filled < maxBytes {
        let count = try checked {
            bytes.withUnsafeMutableBytes {
                pread(file, $0.baseAddress.map { $0 + filled }, maxBytes - filled, off_t(offset) + off_t(filled))
            }
        }
        if count == 0 { break }
        filled += count
    }
    bytes.removeLast(maxBytes - filled)
    return bytes
}

/// Repeats a call that a signal interrupted, and throws its `errno`.
func checked<Result: SignedInteger>(_ call: () -> Result) throws(SystemError) -> Result {
    while true {
        let result = call()
        if result != -1 { return result }
        guard errno == EINTR else { throw SystemError(errno: errno) }
    }
}

extension stat {
    /// A time that is centuries away wraps around: it is compared, never shown.
    fileprivate var modified: Int64 {
        #if canImport(Darwin)
        let time = st_mtimespec
        #else
        let time = st_mtim
        #endif
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

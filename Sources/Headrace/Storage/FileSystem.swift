import HeadracePlatform

/// The system calls that the storage layer uses, as closures, so that tests can inject failures and record calls.
///
/// All closures block and throw the call's `errno`, to which the caller adds the meaning and the path. The `Int32`
/// parameters without a name are file descriptors.
package struct FileSystem: Sendable {
    /// Creates a new file with mode 0600 and opens it for reading and writing; links are not followed.
    package var create: @Sendable (_ path: String) throws(SystemError) -> Int32
    /// Creates a file without a name, with the mode ``newFileMode``, and opens it for reading and writing; not all file
    /// systems support it.
    package var createUnnamed: @Sendable (_ directory: String) throws(SystemError) -> Int32 = { _ throws(SystemError) in
        throw SystemError(errno: ENOTSUP)
    }
    /// Gives an open file without a name this one; fails if the name exists.
    package var linkOpen: @Sendable (Int32, _ path: String) throws(SystemError) -> Void = { _, _ throws(SystemError) in
        throw SystemError(errno: ENOTSUP)
    }
    /// Opens an existing file for reading and writing; links are not followed.
    package var open: @Sendable (_ path: String) throws(SystemError) -> Int32
    /// Opens an existing file for reading; links are not followed.
    package var openForReading: @Sendable (_ path: String) throws(SystemError) -> Int32
    /// Locks a file exclusively until it is closed; returns `false` if it is already locked.
    package var lock: @Sendable (Int32) throws(SystemError) -> Bool
    /// Reads up to `maxBytes` from the start of a file; links are not followed.
    package var read: @Sendable (_ path: String, _ maxBytes: Int) throws(SystemError) -> [UInt8]
    /// Reads up to `maxBytes` of an open file from an offset; returns fewer only at the end of the file.
    package var readAt: @Sendable (Int32, _ offset: Int64, _ maxBytes: Int) throws(SystemError) -> [UInt8]
    /// Writes at an offset and returns the number of bytes written, which may be fewer than given.
    package var write: @Sendable (Int32, UnsafeRawBufferPointer, _ offset: Int64) throws(SystemError) -> Int
    /// Returns the first range at or after an offset that is not a hole, or `nil` if only a hole follows.
    package var dataRange: @Sendable (Int32, _ offset: Int64) throws(SystemError) -> Range<Int64>?
    /// Truncates or extends a file to a size.
    package var truncate: @Sendable (Int32, _ size: Int64) throws(SystemError) -> Void
    /// Waits until the file's data is on the disk.
    package var sync: @Sendable (Int32) throws(SystemError) -> Void
    /// Waits until the directory's entries are on the disk.
    package var syncDirectory: @Sendable (_ path: String) throws(SystemError) -> Void
    /// Sets the mode of an open file.
    package var setMode: @Sendable (Int32, _ mode: UInt32) throws(SystemError) -> Void
    /// Sets the group of an open file.
    package var setGroup: @Sendable (Int32, _ group: UInt32) throws(SystemError) -> Void
    /// Sets the modification time of an open file, in seconds since 1970.
    package var setModified: @Sendable (Int32, _ seconds: Int64) throws(SystemError) -> Void
    /// Sets an extended attribute of an open file; not all file systems support it.
    package var setAttribute: @Sendable (Int32, _ name: String, [UInt8]) throws(SystemError) -> Void
    /// Reads an extended attribute of up to `maxBytes`, or throws if it is missing; links are not followed.
    package var attribute: @Sendable (_ path: String, _ name: String, _ maxBytes: Int) throws(SystemError) -> [UInt8]
    /// Closes a file.
    package var close: @Sendable (Int32) throws(SystemError) -> Void
    /// Renames a file; a file that already has the new name is replaced.
    package var replace: @Sendable (_ path: String, _ newPath: String) throws(SystemError) -> Void
    /// Renames a file; fails if the new name exists.
    package var move: @Sendable (_ path: String, _ newPath: String) throws(SystemError) -> Void
    /// Removes a directory entry.
    package var remove: @Sendable (_ path: String) throws(SystemError) -> Void
    /// Returns the status of a path, or `nil` if nothing exists there; links are not followed.
    package var status: @Sendable (_ path: String) throws(SystemError) -> FileStatus?
    /// Returns the status of an open file.
    package var openStatus: @Sendable (Int32) throws(SystemError) -> FileStatus
    /// Lists the valid UTF-8 names in a directory in no particular order; a link at `directory` is not followed.
    package var names: @Sendable (_ directory: String) throws(SystemError) -> [String]
    /// Creates a new directory in an existing one; the process's umask applies to the mode.
    package var createDirectory: @Sendable (_ path: String, _ mode: UInt32) throws(SystemError) -> Void
    /// Throws unless this process can create files in the directory.
    package var checkDirectory: @Sendable (_ path: String) throws(SystemError) -> Void
    /// Returns the number of bytes that this user can still write to the file's file system.
    package var freeSpace: @Sendable (Int32) throws(SystemError) -> Int64
    /// Like ``freeSpace``, plus the space that the system can purge on demand; slower, and always 0 on Linux.
    package var spaceAfterPurging: @Sendable (Int32) throws(SystemError) -> Int64 = { _ in 0 }
    /// Returns how the file system of a directory compares names.
    package var nameComparison: @Sendable (_ directory: String) -> NameComparison = { _ in .bytes }
    /// Returns whether the process with this ID has the file open; also `true` if there is no permission to find out.
    package var isOpen: @Sendable (_ path: String, _ process: Int32) -> Bool = { FileSystem.isOpen($0, by: $1) }
    /// Returns an identifier of the current boot; empty if the system has none.
    package var bootID: @Sendable () throws(SystemError) -> String
}

/// The properties of a file that `stat` reports.
package struct FileStatus: Sendable, Hashable {
    /// A kind of file.
    package enum Kind: Sendable {
        /// A regular file.
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
    /// The modification time in nanoseconds since 1970.
    package var modified: Int64
    /// The number of hard links.
    package var linkCount: UInt64 = 1
    /// The device number of its file system.
    package var device: UInt64
    /// The inode number.
    package var inode: UInt64
    /// The user ID of the owner; `nil` if it is the effective user of this process.
    package var owner: UInt32?
    /// The group ID.
    package var group: UInt32 = 0
    /// The nine permission bits.
    package var mode: UInt32 = FileSystem.privateMode
    /// Whether the file belongs to this user and is not world-writable.
    var isOwn: Bool { owner == nil && mode & UInt32(S_IWOTH) == 0 }
}

extension FileStatus {
    /// Creates the status of a regular file that belongs to this user, on a disk that does not record times.
    package init(size: Int64, inode: UInt64) {
        self.init(kind: .regular, size: size, modified: 0, device: 1, inode: inode)
    }
}

extension FileSystem {
    /// The operating system's file system.
    package static let system: FileSystem = FileSystem(
        create: { path throws(SystemError) in
            try checked { libraryOpen(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC) }
        },
        createUnnamed: { directory throws(SystemError) in try checked { openUnnamed(in: directory) } },
        linkOpen: { file, path throws(SystemError) in _ = try checked { linkUnnamed(file, path) } },
        open: { path throws(SystemError) in
            // Without O_NONBLOCK, opening a pipe in the file's place would block.
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
            // Unlocks explicitly: a child that was just forked shares the descriptor and its lock until it calls exec.
            flock(file, LOCK_UN)
            let result = libraryClose(file)
            // After EINTR, the descriptor is closed all the same.
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
        names: { path throws(SystemError) in try listNames(path) },
        createDirectory: { path, mode throws(SystemError) in
            _ = try checked { mkdir(path, mode_t(mode)) }
        },
        checkDirectory: { path throws(SystemError) in
            // The slash makes this fail for anything but a directory.
            _ = try checked { access(path + "/", W_OK | X_OK) }
        },
        freeSpace: { file throws(SystemError) in
            let (size, blocks, available) = try fileSystemBlocks(file)
            // A file system that reports no blocks does not report its free space; it is not full.
            guard blocks > 0 else { throw SystemError(errno: ENOTSUP) }
            let (bytes, overflow) = available.multipliedReportingOverflow(by: size)
            return overflow ? .max : Int64(clamping: bytes)
        },
        spaceAfterPurging: { file throws(SystemError) in try capacityAfterPurging(file) },
        nameComparison: { directory in volumeComparison(of: directory) },
        bootID: { () throws(SystemError) in try BootID.current() }
    )

    /// The mode of new files that results from the process's umask.
    static let newFileMode = UInt32(0o666 & ~currentMask())
}

extension FileStatus {
    init(_ status: stat) {
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
    /// The chunk size in bytes for reading a complete file.
    static let readBytes = 512 << 10

    /// Opens a file for reading only.
    static func openToRead(_ path: String, followingLinks: Bool) throws(SystemError) -> Int32 {
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK
        return try checked { libraryOpen(path, followingLinks ? flags : flags | O_NOFOLLOW) }
    }
}

/// Calls the C library's `open`, which the closure of the same name hides here; new files are private to their owner.
func libraryOpen(_ path: String, _ flags: Int32) -> Int32 {
    // Passing the String directly would copy the path for the call.
    path.withCString { open($0, flags, mode_t(FileSystem.privateMode)) }
}

func libraryClose(_ file: Int32) -> Int32 {
    close(file)
}

private func listNames(_ path: String) throws(SystemError) -> [String] {
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
}

/// Reads until `maxBytes` bytes or the end of the file.
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

/// Performs a call, and repeats it if a signal interrupts it; throws the `errno` of any other failure.
func checked<Result: SignedInteger>(_ call: () -> Result) throws(SystemError) -> Result {
    while true {
        let result = call()
        if result != -1 { return result }
        guard errno == EINTR else { throw SystemError(errno: errno) }
    }
}

extension stat {
    /// The modification time in nanoseconds; it wraps around for times centuries away, but is only compared, never
    /// displayed.
    fileprivate var modified: Int64 {
        #if canImport(Darwin)
        let time = st_mtimespec
        #else
        let time = st_mtim
        #endif
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

import HeadracePlatform

/// The calls of the operating system.
enum SystemFileCalls {
    static let all: FileSystem = FileSystem(
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
        flush: { file throws(SystemError) in
            // File systems flush a file each time that one of its descriptors is closed.
            let copy = try checked { fcntl(file, F_DUPFD_CLOEXEC, 0) }
            try closeOnce(copy)
        },
        close: { file throws(SystemError) in
            // Unlocks explicitly: a child that was just forked shares the descriptor and its lock until it calls exec.
            flock(file, LOCK_UN)
            try closeOnce(file)
        },
        replace: { path, newPath throws(SystemError) in
            _ = try checked { rename(path, newPath) }
        },
        move: { path, newPath throws(SystemError) in
            try all.takeFreeName(path, newPath) { path, newPath throws(SystemError) in
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

    /// Closes a descriptor; never repeats the call after EINTR.
    ///
    /// The descriptor is closed even then, and another thread may already have opened a file with its number.
    private static func closeOnce(_ file: Int32) throws(SystemError) {
        guard libraryClose(file) == 0 || errno == EINTR else { throw SystemError(errno: errno) }
    }

    /// Opens a file for reading only.
    static func openToRead(_ path: String, followingLinks: Bool) throws(SystemError) -> Int32 {
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK
        return try checked { libraryOpen(path, followingLinks ? flags : flags | O_NOFOLLOW) }
    }

    /// Implements ``FileSystem/isOpen``; `processes` is the directory in which Linux lists the processes.
    static func isOpen(_ path: String, by process: Int32, in processes: String = "/proc") -> Bool {
        guard kill(process, 0) == 0 || errno == EPERM, let wanted = try? all.status(path) else { return false }
        if let isListed = isListed(wanted, in: "\(processes)/\(process)/fd") { return isListed }
        // If the file can be locked here, no process uses it. A manager that opens the registry at this moment fails,
        // because the lock is taken.
        guard let file = try? all.open(path) else { return true }
        defer { try? all.close(file) }
        return (try? all.lock(file)) != true
    }

    /// Returns whether a directory of a process's descriptors contains a file.
    ///
    /// Returns `nil` if the directory cannot be opened: the system has no such directories, or the process belongs to
    /// another user, hides its descriptors, or has ended.
    private static func isListed(_ file: FileStatus, in directory: String) -> Bool? {
        #if os(Linux)
        guard let folder = opendir(directory) else { return nil }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            var found = stat()
            let isFound = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { fstatat(dirfd(folder), $0, &found, 0) == 0 }
            }
            if isFound, UInt64(found.st_dev) == file.device, UInt64(found.st_ino) == file.inode { return true }
        }
        return false
        #else
        return nil
        #endif
    }
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

/// Calls the C library's `open`; a new file is private to its owner.
func libraryOpen(_ path: String, _ flags: Int32) -> Int32 {
    // Passing the String directly would copy the path for the call.
    path.withCString { open($0, flags, mode_t(FileSystem.privateMode)) }
}

func libraryClose(_ file: Int32) -> Int32 { close(file) }

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
    /// The modification time in nanoseconds since 1970.
    ///
    /// It wraps around for times centuries away, which is harmless: it is only compared, never displayed.
    fileprivate var modified: Int64 {
        #if canImport(Darwin)
        let time = st_mtimespec
        #else
        let time = st_mtim
        #endif
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

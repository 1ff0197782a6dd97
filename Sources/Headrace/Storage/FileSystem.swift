import HeadracePlatform

/// The system calls that the storage layer uses, as closures, so that tests can inject failures and record calls.
///
/// All closures block. Those that throw report the call's `errno`, to which the caller adds the meaning and the path.
/// The `Int32` parameters without a name are file descriptors.
package struct FileSystem: Sendable {
    /// Creates a new file with mode 0600 and opens it for reading and writing; links are not followed.
    package var create: @Sendable (_ path: String) throws(SystemError) -> Int32
    /// Creates a file without a name, with the mode ``newFileMode``, and opens it for reading and writing; not all file
    /// systems support it.
    package var createUnnamed: @Sendable (_ directory: String) throws(SystemError) -> Int32 = { _ throws(SystemError) in
        throw SystemError(errno: ENOTSUP)
    }
    /// Gives an open file without a name the name `path`; fails if that name exists.
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
    /// Writes the cached bytes of an open file to the server of a network file system, as closing the file would.
    ///
    /// Such a file system may report a full or failed disk only then. Does not wait for a local disk.
    package var flush: @Sendable (Int32) throws(SystemError) -> Void = { _ in }
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
    /// Returns the number of free bytes, including those that the system can free by purging; slower than ``freeSpace``.
    ///
    /// On Linux, where nothing is purged, the result is 0. Throws on tvOS and watchOS, which do not report the number.
    package var spaceAfterPurging: @Sendable (Int32) throws(SystemError) -> Int64 = { _ in 0 }
    /// Returns how the file system of a directory compares names.
    package var nameComparison: @Sendable (_ directory: String) -> NameComparison = { _ in .bytes }
    /// Returns whether the process with this ID exists and has the file open.
    ///
    /// If the system does not report the open files of the process, it is assumed to have the file open in two cases:
    /// any process has locked the file, or the file cannot be opened.
    package var isOpen: @Sendable (_ path: String, _ process: Int32) -> Bool = { SystemFileCalls.isOpen($0, by: $1) }
    /// Returns an identifier of the current boot; empty if the system has none.
    package var bootID: @Sendable () throws(SystemError) -> String
}

extension FileSystem {
    /// The operating system's file system.
    package static let system: FileSystem = SystemFileCalls.all
    /// The mode of private files: partial files, resume records and queues.
    package static let privateMode: UInt32 = 0o600
    /// The mode of new files that results from the process's umask.
    static let newFileMode = UInt32(0o666 & ~currentMask())
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
    /// Creates the status of a regular file that belongs to this user, with the modification time 0.
    package init(size: Int64, inode: UInt64) {
        self.init(kind: .regular, size: size, modified: 0, device: 1, inode: inode)
    }
}

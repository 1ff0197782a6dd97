import HeadracePlatform

/// The locked file that receives a download's bytes.
///
/// Only ``move(to:)`` and ``replace(_:)`` give the file its final name. If all bytes of a file arrive at once, it may
/// have no name until then: that is faster, and leaves nothing behind if the process is killed.
///
/// All calls block: run them on the blocking executor.
final class PartialFile: Sendable {
    private static let accessList = "system.posix_acl_access"
    /// The maximum size of an access control list in bytes; Linux stores no larger extended attribute.
    private static let maxListBytes = 65_536

    let path: String
    /// The identity of the file; cached, because it cannot change while the file is open.
    let identity: ControlRecord.FileIdentity
    private let file: Int32
    private let shared: SharedFileSystem
    private let failedSync = Locked<SystemError?>(nil)
    private let history = Locked(WriteHistory())
    private let isNamed: Locked<Bool>

    private init(
        path: String,
        identity: ControlRecord.FileIdentity,
        file: Int32,
        isNamed: Bool = true,
        calls: SharedFileSystem
    ) {
        self.path = path
        self.isNamed = Locked(isNamed)
        self.identity = identity
        self.file = file
        shared = calls
    }

    /// Opens and locks the partial file of an earlier attempt; returns `nil` if there is none.
    ///
    /// Throws `busy` if another process or download is writing to it. A file that is not regular or belongs to an
    /// untrusted user causes an error and is not modified.
    static func existing(_ path: String, calls shared: SharedFileSystem) throws(DownloadError) -> PartialFile? {
        while true {
            do throws(SystemError) {
                guard let found = try shared.calls.status(path) else { return nil }
                guard found.kind == .regular else { throw SystemError(errno: EEXIST) }
                let file = try shared.calls.open(path)
                do throws(SystemError) {
                    guard try shared.calls.lockWherePossible(file) else { throw SystemError(errno: EWOULDBLOCK) }
                    // Meanwhile the name may have been reused, or this file may have been renamed to its final name.
                    let opened = try shared.calls.openStatus(file)
                    guard try !shared.calls.belongsToAnotherUser(opened, at: path) else {
                        throw SystemError(errno: EEXIST)
                    }
                    if try shared.isNamed(path, opened) {
                        return PartialFile(path: path, identity: opened.identity, file: file, calls: shared)
                    }
                    try? shared.calls.close(file)
                } catch {
                    try? shared.calls.close(file)
                    throw error
                }
            } catch  where error.errno == ENOENT {
                continue
            } catch {
                throw Self.openingFailed(path, error)
            }
        }
    }

    /// Creates the partial file.
    ///
    /// An existing file is truncated and reused, after `willReuse` has removed the record of its bytes. Throws `busy`
    /// if another process or download uses it. A file that has another name too is not truncated; instead, its name
    /// `path` is removed, and a new file is created.
    static func create(
        _ path: String,
        calls shared: SharedFileSystem,
        willReuse: () throws(DownloadError) -> Void = {}
    ) throws(DownloadError) -> PartialFile {
        while true {
            if let created = try createNew(path, calls: shared) { return created }
            guard let existing = try existing(path, calls: shared) else { continue }
            do throws(DownloadError) {
                try willReuse()
                guard try existing.hasOtherNames else {
                    try existing.truncate(to: 0)
                    return existing
                }
                try DownloadError.storage("\(path) could not be removed") { () throws(SystemError) in
                    try shared.calls.remove(path)
                }
                existing.close()
            } catch {
                existing.close()
                throw error
            }
        }
    }

    /// Creates and locks the file; returns `nil` if the name exists.
    private static func createNew(_ path: String, calls shared: SharedFileSystem) throws(DownloadError) -> PartialFile?
    {
        do throws(SystemError) {
            let file = try shared.calls.create(path)
            do throws(SystemError) {
                guard try shared.calls.lockWherePossible(file) else { throw SystemError(errno: EWOULDBLOCK) }
                return PartialFile(
                    path: path,
                    identity: try shared.calls.openStatus(file).identity,
                    file: file,
                    calls: shared
                )
            } catch {
                // Removes the empty file, unless another process has locked it and so uses it.
                if error.errno != EWOULDBLOCK { try? shared.calls.remove(path) }
                try? shared.calls.close(file)
                throw error
            }
        } catch  where error.errno == EEXIST {
            return nil
        } catch {
            throw Self.openingFailed(path, error)
        }
    }

    /// Creates a file without a name in `directory`, which ``giveName()`` can name `path`; returns `nil` if that fails,
    /// for example because the file system does not support it.
    static func createUnnamed(_ path: String, in directory: String, calls shared: SharedFileSystem) -> PartialFile? {
        guard let file = try? shared.calls.createUnnamed(directory) else { return nil }
        guard let identity = try? shared.calls.openStatus(file).identity else {
            try? shared.calls.close(file)
            return nil
        }
        return PartialFile(path: path, identity: identity, file: file, isNamed: false, calls: shared)
    }

    /// Whether the file has no name yet.
    var isUnnamed: Bool { !isNamed.withLock { $0 } }

    /// Locks a file without a name, makes it private, and gives it the name ``path``; throws `EEXIST` if that name
    /// exists.
    func giveName() throws(SystemError) {
        _ = try shared.calls.lockWherePossible(file)
        try shared.setModeWherePossible(file, FileSystem.privateMode)
        try link(to: path)
    }

    private func link(to newPath: String) throws(SystemError) {
        try shared.calls.linkOpen(file, newPath)
        isNamed.withLock { $0 = true }
    }

    /// Returns the status of the file, even if it has no name yet; `nil` if its name was removed or now refers to another
    /// file.
    func namedStatus() throws(SystemError) -> FileStatus? {
        let opened = try shared.calls.openStatus(file)
        if isUnnamed { return opened }
        return try shared.isNamed(path, opened) ? opened : nil
    }

    /// Whether the file was moved, removed or replaced at its path by another program; `false` if it has no name yet, or
    /// if that cannot be determined.
    var hasLostName: Bool { !isUnnamed && shared.calls.hasLostName(path, file) }

    /// Whether the file has other names (hard links), for example one in a backup.
    ///
    /// Another name may be the final one, under which the file belongs to the user. So a file with other names is not
    /// truncated when its bytes are discarded.
    var hasOtherNames: Bool {
        get throws(DownloadError) {
            guard !isUnnamed else { return false }
            return try status().linkCount > 1
        }
    }

    private static func openingFailed(_ path: String, _ error: SystemError) -> DownloadError {
        switch error.errno {
        case EWOULDBLOCK:
            DownloadError(.busy, "\(path) is being written by another download of the same URL. Wait for it to finish.")
        case EEXIST, ELOOP:
            DownloadError(
                .fileSystem,
                "\(path) blocks the download: it is not a partial file, or belongs to another user. Remove it and start again."
            )
        default:
            .storage("The file \(path) could not be opened", error)
        }
    }

    func status() throws(DownloadError) -> FileStatus {
        try DownloadError.storage("The status of \(path) could not be read") { () throws(SystemError) in
            try shared.calls.openStatus(file)
        }
    }

    /// Throws `diskFull` if the file system reports too little space for `count` more bytes.
    func requireSpace(for count: Int64) throws(DownloadError) {
        try shared.requireSpace(for: count, at: path, file)
    }

    /// Writes all bytes at an offset.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DownloadError) {
        try DownloadError.storage("\(path) could not be written") { () throws(SystemError) in
            try shared.writeAll(file, bytes, offset)
        }
        history.withLock { $0.record(bytes, at: offset) }
    }

    /// Returns whether the file contains these bytes at an offset.
    func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DownloadError) -> Bool {
        bytes.elementsEqual(try read(at: offset, maxBytes: bytes.count))
    }

    /// Reads up to `maxBytes` at an offset; returns fewer only at the end of the file.
    func read(at offset: Int64, maxBytes: Int) throws(DownloadError) -> [UInt8] {
        try DownloadError.storage("\(path) could not be read") { () throws(SystemError) in
            try shared.calls.readAt(file, offset, maxBytes)
        }
    }

    /// Returns the ranges written by an earlier run that the file still contains, as
    /// ``FileSystem/found(_:durable:in:size:)`` determines them.
    ///
    /// Also records which holes the durable ranges have now, because ``intact(_:)`` must not take these for lost bytes.
    func found(_ written: ByteRangeSet, durable: ByteRangeSet, size: Int64) throws(DownloadError) -> ByteRangeSet {
        try DownloadError.storage("\(path) could not be checked for lost data") { () throws(SystemError) in
            let found = try shared.calls.found(written, durable: durable, in: file, size: size)
            var holes = ByteRangeSet()
            if !durable.isEmpty {
                let data = try shared.calls.dataRanges(file, size: size)
                holes = ByteRangeSet(durable.ranges.lazy.flatMap(data.gaps))
            }
            history.withLock { [holes] in $0.resume(knownHoles: holes) }
            return found
        }
    }

    /// Returns the parts of the written ranges that the file still contains.
    ///
    /// The ranges must have been written through this object or returned by ``found(_:durable:size:)``. Another program
    /// may have truncated the file between two writes, or the disk may have lost bytes. Bytes that were overwritten in
    /// place are not detected. If `WriteHistory.mayHaveHoles` is `false`, returns all ranges without a check.
    func intact(_ written: ByteRangeSet) throws(DownloadError) -> ByteRangeSet {
        let history = history.withLock { $0 }
        guard history.mayHaveHoles else { return written }
        return try DownloadError.storage("\(path) could not be checked for holes") { () throws(SystemError) in
            // The fast path: two calls for a file without holes.
            if let data = try? shared.calls.dataRange(file, 0), ByteRangeSet([data]).contains(0..<written.end) {
                return written
            }
            let size = try shared.calls.openStatus(file).size
            return try shared.calls.found(written, durable: history.possibleHoles, in: file, size: size)
        }
    }

    func truncate(to size: Int64) throws(DownloadError) {
        try DownloadError.storage("\(path) could not be truncated") { () throws(SystemError) in
            try shared.calls.truncate(file, size)
        }
        history.withLock { $0.truncate(to: size) }
    }

    /// Waits until the data is on the disk.
    ///
    /// After a failure, do not retry, since the kernel has discarded the data.
    func sync() throws(SystemError) { try sync(by: shared.calls.sync) }

    /// Makes a network file system report the errors of earlier writes; a failed flush counts as a failed sync.
    func flush() throws(SystemError) { try sync(by: shared.calls.flush) }

    private func sync(by call: (Int32) throws(SystemError) -> Void) throws(SystemError) {
        do throws(SystemError) {
            try call(file)
        } catch {
            failedSync.withLock { $0 = error }
            throw error
        }
    }

    /// The error of the most recent failed ``sync()`` or ``flush()``; `nil` if none has failed.
    var syncFailure: SystemError? { failedSync.withLock { $0 } }

    /// Sets the modification time, in seconds since 1970.
    func setModified(_ seconds: Int64) throws(SystemError) { try shared.calls.setModified(file, seconds) }

    /// Sets an extended attribute.
    func setAttribute(_ name: String, _ bytes: [UInt8]) throws(SystemError) {
        try shared.calls.setAttribute(file, name, bytes)
    }

    /// Renames the file and sets its mode; returns `false` if another file has the new name.
    func move(to newPath: String, mode: UInt32 = FileSystem.newFileMode) throws(SystemError) -> Bool {
        do throws(SystemError) {
            if isUnnamed {
                if mode != FileSystem.newFileMode { try shared.setModeWherePossible(file, mode) }
                try link(to: newPath)
                return true
            }
            try name(mode) { () throws(SystemError) in try shared.calls.move(path, newPath) }
            return true
        } catch  where error.errno == EEXIST {
            return false
        }
    }

    /// Renames the file, and replaces a file that already has the new name.
    ///
    /// Throws `EEXIST` if the file to replace is a device, a pipe or a socket. Copies the mode, the access control list
    /// and the group of the replaced file if possible. In any case, other users get no access that the replaced file
    /// denied them.
    func replace(_ newPath: String) throws(SystemError) {
        // A special file may have been created since the last check, and a rename would replace it.
        let old = try shared.calls.status(newPath)
        guard old?.kind != .other else { throw SystemError(errno: EEXIST) }
        let mode = old.map { self.mode(inPlaceOf: $0, newPath) } ?? FileSystem.newFileMode
        try name(mode) { () throws(SystemError) in try shared.calls.replace(path, newPath) }
    }

    /// Copies the access control list and the group of the replaced file, if possible, and returns the mode to set.
    ///
    /// With this mode, other users get no access that the `old` file denied them.
    private func mode(inPlaceOf old: FileStatus, _ newPath: String) -> UInt32 {
        guard old.kind == .regular else { return FileSystem.newFileMode }
        var mode = old.mode
        if !copyAccessList(of: newPath) { mode &= 0o700 }
        do throws(SystemError) {
            try shared.calls.setGroup(file, old.group)
            return mode
        } catch {
            // The new file has another group: group and others get only the permissions that `mode` grants both.
            let common = mode & mode >> 3 & 0o007
            return mode & 0o700 | common << 3 | common
        }
    }

    /// Copies the access control list of the replaced file, if that file has one.
    ///
    /// Returns `false` if the copy failed, or if only the partial file has a list, which may grant access to others.
    private func copyAccessList(of other: String) -> Bool {
        // If the replaced file has no list, none is copied. But this file may have inherited one from the folder.
        guard let list = accessList(of: other) else { return accessList(of: path) == nil }
        return (try? shared.calls.setAttribute(file, Self.accessList, list)) != nil
    }

    private func accessList(of path: String) -> [UInt8]? {
        try? shared.calls.attribute(path, Self.accessList, Self.maxListBytes)
    }

    /// Sets the mode and renames the file; if the rename fails, restores the private mode.
    private func name(_ mode: UInt32, _ rename: () throws(SystemError) -> Void) throws(SystemError) {
        try shared.setModeWherePossible(file, mode)
        do throws(SystemError) {
            try rename()
        } catch {
            try? shared.calls.setMode(file, FileSystem.privateMode)
            throw error
        }
    }

    func close() {
        // A finished file was synced or flushed before it got its final name.
        try? shared.calls.close(file)
    }

    func remove() {
        if !isUnnamed { try? shared.calls.remove(path) }
    }
}

extension DownloadError {
    /// Performs a file call, and converts its error with ``storage(_:_:_:)``.
    static func storage<Result>(
        _ what: @autoclosure () -> String,
        _ call: () throws(SystemError) -> Result
    ) throws(DownloadError) -> Result {
        do {
            return try call()
        } catch {
            throw .storage(what(), error)
        }
    }

    /// Creates the error for a failed file call; `what` says what failed, without a full stop, and `more` is a sentence
    /// to append, beginning with a space.
    static func storage(_ what: String, _ error: SystemError, _ more: String = "") -> DownloadError {
        let (code, advice): (Code, String) =
            switch error.errno {
            case _ where error.isDiskFull: (.diskFull, " Free some disk space and start again.")
            case EACCES, EPERM, EROFS: (.permission, "")
            case _ where error.isOutOfDescriptors:
                (.fileSystem, " Allow more open files (ulimit -n), or run fewer downloads at once.")
            case EXDEV: (.fileSystem, " The folder spans two file systems; choose another one.")
            default: (.fileSystem, "")
            }
        var failure = DownloadError(code, "\(what): \(error).\(more)\(advice)", cause: error)
        // Retrying may succeed once other processes have closed files.
        failure.isRetryable = error.isOutOfDescriptors
        return failure
    }
}

import HeadracePlatform

/// The file that receives a download's bytes, locked, under a name of its own beside the destination.
///
/// It gets the final name by ``move(to:)`` or ``replace(_:)`` only. All calls block: they belong on the blocking executor.
final class PartialFile: Sendable {
    private static let accessList = "system.posix_acl_access"
    /// The most bytes of an attribute on Linux.
    private static let maxListBytes = 65_536

    let path: String
    /// Never another one's while the file is open, and so known without a call.
    let identity: ControlRecord.FileIdentity
    private let file: Int32
    private let shared: SharedFileSystem
    private let failedSync = Locked<SystemError?>(nil)
    private let history = Locked(WriteHistory())

    private init(path: String, identity: ControlRecord.FileIdentity, file: Int32, calls: SharedFileSystem) {
        self.path = path
        self.identity = identity
        self.file = file
        shared = calls
    }

    /// Opens the partial that an earlier attempt left; nil where there is none.
    ///
    /// Throws `busy` where another process or download writes it, and never touches what is not a regular file, or is a
    /// stranger's.
    static func existing(_ path: String, calls shared: SharedFileSystem) throws(DownloadError) -> PartialFile? {
        while true {
            do throws(SystemError) {
                guard let found = try shared.calls.status(path) else { return nil }
                guard found.kind == .regular else { throw SystemError(errno: EEXIST) }
                let file = try shared.calls.open(path)
                do throws(SystemError) {
                    guard try shared.calls.lockWherePossible(file) else { throw SystemError(errno: EWOULDBLOCK) }
                    // Before the lock was had, the name may have gone to another file, and this one to be the final one.
                    let opened = try shared.calls.openStatus(file)
                    guard try !shared.calls.isStrangers(opened, at: path) else { throw SystemError(errno: EEXIST) }
                    let isNamed = try shared.isNamed(path, opened)
                    guard isNamed, opened.linkCount > 1 else {
                        if isNamed {
                            return PartialFile(path: path, identity: opened.identity, file: file, calls: shared)
                        }
                        try? shared.calls.close(file)
                        continue
                    }
                    // It got its final name, and the process ended before it lost this one.
                    try shared.calls.remove(path)
                    try? shared.calls.close(file)
                    return nil
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

    /// Creates the partial; where another process was faster, its partial is taken over if that process has ended.
    static func create(_ path: String, calls shared: SharedFileSystem) throws(DownloadError) -> PartialFile {
        while true {
            if let created = try createNew(path, calls: shared) { return created }
            if let existing = try existing(path, calls: shared) {
                try existing.truncate(to: 0)
                return existing
            }
        }
    }

    /// Nil where the name is taken.
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
                // It is empty, and of use to nobody but to one that has its lock.
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

    /// What the file is; nil where its name was removed or given to another.
    func namedStatus() throws(SystemError) -> FileStatus? {
        let opened = try shared.calls.openStatus(file)
        return try shared.isNamed(path, opened) ? opened : nil
    }

    private static func openingFailed(_ path: String, _ error: SystemError) -> DownloadError {
        switch error.errno {
        case EWOULDBLOCK:
            DownloadError(.busy, "\(path) is being written by another download of the same URL. Wait for it to end.")
        case EEXIST, ELOOP:
            DownloadError(
                .fileSystem,
                "\(path) is in the way: it is no partial file, or another user's. Remove it and start again."
            )
        default:
            .storage("The file \(path) could not be opened", error)
        }
    }

    func status() throws(DownloadError) -> FileStatus {
        try DownloadError.storage("\(path) could not be looked at") { () throws(SystemError) in
            try shared.calls.openStatus(file)
        }
    }

    /// Throws `diskFull` unless so many more bytes fit on the file system.
    func requireSpace(for count: Int64) throws(DownloadError) {
        // Not every file system tells; then the write will.
        guard var free = try? shared.calls.freeSpace(file), free < count else { return }
        guard let purged = try? shared.calls.spaceAfterPurging(file), purged < count else { return }
        free = max(free, purged)
        throw DownloadError(
            .diskFull,
            "\(path) needs \(count.inBytes) more, and the disk has \(free.inBytes) left. Make room and start again."
        )
    }

    /// Writes all bytes at their place.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DownloadError) {
        try DownloadError.storage("\(path) could not be written") { () throws(SystemError) in
            try shared.writeAll(file, bytes, offset)
        }
        history.withLock { $0.record(bytes, at: offset) }
    }

    /// Whether the file has these bytes at their place.
    func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DownloadError) -> Bool {
        bytes.elementsEqual(try read(at: offset, maxBytes: bytes.count))
    }

    /// The bytes at an offset, so many at most; less than that is all there is.
    func read(at offset: Int64, maxBytes: Int) throws(DownloadError) -> [UInt8] {
        try DownloadError.storage("\(path) could not be read") { () throws(SystemError) in
            try shared.calls.readAt(file, offset, maxBytes)
        }
    }

    /// What the file has of bytes that were written to it, as ``FileSystem/found(_:durable:in:size:)`` tells.
    func found(_ written: ByteRangeSet, durable: ByteRangeSet, size: Int64) throws(DownloadError) -> ByteRangeSet {
        try DownloadError.storage("\(path) could not be looked at") { () throws(SystemError) in
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

    /// The bytes, written since the file was opened or found then, that it still has.
    ///
    /// Another program may have truncated the file between two writes, or the disk may have lost some. Bytes that were changed in
    /// place are not seen.
    func intact(_ written: ByteRangeSet) throws(DownloadError) -> ByteRangeSet {
        let history = history.withLock { $0 }
        guard history.mayHaveHoles else { return written }
        return try DownloadError.storage("\(path) could not be checked for holes") { () throws(SystemError) in
            // Two calls for a file without holes.
            if let data = try? shared.calls.dataRange(file, 0), ByteRangeSet([data]).contains(0..<written.end) {
                return written
            }
            let size = try shared.calls.openStatus(file).size
            return try shared.calls.found(written, durable: history.possibleHoles, in: file, size: size)
        }
    }

    func truncate(to size: Int64) throws(DownloadError) {
        try DownloadError.storage("\(path) could not be cut") { () throws(SystemError) in
            try shared.calls.truncate(file, size)
        }
        history.withLock { $0.truncate(to: size) }
    }

    /// Waits until the bytes are on the disk; a failure must not be tried again, since the kernel has given them up.
    func sync() throws(SystemError) {
        do throws(SystemError) {
            try shared.calls.sync(file)
        } catch {
            failedSync.withLock { $0 = error }
            throw error
        }
    }

    /// Why the last sync that failed did.
    var syncFailure: SystemError? { failedSync.withLock { $0 } }

    /// Sets the time of the last change, in seconds since 1970.
    func setModified(_ seconds: Int64) throws(SystemError) {
        try shared.calls.setModified(file, seconds)
    }

    /// Sets an extended attribute.
    func setAttribute(_ name: String, _ bytes: [UInt8]) throws(SystemError) {
        try shared.calls.setAttribute(file, name, bytes)
    }

    /// Gives the file a name that must be free; false where it is not.
    func move(to newPath: String, mode: UInt32 = FileSystem.newFileMode) throws(SystemError) -> Bool {
        do throws(SystemError) {
            try name(mode) { () throws(SystemError) in try shared.calls.move(path, newPath) }
            return true
        } catch  where error.errno == EEXIST {
            return false
        }
    }

    /// Gives the file a name that may be another's, but not a device's, a pipe's or a socket's.
    func replace(_ newPath: String) throws(SystemError) {
        // What has the name may have come since it was looked at, and would go as a file does.
        let old = try shared.calls.status(newPath)
        guard old?.kind != .other else { throw SystemError(errno: EEXIST) }
        let mode = old.map { self.mode(inPlaceOf: $0, newPath) } ?? FileSystem.newFileMode
        try name(mode) { () throws(SystemError) in try shared.calls.replace(path, newPath) }
    }

    /// That of a new file, but that nobody gets to read or write who could not so far; has the file's group be the old one's.
    private func mode(inPlaceOf old: FileStatus, _ newPath: String) -> UInt32 {
        guard old.kind == .regular else { return FileSystem.newFileMode }
        var mode = FileSystem.newFileMode & (old.mode | FileSystem.privateMode)
        if !takesAccessList(of: newPath) { mode &= 0o700 }
        do throws(SystemError) {
            try shared.calls.setGroup(file, old.group)
            return mode
        } catch {
            // Another group gets no more than all others, and those no more than the old group, of which they may be.
            let least = mode & mode >> 3 & 0o007
            return mode & 0o700 | least << 3 | least
        }
    }

    /// Has those whom the other file's access list names get as much from this one; false where it names others.
    private func takesAccessList(of other: String) -> Bool {
        // Without one there, that of the folder is here.
        guard let list = accessList(of: other) else { return accessList(of: path) == nil }
        return (try? shared.calls.setAttribute(file, Self.accessList, list)) != nil
    }

    private func accessList(of path: String) -> [UInt8]? {
        try? shared.calls.attribute(path, Self.accessList, Self.maxListBytes)
    }

    /// Gives the file the mode that goes with its name; for its owner only, as before, where it gets no name.
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
        // Everything that matters was checked before; a failure here has nobody to tell.
        try? shared.calls.close(file)
    }

    func remove() {
        try? shared.calls.remove(path)
    }
}

extension DownloadError {
    /// Makes a file call, whose failure is told as ``storage(_:_:_:)`` tells it.
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

    /// A failed file call; `what` names the file and ends without a full stop, `more` is a sentence of its own.
    static func storage(_ what: String, _ error: SystemError, _ more: String = "") -> DownloadError {
        let (code, advice): (Code, String) =
            switch error.errno {
            case _ where error.isDiskFull: (.diskFull, " Make room and start again.")
            case EACCES, EPERM, EROFS: (.permission, "")
            case EMFILE, ENFILE:
                (.fileSystem, " Allow more open files (ulimit -n), or run fewer downloads at once.")
            case EXDEV: (.fileSystem, " The folder is on two file systems at once; choose another one.")
            default: (.fileSystem, "")
            }
        var failure = DownloadError(code, "\(what): \(error).\(more)\(advice)", cause: error)
        // Others close theirs.
        failure.mayPass = [EMFILE, ENFILE].contains(error.errno)
        return failure
    }
}

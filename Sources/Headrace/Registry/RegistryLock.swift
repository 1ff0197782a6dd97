import HeadracePlatform

/// The process whose manager owns a registry; the cause of the `busy` error if another manager opens that registry.
struct RegistryOwner: Error, Hashable {
    /// The ID of the process; `nil` if the process does not run the queue, or the lock file does not have the ID yet.
    let processID: Int32?

    fileprivate func error(in directory: String) -> DownloadError {
        let process = processID.map { $0 == getpid() ? "another manager of this process" : "process \($0)" }
        return DownloadError(
            .busy,
            "The download queue in \(directory) is in use by \(process ?? "another process"). "
                + "Wait until it finishes, or choose another folder.",
            cause: self
        )
    }
}

/// The cause of a manager's errors after the directory of its registry, or the lock file in it, was removed, moved or
/// replaced.
struct RegistryLoss: Error, Hashable {
    /// Returns the error; `lock` is the path of the lock file.
    fileprivate func error(of lock: String) -> DownloadError {
        DownloadError(
            .fileSystem,
            "The download queue in \(FileSystem.parent(of: lock)) is gone: its folder was "
                + "removed, moved or replaced while it was in use. Start again with the queue that is there now. Partial "
                + "files are kept, and a download that is added again resumes from its own.",
            cause: self
        )
    }
}

/// A registry's lock: a file that is locked through one open descriptor, so that it is released even if the process is
/// killed.
///
/// The file is never removed: otherwise, two processes could lock two files of the same name.
struct RegistryLock: Sendable {
    static let fileName = ReservedFileNames.registryLock
    /// The maximum number of attempts to lock; an attempt is repeated only if another process has removed or replaced
    /// the file.
    private static let maxRounds = 100

    private enum Attempt {
        case taken(RegistryLock)
        case refused(RegistryOwner)
        /// The locked file was removed or renamed.
        case removed
        /// The file system does not support locks.
        case impossible(SystemError)
    }

    private let path: String
    private let file: Int32
    private let calls: FileSystem

    /// Takes the lock; throws `busy` with a ``RegistryOwner`` if another manager has it.
    ///
    /// With `isRun`, the process ID is written to the file: other processes use it to stop the process that runs the
    /// queue, or to wait for that process. A process that only edits the queue does not write its ID.
    static func take(in directory: String, isRun: Bool, calls: FileSystem) throws(DownloadError) -> RegistryLock {
        let path = "\(directory)/\(fileName)"
        for _ in 0..<maxRounds {
            switch try attempt(path, isRun, calls) {
            case .taken(let lock): return lock
            case .refused(let holder): throw holder.error(in: directory)
            case .removed: continue
            case .impossible(let error):
                let advice = " A queue needs a file system that supports locks: choose another folder."
                throw .storage("The lock \(path) could not be taken", error, advice)
            }
        }
        throw .registry("The lock \(path) could not be taken", SystemError(errno: EAGAIN))
    }

    /// Throws if the locked file was removed or renamed: another process may own the registry of that path now.
    func check() throws(DownloadError) {
        if calls.hasLostName(path, file) { throw RegistryLoss().error(of: path) }
    }

    /// Releases the lock.
    func release() {
        // Removes this process's ID. Otherwise, the next owner would be reported as this process until it has written
        // its own ID.
        Self.write(nil, to: file, calls)
        try? calls.close(file)
    }

    private static func attempt(_ path: String, _ isRun: Bool, _ calls: FileSystem) throws(DownloadError) -> Attempt {
        try DownloadError.registry("The lock \(path) could not be taken") { () throws(SystemError) in
            let file = try calls.openOrCreate(path)
            do throws(SystemError) {
                let result = try attempt(path, file, isRun, calls)
                if case .taken = result {} else { try? calls.close(file) }
                return result
            } catch {
                try? calls.close(file)
                throw error
            }
        }
    }

    private static func attempt(
        _ path: String,
        _ file: Int32,
        _ isRun: Bool,
        _ calls: FileSystem
    ) throws(SystemError) -> Attempt {
        let opened = try calls.openStatus(file)
        guard opened.kind == .regular else { throw SystemError(errno: EEXIST) }
        do throws(SystemError) {
            guard try calls.lock(file) else { return .refused(RegistryOwner(processID: processID(in: file, calls))) }
        } catch  where error.meansNoLocks {
            // Unlike a partial file, a journal needs the lock: two processes would lose each other's changes.
            return .impossible(error)
        }
        guard try calls.isNamed(path, opened) else { return .removed }
        let lock = RegistryLock(path: path, file: file, calls: calls)
        write(isRun ? getpid() : nil, to: file, calls)
        return .taken(lock)
    }

    /// Writes a process ID, or blanks instead of one; ignores errors, because the ID is informational.
    ///
    /// The length is always the same and the file is never truncated, so that later IDs fit even on a full disk.
    private static func write(_ id: Int32?, to file: Int32, _ calls: FileSystem) {
        let digits = id.map(String.init) ?? ""
        try? calls.writeAll(file, Array((String(repeating: " ", count: 10 - digits.count) + digits + "\n").utf8))
    }

    /// Returns the ID of the process that runs the directory's queue, from the lock file; `nil` if no process runs it,
    /// or the ID is unknown.
    static func holder(in directory: String, calls: FileSystem) -> Int32? {
        let path = "\(directory)/\(fileName)"
        guard let bytes = try? calls.read(path, 16), let holder = processID(from: bytes) else { return nil }
        // A process that does not have the file open is not the owner, but has reused the ID of a former one.
        return calls.isOpen(path, holder) ? holder : nil
    }

    private static func processID(in file: Int32, _ calls: FileSystem) -> Int32? {
        (try? calls.readAt(file, 0, 16)).flatMap { processID(from: $0) }
    }

    private static func processID(from bytes: [UInt8]) -> Int32? {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let digits = bytes[..<end].drop { $0 == UInt8(ascii: " ") }
        return Int32(String(decoding: digits, as: UTF8.self)).flatMap { $0 > 0 ? $0 : nil }
    }
}

extension DownloadError {
    /// Performs a call on a registry's files, and converts its error with `registry(_:_:)`.
    static func registry<Result>(
        _ what: @autoclosure () -> String,
        _ call: () throws(SystemError) -> Result
    ) throws(DownloadError) -> Result {
        do {
            return try call()
        } catch {
            throw .registry(what(), error)
        }
    }

    /// Returns the error for a failed call on a registry's files; `what` names the file and has no full stop.
    static func registry(_ what: String, _ error: SystemError) -> DownloadError {
        switch error.errno {
        case EEXIST, ELOOP, EISDIR:
            DownloadError(
                .fileSystem,
                "\(what): the file of this name does not belong to a download queue. Remove it and start again.",
                cause: error
            )
        default: .storage(what, error)
        }
    }

    /// Whether the manager has lost its registry for good, because its directory, or the lock file in it, was removed,
    /// moved or replaced.
    package var isRegistryLost: Bool { cause is RegistryLoss }
}

import HeadracePlatform

/// A folder of commands that other processes post to the owner of the registry.
///
/// Each command is a file, named by the time of posting.
///
/// A command is either complete or absent. It is executed at least once: if a process ends after executing a command
/// and before ``done(_:)``, the next process repeats it. All calls block.
struct CommandSpool: Sendable {
    /// A posted command and the path of its file.
    struct Item: Sendable, Hashable {
        let command: RegistryCommand
        let path: String
    }

    /// A file that is not a valid command, and was quarantined: renamed, so that it is not read again.
    struct Rejection: Sendable, Hashable {
        /// The path of the file after it was quarantined; the old path if it could not be renamed.
        let path: String
        /// The reason for the rejection.
        let reason: Reason
    }

    enum Reason: Sendable, Hashable {
        /// The contents are truncated or invalid, or have excess bytes.
        case damaged
        /// The command was written by a later release; the text describes the part that this release does not know.
        case newer(String)
        /// The file is not a regular file, or cannot be read.
        case unreadable(SystemError)
    }

    /// The contents of the folder, in the order of posting.
    struct Contents: Sendable, Hashable {
        var items: [Item] = []
        var refusals: [Rejection] = []
    }

    static let folderName = "inbox"
    static let suffix = ".command"
    static let newSuffix = ReservedFileNames.newSuffix
    static let unreadSuffix = ReservedFileNames.unreadSuffix
    /// The suffix of the file of a valid command that the queue has refused.
    static let refusedSuffix = ".refused"
    /// The time in nanoseconds after which an incomplete file is assumed to be left by a killed process.
    private static let maxPostingTime: UInt64 = 3600 * 1_000_000_000

    private let path: String
    private let calls: FileSystem

    /// Creates the spool of a registry.
    /// - Parameters:
    ///   - directory: The registry's directory.
    ///   - calls: The file system.
    init(in directory: String, calls: FileSystem = .system) {
        self.calls = calls
        path = "\(directory)/\(Self.folderName)"
    }

    // MARK: Posting

    /// Posts a command for the present or next owner of the registry; on return, the command survives a power cut.
    /// - Parameters:
    ///   - command: The command.
    ///   - time: The wall-clock time in nanoseconds since 1970, which orders the commands.
    /// - Returns: The path of the command's file, which is removed when the command is done, or renamed when it is
    ///   quarantined; see ``isDone(_:)``.
    /// - Throws: `diskFull`, `permission` or `fileSystem` if the write fails or there is no registry, and
    ///   `invalidRequest` if the command is too large. The command is then not posted; but if only the sync of the
    ///   folder failed, the owner may have executed it already.
    @discardableResult
    func post(_ command: RegistryCommand, at time: UInt64 = WallTime.nanoseconds()) throws(DownloadError) -> String {
        guard let bytes = command.encoded() else {
            throw DownloadError(
                .invalidRequest,
                "The command is larger than \(RegistryCommand.maxBytes >> 20) MiB. Split it."
            )
        }
        try calls.makeRegistryFolder(path)
        let random = UInt32.random(in: .min ... .max)
        let commandPath = "\(path)/\(time.hexadecimal)-\(getpid())-\(random.hexadecimal)\(Self.suffix)"
        let newPath = commandPath + Self.newSuffix
        try DownloadError.registry("The command \(commandPath) could not be written") { () throws(SystemError) in
            try calls.createFile(newPath, with: bytes, syncs: true) { path throws(SystemError) in
                try calls.move(path, commandPath)
            }
        }
        do throws(SystemError) {
            try calls.syncNames(in: path)
        } catch {
            try? calls.remove(commandPath)
            throw .registry("The folder \(path) could not be written to the disk", error)
        }
        return commandPath
    }

    /// Returns whether a posted command is done.
    /// - Parameter path: The path of the command's file.
    /// - Returns: `false` if the command is pending, or its state cannot be determined.
    /// - Throws: An error if the command will never be executed: `invalidRequest` if the queue has refused it, and
    ///   `fileSystem` if the queue's owner could not read or understand it.
    func isDone(_ path: String) throws(DownloadError) -> Bool {
        guard calls.isMissing(path) else { return false }
        try requireMissing(path + Self.refusedSuffix, .invalidRequest) { saved in
            "it is invalid for the queue. The process that owns the queue has reported the reason in its output, and saved "
                + "the command as \(saved)."
        }
        try requireMissing(path + Self.unreadSuffix, .fileSystem) { saved in
            "the process that owns the queue does not understand it, or cannot read it, and saved it as \(saved). Stop "
                + "that process, which may be of an earlier release or another user's, and repeat the command."
        }
        return true
    }

    /// Throws an error with the given code and reason if a command was quarantined at this path.
    ///
    /// Also throws if it cannot be determined whether this file exists.
    private func requireMissing(
        _ path: String,
        _ code: DownloadError.Code,
        _ reason: (String) -> String
    ) throws(DownloadError) {
        guard calls.isMissing(path) else {
            throw DownloadError(code, "The command was not executed: \(reason(path))")
        }
    }

    // MARK: Taking

    /// Starts to watch for posted commands; returns `nil` if the folder cannot be watched.
    func watch() -> FolderWatch? {
        // Only an existing folder can be watched; posting the first command would create it unnoticed.
        try? calls.makeRegistryFolder(path)
        return FolderWatch(path)
    }

    /// Whether the folder contains commands that have not been executed.
    /// - Throws: `permission` or `fileSystem` if the folder cannot be read.
    var hasCommands: Bool {
        get throws(DownloadError) { try names().contains { $0.hasSuffix(Self.suffix) } }
    }

    /// Reads the commands in the order of posting, for the owner of the registry; their files remain until
    /// ``done(_:)``.
    ///
    /// Invalid commands, and those of later releases, are quarantined and returned as rejected.
    /// - Parameter time: The present wall-clock time in nanoseconds since 1970; old incomplete files are removed.
    /// - Returns: The commands and the rejected files; empty if there is no folder.
    /// - Throws: `permission` or `fileSystem` if the folder cannot be read, or if a command cannot be read at present.
    func take(at time: UInt64 = WallTime.nanoseconds()) throws(DownloadError) -> Contents {
        var contents = Contents()
        // The names start with the time in hexadecimal digits, so that their bytewise order is the order of posting.
        for name in try names().sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            if name.hasSuffix(Self.suffix) {
                try read(name, into: &contents)
            } else if isAbandoned(name, at: time) {
                try? calls.remove("\(path)/\(name)")
            }
        }
        return contents
    }

    /// Removes the files of commands that were executed, and syncs the folder, even if no file is left to remove.
    /// - Parameter paths: The paths of the files.
    /// - Throws: `permission` or `fileSystem` if a file could not be removed, or may return after a power cut, so that
    ///   its command would be executed again; repeat the call later.
    func done(_ paths: [String]) throws(DownloadError) {
        for path in paths {
            do throws(SystemError) {
                try calls.remove(path)
            } catch  where error.errno == ENOENT {
                // An earlier call or another process removed it.
            } catch {
                throw .registry("The command \(path) could not be removed", error)
            }
        }
        do throws(SystemError) {
            try calls.syncNames(in: path)
        } catch {
            throw .registry("The folder \(path) could not be written to the disk", error)
        }
    }

    /// Renames the file of a command that will not be executed.
    ///
    /// The file is then not read again, and ``isDone(_:)`` throws in the process that posted the command.
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - suffix: The suffix that the file gets, which says why the command will not be executed.
    /// - Returns: The new path, or the old one if the file could not be renamed.
    func quarantine(_ path: String, as suffix: String = Self.unreadSuffix) -> String {
        (try? calls.replace(path, path + suffix)) == nil ? path : path + suffix
    }

    /// Returns the names of all files in the folder of commands; empty if there is no such folder.
    private func names() throws(DownloadError) -> [String] {
        do throws(SystemError) {
            return try calls.names(path)
        } catch  where error.errno == ENOENT {
            return []
        } catch {
            throw .registry("The folder \(path) could not be read", error)
        }
    }

    private func read(_ name: String, into contents: inout Contents) throws(DownloadError) {
        let file = "\(path)/\(name)"
        let reason: Reason
        do throws(SystemError) {
            guard let status = try calls.status(file) else { return }
            guard status.kind == .regular else { throw SystemError(errno: EINVAL) }
            let size = Int(clamping: min(status.size, Int64(RegistryCommand.maxBytes)))
            let bytes = try calls.read(file, size + 1)
            do throws(RegistryCommand.Failure) {
                contents.items.append(Item(command: try RegistryCommand(decoding: bytes), path: file))
                return
            } catch {
                reason =
                    switch error {
                    case .damaged: .damaged
                    case .unknown(let what): .newer(what)
                    }
            }
        } catch  where error.isOutOfDescriptors || error.errno == ENOMEM {
            // A later poll succeeds once the process may open files again.
            throw .registry("The command \(file) could not be read", error)
        } catch {
            reason = .unreadable(error)
        }
        contents.refusals.append(Rejection(path: quarantine(file), reason: reason))
    }

    private func isAbandoned(_ name: String, at time: UInt64) -> Bool {
        guard name.hasSuffix(Self.suffix + Self.newSuffix), let begun = UInt64(hexadecimal: name.utf8.prefix(16)) else {
            return false
        }
        return time > begun && time - begun > Self.maxPostingTime
    }
}

extension CommandSpool.Rejection: CustomStringConvertible {
    /// One sentence for the user.
    var description: String {
        switch reason {
        case .damaged: "The command \(path) is damaged and was not executed."
        case .newer(let what):
            "The command \(path) has \(what.printable), which this release does not know: it was not executed."
        case .unreadable(let error): "The command \(path) cannot be read: \(error). It was not executed."
        }
    }
}

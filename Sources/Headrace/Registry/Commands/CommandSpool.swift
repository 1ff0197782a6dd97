import HeadracePlatform

/// Commands on their way to the process that has the list: a folder with a file for each, named by the time of posting.
///
/// A command is there as a whole or not at all. It is done at least once: a process that ends between doing a command and
/// ``done(_:)`` leaves it to the next one. All calls block.
struct CommandSpool: Sendable {
    /// A command, with its file.
    struct Item: Sendable, Hashable {
        let command: RegistryCommand
        let path: String
    }

    /// A file that is no command here, and was set aside.
    struct Rejection: Sendable, Hashable {
        /// Where the file is now.
        let path: String
        /// Why it is no command.
        let reason: Reason
    }

    enum Reason: Sendable, Hashable {
        /// Bytes are missing, wrong or too many.
        case damaged
        /// A later release has written it.
        case newer(String)
        /// It is no file, or cannot be read.
        case unreadable(SystemError)
    }

    /// What was in the folder, in the order of posting.
    struct Contents: Sendable, Hashable {
        var items: [Item] = []
        var refusals: [Rejection] = []
    }

    static let folderName = "inbox"
    static let suffix = ".command"
    static let newSuffix = ReservedFileNames.newSuffix
    static let unreadSuffix = ReservedFileNames.unreadSuffix
    /// After so long a file that is being written belongs to a process that was killed.
    private static let maxPostingTime: UInt64 = 3600 * 1_000_000_000

    private let path: String
    private let calls: FileSystem

    /// The inbox of a list.
    /// - Parameters:
    ///   - directory: The list's own directory.
    ///   - calls: The file calls.
    init(in directory: String, calls: FileSystem = .system) {
        self.calls = calls
        path = "\(directory)/\(Self.folderName)"
    }

    // MARK: Posting

    /// Leaves a command for the process that has the list, or will have it; on return it outlives a power cut.
    /// - Parameters:
    ///   - command: What to do.
    ///   - time: The time on the wall, in nanoseconds since 1970: the order of the commands.
    /// - Returns: The file, which goes when the command is done or set aside; see ``isDone(_:)``.
    /// - Throws: `diskFull`, `permission` or `fileSystem` where the disk refused, also where there is no list, and
    ///   `invalidRequest` for a command that is too large; then it is not left.
    @discardableResult
    func post(_ command: RegistryCommand, at time: UInt64 = WallTime.nanoseconds()) throws(DownloadError) -> String {
        guard let bytes = command.encoded() else {
            throw DownloadError(
                .invalidRequest,
                "The command has more than \(RegistryCommand.maxBytes >> 20) MiB. Split it."
            )
        }
        try calls.makeRegistryFolder(path)
        let random = UInt32.random(in: .min ... .max)
        let commandPath = "\(path)/\(time.hexadecimal)-\(getpid())-\(random.hexadecimal)\(Self.suffix)"
        let newPath = commandPath + Self.newSuffix
        do throws(SystemError) {
            let file = try calls.create(newPath)
            do throws(SystemError) {
                do throws(SystemError) {
                    try calls.writeAll(file, bytes)
                    try calls.sync(file)
                } catch {
                    try? calls.close(file)
                    throw error
                }
                try calls.close(file)
                try calls.move(newPath, commandPath)
            } catch {
                try? calls.remove(newPath)
                throw error
            }
        } catch {
            throw .registry("The command \(commandPath) could not be written", error)
        }
        do throws(SystemError) {
            try calls.syncNames(in: path)
        } catch {
            try? calls.remove(commandPath)
            throw .registry("The folder \(path) could not be written to the disk", error)
        }
        return commandPath
    }

    /// Whether a command that was left is done.
    /// - Parameter path: The path of its file.
    /// - Returns: False while it waits, or cannot be looked up.
    /// - Throws: `fileSystem` where it was set aside, and will not be.
    func isDone(_ path: String) throws(DownloadError) -> Bool {
        guard calls.isMissing(path) else { return false }
        let unreadPath = path + Self.unreadSuffix
        guard calls.isMissing(unreadPath) else {
            throw DownloadError(
                .fileSystem,
                "The command was not done: the process that has the list does not know what is in it, or may not read it, "
                    + "and keeps it as \(unreadPath). End that process, which may be of an earlier release or another "
                    + "user's, and give the command again."
            )
        }
        return true
    }

    // MARK: Taking

    /// Tells of each command that is posted from now on; nil where the system does not.
    func watch() -> FolderWatch? {
        // Else who posts the first command would make it.
        try? calls.makeRegistryFolder(path)
        return FolderWatch(path)
    }

    /// Whether there is a command to be taken.
    /// - Throws: `permission` or `fileSystem` where the folder cannot be read.
    var hasCommands: Bool {
        get throws(DownloadError) { try names().contains { $0.hasSuffix(Self.suffix) } }
    }

    /// Reads the commands in the order of posting, for the process that has the list; their files stay until they are done.
    ///
    /// What is no command, or one of a later release, is renamed so that it is not found again, and told.
    /// - Parameter time: The time on the wall, in nanoseconds since 1970.
    /// - Returns: The commands, and what was set aside; nothing where there is no folder.
    /// - Throws: `permission` or `fileSystem` where the folder cannot be read.
    func take(at time: UInt64 = WallTime.nanoseconds()) throws(DownloadError) -> Contents {
        var contents = Contents()
        // By bytes, as all digits are.
        for name in try names().sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            if name.hasSuffix(Self.suffix) {
                read(name, into: &contents)
            } else if isAbandoned(name, at: time) {
                try? calls.remove("\(path)/\(name)")
            }
        }
        return contents
    }

    /// Removes a command that was done.
    /// - Parameter path: The path of its file.
    /// - Throws: `permission` or `fileSystem` where it stays, and would be done again.
    func done(_ path: String) throws(DownloadError) {
        do throws(SystemError) {
            try calls.remove(path)
            try calls.syncNames(in: self.path)
        } catch  where error.errno == ENOENT {
            // Somebody took it away.
        } catch {
            throw .registry("The command \(path) could not be removed", error)
        }
    }

    /// Renames a command that will not be done, so that it is not found again, and who has left it can tell.
    /// - Parameter path: The path of its file.
    /// - Returns: Where it is now.
    func quarantine(_ path: String) -> String {
        (try? calls.replace(path, path + Self.unreadSuffix)) == nil ? path : path + Self.unreadSuffix
    }

    /// What is in the folder; nothing where there is none.
    private func names() throws(DownloadError) -> [String] {
        do throws(SystemError) {
            return try calls.names(path)
        } catch  where error.errno == ENOENT {
            return []
        } catch {
            throw .registry("The folder \(path) could not be read", error)
        }
    }

    private func read(_ name: String, into contents: inout Contents) {
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
    /// One sentence for a person.
    var description: String {
        switch reason {
        case .damaged: "The command \(path) is damaged, and is not done."
        case .newer(let what):
            "The command \(path) has \(what.printable), which this release does not know: it is not done."
        case .unreadable(let error): "The command \(path) cannot be read: \(error). It is not done."
        }
    }
}

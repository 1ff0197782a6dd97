import HeadracePlatform

/// The rules of a download's destination: that its directory takes files, and what to do with a taken name.
struct ConflictResolver: Sendable {
    let names: DestinationPaths
    /// Made once, since each step of a transfer asks for it.
    let plannedPath: String
    private let policy: DownloadRequest.ConflictPolicy
    private let environment: TransferEnvironment

    /// Checks that the directory can take files, and makes it where it is missing; blocks.
    ///
    /// Where bytes have come before, there was one: what is missing then is perhaps a disk.
    init(_ record: DownloadRecord, _ environment: TransferEnvironment) throws(DownloadError) {
        names = record.names
        plannedPath = names.plannedPath
        policy = record.requested { $0.replacement }
        self.environment = environment
        do throws(SystemError) {
            do throws(SystemError) {
                try environment.files.checkDirectory(names.directory)
            } catch  where error.errno == ENOENT && record.status.progress.bytesReceived == 0 {
                try environment.files.makeDirectories(
                    names.directory,
                    syncs: environment.configuration.durability == .full
                )
                try environment.files.checkDirectory(names.directory)
            }
        } catch {
            throw .storage("The directory \(names.directory) cannot take the file", error)
        }
    }

    /// The final path for an answer, as ``DestinationPaths/path(for:)`` has it.
    func path(for head: ResponseHead) -> String { names.otherPath(for: head) ?? plannedPath }

    /// Checks whether the name is taken: true means that the file there is the result, and nothing is to be fetched.
    func isSatisfied(by path: String) throws(DownloadError) -> Bool {
        // A free name is looked for at the end, when it is taken in the same step. But who names a directory wants
        // the file in it, and not beside it under the next number.
        guard policy != .rename || path == names.knownPath else { return false }
        let kind: FileStatus.Kind?
        do {
            kind = try environment.files.status(path)?.kind
        } catch {
            throw .storage("\(path) cannot be looked up", error)
        }
        switch (kind, policy) {
        case (nil, _): return false
        case (.directory, _):
            throw DownloadError(
                .fileSystem,
                "\(path) is a directory. Choose another name, or give it as the directory."
            )
        case (.link, .rename):
            throw DownloadError(.fileSystem, "\(path) is no file but a link. Choose another name.")
        case (.other, .rename), (.other, .overwrite):
            // Neither what is meant for it belongs in a file beside it, nor a file in its place.
            throw DownloadError(
                .fileSystem,
                "\(path) is no file but a device, a pipe or a socket. Choose another name."
            )
        case (.regular, .rename): return false
        case (_, .fail):
            throw DownloadError(.fileExists, "\(path) exists already, and it may not be replaced.")
        case (.regular, .skip): return true
        case (.link, .skip), (.other, .skip):
            throw DownloadError(.fileSystem, "\(path) exists and is not a regular file.")
        case (.regular, .overwrite), (.link, .overwrite): return false
        }
    }
}

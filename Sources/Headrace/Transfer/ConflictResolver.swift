import HeadracePlatform

/// Checks a download's destination directory, and decides what happens if the file name is taken.
struct ConflictResolver: Sendable {
    let names: DestinationPaths
    /// The path planned from the request alone; stored, since each step of a transfer needs it.
    let plannedPath: String
    private let policy: DownloadRequest.ConflictPolicy
    private let environment: TransferEnvironment

    init(_ record: DownloadRecord, _ environment: TransferEnvironment) {
        names = record.names
        plannedPath = names.plannedPath
        policy = record.requested { $0.replacement }
        self.environment = environment
    }

    /// Checks that the directories of the final and the partial file accept files, and creates missing ones; the file
    /// calls may block.
    ///
    /// A missing directory is not created if bytes were received before, since it may be on an unmounted disk.
    func prepareDirectory(for record: DownloadRecord) throws(DownloadError) {
        try prepare(names.directory, for: record)
        guard let partials = environment.configuration.partialsDirectory else { return }
        try prepare(FileSystem.parent(of: names.partialPath(in: partials)), for: record)
    }

    private func prepare(_ directory: String, for record: DownloadRecord) throws(DownloadError) {
        let files = environment.files
        do throws(SystemError) {
            do throws(SystemError) {
                try files.checkDirectory(directory)
            } catch  where error.errno == ENOENT && record.status.progress.bytesReceived == 0 {
                try files.makeDirectories(directory, syncs: environment.configuration.durability == .full)
                try files.checkDirectory(directory)
            }
        } catch {
            throw .storage("The directory \(directory) cannot take the file", error)
        }
    }

    /// Returns the final path for a response, like ``DestinationPaths/path(for:)``.
    func path(for head: ResponseHead) -> String { names.otherPath(for: head) ?? plannedPath }

    /// Returns `true` if nothing must be downloaded, because a file exists at the path and the policy is `skip`.
    ///
    /// Throws if the file or directory at the path prevents the download, or cannot be checked.
    func isSatisfied(by path: String) throws(DownloadError) -> Bool {
        // With `rename`, a free name is found later, when the file is renamed. But if the caller named an existing
        // directory, the file belongs inside that directory, not beside it under a numbered name.
        guard policy != .rename || path == names.knownPath else { return false }
        let kind: FileStatus.Kind?
        do {
            kind = try environment.files.status(path)?.kind
        } catch {
            throw .storage("\(path) could not be checked", error)
        }
        switch (kind, policy) {
        case (nil, _): return false
        case (.directory, _):
            throw DownloadError(
                .fileSystem,
                "\(path) is a directory. Choose another name, or specify it as the directory."
            )
        case (.link, .rename):
            throw DownloadError(.fileSystem, "\(path) is a link, not a file. Choose another name.")
        case (.other, .rename), (.other, .overwrite):
            // The file must not replace a device, nor get a numbered name beside it.
            throw DownloadError(
                .fileSystem,
                "\(path) is a device, a pipe or a socket, not a file. Choose another name."
            )
        case (.regular, .rename): return false
        case (_, .fail):
            throw DownloadError(.fileExists, "\(path) exists already and must not be replaced.")
        case (.regular, .skip): return true
        case (.link, .skip), (.other, .skip):
            throw DownloadError(.fileSystem, "\(path) exists and is not a regular file.")
        case (.regular, .overwrite), (.link, .overwrite): return false
        }
    }
}

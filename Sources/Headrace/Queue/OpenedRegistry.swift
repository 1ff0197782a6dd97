import HeadracePlatform

/// The files of a registry that this process owns until they are closed.
struct RegistryFiles: Sendable {
    let file: RegistryFile
    /// The commands that other processes post.
    let spool: CommandSpool
    /// The executor for calls on these files; separate, so that a slow disk of a download does not delay them.
    let executor: BlockingExecutor

    /// Reads the pending commands in the order of posting, and quarantines invalid ones; the files of the valid ones
    /// remain until ``removeCommands(_:)``.
    ///
    /// Blocks. Throws `fileSystem` if the registry's directory was deleted, moved or replaced.
    func takeCommands() throws(DownloadError) -> CommandSpool.Contents {
        try file.check()
        return try spool.take()
    }

    /// Removes the files of the given commands, which were carried out and whose changes are on the disk; blocks.
    func removeCommands(_ items: [CommandSpool.Item]) throws(DownloadError) {
        try file.check()
        try spool.done(items.map(\.path))
    }
}

/// The registry of a configuration, opened and locked, and the queue read from it.
struct OpenedRegistry: Sendable {
    let files: RegistryFiles
    let journal: QueueJournal
    let queue: RestoredQueue
    let versions: RegistryVersions
    /// The directory for partial files; `nil` if they are beside their destinations.
    ///
    /// This is ``DownloadConfiguration/partialsDirectory``, which a manager that runs the queue saves in the registry.
    /// A manager that starts no downloads uses the saved directory if its configuration has none.
    let partials: URL?

    /// Opens, locks and reads the registry; returns `nil` if the configuration has none.
    ///
    /// Throws `busy` if another manager uses the registry.
    static func open(
        _ configuration: DownloadConfiguration,
        files: FileSystem,
        on sole: (any TaskExecutor)?
    ) async throws(DownloadError) -> OpenedRegistry? {
        guard let directory = configuration.registryDirectory else { return nil }
        let executor = try BlockingExecutor.forFiles("headrace-list", maxThreads: 4, maxWorking: 1, on: sole)
        return try await executor.run { () throws(DownloadError) in
            try OpenedRegistry(in: directory, configuration, files: files, executor)
        }
    }

    private init(
        in directory: URL,
        _ configuration: DownloadConfiguration,
        files: FileSystem,
        _ executor: BlockingExecutor
    ) throws(DownloadError) {
        let bases = RegistryBaseDirectories(of: directory)
        let (file, snapshot, report) = try RegistryFile.open(
            directory.filePath,
            .init(syncs: configuration.durability == .full, isRun: configuration.startsDownloads),
            calls: files
        )
        let saved = RegistryPartials(in: directory.filePath, bases: bases, calls: files)
        if configuration.startsDownloads {
            saved.save(configuration.partialsDirectory)
            partials = configuration.partialsDirectory
        } else {
            partials = configuration.partialsDirectory ?? saved.directory
        }
        queue = RestoredQueue(
            snapshot,
            report,
            bases: bases,
            pausing: configuration.restoresPaused,
            isStarting: configuration.startsDownloads,
            partials: partials,
            files: files
        )
        versions = RegistryVersions(in: directory.filePath, calls: files)
        let spool = CommandSpool(in: directory.filePath, calls: files)
        self.files = RegistryFiles(file: file, spool: spool, executor: executor)
        journal = QueueJournal(bases: bases, snapshot.entries, leftOut: queue.leftOut)
    }
}

extension RegistryBaseDirectories {
    /// Determines the directories to which the paths in a registry are relative.
    ///
    /// Blocks, because it resolves symbolic links: a stored path must mean the same file whichever link leads to the
    /// registry's directory.
    init(of directory: URL) {
        #if canImport(Darwin)
        let used = RelocatablePath.Base.allCases
        #else
        // On Linux, containers of apps do not move, and the next process to open the registry may have another home.
        let used = [RelocatablePath.Base.registry]
        #endif
        self.init(
            // In a sandboxed app, the home directory is the app's container.
            home: URL.homeDirectory.filePath,
            registry: Self.target(of: directory).deletingLastPathComponent().filePath,
            temporary: FileManager.default.temporaryDirectory.filePath,
            used: used
        )
    }

    /// Returns the target of a directory if it is a symbolic link; otherwise the directory itself.
    private static func target(of directory: URL) -> URL {
        let directory = directory.absoluteURL.standardized
        // Without a trailing slash in the path, the system does not follow the link.
        let isLink = (try? FileSystem.system.status(directory.path))?.kind == .link
        return isLink ? directory.resolvingSymlinksInPath() : directory
    }
}

import HeadracePlatform

/// The registry of a configuration, opened and locked, and the queue read from it.
struct OpenedRegistry: Sendable {
    let journal: QueueJournal
    let queue: RestoredQueue
    let versions: RegistryVersions

    /// Opens the registry, or returns `nil` if the configuration has none; blocks.
    init?(_ configuration: DownloadConfiguration, files: FileSystem) throws(DownloadError) {
        guard let directory = configuration.registryDirectory else { return nil }
        let bases = RegistryBaseDirectories(of: directory)
        let (file, snapshot, report) = try RegistryFile.open(
            directory.filePath,
            syncs: configuration.durability == .full,
            isRun: configuration.startsDownloads,
            calls: files
        )
        queue = RestoredQueue(
            snapshot,
            report,
            bases: bases,
            pausing: configuration.restoresPaused,
            isStarting: configuration.startsDownloads,
            files: files
        )
        versions = RegistryVersions(in: directory.filePath, calls: files)
        let spool = CommandSpool(in: directory.filePath, calls: files)
        journal = QueueJournal(file, spool, bases: bases, snapshot.entries, leftOut: queue.leftOut)
    }
}

extension RegistryBaseDirectories {
    /// Creates the base directories for the registry in a directory.
    ///
    /// Blocks to resolve links, so that stored paths mean the same files whichever link leads to the directory.
    init(of directory: URL) {
        #if canImport(Darwin)
        let used = RelocatablePath.Base.allCases
        #else
        // Containers do not move here, and the next process to open the registry may have another user's home.
        let used = [RelocatablePath.Base.registry]
        #endif
        self.init(
            // In a sandboxed app this is its container.
            home: URL.homeDirectory.filePath,
            registry: Self.target(of: directory).deletingLastPathComponent().filePath,
            temporary: FileManager.default.temporaryDirectory.filePath,
            used: used
        )
    }

    /// Returns the target of a directory that may be a link.
    private static func target(of directory: URL) -> URL {
        let directory = directory.absoluteURL.standardized
        // With a trailing slash, the link would be followed.
        let isLink = (try? FileSystem.system.status(directory.path))?.kind == .link
        return isLink ? directory.resolvingSymlinksInPath() : directory
    }
}

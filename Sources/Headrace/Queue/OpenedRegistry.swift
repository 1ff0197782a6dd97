import HeadracePlatform

/// The registry of a configuration, held, and what it told.
struct OpenedRegistry: Sendable {
    let journal: QueueJournal
    let list: RestoredQueue
    let versions: RegistryVersions

    /// Opens the registry, nil where the configuration has none; blocks.
    init?(_ configuration: DownloadConfiguration, files: FileSystem) throws(DownloadError) {
        guard let directory = configuration.registryDirectory else { return nil }
        let bases = RegistryBaseDirectories(of: directory)
        let (file, image, report) = try RegistryFile.open(
            directory.filePath,
            syncs: configuration.durability == .full,
            isRun: configuration.startsDownloads,
            calls: files
        )
        list = RestoredQueue(
            image,
            report,
            bases: bases,
            pausing: configuration.restoresPaused,
            isStarting: configuration.startsDownloads,
            files: files
        )
        versions = RegistryVersions(in: directory.filePath, calls: files)
        let inbox = CommandSpool(in: directory.filePath, calls: files)
        journal = QueueJournal(file, inbox, bases: bases, image.entries, leftOut: list.leftOut)
    }
}

extension RegistryBaseDirectories {
    /// The folders from which the registry in a directory tells its paths.
    ///
    /// Blocks. By whichever link the directory is opened, its paths mean the same files.
    init(of directory: URL) {
        #if canImport(Darwin)
        let used = RelocatablePath.Base.allCases
        #else
        // No container moves here, and who has the list next, as another user or a service, has another home.
        let used = [RelocatablePath.Base.registry]
        #endif
        self.init(
            // In an app's sandbox that is its container.
            home: URL.homeDirectory.filePath,
            registry: Self.target(of: directory).deletingLastPathComponent().filePath,
            temporary: FileManager.default.temporaryDirectory.filePath,
            used: used
        )
    }

    /// Where a directory is that may be a link to it.
    private static func target(of directory: URL) -> URL {
        let directory = directory.absoluteURL.standardized
        // With the slash at its end, a link's path would be its target's.
        let isLink = (try? FileSystem.system.status(directory.path))?.kind == .link
        return isLink ? directory.resolvingSymlinksInPath() : directory
    }
}

import HeadracePlatform

/// The registry of a configuration, held, and what it told.
struct OpenedRegistry: Sendable {
    let journal: ListJournal
    let list: RestoredList
    let versions: RegistryVersions

    /// Opens the registry, nil where the configuration has none; blocks.
    init?(_ configuration: DownloadManager.Configuration, files: FileCalls) throws(DownloadError) {
        guard let directory = configuration.registryDirectory else { return nil }
        let bases = RegistryBases(of: directory)
        let (file, image, report) = try RegistryFile.open(
            directory.filePath,
            syncs: configuration.durability == .full,
            isRun: configuration.startsDownloads,
            calls: files
        )
        list = RestoredList(
            image,
            report,
            bases: bases,
            pausing: configuration.restoresPaused,
            isStarting: configuration.startsDownloads,
            files: files
        )
        versions = RegistryVersions(in: directory.filePath, calls: files)
        let inbox = RegistryInbox(in: directory.filePath, calls: files)
        journal = ListJournal(file, inbox, bases: bases, image.entries, leftOut: list.leftOut)
    }
}

extension RegistryBases {
    /// The folders from which the registry in a directory tells its paths.
    ///
    /// Blocks. By whichever link the directory is opened, its paths mean the same files.
    init(of directory: URL) {
        #if canImport(Darwin)
        let used = RegistryPath.Base.allCases
        #else
        // No container moves here, and who has the list next, as another user or a service, has another home.
        let used = [RegistryPath.Base.registry]
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
        let isLink = (try? FileCalls.system.status(directory.path))?.kind == .link
        return isLink ? directory.resolvingSymlinksInPath() : directory
    }
}

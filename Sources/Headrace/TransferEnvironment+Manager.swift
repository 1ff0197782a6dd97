import HeadracePlatform

/// The environments in which managers run transfers.
extension TransferEnvironment {
    /// Creates the environment of a manager with this configuration, with its transport and its monitor of the network.
    convenience init(startedFor configuration: DownloadConfiguration, clock: AnyClock) throws(DownloadError) {
        if configuration.backgroundSession != nil { try BackgroundLimits.check(configuration) }
        // The system itself waits for the network in a background session.
        let isFetching = configuration.startsDownloads && configuration.backgroundSession == nil
        if isFetching { try DescriptorLimit.require() }
        let monitorsNetwork = isFetching && DescriptorLimit.allowsNetworkMonitor
        self.init(
            configuration: configuration,
            transport: try Self.makeTransport(configuration),
            clock: clock,
            network: monitorsNetwork ? NetworkMonitor() : NetworkMonitor(fixed: nil),
            descriptors: .system
        )
    }

    private static func makeTransport(_ configuration: DownloadConfiguration) throws(DownloadError) -> any Transport {
        guard configuration.backgroundSession == nil else { return NoTransport() }
        return try SessionTransport(
            try configuration.makeTransport(),
            configuration,
            environment: ProcessInfo.processInfo.environment
        )
    }

    /// Returns a copy of this environment for a manager with a registry: its transfers record final names in the
    /// journal.
    func storing(
        in registry: OpenedRegistry,
        _ system: (any BackgroundSystem)?,
        _ reference: ManagerReference
    ) -> TransferEnvironment {
        TransferEnvironment(
            self,
            background: system.map { BackgroundTransfers($0, configuration, files, clock) },
            versions: registry.versions,
            partials: registry.partials
        ) { id, path, stamp throws(DownloadError) in
            // Without this entry in the journal, the next manager would not know that the download is finished.
            guard let manager = reference.manager else { throw .shutDown() }
            await manager.journalWriter.willRename(id, path, stamp, in: manager)
        }
    }
}

/// Test replacements for everything on which a manager depends, so that a seed of random numbers determines its run.
package struct SimulatedSystem: Sendable {
    let transport: any Transport
    let files: FileSystem
    let clock: AnyClock
    let executor: any TaskExecutor
    let random: RandomSource
    let network: NetworkMonitor

    /// Creates a system.
    /// - Parameters:
    ///   - transport: Sends the requests.
    ///   - files: The file system.
    ///   - clock: The clock for all delays and speeds.
    ///   - executor: Runs all tasks of the manager and all file calls.
    ///   - random: Returns the random numbers for identities and delays.
    ///   - network: Reports the network path.
    package init(
        transport: any Transport,
        files: FileSystem,
        clock: some Clock<Duration>,
        executor: any TaskExecutor,
        random: @escaping @Sendable () -> UInt64,
        network: NetworkMonitor
    ) {
        self.transport = transport
        self.files = files
        self.clock = AnyClock(clock)
        self.executor = executor
        self.random = RandomSource(random)
        self.network = network
    }

    func environment(_ configuration: DownloadConfiguration) -> TransferEnvironment {
        TransferEnvironment(
            configuration: configuration,
            transport: transport,
            files: files,
            clock: clock,
            network: network,
            soleExecutor: executor,
            random: random
        )
    }
}

extension DownloadManager {
    /// Starts a manager in a simulation; throws as ``init(configuration:clock:)`` does.
    package init(configuration: DownloadConfiguration, in simulated: SimulatedSystem) async throws(DownloadError) {
        try configuration.validate()
        try await self.init(environment: simulated.environment(configuration))
    }
}

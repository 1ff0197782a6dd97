/// What every transfer of a manager works with; a class, since as a value it would be two dozen references to copy.
package final class TransferEnvironment: Sendable {
    package let configuration: DownloadManager.Configuration
    package let transport: any Transport
    package let files: FileCalls
    package let clock: ClockWitness

    /// Creates an environment.
    /// - Parameters:
    ///   - configuration: The manager's settings.
    ///   - transport: The way to the network.
    ///   - files: The file system.
    ///   - clock: The time.
    package init(
        configuration: DownloadManager.Configuration,
        transport: any Transport,
        files: FileCalls = .system,
        clock: ClockWitness
    ) {
        self.configuration = configuration
        self.transport = transport
        self.files = files
        self.clock = clock
    }
}

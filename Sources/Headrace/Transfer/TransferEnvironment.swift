/// What every transfer of a manager works with.
package struct TransferEnvironment: Sendable {
    package var configuration: DownloadManager.Configuration
    package var transport: any Transport
    package var files: FileCalls
    package var clock: ClockWitness
    /// Called, with the file as it is, before a file gets its final name; may block.
    var willName: @Sendable (Download.ID, _ path: String, FileStamp) -> Void = { _, _, _ in }

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

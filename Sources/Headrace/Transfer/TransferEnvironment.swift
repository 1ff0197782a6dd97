/// What every transfer of a manager works with; a class, since as a value it would be two dozen references to copy.
final class TransferEnvironment: Sendable {
    let configuration: DownloadManager.Configuration
    let transport: any Transport
    let files: FileCalls
    /// The same, for each partial to hold.
    let sharedFiles: SharedFileCalls
    let clock: ClockWitness
    let network: NetworkMonitor
    /// When the path changed last; nil where it has not.
    private let pathChange = Locked<Duration?>(nil)
    let hosts: HostConnections
    let claims: NameClaims
    let rates: RateControl
    /// Called, with the file as it is, before a file gets its final name; may block.
    let willName: @Sendable (Download.ID, _ path: String, FileStamp) -> Void
    /// Fetches the files in the app's place; nil where the manager does.
    let background: BackgroundTransfers?
    /// Where the versions of files are kept that have no attributes; nil for nowhere.
    let versions: RegistryVersions?

    init(
        _ other: TransferEnvironment,
        background: BackgroundTransfers?,
        versions: RegistryVersions?,
        willName: @escaping @Sendable (Download.ID, _ path: String, FileStamp) -> Void
    ) {
        self.background = background
        self.versions = versions
        configuration = other.configuration
        transport = other.transport
        files = other.files
        sharedFiles = other.sharedFiles
        clock = other.clock
        network = other.network
        hosts = other.hosts
        claims = other.claims
        rates = other.rates
        self.willName = willName
    }

    /// Creates an environment.
    /// - Parameters:
    ///   - configuration: The manager's settings.
    ///   - transport: The way to the network.
    ///   - files: The file system.
    ///   - clock: The time.
    ///   - network: The path to others; one that is not known by default.
    ///   - localTime: What a clock on the wall shows.
    init(
        configuration: DownloadManager.Configuration,
        transport: any Transport,
        files: FileCalls = .system,
        clock: ClockWitness,
        network: NetworkMonitor = NetworkMonitor(fixed: nil),
        localTime: @escaping @Sendable () -> LocalTime = LocalTime.now
    ) {
        self.configuration = configuration
        self.transport = transport
        self.files = files
        sharedFiles = SharedFileCalls(files)
        self.clock = clock
        self.network = network
        hosts = HostConnections(
            maximum: configuration.maxConnectionsPerHost,
            retriesPerMinute: configuration.retryPolicy.maxRetriesPerHostAndMinute
        )
        claims = NameClaims()
        rates = RateControl(configuration, clock: clock, localTime: localTime)
        willName = { _, _, _ in }
        background = nil
        versions = nil
    }

    /// Takes note that the path has changed.
    func notePathChange() {
        let now = clock.now()
        pathChange.withLock { $0 = now }
    }

    /// Whether what failed may be the network alone: it is not there for the request, or has changed a moment ago.
    func isNetworkUnsettled(for request: DownloadRequest) -> Bool {
        let need = NetworkNeed(request)
        guard !need.isLoopback, gate.obstacle(for: need) == nil else { return !need.isLoopback }
        let settled = pathChange.withLock { $0.map { $0 + NetworkGate.settlingTime } }
        return settled.map { clock.now() < $0 } ?? false
    }

    /// What the network allows at this moment.
    var gate: NetworkGate {
        NetworkGate(waitsForConnectivity: configuration.waitsForConnectivity, path: network.path)
    }
}

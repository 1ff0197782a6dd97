/// What every transfer of a manager works with; a class, since as a value it would be two dozen references to copy.
final class TransferEnvironment: Sendable {
    let configuration: DownloadConfiguration
    let transport: any Transport
    let files: FileSystem
    /// The same, for each partial to hold.
    let sharedFiles: SharedFileSystem
    let clock: AnyClock
    let network: NetworkMonitor
    /// When the path changed last; nil where it has not.
    private let pathChange = Locked<Duration?>(nil)
    let hosts: HostLimiter
    let claims: DestinationReservations
    let rates: ThrottleController
    let descriptors: DescriptorShare
    /// Called, with the file as it is, before a file gets its final name; may block.
    let willName: @Sendable (DownloadID, _ path: String, FileStamp) -> Void
    /// Fetches the files in the app's place; nil where the manager does.
    let background: (any BackgroundFetcher)?
    /// Where the versions of files are kept that have no attributes; nil for nowhere.
    let versions: RegistryVersions?

    init(
        _ other: TransferEnvironment,
        background: (any BackgroundFetcher)?,
        versions: RegistryVersions?,
        willName: @escaping @Sendable (DownloadID, _ path: String, FileStamp) -> Void
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
        descriptors = other.descriptors
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
    ///   - descriptors: The descriptors for transfers; as many as they want by default.
    init(
        configuration: DownloadConfiguration,
        transport: any Transport,
        files: FileSystem = .system,
        clock: AnyClock,
        network: NetworkMonitor = NetworkMonitor(fixed: nil),
        localTime: @escaping @Sendable () -> LocalTime = LocalTime.now,
        descriptors: DescriptorShare = .unlimited
    ) {
        self.configuration = configuration
        self.transport = transport
        self.files = files
        sharedFiles = SharedFileSystem(files)
        self.clock = clock
        self.network = network
        hosts = HostLimiter(
            maximum: configuration.maxConnectionsPerHost,
            retriesPerMinute: configuration.retryPolicy.maxRetriesPerHostAndMinute
        )
        self.descriptors = descriptors
        claims = DestinationReservations()
        rates = ThrottleController(configuration, clock: clock, localTime: localTime)
        willName = { _, _, _ in }
        background = nil
        versions = nil
    }

    /// Takes note that the path has changed.
    func recordPathChange() {
        let now = clock.now()
        pathChange.withLock { $0 = now }
    }

    /// Whether what failed may be the network alone: it is not there for the request, or has changed a moment ago.
    func isNetworkUnsettled(for request: DownloadRequest) -> Bool {
        let need = NetworkRequirement(request)
        guard !need.isLoopback, gate.blocker(for: need) == nil else { return !need.isLoopback }
        let settled = pathChange.withLock { $0.map { $0 + NetworkAdmission.settlingTime } }
        return settled.map { clock.now() < $0 } ?? false
    }

    /// What the network allows at this moment.
    var gate: NetworkAdmission {
        NetworkAdmission(waitsForConnectivity: configuration.waitsForConnectivity, path: network.path)
    }
}

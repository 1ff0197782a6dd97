import HeadracePlatform

/// The services that all transfers of a manager share; a class, so that passing it copies only one reference.
final class TransferEnvironment: Sendable {
    let configuration: DownloadConfiguration
    let transport: any Transport
    let files: FileSystem
    /// The file system ``files`` as a class instance, which all partial files share.
    let sharedFiles: SharedFileSystem
    let clock: AnyClock
    let network: NetworkMonitor
    /// The time of the last change of the network path; `nil` if there was none.
    private let pathChange = Locked<Duration?>(nil)
    let hosts: HostLimiter
    let claims: DestinationReservations
    let rates: ThrottleController
    let hsts: HSTSStore
    let descriptors: DescriptorShare
    /// The executor of a simulation, on which everything runs; `nil` if the manager's threads and the global executor
    /// are used.
    let soleExecutor: (any TaskExecutor)?
    let random: RandomSource
    /// Called with the stamp of a file before it is renamed to its final name; throws if it must not be renamed.
    ///
    /// `nil` if no journal has to record that name.
    let willRename: (@Sendable (DownloadID, _ path: String, FileStamp) async throws(DownloadError) -> Void)?
    /// Downloads the files outside this process; `nil` if the manager downloads them itself.
    let background: (any BackgroundFetcher)?
    /// Stores the validators of files on file systems without extended attributes; `nil` to store none.
    let versions: RegistryVersions?

    init(
        _ other: TransferEnvironment,
        background: (any BackgroundFetcher)?,
        versions: RegistryVersions?,
        partials: URL?,
        willRename: @escaping @Sendable (DownloadID, _ path: String, FileStamp) async throws(DownloadError) -> Void
    ) {
        self.background = background
        self.versions = versions
        var configuration = other.configuration
        configuration.partialsDirectory = partials
        self.configuration = configuration
        transport = other.transport
        files = other.files
        sharedFiles = other.sharedFiles
        clock = other.clock
        network = other.network
        hosts = other.hosts
        claims = other.claims
        rates = other.rates
        hsts = other.hsts
        descriptors = other.descriptors
        soleExecutor = other.soleExecutor
        random = other.random
        self.willRename = willRename
    }

    /// Creates an environment without a registry and without background downloads.
    /// - Parameters:
    ///   - configuration: The manager's settings.
    ///   - transport: The transport for requests.
    ///   - files: The file system.
    ///   - clock: The clock.
    ///   - network: The network monitor; by default the path is unknown.
    ///   - localTime: Returns the local weekday and time of day.
    ///   - descriptors: The limit on the file descriptors of all transfers; unlimited by default.
    ///   - soleExecutor: The executor of a simulation, on which everything runs.
    ///   - random: The random numbers for identities and delays.
    init(
        configuration: DownloadConfiguration,
        transport: any Transport,
        files: FileSystem = .system,
        clock: AnyClock,
        network: NetworkMonitor = NetworkMonitor(fixed: nil),
        localTime: @escaping @Sendable () -> LocalTime = LocalTime.now,
        descriptors: DescriptorShare = .unlimited,
        soleExecutor: (any TaskExecutor)? = nil,
        random: RandomSource = .system
    ) {
        self.configuration = configuration
        self.transport = transport
        self.files = files
        sharedFiles = SharedFileSystem(files)
        self.clock = clock
        // A UNIX socket is of this machine, so the path counts as unknown: its downloads need no network.
        self.network = configuration.connectionPolicy.unixSocket == nil ? network : NetworkMonitor(fixed: nil)
        hosts = HostLimiter(
            maximum: configuration.maxConnectionsPerHost,
            isStrict: configuration.maxConcurrentDownloads.isAutomatic,
            retriesPerMinute: configuration.retryPolicy.maxRetriesPerHostAndMinute
        )
        hsts = HSTSStore()
        self.descriptors = descriptors
        self.soleExecutor = soleExecutor
        self.random = random
        claims = DestinationReservations()
        rates = ThrottleController(configuration, clock: clock, localTime: localTime)
        willRename = nil
        background = nil
        versions = nil
    }

    /// The executor for work that must not wait until a thread for file calls is free.
    var computing: any TaskExecutor { soleExecutor ?? globalConcurrentExecutor }

    /// Records that the network path has changed.
    func recordPathChange() {
        let now = clock.now()
        pathChange.withLock { $0 = now }
    }

    /// Whether a request's failure may be the network's fault: the network does not admit the request, or has just
    /// changed.
    ///
    /// Always `false` for requests to this machine.
    func isNetworkUnsettled(for request: DownloadRequest) -> Bool {
        let need = NetworkRequirement(request)
        guard !need.isLoopback, gate.blocker(for: need) == nil else { return !need.isLoopback }
        let settled = pathChange.withLock { $0.map { $0 + NetworkAdmission.settlingTime } }
        return settled.map { clock.now() < $0 } ?? false
    }

    /// Whether the server of a URL has responded before.
    ///
    /// If HSTS requires https for the host, this is about the server of the https URL, to which the request is sent.
    ///
    /// Always `false` if the retry policy sets no `maxUnreachableFailures`.
    func hasResponded(_ url: URL) -> Bool { hosts.hasResponded(hsts.upgraded(url) ?? url) }

    /// Returns whether the error is a lack of file descriptors and other transfers will release theirs; if so, also
    /// lowers the limit on the descriptors of all transfers.
    func lacksDescriptors(after error: DownloadError) -> Bool { error.isOutOfDescriptors && descriptors.ranOut() }

    /// The rules that decide which downloads may run on the current network path.
    var gate: NetworkAdmission {
        NetworkAdmission(waitsForConnectivity: configuration.waitsForConnectivity, path: network.path)
    }
}

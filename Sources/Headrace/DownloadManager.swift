import HeadracePlatform

/// Manages a queue of downloads and runs as many of them in parallel as its limits allow.
///
///     let manager = try await DownloadManager()
///     let download = try await manager.download(DownloadRequest(url, to: .directory(folder)))
///     for await progress in download.progress { print(progress.fractionCompleted ?? 0) }
///     let file = try await download.value
///
/// ``shutdown()`` stops all downloads and waits until they have stopped. Releasing the manager and all handles on its downloads
/// stops them too, without waiting.
public actor DownloadManager {
    /// The settings of a manager.
    public typealias Configuration = DownloadConfiguration
    /// An event in the queue of a manager.
    public typealias Event = QueueEvent

    nonisolated let environment: TransferEnvironment
    nonisolated let executor: BlockingExecutor
    /// The executor for the registry and its commands, so that a slow disk of a download does not delay them; without a
    /// registry, the same as ``executor``.
    nonisolated let queueExecutor: BlockingExecutor
    nonisolated let observers: QueueObservers
    /// The open files of the registry; `nil` without a registry.
    nonisolated let registry: RegistryFiles?
    /// Delegates work to a child task.
    let work: AsyncStream<ChildWork>.Continuation
    /// The downloads and the limits on them.
    var queue: QueueState
    /// The commands of other processes that are being carried out.
    var commands = PendingCommands()
    var polls = PollCoordinator()
    /// The latches of the tasks that wait for a download to stop, by its identity.
    var stops: [DownloadID: [Latch]] = [:]
    /// The removed and cancelled downloads whose files are being deleted, each with the number of its removals.
    var removing: [DownloadID: Int] = [:]
    /// Whether a download has been waiting or running since the last event ``QueueEvent/idle``.
    var isBusy = false
    var idleSubscribers = Subscribers<Never>()
    /// Whether a write of the journal is under way, so that others must wait.
    var isFlushing = false
    var flushWaiters: [Latch] = []
    private var transfers: Task<Void, Never>?

    nonisolated var clock: AnyClock { environment.clock }

    /// The maximum number of threads for file calls: enough for all connections of several downloads whose disk hangs;
    /// threads are started on demand.
    private static let maxFileThreads = 64

    /// Starts a manager.
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - clock: The clock for delays and speeds.
    /// - Throws: `transportUnavailable` if the system's HTTP library is missing or too old, `invalidRequest` if a setting is
    ///   invalid, and `fileSystem` if the process may not open as many files as a download needs. With a
    ///   ``DownloadConfiguration/registryDirectory`` also `busy` if another manager uses it, and `permission`, `diskFull` or `fileSystem`
    ///   if it cannot be read or created.
    public init(
        configuration: Configuration = Configuration(),
        clock: any Clock<Duration> = ContinuousClock()
    ) async throws(DownloadError) {
        try configuration.validate()
        if configuration.backgroundSession != nil { try BackgroundLimits.check(configuration) }
        // The system itself waits for the network in a background session.
        let isFetching = configuration.startsDownloads && configuration.backgroundSession == nil
        if isFetching { try DescriptorLimit.require() }
        try await self.init(
            environment: TransferEnvironment(
                configuration: configuration,
                transport: try makeTransport(configuration),
                clock: AnyClock(clock),
                network: isFetching && DescriptorLimit.allowsNetworkMonitor
                    ? NetworkMonitor() : NetworkMonitor(fixed: nil),
                descriptors: .system
            ),
            background: makeBackground(configuration)
        )
    }

    /// Starts a manager in a given environment, such as that of a test.
    /// - Parameters:
    ///   - environment: The transport, the file system and the clock.
    ///   - background: The system's background session that downloads the files; `nil` if the transport downloads them.
    /// - Throws: `fileSystem` if the thread for file calls cannot be started, and any error from opening the registry.
    init(
        environment: TransferEnvironment,
        background: (any BackgroundSystem)? = nil
    ) async throws(DownloadError) {
        let cores = ProcessInfo.processInfo.activeProcessorCount
        // Half of the cores are for files, the other half for the network.
        let executor = try BlockingExecutor.forFiles(
            "headrace-file",
            maxThreads: Self.maxFileThreads,
            maxWorking: max(1, cores / 2)
        )
        let configuration = environment.configuration
        let queueExecutor =
            configuration.registryDirectory == nil
            ? executor : try BlockingExecutor.forFiles("headrace-list", maxThreads: 4, maxWorking: 1)
        let opened = try await queueExecutor.run { () throws(DownloadError) in
            try OpenedRegistry(configuration, files: environment.files)
        }
        try background?.claim()
        let reference = ManagerReference()
        let environment = opened.map { environment.storing(in: $0, background, reference) } ?? environment
        let workStream: AsyncStream<ChildWork>
        (workStream, work) = AsyncStream.makeStream(of: ChildWork.self)
        let gate = environment.gate
        self.environment = environment
        self.executor = executor
        self.queueExecutor = queueExecutor
        registry = opened?.files
        observers = QueueObservers(findings: opened?.queue.findings ?? [])
        queue = QueueState(
            scheduler: Scheduler(
                limit: configuration.startsDownloads ? configuration.maxConcurrentDownloads : 0,
                concurrency: DownloadConcurrency(configuration.concurrentDownloads, configuration),
                hostLimit: configuration.maxConcurrentDownloadsPerHost,
                gate: gate,
                descriptors: environment.descriptors
            ),
            journal: opened?.journal
        )
        reference.manager = self
        if let opened {
            perform(queue.restore(opened.queue, observers: observers, at: environment.clock.now()))
            if let background = environment.background {
                for record in queue.records.values { background.entered(record, record.status.state) }
            }
        }
        let children = ChildTasks(self, reference, gate)
        // The only unstructured task: each download runs in a child task of it.
        transfers = Task { await children.run(workStream) }
        do throws(DownloadError) {
            // Only one poll: the remaining commands may wait for a download that cannot stop because its disk hangs.
            try await poll()
        } catch {
            // The commands remain for the next poll.
            observers.publish(.registryFailed(error))
        }
        environment.background?.connect()
    }

    deinit {
        for effect in queue.shutDown() {
            switch effect {
            case .stop(let signal, let reason): signal.stop(reason)
            case .publish(let record, let change): record.enter(change.state, change.event)
            case .start, .remove, .alarm, .release: break
            }
        }
        // Their transfers stop, but nothing can publish it any more.
        for record in queue.runningRecords {
            let error = DownloadError.shutDown(record.request.url)
            record.enter(.failed(error), .failed(error))
        }
        if let write = queue.takeChanges(syncing: true) { work.yield(.lastWrite(write)) }
        work.finish()
        environment.background?.release()
    }

    /// All downloads in queue order, which is the order in which they were added unless the caller moves one.
    public var downloads: [Download] {
        queue.scheduler.ids.compactMap { self[$0] }
    }

    /// Adds a download, which runs as soon as the limits allow.
    ///
    /// If a download of the same URL to the same destination is already active, it is returned instead. It adopts the new
    /// request's expected size, piece hashes and any checksum algorithms it lacks, and is verified against them before it is
    /// renamed. It also adopts the link provider, and the secrets if its own were lost in a restart. All other properties of the
    /// new request, such as its mirrors, group and priority, are ignored.
    ///
    /// A failed download is returned, and queued again (or paused, with ``DownloadRequest/startsPaused``), if the new request
    /// supplies what it lacked: secrets after a failure with `credentialsMissing`, or a link provider after one with status 401,
    /// 403, 404 or 410.
    ///
    /// Returns immediately or, with a registry, once the download is saved. Later failures are reported as the download's state.
    /// - Parameter request: The file to download and its destination.
    /// - Returns: A handle on the download.
    /// - Throws: `invalidRequest` if the request is invalid or contradicts an active download of the same file, `shutDown` after
    ///   ``shutdown()``, and any error from writing the registry; nothing is added then.
    @discardableResult
    public func download(_ request: DownloadRequest) async throws(DownloadError) -> Download {
        try await download([request])[0]
    }

    /// Adds several downloads in this order, all of them or none.
    ///
    /// Returns immediately or, with a registry, once the downloads are saved with a single sync. Later failures are reported as
    /// the state of each download.
    /// - Parameter requests: The files to download and their destinations.
    /// - Returns: A handle on each download, in the same order.
    /// - Throws: `invalidRequest` for the first request that is invalid or contradicts an active download of the same file,
    ///   `shutDown` after ``shutdown()``, and any error from writing the registry; none is added then.
    @discardableResult
    public func download(_ requests: [DownloadRequest]) async throws(DownloadError) -> [Download] {
        for request in requests { try request.validate() }
        if let bases = queue.journal?.bases {
            for request in requests where request.isLong(maxBytes: RegistryEncoder.leastCheckedBytes) {
                try RegistryEncoder.check(RegistryRequest(request, bases: bases))
            }
        }
        let records = try await add(requests.map { QueueState.Addition(request: $0) }, skippingInvalid: false)
        return records.map { Download(manager: self, record: $0) }
    }

    /// Waits until no download, including those added meanwhile, is waiting or running; returns early if the calling
    /// task is cancelled.
    public func waitUntilIdle() async {
        guard !isIdle else { return }
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        let subscriber = idleSubscribers.add(continuation)
        for await _ in stream {}
        idleSubscribers.remove(subscriber)
    }

    /// Saves the queue and the state of each running download now, so that nothing is lost if the process is killed.
    ///
    /// Call it when the app enters the background, where the system may suspend the process and then terminate it
    /// without notice. Downloads continue meanwhile. Everything that must survive the end of the process is written
    /// first, within milliseconds. Then, with ``DownloadConfiguration/Durability/full``, bytes and resume records are
    /// synced, so that on return they survive a power failure too. If the registry cannot be written,
    /// ``QueueEvent/registryFailed(_:)`` is published; a resume record that cannot be written is retried with the next
    /// one.
    public func prepareForSuspension() async {
        let records = queue.runningRecords
        await executor.run { for record in records { record.save(syncing: false) } }
        await flushOrReport()
        await executor.run { for record in records { record.save(syncing: true) } }
    }

    /// Stops all downloads and releases all resources.
    ///
    /// Active downloads fail with the code `shutDown`, and their partial files remain. Returns once nothing is running; further
    /// calls wait for the first. Do not await it in a hook of a download, such as ``RetryPolicy/decide``: that is a deadlock.
    public func shutdown() async {
        perform(queue.shutDown())
        commands.abandon()
        work.finish()
        await transfers?.value
        environment.background?.release()
        await environment.transport.shutdown()
        await environment.network.close()
        await executor.shutdown()
        await queueExecutor.shutdown()
    }

    /// Returns the file-system status of a file; `nil` if the file does not exist or cannot be accessed.
    nonisolated func status(of file: URL) async -> FileStatus? {
        await executor.run { [files = environment.files] in try? files.status(file.filePath) }
    }

    /// Changes how many downloads may run in parallel.
    ///
    /// A higher limit starts more downloads immediately. A lower limit sends the newest running ones back to the queue, where
    /// they retain their positions and their bytes.
    /// - Parameter limit: The maximum number of running downloads, at least 1.
    /// - Throws: `invalidRequest` if the limit is below 1; nothing changes then.
    public func setMaxConcurrentDownloads(_ limit: Int) throws(DownloadError) {
        try setMaxConcurrentDownloads(.fixed(limit))
    }

    /// Changes how many downloads may run in parallel, to a fixed number or to one that the manager chooses.
    ///
    /// Like ``setMaxConcurrentDownloads(_:)-(Int)``. A manager that chooses the number begins again with a few downloads.
    /// - Parameter limit: The maximum number of running downloads, at least 1.
    /// - Throws: `invalidRequest` if the limit is below 1; nothing changes then.
    public func setMaxConcurrentDownloads(_ limit: ConcurrencyLimit) throws(DownloadError) {
        guard limit.maximum >= 1 else {
            let number = limit.maximum
            throw DownloadError(.invalidRequest, "The limit on running downloads must be at least 1, not \(number).")
        }
        let concurrency = DownloadConcurrency(limit, environment.configuration)
        // A limit of 0 belongs to a manager that starts nothing, and is never raised.
        if queue.scheduler.maximum > 0 { apply { $0.setLimit(limit.maximum, concurrency) } }
        publishLimits()
    }

    /// Changes how many downloads from one host may run in parallel.
    ///
    /// A host at its limit does not delay other hosts. A lower limit sends the newest running downloads back to the queue.
    /// - Parameter limit: The maximum number of running downloads per host, at least 1; `nil` for no limit.
    /// - Throws: `invalidRequest` if the limit is below 1; nothing changes then.
    public func setMaxConcurrentDownloadsPerHost(_ limit: Int?) throws(DownloadError) {
        guard limit ?? 1 >= 1 else {
            throw DownloadError(.invalidRequest, "The limit per host must be at least 1, not \(limit ?? 0).")
        }
        apply { $0.setHostLimit(limit) }
        publishLimits()
    }

    private func publishLimits() {
        observers.publish(.limitsChanged(downloads: queue.scheduler.maximum, perHost: queue.scheduler.hostLimit))
    }
}

private func makeTransport(_ configuration: DownloadConfiguration) throws(DownloadError) -> any Transport {
    guard configuration.backgroundSession == nil else { return NoTransport() }
    return try SessionTransport(
        try configuration.makeTransport(),
        configuration,
        environment: ProcessInfo.processInfo.environment
    )
}

private func makeBackground(_ configuration: DownloadConfiguration) -> (any BackgroundSystem)? {
    #if canImport(Darwin)
    BackgroundSession.session(of: configuration)
    #else
    nil
    #endif
}

/// Runs `body` with a manager that is shut down afterwards, even if `body` throws or is cancelled.
///
///     let file = try await withDownloadManager { manager in
///         try await manager.download(DownloadRequest(url, to: .directory(folder))).value
///     }
///
/// Downloads that are still running when `body` returns are stopped, so await their values in `body`.
/// - Parameters:
///   - configuration: The settings of the manager.
///   - body: A closure that uses the manager.
/// - Returns: The result of `body`.
/// - Throws: The error of `body`, or an error from starting the manager.
public func withDownloadManager<Result>(
    _ configuration: DownloadConfiguration = DownloadConfiguration(),
    _ body: (DownloadManager) async throws -> Result
) async throws -> Result {
    let manager = try await DownloadManager(configuration: configuration)
    do {
        let result = try await body(manager)
        await manager.shutdown()
        return result
    } catch {
        await manager.shutdown()
        throw error
    }
}

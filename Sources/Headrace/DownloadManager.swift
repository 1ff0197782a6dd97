import HeadracePlatform

/// Keeps a list of downloads and runs as many of them at once as its limit allows, in the order of adding.
///
///     let manager = try await DownloadManager()
///     let download = try await manager.download(DownloadRequest(url, to: .directory(folder)))
///     for await progress in download.progress { print(progress.fractionCompleted ?? 0) }
///     let file = try await download.value
///
/// ``shutdown()`` stops all downloads and waits for that. A manager that is let go of, with all handles on its downloads,
/// stops them as well, and nobody waits.
public actor DownloadManager {
    /// The settings of a manager.
    public typealias Configuration = DownloadConfiguration
    /// Something that happened to the queue of a manager.
    public typealias Event = QueueEvent

    nonisolated let environment: TransferEnvironment
    nonisolated let executor: BlockingExecutor
    /// For the files of the list and its commands, which the disks of the downloads must not hold up; where there are none,
    /// ``executor``.
    nonisolated let listExecutor: BlockingExecutor
    private let works: AsyncStream<DownloadQueue.Work>.Continuation
    nonisolated let list: DownloadQueue
    nonisolated let clock: AnyClock
    private let host: Task<Void, Never>

    /// Enough for all connections of several downloads whose disk does not answer; they start when they are needed.
    private static let maxFileThreads = 64

    /// Starts a manager.
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - clock: The time by which speeds are measured.
    /// - Throws: `transportUnavailable` where the system's HTTP library is missing or too old, `invalidRequest` for settings
    ///   that cannot work, `fileSystem` if the process may not open as many files as a download needs, and where a
    ///   ``Configuration/registryDirectory`` is given, `busy` where another manager has it, and
    ///   `permission`, `diskFull` or `fileSystem` where it cannot be read or made.
    public init(
        configuration: Configuration = Configuration(),
        clock: any Clock<Duration> = ContinuousClock()
    ) async throws(DownloadError) {
        try configuration.validate()
        if configuration.backgroundSession != nil { try BackgroundLimits.check(configuration) }
        // The system waits for the network by itself.
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

    /// Starts a manager on other parts than the system's.
    /// - Parameters:
    ///   - environment: The transport, the file calls and the clock.
    ///   - background: The system's background session that fetches the files; nil for the transport.
    /// - Throws: `fileSystem` where the thread for file calls cannot be started, and what keeps a registry from being opened.
    init(
        environment: TransferEnvironment,
        background: (any BackgroundSystem)? = nil
    ) async throws(DownloadError) {
        var environment = environment
        let cores = ProcessInfo.processInfo.activeProcessorCount
        // The other half is for the network.
        let executor = try BlockingExecutor.forFiles(
            "headrace-file",
            maxThreads: Self.maxFileThreads,
            maxWorking: max(1, cores / 2)
        )
        let (work, works) = AsyncStream.makeStream(of: DownloadQueue.Work.self)
        let configuration = environment.configuration
        let listExecutor =
            configuration.registryDirectory == nil
            ? executor : try BlockingExecutor.forFiles("headrace-list", maxThreads: 4, maxWorking: 1)
        let registry = try await listExecutor.run { [environment] () throws(DownloadError) in
            try OpenedRegistry(configuration, files: environment.files)
        }
        try background?.claim()
        let gate = environment.gate
        let list = DownloadQueue(
            Scheduler(
                limit: configuration.startsDownloads ? configuration.maxConcurrentDownloads : 0,
                hostLimit: configuration.maxConcurrentDownloadsPerHost,
                gate: gate,
                descriptors: environment.descriptors
            ),
            journal: registry?.journal,
            observers: QueueObservers(findings: registry?.list.findings ?? []),
            environment: environment
        ) { work in
            if case .terminated = works.yield(work) { false } else { true }
        }
        if let registry {
            let journal = registry.journal
            let background = background.map {
                BackgroundTransfers($0, list, configuration, environment.files, environment.clock)
            }
            environment = TransferEnvironment(
                environment,
                background: background,
                versions: registry.versions
            ) { id, path, stamp in
                journal.note(id, .finishing(RelocatablePath(path, bases: journal.bases), stamp))
                list.flushOrReport(syncing: false)
            }
        }
        self.environment = environment
        self.executor = executor
        self.listExecutor = listExecutor
        self.works = works
        self.list = list
        clock = environment.clock
        if let restored = registry?.list { list.restore(restored) }
        // The one unstructured task: every download is in a child of the group in it.
        host = Task { [environment] in
            await withDiscardingTaskGroup { group in
                let (alarms, alarm) = AsyncStream.makeStream(of: Duration.self)
                group.addTask { await ring(alarms, for: list, environment.clock) }
                let (paths, monitoring) = environment.network.follow()
                group.addTask { await follow(paths, after: gate, for: list, in: environment) }
                for await work in work {
                    switch work {
                    case .transfer(let first):
                        group.addTask(executorPreference: executor) { await run(first, of: list, in: environment) }
                    case .removals(let removals):
                        group.addTask(executorPreference: executor) { list.carryOut(removals) }
                    case .alarm(let time): alarm.yield(time)
                    case .flush: group.addTask(executorPreference: listExecutor) { list.flushOrReport() }
                    case .end(let wait): group.addTask { await wait() }
                    case .ended(let item): group.addTask(executorPreference: listExecutor) { list.ended(item) }
                    }
                }
                alarm.finish()
                monitoring.finish()
            }
            await listExecutor.run {
                list.flushOrReport()
                list.journal?.close()
            }
            list.observers.end()
        }
        do throws(DownloadError) {
            // Once: the rest may wait for a download that cannot stop, as where its disk does not answer.
            if let journal = list.journal { try await look(at: journal) }
        } catch {
            // They stay for the next look.
            list.observers.publish(.registryFailed(error))
        }
        environment.background?.connect()
    }

    deinit {
        list.shutDown()
        works.finish()
        environment.background?.release()
    }

    /// All downloads in their order, which is that of adding until one is moved.
    public var downloads: [Download] {
        list.records.map { Download(manager: self, record: $0) }
    }

    /// Adds a download, which runs as soon as the limit allows.
    ///
    /// A download of the same URL to the same destination that has not ended, nor is being cancelled or removed, is the one that
    /// is returned; it takes over the size, the checksums of functions of which it had none and those of pieces, and is compared
    /// with them before it gets its name. It also takes over a link provider, and secrets where its own are missing after a
    /// restart; one that has failed with `credentialsMissing`, or has no link provider and failed with the status 401, 403, 404
    /// or 410 where the request has one, is the one that is returned as well, and waits again, or is paused with
    /// ``DownloadRequest/startsPaused``.
    /// Everything else of the request is passed over: so are its mirrors, its group and its priority.
    ///
    /// Returns at once, or where the list is kept on the disk, when it is there; whatever fails later is the state of the
    /// download.
    /// - Parameter request: What to download and where to put it.
    /// - Returns: A handle on the download.
    /// - Throws: `invalidRequest` for a request that cannot be made, or that contradicts what the one in the list tells of the
    ///   file, `shutDown` after ``shutdown()``, and what keeps the registry from being written; then nothing is added.
    @discardableResult
    public func download(_ request: DownloadRequest) async throws(DownloadError) -> Download {
        try await download([request])[0]
    }

    /// Adds downloads in this order, all of them or none.
    ///
    /// Returns at once, or where the list is kept on the disk, when they are there, after one sync for all; whatever
    /// fails later is the state of the download.
    /// - Parameter requests: What to download and where to put it.
    /// - Returns: A handle on each download, in the same order.
    /// - Throws: `invalidRequest` for the first request that cannot be made, or that contradicts what the one in the
    ///   list tells of the file, `shutDown` after ``shutdown()``, and what keeps the registry from being written; then none is
    ///   added.
    @discardableResult
    public func download(_ requests: [DownloadRequest]) async throws(DownloadError) -> [Download] {
        for request in requests { try request.validate() }
        let records: [DownloadRecord]
        if list.journal == nil {
            records = try list.add(requests)
        } else {
            records = try await listExecutor.run { [list] () throws(DownloadError) in try list.add(requests) }
        }
        return records.map { Download(manager: self, record: $0) }
    }

    /// Returns when no download waits or runs; at once where none does, and early when the task is cancelled.
    ///
    /// Those that are added meanwhile are waited for as well.
    public nonisolated func waitUntilIdle() async {
        await list.waitUntilIdle()
    }

    /// Writes down at once what a kill of the process, from now on, would otherwise cost: where each running download is, and
    /// the list.
    ///
    /// Downloads go on meanwhile. Call it when the app goes to the background, where the system may suspend the process and
    /// then end it without a word. With ``Configuration/Durability/full``, bytes and records outlive a power cut on return
    /// too; what only has to outlive the process is written before that, within milliseconds. What cannot be written is
    /// told by ``Event/registryFailed(_:)``, or written with the next record.
    public func prepareForSuspension() async {
        await executor.run { [list] in list.save() }
    }

    /// Stops all downloads, which fail with the code `shutDown` and keep their partial files, and frees everything.
    ///
    /// Returns when nothing is left running. Further calls wait for the first. A hook that a download waits for, such as
    /// ``RetryPolicy/decide``, must not wait for it in its turn.
    public func shutdown() async {
        list.shutDown()
        works.finish()
        await host.value
        environment.background?.release()
        await environment.transport.shutdown()
        await environment.network.close()
        await executor.shutdown()
        await listExecutor.shutdown()
    }

    /// What a file is; nil where there is none.
    nonisolated func status(of file: URL) async -> FileStatus? {
        await executor.run { [files = environment.files] in try? files.status(file.filePath) }
    }

    /// Changes how many downloads run at once, from now on.
    ///
    /// A higher limit starts more at once. A lower one sends the newest of the running ones back to waiting, where they keep
    /// their places and their bytes.
    /// - Parameter limit: At least 1.
    /// - Throws: `invalidRequest` for a limit below 1, and nothing changes.
    public func setMaxConcurrentDownloads(_ limit: Int) throws(DownloadError) {
        guard limit >= 1 else {
            throw DownloadError(.invalidRequest, "The limit on downloads at once is \(limit); 1 is the least.")
        }
        list.setLimit(limit)
    }

    /// Changes how many downloads from one host run at once, from now on.
    ///
    /// A host at its limit holds up no other. Lowering sends the newest back to waiting.
    /// - Parameter limit: At least 1, or nil for none.
    /// - Throws: `invalidRequest` for a limit below 1, and nothing changes.
    public func setMaxConcurrentDownloadsPerHost(_ limit: Int?) throws(DownloadError) {
        guard limit ?? 1 >= 1 else {
            throw DownloadError(.invalidRequest, "The limit on downloads of a host is \(limit ?? 0); 1 is the least.")
        }
        list.setHostLimit(limit)
    }
}

/// Runs a transfer, and then those that get its place, on the blocking executor without a hop in between.
private func run(_ first: DownloadQueue.Run, of list: DownloadQueue, in environment: TransferEnvironment) async {
    var next: DownloadQueue.Run? = first
    while let run = next {
        let outcome: TransferOutcome = await DownloadQueue.$transferring.withValue(run.record) {
            await run.stop.cancellingTask {
                guard await list.waitForRemoval(before: run.record) else { return .stopped(keptBytes: true) }
                let transfer = DownloadTransfer(run.record, run.stop, after: run.attempts, in: environment)
                return await TransferOutcome(of: transfer)
            }
        }
        environment.background?.left(run.record.id)
        next = list.ended(run.record, outcome, taskIsCancelled: Task.isCancelled)
        environment.background?.ended(run.record.id)
    }
}

/// Ticks at each of the times, until there are no more of them.
private func ring(_ alarms: AsyncStream<Duration>, for list: DownloadQueue, _ clock: AnyClock) async {
    await withDiscardingTaskGroup { group in
        for await time in alarms {
            group.addTask {
                guard (try? await clock.sleep(time)) != nil else { return }
                list.tick()
            }
        }
        group.cancelAll()
    }
}

/// Tells the scheduler of each path that is not as the one before, until there are no more of them.
private func follow(
    _ paths: AsyncStream<NetworkPath?>,
    after gate: NetworkAdmission,
    for list: DownloadQueue,
    in environment: TransferEnvironment
) async {
    var gate = gate
    for await path in paths where path != gate.path {
        // Before anything begins on the new path.
        environment.recordPathChange()
        if gate.update(path) { environment.transport.dropIdleConnections() }
        list.setPath(path)
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

/// Runs `body` with a manager that is shut down afterwards, also when `body` throws or is cancelled.
///
/// Downloads that still run when `body` returns are stopped; await their values to have them.
/// - Parameters:
///   - configuration: The settings of the manager.
///   - body: Works with the manager.
/// - Returns: What `body` returns.
/// - Throws: What `body` throws, or what keeps a manager from starting.
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

/// Keeps a list of downloads and runs as many of them at once as its limit allows, in the order of adding.
///
///     let manager = try await DownloadManager()
///     let download = try await manager.download(DownloadRequest(url, to: .directory(folder)))
///     for await progress in download.progress { print(progress.fractionCompleted ?? 0) }
///     let file = try await download.value
///
/// A manager that is let go of finishes what runs, and nothing that waits; ``shutdown()`` stops all and waits for it.
public actor DownloadManager {
    private let environment: TransferEnvironment
    private let executor: BlockingExecutor
    private let starts: AsyncStream<@Sendable () async -> Void>.Continuation
    private let host: Task<Void, Never>
    private var scheduler: Scheduler
    private var order: [Download.ID] = []
    private var records: [Download.ID: DownloadRecord] = [:]
    /// Those that have not ended, by the path of their partial: one file has one download.
    private var active: [String: DownloadRecord] = [:]
    private var isShutDown = false

    /// Starts a manager.
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - clock: The time by which speeds are measured.
    /// - Throws: `transportUnavailable` where the system's HTTP library is missing or too old, and `invalidRequest` for
    ///   settings that cannot work.
    public init(
        configuration: Configuration = Configuration(),
        clock: any Clock<Duration> = ContinuousClock()
    ) async throws(DownloadError) {
        try configuration.validate()
        try self.init(
            environment: TransferEnvironment(
                configuration: configuration,
                transport: try makeTransport(configuration),
                clock: ClockWitness(clock)
            )
        )
    }

    /// Starts a manager on other parts than the system's.
    /// - Parameter environment: The transport, the file calls and the clock.
    /// - Throws: `fileSystem` where the thread for file calls cannot be started.
    package init(environment: TransferEnvironment) throws(DownloadError) {
        self.environment = environment
        executor = try BlockingExecutor(name: "headrace-file", maxThreads: 4)
        scheduler = Scheduler(limit: environment.configuration.maxConcurrentDownloads)
        let (work, starts) = AsyncStream.makeStream(of: (@Sendable () async -> Void).self)
        self.starts = starts
        // The one unstructured task: every download is a child of the group in it.
        host = Task {
            await withDiscardingTaskGroup { group in
                for await run in work { group.addTask { await run() } }
            }
        }
    }

    deinit {
        starts.finish()
    }

    /// All downloads in the order of adding.
    public var downloads: [Download] {
        order.compactMap { records[$0] }.map { Download(manager: self, record: $0) }
    }

    /// Adds a download, which runs as soon as the limit allows.
    ///
    /// A download of the same URL to the same destination that has not ended is the one that is returned.
    /// Returns at once; whatever fails later is the state of the download.
    /// - Parameter request: What to download and where to put it.
    /// - Returns: A handle on the download.
    /// - Throws: `invalidRequest` for a request that cannot be made, and `shutDown` after ``shutdown()``.
    @discardableResult
    public func download(_ request: DownloadRequest) throws(DownloadError) -> Download {
        try download([request])[0]
    }

    /// Adds downloads in this order, all of them or none.
    ///
    /// Returns at once; whatever fails later is the state of the download.
    /// - Parameter requests: What to download and where to put it.
    /// - Returns: A handle on each download, in the same order.
    /// - Throws: `invalidRequest` for the first request that cannot be made, and `shutDown` after ``shutdown()``.
    @discardableResult
    public func download(_ requests: [DownloadRequest]) throws(DownloadError) -> [Download] {
        guard !isShutDown else { throw .shutDown() }
        for request in requests { try request.validate() }
        var added: [Download.ID] = []
        let downloads = requests.map { request in
            let record = DownloadRecord(id: newID(), request: request)
            if let twin = active[record.names.partialPath] { return twin }
            active[record.names.partialPath] = record
            records[record.id] = record
            order.append(record.id)
            added.append(record.id)
            return record
        }
        perform(scheduler.add(added))
        return downloads.map { Download(manager: self, record: $0) }
    }

    /// Stops all downloads, which fail with the code `shutDown` and keep their partial files, and frees everything.
    ///
    /// Returns when nothing is left running. Further calls wait for the first.
    public func shutdown() async {
        isShutDown = true
        perform(scheduler.shutDown())
        starts.finish()
        await host.value
        await environment.transport.shutdown()
        await executor.shutdown()
    }

    func cancel(_ id: Download.ID) async {
        guard let record = records[id] else { return }
        perform(scheduler.cancel(id))
        for await state in record.status.states() where state.isEnded { return }
    }

    // MARK: Between the scheduler and the transfers

    private func newID() -> Download.ID {
        var id: Download.ID
        repeat { id = Download.ID(rawValue: .random(in: .min ... .max)) } while records[id] != nil
        return id
    }

    /// Does what the scheduler decided, without a suspension in between.
    private func perform(_ actions: [Scheduler.Action]) {
        for action in actions {
            switch action {
            case .start(let id): records[id].map(start)
            case .stop(let id, let reason): records[id]?.stop.stop(reason)
            case .end(let id, let reason): records[id].map { end($0, with: .stopped(reason)) }
            }
        }
    }

    private func end(_ record: DownloadRecord, with outcome: TransferOutcome) {
        active[record.names.partialPath] = nil
        record.end(with: outcome)
    }

    private func start(_ record: DownloadRecord) {
        record.status.enter(.running, .started)
        starts.yield { await self.run(record) }
    }

    /// Runs a transfer, and then those that get its place.
    private nonisolated func run(_ first: DownloadRecord) async {
        var next: DownloadRecord? = first
        while let record = next {
            let transfer = DownloadTransfer(record, in: environment)
            let outcome = await withTaskExecutorPreference(executor) {
                await record.stop.cancellingTask { await TransferOutcome(of: transfer) }
            }
            next = await ended(record, outcome, taskIsCancelled: Task.isCancelled)
        }
    }

    /// Enters the outcome and returns the download that the ending task goes on with, unless it is cancelled.
    private func ended(_ record: DownloadRecord, _ outcome: TransferOutcome, taskIsCancelled: Bool) -> DownloadRecord? {
        end(record, with: outcome)
        var actions = scheduler.ended(record.id)
        guard !taskIsCancelled, case .start(let id) = actions.first, let next = records[id] else {
            perform(actions)
            return nil
        }
        actions.removeFirst()
        perform(actions)
        next.status.enter(.running, .started)
        return next
    }
}

private func makeTransport(_ configuration: DownloadManager.Configuration) throws(DownloadError) -> any Transport {
    #if os(Linux)
    try CurlTransport(
        CurlOptions(
            userAgent: configuration.userAgent,
            certificateAuthorities: configuration.certificateAuthorities?.filePath
        )
    )
    #else
    throw DownloadError(.transportUnavailable, "There is no transport for this platform yet.")
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
    _ configuration: DownloadManager.Configuration = DownloadManager.Configuration(),
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

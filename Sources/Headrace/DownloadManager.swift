import HeadracePlatform

/// Manages a queue of downloads and runs as many of them in parallel as its limits allow.
///
///     let manager = try await DownloadManager()
///     let download = try await manager.download(DownloadRequest(url, to: .directory(folder)))
///     for await progress in download.progress { print(progress.fractionCompleted ?? 0) }
///     let file = try await download.value
///
/// ``shutdown()`` stops all downloads and waits until they have stopped. Releasing the manager and all handles on its
/// downloads stops them too, without waiting.
public actor DownloadManager {
    nonisolated let environment: TransferEnvironment
    nonisolated let executor: BlockingExecutor
    nonisolated let observers: QueueObservers
    nonisolated let journalWriter: JournalWriter
    nonisolated let commandServer: CommandServer
    /// The downloads and the limits on them.
    var queue: QueueState
    var performer: EffectPerformer
    var polls = PollCoordinator()
    /// Whether a write of the journal is under way, for which other writes must wait.
    var isFlushing = false
    var flushWaiters: [Latch] = []
    private var transfers: Task<Void, Never>?

    nonisolated var clock: AnyClock { environment.clock }

    /// Starts a manager.
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - clock: The clock for delays and speeds.
    /// - Throws: `transportUnavailable` if the system's HTTP library is missing, too old or unable to apply a setting,
    ///   `invalidRequest` if a setting or a proxy variable of the environment is invalid, and `fileSystem` if the
    ///   process may not open as many files as a download needs, or cannot start a thread. On Apple platforms, `tls` if
    ///   the file ``DownloadConfiguration/certificateAuthorities`` cannot be used. With a
    ///   ``DownloadConfiguration/registryDirectory``, also `busy` if another manager uses the directory or the
    ///   background session, and `permission`, `diskFull` or `fileSystem` if the directory cannot be read or created.
    ///   With a ``DownloadConfiguration/hstsFile``, also `permission`, `diskFull` or `fileSystem` if that file cannot
    ///   be read or created, and `invalidRequest` if it has another format.
    public init(
        configuration: DownloadConfiguration = DownloadConfiguration(),
        clock: any Clock<Duration> = ContinuousClock()
    ) async throws(DownloadError) {
        try configuration.validate()
        try await self.init(
            environment: try TransferEnvironment(startedFor: configuration, clock: AnyClock(clock)),
            background: makeBackground(configuration)
        )
    }

    /// Starts a manager in a given environment, such as a test's; with `background`, the system downloads the files.
    init(environment: TransferEnvironment, background: (any BackgroundSystem)? = nil) async throws(DownloadError) {
        // Half of the cores are for files, the other half for the network. Further threads start on demand, enough for
        // all connections of several downloads whose disk hangs.
        let workers = max(1, ProcessInfo.processInfo.activeProcessorCount / 2)
        let sole = environment.soleExecutor
        executor = try BlockingExecutor.forFiles("headrace-file", maxThreads: 64, maxWorking: workers, on: sole)
        let opened = try await OpenedRegistry.open(environment.configuration, files: environment.files, on: sole)
        let (hsts, files) = (environment.hsts, environment.files)
        if let file = environment.configuration.hstsFile {
            try await executor.run { () throws(DownloadError) in try hsts.load(file, files) }
        }
        try background?.claim()
        let reference = ManagerReference()
        let environment = opened.map { environment.storing(in: $0, background, reference) } ?? environment
        let (workStream, work) = AsyncStream.makeStream(of: ChildWork.self)
        self.environment = environment
        observers = QueueObservers(findings: opened?.queue.findings ?? [])
        journalWriter = JournalWriter(registry: opened?.files, observers: observers)
        commandServer = CommandServer(registry: opened?.files, observers: observers, clock: environment.clock)
        performer = EffectPerformer(environment, observers, work)
        let limits = RunningLimits(environment.configuration)
        let scheduler = Scheduler(limits, gate: environment.gate, descriptors: environment.descriptors)
        queue = QueueState(
            scheduler: scheduler,
            journal: opened?.journal,
            keepsFinished: environment.configuration.keepsFinished,
            random: environment.random
        )
        reference.manager = self
        if let opened { restore(opened.queue) }
        let children = ChildTasks(self, reference, scheduler.gate)
        // The only unstructured task: each download runs in a child task of it.
        transfers = Task(executorPreference: sole) { await children.run(workStream) }
        do throws(DownloadError) {
            // Only one poll: the remaining commands may wait for a download that cannot stop because its disk hangs.
            try await commandServer.poll(for: self)
        } catch {
            // The commands remain for the next poll.
            observers.publish(.registryFailed(error))
        }
        environment.background?.connect()
    }

    private func restore(_ restored: RestoredQueue) {
        perform(queue.restore(restored, observers: observers, at: clock.now()))
        guard let background = environment.background else { return }
        for record in queue.records.values { background.entered(record, record.status.state) }
    }

    deinit {
        performer.performLast(queue.shutDown(), running: queue.runningRecords)
        performer.work.yield(.lastWrite(queue))
        performer.work.finish()
        environment.background?.release()
    }

    /// Stops all downloads and releases all resources.
    ///
    /// Waiting, running and paused downloads fail with the code `shutDown`, and their partial files remain. With a
    /// registry, the next manager restores them as waiting or paused. Returns once nothing is running, even if the
    /// calling task is cancelled; further calls wait for the first. Do not await it in a hook of a download, such as
    /// ``RetryPolicy/decide``: that is a deadlock.
    public func shutdown() async {
        perform(queue.shutDown())
        performer.commands.abandon()
        performer.work.finish()
        await transfers?.value
        environment.background?.release()
        await environment.transport.shutdown()
        await environment.network.close()
        await saveHSTS()
        await executor.shutdown()
        await journalWriter.registry?.executor.shutdown()
    }

    /// Saves the new HSTS policies, which name the hosts to request over https only.
    ///
    /// Ignores a failure: the next run then does not know these policies.
    func saveHSTS() async {
        guard let file = environment.configuration.hstsFile else { return }
        try? await executor.run { [environment] () throws(DownloadError) in
            try environment.hsts.save(to: file, environment.files)
        }
    }

    // MARK: Adding

    /// Adds a download, which runs as soon as the limits allow.
    ///
    /// If an active (waiting, running or paused) download has the same URL and destination, it is returned instead. It
    /// adopts the new request's expected size, piece hashes and any checksum algorithms it lacks, and is verified
    /// against them before it is renamed. It also adopts the link provider. It adopts the secrets if its own were lost
    /// when the process was restarted. If the URLs differ, as for requests with the same ``DownloadRequest/identity``,
    /// it continues with the new URL and the new request's secret header fields. All other properties of the new
    /// request, such as its mirrors, group and priority, are ignored. But adding a request with
    /// ``DownloadRequest/requiresPublicAddress`` fails if the active download does not require that.
    ///
    /// A failed download of the file is also returned if the new request supplies what that download lacked: secrets
    /// after a `credentialsMissing` error, or a new URL or link provider after a status of 401, 403, 404 or 410. It is
    /// then queued again or, with ``DownloadRequest/startsPaused``, paused.
    ///
    /// Returns immediately or, with a registry, once the download is saved, even if the calling task is cancelled.
    /// Later failures are reported as the download's state.
    /// - Parameter request: The file to download and its destination.
    /// - Returns: A handle on the download.
    /// - Throws: The same errors as ``download(_:)-([DownloadRequest])``; nothing is added then.
    @discardableResult
    public func download(_ request: DownloadRequest) async throws(DownloadError) -> Download {
        try await download([request])[0]
    }

    /// Adds several downloads in this order, with a single sync of the registry; all of them or none.
    /// - Parameter requests: The files to download and their destinations.
    /// - Returns: A handle on each download, in the same order.
    /// - Throws: `invalidRequest` for the first request that is invalid, cannot be saved in the registry, or
    ///   contradicts another of the requests or an active download of the same file; `shutDown` after ``shutdown()``;
    ///   any error from writing the registry. None is added then. If the error is one from writing the registry, active
    ///   downloads keep what they have already adopted from the requests.
    @discardableResult
    public func download(_ requests: [DownloadRequest]) async throws(DownloadError) -> [Download] {
        for index in requests.indices { try requests[index].validate() }
        try queue.journal?.check(requests)
        let records = try await add(requests.map { QueueAddition(request: $0) }, skippingInvalid: false)
        return records.map { Download(manager: self, record: $0) }
    }

    /// Adds downloads; returns the new download, or the existing one of the same file, for each addition that is not
    /// skipped.
    ///
    /// With a registry, the downloads may start, and the call returns, once they are in the journal. If the journal
    /// cannot be written, the call throws and adds nothing. But active downloads keep what they have adopted from the
    /// requests: their transfers may have used it already.
    ///
    /// A request is invalid if it contradicts another download or addition, for example in its expected size. With
    /// `skippingInvalid`, such a request is skipped, and its error is published. Otherwise the call throws and adds
    /// nothing.
    func add(_ additions: [QueueAddition], skippingInvalid: Bool) async throws(DownloadError) -> [DownloadRecord] {
        guard !queue.scheduler.isShutDown else { throw .shutDown() }
        let added = queue.add(additions, skippingInvalid: skippingInvalid, observers: observers, at: clock.now())
        performer.publish(added)
        // The changes are written below, which needs no further child task.
        if skippingInvalid || added.refusals.isEmpty { queue.journal?.claimFlush() }
        perform(added.effects)
        do throws(DownloadError) {
            for refusal in added.refusals {
                guard skippingInvalid else { throw refusal }
                observers.publish(skippedAddition: refusal)
            }
            try await journalWriter.flush(self)
            // The call that added the download removes it if it could not be saved.
            let removed = added.joinedUnsaved.first { queue.records[$0.id] !== $0 && !$0.status.state.isFinished }
            if let removed {
                let message = "This download was removed while it was being added."
                throw DownloadError(.fileSystem, message, url: removed.request.url)
            }
        } catch {
            _ = try? stop(.downloads(added.new), .remove(deletingFiles: false), skippingUnknown: true)
            for id in added.revived { perform(queue.failed(id, error)) }
            throw error
        }
        if queue.journal != nil { perform(queue.saved(added.new + added.revived, at: clock.now())) }
        return added.records
    }

    // MARK: Steps

    /// Makes a decision about the queue, and performs its effects.
    func apply<E>(_ decision: @Sendable (inout QueueState) throws(E) -> [QueueEffect]) throws(E) {
        perform(try decision(&queue))
    }

    /// Makes a change to the queue whose only effect is that the change is written to the journal.
    func change<E>(_ change: @Sendable (inout QueueState) throws(E) -> Void) throws(E) {
        try change(&queue)
        performer.scheduleFlush(of: &queue)
    }

    /// Stops downloads; returns those that have not stopped yet.
    func stop(
        _ selection: DownloadSelection,
        _ operation: QueueState.Stop,
        skippingUnknown: Bool = false
    ) throws(DownloadError) -> [DownloadRecord] {
        let (records, effects) = try queue.stop(selection, operation, skippingUnknown: skippingUnknown)
        perform(effects)
        return records.filter { operation == .pause ? queue.scheduler.isPausing($0.id) : performer.isStopping($0) }
    }

    /// Processes the outcome of a transfer.
    /// - Returns: The download that the transfer's task must run next (`nil` if none may start, or if the task is
    ///   cancelled), and the removals of files that the task must carry out.
    func ended(
        _ run: DownloadRun,
        _ outcome: TransferOutcome,
        _ measurement: TransferMeasurement?,
        taskIsCancelled: Bool
    ) -> (next: DownloadRun?, removals: [FileRemoval]) {
        var effects = queue.ended(run.record.id, outcome, measurement, at: clock.now())
        let next = taskIsCancelled ? nil : effects.takeStart()
        let removals = performer.perform(effects, on: &queue)
        if let next { performer.begin(next) }
        environment.background?.ended(run.record.id)
        return (next, removals)
    }

    /// Publishes the new states of downloads whose files have been removed, and lets the downloads start that waited
    /// for these removals.
    func ended(_ removals: [FileRemoval]) {
        for removal in removals {
            performer.ended(removal, in: queue)
            if removal.partial { for latch in queue.removed(removal.record) { latch.open() } }
        }
        performer.publishIdle(queue)
    }

    /// Performs the effects of a decision; files are deleted later, in child tasks.
    func perform(_ effects: [QueueEffect]) {
        let removals = performer.perform(effects, on: &queue)
        if !removals.isEmpty { performer.work.yield(.removals(removals)) }
    }
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

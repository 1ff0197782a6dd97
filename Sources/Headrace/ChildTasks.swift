import HeadracePlatform

/// Work that the manager delegates to a child task.
enum ChildWork: Sendable {
    case transfer(DownloadRun)
    case removals([FileRemoval])
    /// Wait until this time of the clock, then start the downloads that are due, and retry a failed write.
    case alarm(Duration)
    /// Write the changes of the queue to the journal.
    case flush
    /// Sync the changes of a command that was carried out for another process, then remove the command's file.
    case carriedOut(CommandSpool.Item)
    /// Write the remaining changes of this queue, because its manager was released without a shutdown.
    indirect case lastWrite(QueueState)
}

/// A weak reference to a manager for its child tasks: they report to the manager, but must not keep it alive.
final class ManagerReference: Sendable {
    private struct Reference: Sendable {
        weak var manager: DownloadManager?
    }

    private let reference = Locked(Reference())

    /// The manager; `nil` until it is initialized, and again once the last handle on it was released.
    var manager: DownloadManager? {
        get { reference.withLock { $0.manager } }
        set { reference.withLock { $0.manager = newValue } }
    }
}

/// Performs a manager's work in child tasks.
///
/// Each slot for a running download has its own child task, as does each removal of files, write of the journal and
/// timer.
struct ChildTasks: Sendable {
    /// The download whose transfer runs the current task; set inside user hooks, which must not wait for that transfer.
    @TaskLocal static var transferring: DownloadRecord?

    /// Waits until the downloads have stopped, except for ``transferring``.
    ///
    /// In a hook of a download, the wait ends when the hook's task is cancelled. Otherwise two hooks that stop each
    /// other's downloads would wait for each other forever.
    static func waitForStop(of records: [DownloadRecord], in manager: isolated DownloadManager) async {
        let waits = records.filter { $0 !== transferring }.map { ($0.id, manager.performer.follow($0.id)) }
        for (id, latch) in waits {
            await latch.wait(evenIfCancelled: transferring == nil)
            if Task.isCancelled { manager.performer.endFollowing(id, latch) }
        }
    }

    private let reference: ManagerReference
    private let environment: TransferEnvironment
    private let executor: BlockingExecutor
    private let registry: RegistryFiles?
    private let observers: QueueObservers
    /// A copy of the queue's initial network admission, with which ``follow(_:)`` detects changes of the path.
    private let gate: NetworkAdmission

    init(_ manager: DownloadManager, _ reference: ManagerReference, _ gate: NetworkAdmission) {
        self.gate = gate
        self.reference = reference
        environment = manager.environment
        executor = manager.executor
        registry = manager.journalWriter.registry
        observers = manager.observers
    }

    /// Performs the work until the stream finishes and all child tasks have ended.
    ///
    /// Then writes the remaining changes to the journal, closes the registry and ends the streams of queue events.
    func run(_ work: AsyncStream<ChildWork>) async {
        let unwritten = await withDiscardingTaskGroup { group in
            group.addTask { await reportBackground() }
            defer { environment.background?.endReports() }
            return await runAll(work)
        }
        await flushOrReport()
        if let registry {
            await registry.executor.run {
                if var queue = unwritten { try? queue.writeChanges(to: registry.file) }
                registry.file.close()
            }
        }
        observers.end()
    }

    /// Performs the work until the stream finishes and all child tasks have ended; returns the queue whose changes the
    /// caller must still write to the journal, or `nil` if there is none.
    private func runAll(_ work: AsyncStream<ChildWork>) async -> QueueState? {
        await withDiscardingTaskGroup { group in
            var unwritten: QueueState?
            let (alarms, alarm) = AsyncStream.makeStream(of: Duration.self)
            group.addTask { await ring(alarms) }
            let (paths, monitoring) = environment.network.follow()
            group.addTask { await follow(paths) }
            for await work in work {
                switch work {
                case .transfer(let first): group.addTask(executorPreference: executor) { await transfer(first) }
                case .removals(let removals): group.addTask { await carryOut(removals) }
                case .alarm(let time): alarm.yield(time)
                case .flush: group.addTask { await flushOrReport() }
                case .carriedOut(let item): group.addTask { await carriedOut(item) }
                case .lastWrite(let queue): unwritten = queue
                }
            }
            alarm.finish()
            monitoring.finish()
            return unwritten
        }
    }

    /// Processes the reports of the background session, in order: saves the changed states of its tasks, and calls the
    /// completion handlers of the system once these states are in the journal.
    private func reportBackground() async {
        guard let background = environment.background else { return }
        for await report in background.reports {
            switch report {
            case .noteChanged(let id): await reference.manager?.change { $0.recordRequest(of: id) }
            case .processed(let completions):
                // The system may suspend the process as soon as the handlers are called.
                await flushOrReport(syncing: false)
                for completion in completions { completion() }
            }
        }
    }

    /// Runs a transfer and then, on the same task, the transfers that get its slot, one after the other.
    private func transfer(_ first: DownloadRun) async {
        var next: DownloadRun? = first
        while let run = next {
            let (outcome, measurement): (TransferOutcome, TransferMeasurement?) = await Self.$transferring
                .withValue(run.record) {
                    await run.stop.cancellingTask {
                        await run.removal?.wait(evenIfCancelled: false)
                        guard run.removal == nil || run.stop.reason == nil else {
                            return (.stopped(keptBytes: true), nil)
                        }
                        var transfer = DownloadTransfer(run.record, run.stop, after: run.earlier.state, in: environment)
                        transfer.mayShareConnection = run.mayShareConnection
                        if run.reportsHead { transfer.onHead = reportHead }
                        return (await transfer.runWithinTimeLimit(), transfer.measurement)
                    }
                }
            environment.background?.runLeft(run.record.id)
            guard let manager = reference.manager else { return environment.descriptors.transferEnded() }
            let ended = await manager.ended(run, outcome, measurement, taskIsCancelled: Task.isCancelled)
            next = ended.next
            // Carried out on this task, so that the shutdown waits for the removals as it does for the transfer.
            if !ended.removals.isEmpty { await carryOut(ended.removals) }
        }
    }

    /// Writes the removals to the journal, then deletes the files and publishes the new states.
    ///
    /// A crash before the deletion leaves files without a download, but never a download without its bytes. If the
    /// journal cannot be written, the files remain. But if the reason is a full disk, the files on the journal's disk
    /// are deleted first, to make room for the journal.
    private func carryOut(_ removals: [FileRemoval]) async {
        guard let manager = reference.manager else { return }
        do throws(DownloadError) {
            var rest = removals
            do throws(DownloadError) {
                try await manager.journalWriter.flush(manager)
            } catch {
                // Files on the journal's full disk are deleted anyway: nothing else would make room for the journal.
                guard error.code == .diskFull else { throw error }
                rest = await executor.run { [environment] in
                    removals.filter { removal in
                        let isFilling = removal.sharesDisk(environment)
                        if isFilling { removal.removeFiles(environment) }
                        return !isFilling
                    }
                }
                guard rest.count < removals.count else { throw error }
                try await manager.journalWriter.flush(manager)
            }
            await executor.run { [environment, rest] in for removal in rest { removal.removeFiles(environment) } }
        } catch {
            observers.publish(.registryFailed(error))
        }
        await manager.ended(removals)
    }

    private func flushOrReport(syncing: Bool = true) async {
        guard let manager = reference.manager else { return }
        await manager.journalWriter.flushOrReport(manager, syncing: syncing)
    }

    private func carriedOut(_ item: CommandSpool.Item) async {
        guard let manager = reference.manager else { return }
        await manager.commandServer.carriedOut(item, for: manager)
    }

    /// Reports the first response head of a download to the manager.
    private func reportHead(_ id: DownloadID, _ size: Int64?, isMultiplexed: Bool) async {
        await reference.manager?.apply {
            $0.effects(of: $0.scheduler.received(headOf: size, of: id, isMultiplexed: isMultiplexed))
        }
    }

    /// Wakes the manager at each time of the clock that the stream yields, until the stream finishes.
    private func ring(_ alarms: AsyncStream<Duration>) async {
        await withDiscardingTaskGroup { group in
            for await time in alarms {
                group.addTask {
                    guard (try? await environment.clock.sleep(time)) != nil else { return }
                    await reference.manager?.apply { $0.tick(at: environment.clock.now()) }
                }
            }
            group.cancelAll()
        }
    }

    /// Passes each change of the network path to the manager, until the stream finishes.
    private func follow(_ paths: AsyncStream<NetworkPath?>) async {
        var gate = gate
        for await path in paths where path != gate.path {
            // Recorded before any transfer starts on the new path.
            environment.recordPathChange()
            if gate.update(path) { environment.transport.dropIdleConnections() }
            await reference.manager?.apply { $0.setPath(path) }
        }
    }
}

extension FileRemoval {
    /// Deletes the files; blocks.
    fileprivate func removeFiles(_ environment: TransferEnvironment) {
        if partial {
            var session = PartialDownload(record, environment)
            session.removeLeftovers()
            _ = record.takeSuspended()
            record.status.forgetBytes()
        }
        // A file that existed before the download, or has replaced the downloaded file since, is not deleted.
        guard let file, !file.wasThere, let status = try? environment.files.status(file.url.filePath),
            file.stamp == FileStamp(status)
        else { return }
        try? environment.files.remove(file.url.filePath)
    }

    /// Whether the files to delete are on the same file system as the journal; blocks.
    fileprivate func sharesDisk(_ environment: TransferEnvironment) -> Bool {
        guard let directory = environment.configuration.registryDirectory else { return false }
        let path = file?.url.filePath ?? record.names.partialPath(in: environment.configuration.partialsDirectory)
        let journal = "\(directory.filePath)/\(RegistryStore.fileName)"
        let files = environment.files
        return (try? files.status(path))?.device == (try? files.status(journal))?.device
    }
}

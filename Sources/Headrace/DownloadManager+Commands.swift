/// Carries out the commands of other processes; see ``DownloadRegistry``.
extension DownloadManager {
    /// Carries out the commands that other processes have left in the registry's directory since the last poll.
    ///
    /// The manager also does this when it starts, except for commands that wait more than a second for a download to
    /// stop. A poll makes one file call if there are no commands; it also retries earlier failed writes of the queue.
    /// Returns once all commands are done, or when the task is cancelled. If another poll is already running, that poll
    /// is repeated, and this call returns when it has finished. Does nothing without a registry.
    ///
    /// The file of a command is deleted once the effects of the command survive a power failure, for any
    /// ``DownloadConfiguration/durability-swift.property``.
    /// - Throws: Any error from reading the directory or writing the registry, and `shutDown`; then the commands
    ///   remain. `fileSystem` also after the directory was deleted, moved or replaced.
    public func takeCommands() async throws(DownloadError) {
        guard registry != nil else {
            guard !queue.scheduler.isShutDown else { throw .shutDown() }
            return
        }
        try await poll()
        while commands.needsPoll {
            await waitForCommand()
            guard !Task.isCancelled else { return }
            try await poll()
        }
    }

    /// Polls the registry's directory; returns once all commands are carried out, except those that must wait for an
    /// unfinished command on the same downloads.
    ///
    /// Does nothing without a registry.
    func poll() async throws(DownloadError) {
        guard let registry else { return }
        guard !queue.scheduler.isShutDown else { throw .shutDown() }
        while let other = polls.begin() {
            for await _ in other { return }
            guard !Task.isCancelled else { return }
        }
        do throws(DownloadError) {
            repeat {
                try await takeCommands(of: registry)
                // A cancelled poll does not wait, so callers that wait for it must take the remaining commands themselves.
                guard !Task.isCancelled else { return polls.end() }
            } while !polls.finishUnlessRequested()
        } catch {
            polls.end()
            throw error
        }
    }

    private func takeCommands(of registry: RegistryFiles) async throws(DownloadError) {
        let contents = try await queueExecutor.run { () throws(DownloadError) in try registry.takeCommands() }
        commands.retain(contents.items)
        for refusal in contents.refusals { observers.publish(finding: refusal.description) }
        guard let bases = queue.journal?.bases else { return }
        var (conflicts, isBehind) = (CommandConflicts(commands.records, bases: bases), false)
        for item in contents.items where !commands.isApplied(item) {
            guard !Task.isCancelled else {
                // The next poll takes the remaining commands.
                isBehind = true
                break
            }
            guard !conflicts.isTouched(by: item.command) else {
                conflicts.insert(item.command, in: queue)
                isBehind = true
                continue
            }
            let stopping: [DownloadRecord]
            do throws(DownloadError) {
                stopping = try await apply(item.command, skippingInvalid: true)
            } catch  where error.code == .invalidRequest {
                // This command can never succeed, and must not block the commands after it.
                let path = await queueExecutor.run { registry.spool.quarantine(item.path) }
                observers.publish(finding: "The command \(path) was not carried out: \(error.message)")
                continue
            }
            // After a shutdown nothing was done, and the next manager may own the registry.
            guard !queue.scheduler.isShutDown else { throw .shutDown() }
            // Some downloads of a removal are not in the queue any more.
            let records = item.command.ids.compactMap { queue.records[DownloadID(rawValue: $0)] } + stopping
            commands.apply(item, to: records, stopping: Set(stopping.map(\.id)))
            guard !stopping.isEmpty else { continue }
            await waitForEnd(of: item)
            guard !queue.scheduler.isShutDown else { throw .shutDown() }
            if !commands.isCarriedOut(item) { conflicts.insert(records) }
        }
        commands.isBehind = isBehind
        // Commands that complete from now on may not be included in this write.
        let carriedOut = contents.items.filter(commands.isCarriedOut)
        guard !carriedOut.isEmpty || queue.journal?.isBehind == true else { return }
        // The queue is written before the files are deleted, since a kill in between would lose the commands.
        try await flush(always: true)
        try await queueExecutor.run { () throws(DownloadError) in try registry.removeCommands(carriedOut) }
    }

    /// Syncs the changes of a command that was carried out, then removes the command's file.
    ///
    /// The next poll would do the same, but not every program polls after its start, and another process would repeat a
    /// command whose file remains.
    func carriedOut(_ item: CommandSpool.Item) async {
        // A running poll syncs the changes of all its commands and removes their files together.
        guard let registry, commands.isCarriedOut(item), !polls.request() else { return }
        do throws(DownloadError) {
            try await flush(always: true)
            try await queueExecutor.run { () throws(DownloadError) in try registry.removeCommands([item]) }
        } catch {
            observers.publish(.registryFailed(error))
        }
    }

    /// Waits for a command to complete, up to a time limit: a disk that hangs can keep a transfer from stopping.
    private func waitForEnd(of item: CommandSpool.Item) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [clock] in try? await clock.sleep(clock.now() + Self.commandTimeout) }
            group.addTask { await self.waitForCommand(item) }
            await group.next()
            group.cancelAll()
        }
    }

    /// Waits until the command `item` is carried out or abandoned; if `item` is `nil`, until any pending command is.
    ///
    /// Returns at once if no such command is pending, and when the task is cancelled.
    private func waitForCommand(_ item: CommandSpool.Item? = nil) async {
        repeat {
            guard let (subscriber, ends) = commands.follow(item) else { return }
            for await _ in ends {}
            commands.endFollowing(subscriber)
        } while item != nil && !Task.isCancelled
    }

    /// How long a command may wait for transfers to stop before later commands on other downloads are carried out.
    private static let commandTimeout = Duration.seconds(1)

    /// Carries out a command; returns once its changes are on disk.
    func carryOutAndFlush(_ command: RegistryCommand) async throws(DownloadError) {
        await waitForStop(of: try await apply(command, skippingInvalid: false))
        try await flush()
    }

    /// Applies a command to the queue; with `skippingInvalid`, publishes the errors of invalid additions as events instead
    /// of throwing them.
    /// - Returns: The downloads that have not stopped yet.
    private func apply(
        _ command: RegistryCommand,
        skippingInvalid: Bool
    ) async throws(DownloadError) -> [DownloadRecord] {
        switch command {
        case .add(let entries):
            guard let bases = queue.journal?.bases else { break }
            let additions = entries.compactMap { QueueState.Addition($0, in: bases) }
            _ = try await add(additions, skippingInvalid: skippingInvalid)
        case .pause(let ids): return try startPausing(selection(ids), skippingUnknown: true)
        case .resume(let ids): for id in ids { await self[DownloadID(rawValue: id)]?.resume() }
        case .retry(let ids): try requeue(selection(ids), only: .failed, skippingUnknown: true)
        case .cancel(let ids): return try startCancelling(selection(ids), skippingUnknown: true)
        case .remove(let ids, let deletingFiles):
            return try startRemoving(selection(ids), deletingFiles: deletingFiles, skippingUnknown: true)
        case .move(let id, let place): try? move(DownloadID(rawValue: id), to: place)
        case .priority(let id, let priority):
            setPriority(DownloadPriority(rawValue: priority), of: DownloadID(rawValue: id))
        }
        return []
    }

    private func selection(_ ids: [UInt64]) -> DownloadSelection {
        .downloads(ids.map(DownloadID.init(rawValue:)))
    }
}

extension QueueState.Addition {
    /// Creates an addition that another process posted; returns `nil` if its request is invalid here.
    fileprivate init?(_ entry: RegistryEntry, in bases: RegistryBaseDirectories) {
        guard let request = entry.request.downloadRequest(in: bases), (try? request.validate()) != nil else {
            return nil
        }
        self.init(
            id: DownloadID(rawValue: entry.id),
            request: request,
            withoutSecrets: entry.request.lacksSecrets ? entry.request : nil
        )
    }
}

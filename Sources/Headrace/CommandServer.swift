import HeadracePlatform

/// Carries out the commands that other processes leave in a registry's directory; see ``DownloadRegistry``.
///
/// This value has no state: the manager stores the pending commands, and the steps that change them run on its actor.
struct CommandServer: Sendable {
    /// The registry's files; `nil` without a registry, and therefore without commands.
    let registry: RegistryFiles?
    let observers: QueueObservers
    let clock: AnyClock

    /// The maximum time to wait for the transfers that a command stops, before later commands are applied.
    private static let timeout = Duration.seconds(1)

    // MARK: Polling

    /// Carries out all commands, as ``DownloadManager/takeCommands()`` does.
    func takeCommands(for manager: isolated DownloadManager) async throws(DownloadError) {
        guard registry != nil else {
            guard !manager.queue.scheduler.isShutDown else { throw .shutDown() }
            return
        }
        try await poll(for: manager)
        while manager.performer.commands.needsPoll {
            await waitForCommand(of: manager)
            guard !Task.isCancelled else { return }
            try await poll(for: manager)
        }
    }

    /// Polls the registry's directory for commands and carries them out.
    ///
    /// Commands whose downloads take more than a second to stop, and later commands on the same downloads, may be
    /// unfinished when this returns. If another poll is running, this call waits for that poll instead, and polls
    /// itself only if the other poll fails or is cancelled. Returns early if the task is cancelled. Does nothing
    /// without a registry.
    func poll(for manager: isolated DownloadManager) async throws(DownloadError) {
        guard let registry else { return }
        guard !manager.queue.scheduler.isShutDown else { throw .shutDown() }
        while let other = manager.polls.begin() {
            for await _ in other { return }
            guard !Task.isCancelled else { return }
        }
        do throws(DownloadError) {
            repeat {
                try await carryOutAll(in: registry, for: manager)
                // A cancelled poll may leave commands, so the callers that wait for it must poll themselves.
                guard !Task.isCancelled else { return manager.polls.end() }
            } while !manager.polls.finishUnlessRequested()
        } catch {
            manager.polls.end()
            throw error
        }
    }

    private func carryOutAll(
        in registry: RegistryFiles,
        for manager: isolated DownloadManager
    ) async throws(DownloadError) {
        let contents = try await registry.executor.run { () throws(DownloadError) in try registry.takeCommands() }
        manager.performer.commands.retain(contents.items)
        for refusal in contents.refusals { observers.publish(finding: refusal.description) }
        guard let bases = manager.queue.journal?.bases else { return }
        var (conflicts, isBehind) = (CommandConflicts(manager.performer.commands.records, bases: bases), false)
        var failure: DownloadError?
        for item in contents.items where !manager.performer.commands.isApplied(item) {
            guard !Task.isCancelled else {
                // The next poll takes the remaining commands.
                isBehind = true
                break
            }
            // After a failure, a later addition must not precede the failed one in the queue.
            guard !conflicts.isTouched(by: item.command), failure == nil || !item.command.isAddition else {
                conflicts.insert(item.command, in: manager.queue)
                isBehind = true
                continue
            }
            do throws(DownloadError) {
                conflicts.insert(try await carryOut(item, in: registry, for: manager))
            } catch  where error.code != .shutDown && !error.isRegistryLost {
                // Such as a full disk, which a later command may relieve.
                failure = failure ?? error
                conflicts.insert(item.command, in: manager.queue)
                isBehind = true
            }
        }
        manager.performer.commands.isBehind = isBehind
        // Commands that complete from now on may not be included in this write.
        let carriedOut = contents.items.filter(manager.performer.commands.isCarriedOut)
        // The flush also waits for a write that is under way, since that write may fail.
        let isBehindOnDisk = manager.queue.journal?.isBehind == true || manager.performer.commands.failedRemovals > 0
        if !carriedOut.isEmpty || manager.isFlushing || isBehindOnDisk {
            try await remove(carriedOut, from: registry, for: manager)
        }
        if let failure { throw failure }
    }

    /// Applies one command and waits up to ``timeout`` for its end; quarantines a command that can never succeed.
    /// - Returns: The downloads of the command if it is not complete yet; otherwise an empty array.
    private func carryOut(
        _ item: CommandSpool.Item,
        in registry: RegistryFiles,
        for manager: isolated DownloadManager
    ) async throws(DownloadError) -> [DownloadRecord] {
        let stopping: [DownloadRecord]
        do throws(DownloadError) {
            stopping = try await apply(item.command, skippingInvalid: true, to: manager)
        } catch  where [.invalidRequest, .unknownDownload].contains(error.code) {
            // An invalid command must not block the commands after it.
            let path = await registry.executor.run {
                registry.spool.quarantine(item.path, as: CommandSpool.refusedSuffix)
            }
            observers.publish(finding: "The command \(path) was not carried out: \(error.message)")
            return []
        }
        // After a shutdown nothing was done, and the next manager may own the registry.
        guard !manager.queue.scheduler.isShutDown else { throw .shutDown() }
        // Some downloads of a removal are not in the queue any more.
        let records = item.command.ids.compactMap { manager.queue.records[DownloadID(rawValue: $0)] } + stopping
        manager.performer.commands.apply(item, to: records, stopping: Set(stopping.map(\.id)))
        guard !stopping.isEmpty else { return [] }
        // Not longer, since a disk that hangs can keep a transfer from stopping.
        await wait(until: clock.now() + Self.timeout) { [manager] in await waitForCommand(item, of: manager) }
        guard !manager.queue.scheduler.isShutDown else { throw .shutDown() }
        return manager.performer.commands.isCarriedOut(item) ? [] : records
    }

    /// Syncs the changes of a command that was carried out, then removes the command's file.
    ///
    /// If the file remained, another process would repeat the command. The next poll would remove the file too, but
    /// some programs poll only when they start.
    func carriedOut(_ item: CommandSpool.Item, for manager: isolated DownloadManager) async {
        // A running poll syncs the changes of all its commands and removes their files together.
        guard let registry, manager.performer.commands.isCarriedOut(item), !manager.polls.request() else { return }
        do throws(DownloadError) {
            try await remove([item], from: registry, for: manager)
        } catch {
            observers.publish(.registryFailed(error))
        }
    }

    /// Writes and syncs the changes of the queue, then removes the files of commands; in this order, a crash in between
    /// loses no command.
    private func remove(
        _ items: [CommandSpool.Item],
        from registry: RegistryFiles,
        for manager: isolated DownloadManager
    ) async throws(DownloadError) {
        try await manager.journalWriter.flush(manager, always: true)
        // If an earlier removal was not synced, the folder is synced even if there are no items.
        let earlierFailures = manager.performer.commands.failedRemovals
        guard !items.isEmpty || earlierFailures > 0 else { return }
        do throws(DownloadError) {
            try await registry.executor.run { () throws(DownloadError) in try registry.removeCommands(items) }
            let hasFailed = manager.performer.commands.failedRemovals > earlierFailures
            if !hasFailed { manager.performer.commands.failedRemovals = 0 }
        } catch {
            manager.performer.commands.failedRemovals += 1
            throw error
        }
    }

    /// Waits until `wait` returns, or until the time `end` at the latest.
    private func wait(until end: Duration, or wait: (@Sendable () async -> Void)?) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [clock] in try? await clock.sleep(end) }
            if let wait { group.addTask { await wait() } }
            await group.next()
            group.cancelAll()
        }
    }

    /// Waits until the command `item` is carried out or abandoned; with `item` = `nil`, waits for any pending command.
    ///
    /// Returns at once if no such command is pending, or if the task is cancelled.
    private func waitForCommand(_ item: CommandSpool.Item? = nil, of manager: isolated DownloadManager) async {
        repeat {
            guard let (subscriber, ends) = manager.performer.commands.follow(item) else { return }
            for await _ in ends {}
            manager.performer.commands.endFollowing(subscriber)
        } while item != nil && !Task.isCancelled
    }

    // MARK: Commands

    /// Carries out a command; returns once the downloads that it stops have stopped, and its changes are written.
    func carryOutAndFlush(
        _ command: RegistryCommand,
        for manager: isolated DownloadManager
    ) async throws(DownloadError) {
        let stopping = try await apply(command, skippingInvalid: false, to: manager)
        await ChildTasks.waitForStop(of: stopping, in: manager)
        try await manager.journalWriter.flush(manager)
    }

    /// Applies a command to the queue.
    ///
    /// With `skippingInvalid`, the errors of invalid additions are published as events instead of thrown.
    /// - Returns: The downloads that the command stops, and that have not stopped yet.
    private func apply(
        _ command: RegistryCommand,
        skippingInvalid: Bool,
        to manager: isolated DownloadManager
    ) async throws(DownloadError) -> [DownloadRecord] {
        switch command {
        case .add(let entries):
            guard let bases = manager.queue.journal?.bases else { break }
            var additions: [QueueAddition] = []
            for entry in entries {
                do throws(DownloadError) {
                    additions.append(try QueueAddition(entry, in: bases))
                } catch {
                    guard skippingInvalid else { throw error }
                    observers.publish(skippedAddition: error)
                }
            }
            _ = try await manager.add(additions, skippingInvalid: skippingInvalid)
        case .pause(let ids): return try manager.stop(selection(ids), .pause, skippingUnknown: true)
        case .resume(let ids):
            let downloads = ids.compactMap { manager[DownloadID(rawValue: $0)] }
            let finished = downloads.filter(\.state.isFinished)
            // In one step, so that those with the highest priority start first.
            manager.apply { [clock] in $0.start(downloads.filter { !$0.state.isFinished }.map(\.id), at: clock.now()) }
            for download in finished { await download.resume() }
        case .retry(let ids):
            try manager.apply { [clock] queue throws(DownloadError) in
                try queue.requeue(selection(ids), only: .failed, skippingUnknown: true, at: clock.now())
            }
        case .cancel(let ids): return try manager.stop(selection(ids), .cancel, skippingUnknown: true)
        case .remove(let ids, let deletingFiles):
            return try manager.stop(selection(ids), .remove(deletingFiles: deletingFiles), skippingUnknown: true)
        case .move(let id, let place): try await manager[DownloadID(rawValue: id)]?.move(to: place)
        case .priority(let id, let priority):
            await manager[DownloadID(rawValue: id)]?.setPriority(DownloadPriority(rawValue: priority))
        case .relink(let id, let url):
            guard let url = URL(string: url) else { throw DownloadError(.invalidRequest, "The new URL is not valid.") }
            try await manager[DownloadID(rawValue: id)]?.setURL(url)
        }
        return []
    }

    private func selection(_ ids: [UInt64]) -> DownloadSelection {
        .downloads(ids.map(DownloadID.init(rawValue:)))
    }

    // MARK: Serving

    /// Carries out commands as they arrive, as ``DownloadManager/serveCommands(untilIdle:)`` does.
    func serve(_ manager: DownloadManager, untilIdle: Bool) async throws(DownloadError) {
        // The stream of events would not do, because a slow reader may miss some of them.
        let changes = observers.changes()
        await forgetPaused(of: manager)
        let failure = await withTaskGroup(of: DownloadError?.self) { group in
            group.addTask { await self.failure { () throws(DownloadError) in try await pollRepeatedly(for: manager) } }
            group.addTask {
                guard !untilIdle else {
                    return await self.failure { () throws(DownloadError) in try await waitUntilDone(changes, manager) }
                }
                // The stream finishes when the manager is shut down.
                for await _ in changes {}
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        if let failure { throw failure }
    }

    /// Returns the error that the body throws; `nil` if it throws none.
    private func failure(of body: () async throws(DownloadError) -> Void) async -> DownloadError? {
        do throws(DownloadError) {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    /// Polls for commands until the manager is shut down or the task is cancelled; throws if the registry's directory
    /// was deleted, moved or replaced.
    private func pollRepeatedly(for manager: isolated DownloadManager) async throws(DownloadError) {
        let watch = await registry?.executor.run { [registry] in registry?.spool.watch() } ?? nil
        let change: (@Sendable () async -> Void)? = if let watch { { await watch.change() } } else { nil }
        let interval = Duration.milliseconds(500)
        // Doubles with each failed poll until one succeeds.
        var delay = interval
        repeat {
            do throws(DownloadError) {
                try await poll(for: manager)
                delay = interval
            } catch {
                guard error.code != .shutDown else { return }
                guard !error.isRegistryLost else { throw error }
                if delay == interval { observers.publish(.registryFailed(error)) }
                delay = min(delay * 2, .seconds(30))
            }
            await wait(until: clock.now() + delay, or: change)
        } while !Task.isCancelled
    }

    /// Empties ``EffectPerformer/pausedWhileServing``, so that it contains only downloads that are paused from now on.
    private func forgetPaused(of manager: isolated DownloadManager) { manager.performer.pausedWhileServing = [] }

    /// Follows the changes of the queue until nothing is left to do, or until the manager is shut down; throws if the
    /// registry is lost.
    private func waitUntilDone(_ changes: AsyncStream<Void>, _ manager: DownloadManager) async throws(DownloadError) {
        for await _ in changes where try await isDone(manager) { return }
    }

    /// Returns whether nothing is left to do, even after the commands of a last poll, or whether the manager is shut
    /// down; throws if the registry is lost.
    private func isDone(_ manager: isolated DownloadManager) async throws(DownloadError) -> Bool {
        guard manager.hasNothingToServe else { return false }
        do throws(DownloadError) {
            try await takeCommands(for: manager)
        } catch  where error.code == .shutDown {
            return true
        } catch  where !error.isRegistryLost {
            observers.publish(.registryFailed(error))
        }
        return manager.hasNothingToServe
    }
}

extension DownloadManager {
    /// Whether no download is waiting or running, and none of those paused while commands were served is still paused.
    fileprivate var hasNothingToServe: Bool { queue.open.isEmpty && performer.pausedWhileServing.isEmpty }
}

extension QueueAddition {
    /// Creates an addition from a posted entry; throws `invalidRequest` if this release does not accept the request.
    fileprivate init(_ entry: RegistryEntry, in bases: RegistryBaseDirectories) throws(DownloadError) {
        guard let request = entry.request.downloadRequest(in: bases) else {
            throw DownloadError(.invalidRequest, "Its URL or one of its paths is not valid.")
        }
        try request.validate()
        self.init(
            id: DownloadID(rawValue: entry.id),
            request: request,
            withoutSecrets: entry.request.lacksSecrets ? entry.request : nil
        )
    }
}

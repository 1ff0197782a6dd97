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
    public nonisolated func takeCommands() async throws(DownloadError) {
        guard let journal = queue.journal else {
            guard !queue.isShutDown else { throw .shutDown() }
            return
        }
        try await poll(journal)
        while journal.needsPoll {
            await journal.waitForEnd()
            guard !Task.isCancelled else { return }
            try await poll(journal)
        }
    }

    /// Polls the registry's directory; returns once all commands are carried out, except those that must wait for an
    /// unfinished command on the same downloads.
    nonisolated func poll(_ journal: QueueJournal) async throws(DownloadError) {
        guard !queue.isShutDown else { throw .shutDown() }
        while let other = journal.beginPoll() {
            for await _ in other { return }
            guard !Task.isCancelled else { return }
        }
        do throws(DownloadError) {
            repeat {
                try await takeCommands(of: journal)
                // A cancelled poll does not wait, so callers that wait for it must take the remaining commands themselves.
                guard !Task.isCancelled else { return journal.endPoll() }
            } while journal.startsAnotherPoll()
        } catch {
            journal.endPoll()
            throw error
        }
    }

    private nonisolated func takeCommands(of journal: QueueJournal) async throws(DownloadError) {
        let contents = try await queueExecutor.run { () throws(DownloadError) in try journal.takeCommands() }
        for refusal in contents.refusals { queue.observers.publish(finding: refusal.description) }
        var (conflicts, isBehind) = (CommandConflicts(journal.ends, bases: journal.bases), false)
        for item in contents.items where !journal.isDecided(item) {
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
            let end: PendingCommand?
            do throws(DownloadError) {
                end = try await apply(item.command, skippingInvalid: true)
            } catch  where error.code == .invalidRequest {
                // This command can never succeed, and must not block the commands after it.
                let path = await queueExecutor.run { journal.spool.quarantine(item.path) }
                queue.observers.publish(finding: "The command \(path) was not carried out: \(error.message)")
                continue
            }
            // After a shutdown nothing was done, and the next manager may own the registry.
            guard !queue.isShutDown else { throw .shutDown() }
            guard let end else {
                journal.recordCarriedOut(item)
                continue
            }
            guard queue.follow(end, of: item, in: journal) else { throw .shutDown() }
            await waitForEnd(of: item, in: journal)
            guard !queue.isShutDown else { throw .shutDown() }
            if !journal.isCarriedOut(item) { conflicts.insert(end.records) }
        }
        journal.recordPoll(isBehind: isBehind)
        // Commands that complete from now on may not be included in this write.
        let carriedOut = contents.items.filter(journal.isCarriedOut)
        guard !carriedOut.isEmpty || journal.isBehind else { return }
        try await queueExecutor.run { [queue] () throws(DownloadError) in
            // The queue is written before the files are deleted, since a kill in between would lose the commands.
            try queue.flush(always: true)
            try journal.done(carriedOut)
        }
    }

    /// Waits for a command to complete, up to a time limit: a disk that hangs can keep a transfer from stopping.
    private nonisolated func waitForEnd(of item: CommandSpool.Item, in journal: QueueJournal) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [clock] in try? await clock.sleep(clock.now() + Self.commandTimeout) }
            group.addTask { await journal.waitForEnd(of: item) }
            await group.next()
            group.cancelAll()
        }
    }

    /// How long a command may wait for transfers to stop before later commands on other downloads are carried out.
    private static let commandTimeout = Duration.seconds(1)

    /// Carries out a command; returns once its changes are on disk.
    nonisolated func carryOutAndFlush(_ command: RegistryCommand) async throws(DownloadError) {
        try await carryOut(command, skippingInvalid: false)
        try await queueExecutor.run { [queue] () throws(DownloadError) in try queue.flush() }
    }

    /// Carries out a command and waits until it is done; with `skippingInvalid`, publishes the errors of invalid
    /// additions as events instead of throwing them.
    nonisolated func carryOut(_ command: RegistryCommand, skippingInvalid: Bool) async throws(DownloadError) {
        try await apply(command, skippingInvalid: skippingInvalid)?.wait()
    }

    /// Applies a command to the queue; returns the part that must still be waited for, or `nil` if the command is done.
    private nonisolated func apply(
        _ command: RegistryCommand,
        skippingInvalid: Bool
    ) async throws(DownloadError) -> PendingCommand? {
        switch command {
        case .add(let entries):
            try await queueExecutor.run { [queue] () throws(DownloadError) in
                try queue.add(entries, skippingInvalid: skippingInvalid)
            }
        case .pause(let ids):
            return PendingCommand(try queue.pause(selection(ids), skippingUnknown: true))
        case .resume(let ids): for id in ids { await self[DownloadID(rawValue: id)]?.resume() }
        case .retry(let ids): try queue.resume(selection(ids), only: .failed, skippingUnknown: true)
        case .cancel(let ids):
            return PendingCommand(try queue.cancel(selection(ids), skippingUnknown: true))
        case .remove(let ids, let deletingFiles):
            return PendingCommand(try queue.remove(selection(ids), deletingFiles: deletingFiles, skippingUnknown: true))
        case .move(let id, let place): try? self[DownloadID(rawValue: id)]?.move(to: place)
        case .priority(let id, let priority):
            self[DownloadID(rawValue: id)]?.setPriority(DownloadPriority(rawValue: priority))
        }
        return nil
    }

    private nonisolated func selection(_ ids: [UInt64]) -> DownloadSelection {
        .downloads(ids.map(DownloadID.init(rawValue:)))
    }
}

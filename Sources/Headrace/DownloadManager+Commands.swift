/// What other processes want of the list; see ``DownloadRegistry``.
extension DownloadManager {
    /// Carries out the commands that were left in the registry's directory since the last look.
    ///
    /// The start of the manager does so as well, but for those that wait longer than a moment for a download to stop.
    /// A look costs one file call where there are none, and also writes what of the list could not be written before.
    /// Returns when all are done; while another look is going on, that one looks again, and this call returns with it, or as
    /// soon as the task is cancelled. Does nothing without a registry.
    ///
    /// A command goes when what it changed outlives a power cut, whatever ``Configuration/durability-swift.property`` is.
    /// - Throws: What keeps the directory from being read, or the registry from being written, and `shutDown`; the commands
    ///   stay there then. `fileSystem` also where the directory was removed, moved or replaced, from then on.
    public nonisolated func takeCommands() async throws(DownloadError) {
        guard let journal = list.journal else {
            guard !list.isShutDown else { throw .shutDown() }
            return
        }
        try await look(at: journal)
        while journal.needsLook {
            await journal.waitForEnd()
            guard !Task.isCancelled else { return }
            try await look(at: journal)
        }
    }

    /// Takes what commands there are; returns when all are carried out but those for which others hold up their downloads.
    nonisolated func look(at journal: QueueJournal) async throws(DownloadError) {
        guard !list.isShutDown else { throw .shutDown() }
        while let other = journal.beginPoll() {
            for await _ in other { return }
            guard !Task.isCancelled else { return }
        }
        do throws(DownloadError) {
            repeat {
                try await takeCommands(of: journal)
                // Nothing was waited for: who waits for this look is to take what is left.
                guard !Task.isCancelled else { return journal.endLook() }
            } while journal.looksAgain()
        } catch {
            journal.endLook()
            throw error
        }
    }

    /// Takes commands as they come, until the manager is shut down or the task is cancelled.
    ///
    /// Polls for them twice a second as well, as not every system tells of them.
    /// After a failure, of which the first of a row is told, the looks become rare until one succeeds.
    /// - Throws: `fileSystem` where the list is lost for good, as ``DownloadError/isRegistryLost`` tells.
    package nonisolated func keepTakingCommands() async throws(DownloadError) {
        let watch = await listExecutor.run { [list] in list.journal?.inbox.watch() }
        var pace = PollBackoff()
        repeat {
            do throws(DownloadError) {
                if let journal = list.journal { try await look(at: journal) }
                pace.succeeded()
            } catch {
                guard error.code != .shutDown else { return }
                guard !error.isRegistryLost else { throw error }
                if !pace.isFailing { list.observers.publish(.registryFailed(error)) }
                pace.failed()
            }
            await waitForCommand(watch, until: clock.now() + pace.delay)
        } while !Task.isCancelled
    }

    private nonisolated func waitForCommand(_ watch: FolderWatch?, until end: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [clock] in try? await clock.sleep(end) }
            if let watch { group.addTask { await watch.change() } }
            await group.next()
            group.cancelAll()
        }
    }

    private nonisolated func takeCommands(of journal: QueueJournal) async throws(DownloadError) {
        let contents = try await listExecutor.run { () throws(DownloadError) in try journal.takeCommands() }
        for refusal in contents.refusals { list.observers.publish(finding: refusal.description) }
        var (busy, isBehind) = (CommandConflicts(journal.ends, bases: journal.bases), false)
        for item in contents.items where !journal.isDecided(item) {
            guard !Task.isCancelled else {
                // What is not decided is left to the next look.
                isBehind = true
                break
            }
            guard !busy.isTouched(by: item.command) else {
                busy.insert(item.command, in: list)
                isBehind = true
                continue
            }
            let end: PendingCommand?
            do throws(DownloadError) {
                end = try await decide(item.command, skippingUnknown: true)
            } catch  where error.code == .invalidRequest {
                // It never can be, and must not hold up those after it.
                let path = await listExecutor.run { journal.inbox.quarantine(item.path) }
                list.observers.publish(finding: "The command \(path) is not done: \(error.message)")
                continue
            }
            // After that nothing was done, and the next manager may have the list.
            guard !list.isShutDown else { throw .shutDown() }
            guard let end else {
                journal.recordCarriedOut(item)
                continue
            }
            guard list.follow(end, of: item, in: journal) else { throw .shutDown() }
            await waitForEnd(of: item, in: journal)
            guard !list.isShutDown else { throw .shutDown() }
            if !journal.isCarriedOut(item) { busy.insert(end.records) }
        }
        journal.noteLook(isBehind: isBehind)
        // What ends from now on may not be covered by what is written.
        let carriedOut = contents.items.filter(journal.isCarriedOut)
        guard !carriedOut.isEmpty || journal.isBehind else { return }
        try await listExecutor.run { [list] () throws(DownloadError) in
            // Before they go: else a kill or a power cut in between would lose them.
            try list.flush(always: true)
            try journal.done(carriedOut)
        }
    }

    /// Waits for a command to end, but not for ever: a disk that does not answer keeps a transfer from ending.
    private nonisolated func waitForEnd(of item: CommandSpool.Item, in journal: QueueJournal) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [clock] in try? await clock.sleep(clock.now() + Self.commandTimeout) }
            group.addTask { await journal.waitForEnd(of: item) }
            await group.next()
            group.cancelAll()
        }
    }

    /// How long a command may wait for transfers to end before those after it are carried out that are about others.
    private static let commandTimeout = Duration.seconds(1)

    /// Carries out a command; returns when what it changed is on the disk, and throws what keeps it from there.
    nonisolated func carryOutAndFlush(_ command: RegistryCommand) async throws(DownloadError) {
        try await carryOut(command, skippingUnknown: false)
        try await listExecutor.run { [list] () throws(DownloadError) in try list.flush() }
    }

    /// Carries out a command; `skippingUnknown` where nobody waits for it, who could be told what of it cannot be.
    nonisolated func carryOut(_ command: RegistryCommand, skippingUnknown: Bool) async throws(DownloadError) {
        try await decide(command, skippingUnknown: skippingUnknown)?.wait()
    }

    /// Has the list go by a command, and returns what that still waits for; nil where all is done.
    private nonisolated func decide(
        _ command: RegistryCommand,
        skippingUnknown: Bool
    ) async throws(DownloadError) -> PendingCommand? {
        switch command {
        case .add(let entries):
            try await listExecutor.run { [list] () throws(DownloadError) in
                try list.add(entries, skippingUnknown: skippingUnknown)
            }
        case .pause(let ids):
            return PendingCommand(try list.pause(selection(ids), skippingUnknown: true))
        case .resume(let ids): for id in ids { await self[DownloadID(rawValue: id)]?.resume() }
        case .retry(let ids): try list.resume(selection(ids), only: .failed, skippingUnknown: true)
        case .cancel(let ids):
            return PendingCommand(try list.cancel(selection(ids), skippingUnknown: true))
        case .remove(let ids, let deletingFiles):
            return PendingCommand(try list.remove(selection(ids), deletingFiles: deletingFiles, skippingUnknown: true))
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

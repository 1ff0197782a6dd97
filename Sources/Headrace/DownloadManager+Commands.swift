/// What other processes want of the list; see ``DownloadRegistry``.
extension DownloadManager {
    /// Carries out the commands that were left in the registry's directory since the last look; its start does so as well.
    ///
    /// A look costs one file call where there are none, and also writes what of the list could not be written before.
    /// Returns when all are done; while another look is going on, that one looks again, and this call returns with it, or as
    /// soon as the task is cancelled. Does nothing without a registry.
    ///
    /// A command goes when what it changed outlives a power cut, whatever ``Configuration/durability-swift.property`` is.
    /// - Throws: What keeps the directory from being read, or the registry from being written, and `shutDown`; the commands
    ///   stay there then. `fileSystem` also where the directory was removed, moved or replaced, from then on.
    public nonisolated func takeCommands() async throws(DownloadError) {
        guard !list.isShutDown else { throw .shutDown() }
        guard let journal = list.journal else { return }
        while let other = journal.beginLook() {
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
    /// Looks for them twice a second as well, as not every system tells of them.
    /// After a failure, of which the first of a row is told, the looks become rare until one succeeds.
    /// - Throws: `fileSystem` where the list is lost for good, as ``DownloadError/tellsOfLostRegistry`` tells.
    package nonisolated func keepTakingCommands() async throws(DownloadError) {
        let watch = await listExecutor.run { [list] in list.journal?.inbox.watch() }
        var pace = CommandPace()
        repeat {
            do throws(DownloadError) {
                try await takeCommands()
                pace.succeeded()
            } catch {
                guard error.code != .shutDown else { return }
                guard !error.tellsOfLostRegistry else { throw error }
                if !pace.isFailing { list.observers.tell(.registryFailed(error)) }
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

    private nonisolated func takeCommands(of journal: ListJournal) async throws(DownloadError) {
        let contents = try await listExecutor.run { () throws(DownloadError) in try journal.takeCommands() }
        for refusal in contents.refusals { list.observers.tell(finding: refusal.description) }
        for item in contents.items where !journal.isCarriedOut(item) {
            do throws(DownloadError) {
                try await carryOut(item.command, passingOver: true)
            } catch  where error.code == .invalidRequest {
                // It never can be, and must not hold up those after it.
                let path = await listExecutor.run { journal.inbox.setAside(item.path) }
                list.observers.tell(finding: "The command \(path) is not done: \(error.message)")
                continue
            }
            // After that nothing was done, and the next manager may have the list.
            guard !list.isShutDown else { throw .shutDown() }
            // Where it is cancelled nothing was waited for: what was to stop may still run.
            guard !Task.isCancelled else { break }
            journal.noteCarriedOut(item)
        }
        guard !contents.items.isEmpty || journal.isBehind else { return }
        try await listExecutor.run { [list] () throws(DownloadError) in
            // Before they go: else a kill or a power cut in between would lose them.
            try list.flush(always: true)
            try journal.done(contents.items)
        }
    }

    /// Carries out a command; returns when what it changed is on the disk, and throws what keeps it from there.
    nonisolated func carryOutAndFlush(_ command: RegistryCommand) async throws(DownloadError) {
        try await carryOut(command, passingOver: false)
        try await listExecutor.run { [list] () throws(DownloadError) in try list.flush() }
    }

    /// Carries out a command; `passingOver` where nobody waits for it, who could be told what of it cannot be.
    nonisolated func carryOut(_ command: RegistryCommand, passingOver: Bool) async throws(DownloadError) {
        switch command {
        case .add(let entries):
            try await listExecutor.run { [list] () throws(DownloadError) in
                try list.add(entries, passingOver: passingOver)
            }
        case .pause(let ids):
            await waitForPause(of: try list.pause(selection(ids), passingOver: true))
        case .resume(let ids): for id in ids { await self[Download.ID(rawValue: id)]?.resume() }
        case .retry(let ids): try list.resume(selection(ids), only: .failed, passingOver: true)
        case .cancel(let ids):
            for record in try await list.cancel(selection(ids), passingOver: true) { await record.status.waitForEnd() }
        case .remove(let ids, let deletingFiles):
            let records = try await list.remove(selection(ids), deletingFiles: deletingFiles, passingOver: true)
            for record in records { await record.status.waitForEnd() }
        case .move(let id, let place): try? self[Download.ID(rawValue: id)]?.move(to: place)
        case .priority(let id, let priority):
            self[Download.ID(rawValue: id)]?.setPriority(DownloadPriority(rawValue: priority))
        }
    }

    private nonisolated func selection(_ ids: [UInt64]) -> DownloadSelection {
        .downloads(ids.map(Download.ID.init(rawValue:)))
    }
}

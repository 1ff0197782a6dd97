/// What other processes want of the list; see ``DownloadRegistry``.
extension DownloadManager {
    /// Carries out the commands that were left in the registry's directory since the last look; its start does so as well.
    ///
    /// A look costs one file call where there are none. Returns when all are done. Does nothing without a registry.
    /// - Throws: What keeps the directory from being read, or the registry from being written; the commands stay there then.
    public nonisolated func takeCommands() async throws(DownloadError) {
        guard let inbox = list.journal?.inbox else { return }
        let contents = try await executor.run { () throws(DownloadError) in try inbox.take() }
        for refusal in contents.refusals { list.observers.tell(finding: refusal.description) }
        for item in contents.items {
            try await carryOut(item.command)
            try await executor.run { () throws(DownloadError) in try inbox.done(item.path) }
        }
    }

    nonisolated func carryOut(_ command: RegistryCommand) async throws(DownloadError) {
        switch command {
        case .add(let entries):
            try await executor.run { [list] () throws(DownloadError) in try list.add(entries) }
        case .pause(let ids): try? await pause(present(ids))
        case .resume(let ids): for id in ids { await self[Download.ID(rawValue: id)]?.resume() }
        case .retry(let ids): try? retry(present(ids))
        case .cancel(let ids): try? await cancel(present(ids))
        case .remove(let ids, let deletingFiles): try? await remove(present(ids), deletingFiles: deletingFiles)
        case .limits: break
        case .move(let id, let place): try? self[Download.ID(rawValue: id)]?.move(to: place)
        case .priority(let id, let priority):
            self[Download.ID(rawValue: id)]?.setPriority(DownloadPriority(rawValue: priority))
        }
    }

    /// Those of the downloads that are in the list still.
    private nonisolated func present(_ ids: [UInt64]) -> DownloadSelection {
        .downloads(ids.map(Download.ID.init(rawValue:)).filter { list[$0] != nil })
    }
}

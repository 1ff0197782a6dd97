/// What a command that was decided still waits for: transfers that are to end, and files that are to go.
struct PendingCommand: Sendable {
    /// All that the command is about: as long as its file is there, it may be done again by the next process.
    let records: [DownloadRecord]
    /// Returns when that has come about, or when the task is cancelled.
    let wait: @Sendable () async -> Void

    /// Waits for downloads to pause; nil where none of them still runs.
    init?(_ pausing: DownloadQueue.Pausing) {
        guard !pausing.stopping.isEmpty else { return nil }
        records = pausing.records
        wait = { await pausing.wait() }
    }

    /// Waits for downloads, and maybe files, to go; nil where all have.
    init?(_ stopping: DownloadQueue.Stopping) {
        guard stopping.isPending else { return nil }
        records = stopping.records
        wait = { await stopping.wait() }
    }
}

/// The downloads of commands that have not ended: later commands are to find them as those leave them.
struct CommandConflicts {
    private let bases: RegistryBaseDirectories
    private var ids: Set<UInt64> = []
    /// Under which an addition finds them.
    private var partialPaths: Set<String> = []

    init(_ ends: [PendingCommand], bases: RegistryBaseDirectories) {
        self.bases = bases
        for end in ends { insert(end.records) }
    }

    mutating func insert(_ records: some Sequence<DownloadRecord>) {
        for record in records {
            ids.insert(record.id.rawValue)
            partialPaths.insert(record.names.partialPath)
        }
    }

    /// Inserts those of a command that waits for its turn.
    mutating func insert(_ command: RegistryCommand, in list: DownloadQueue) {
        ids.formUnion(command.ids)
        partialPaths.formUnion(paths(of: command))
        insert(command.ids.lazy.compactMap { list[DownloadID(rawValue: $0)] })
    }

    /// Whether a command is about one of them.
    func isTouched(by command: RegistryCommand) -> Bool {
        guard !ids.isEmpty else { return false }
        return command.ids.contains(where: ids.contains) || paths(of: command).contains(where: partialPaths.contains)
    }

    private func paths(of command: RegistryCommand) -> [String] {
        guard case .add(let entries) = command else { return [] }
        return entries.compactMap { entry in
            entry.request.downloadRequest(in: bases).map { DestinationPaths($0).partialPath }
        }
    }
}

/// A command of another process that was applied to the queue, but waits for transfers to stop or files to be deleted.
struct PendingCommand: Sendable {
    /// All downloads of the command: if the process ends before the command is carried out, the next process repeats
    /// the command for all of them.
    let records: [DownloadRecord]
    /// A function that returns when the command is carried out, or when the task is cancelled.
    let wait: @Sendable () async -> Void

    /// Creates a command that waits for downloads to pause; `nil` if none of them is still running.
    init?(_ pausing: DownloadQueue.Pausing) {
        guard !pausing.stopping.isEmpty else { return nil }
        records = pausing.records
        wait = { await pausing.wait() }
    }

    /// Creates a command that waits for downloads to stop and their files to be deleted; `nil` if both have happened.
    init?(_ stopping: DownloadQueue.Stopping) {
        guard stopping.isPending else { return nil }
        records = stopping.records
        wait = { await stopping.wait() }
    }
}

/// The downloads of pending commands; later commands for the same downloads have to wait.
struct CommandConflicts {
    private let bases: RegistryBaseDirectories
    private var ids: Set<UInt64> = []
    /// The partial-file paths of the pending commands' downloads, used to detect conflicting additions.
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

    /// Adds the downloads of a command that was left for a later poll because it conflicts with a pending command.
    mutating func insert(_ command: RegistryCommand, in list: DownloadQueue) {
        ids.formUnion(command.ids)
        partialPaths.formUnion(paths(of: command))
        insert(command.ids.lazy.compactMap { list[DownloadID(rawValue: $0)] })
    }

    /// Whether a command refers to a download of a pending command, or adds a download with the same partial file.
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

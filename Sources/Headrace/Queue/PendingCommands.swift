/// The commands of other processes that this manager has applied to its queue, by the paths of their files.
///
/// A command is pending while transfers that it stops are still running, or files that it deletes still exist.
struct PendingCommands: Sendable {
    private struct Pending {
        var item: CommandSpool.Item
        /// All downloads of the command: if the process ends before the command is carried out, the next process
        /// repeats the command for all of them.
        var records: [DownloadRecord]
        /// The downloads that have not stopped yet.
        var stopping: Set<DownloadID>
    }

    private var pending: [String: Pending] = [:]
    /// The commands that were carried out, but whose files still exist or may be known to a running poll.
    private var carriedOut: Set<String> = []
    /// Whether another poll is needed: the last poll was cancelled or left commands unapplied, or a pending command has
    /// been carried out since that poll.
    var isBehind = false
    /// The number of failed removals of the files of carried-out commands, whose effect may not survive a power cut;
    /// zero again after a removal that succeeds.
    var failedRemovals = 0
    /// The tasks that wait for a pending command to be carried out.
    private var waiting = Subscribers<Never>()

    /// The downloads of all pending commands.
    var records: [DownloadRecord] { pending.values.flatMap(\.records) }

    /// Whether another poll is needed, either now or once a pending command is carried out.
    var needsPoll: Bool { isBehind || !pending.isEmpty }

    /// Whether a command was applied; applying it again would undo more recent operations.
    func isApplied(_ item: CommandSpool.Item) -> Bool { isCarriedOut(item) || pending[item.path] != nil }

    /// Whether a command was carried out, so that its file can be removed once its changes are synced.
    func isCarriedOut(_ item: CommandSpool.Item) -> Bool { carriedOut.contains(item.path) }

    /// Forgets the carried-out commands whose files have been removed; `items` are the commands in the folder.
    mutating func retain(_ items: [CommandSpool.Item]) { carriedOut.formIntersection(items.map(\.path)) }

    /// Records an applied command, which is carried out once the downloads `stopping` have stopped.
    mutating func apply(_ item: CommandSpool.Item, to records: [DownloadRecord], stopping: Set<DownloadID>) {
        if stopping.isEmpty {
            carriedOut.insert(item.path)
        } else {
            pending[item.path] = Pending(item: item, records: records, stopping: stopping)
        }
    }

    /// Records that a download has stopped; returns the commands that waited only for it, and are now carried out.
    mutating func stopped(_ id: DownloadID) -> [CommandSpool.Item] {
        guard !pending.isEmpty else { return [] }
        var ended: [CommandSpool.Item] = []
        for (path, command) in pending.sorted(by: { $0.key < $1.key }) where command.stopping.contains(id) {
            pending[path]?.stopping.remove(id)
            if command.stopping.count == 1 { ended.append(command.item) }
        }
        guard !ended.isEmpty else { return [] }
        for item in ended {
            pending[item.path] = nil
            carriedOut.insert(item.path)
        }
        // The next poll removes their files.
        isBehind = true
        for continuation in waiting.removeAll() { continuation.finish() }
        return ended
    }

    /// Forgets the pending commands at shutdown, and ends the waits for them.
    ///
    /// Their files remain, so that the registry's next owner repeats the commands.
    mutating func abandon() {
        pending = [:]
        for continuation in waiting.removeAll() { continuation.finish() }
    }

    /// Returns a stream that finishes when any pending command is carried out or abandoned.
    ///
    /// Returns `nil` if there is nothing to wait for: `item` is not pending or, if `item` is `nil`, no command is.
    mutating func follow(_ item: CommandSpool.Item?) -> (subscriber: Int, ends: AsyncStream<Never>)? {
        guard item.map({ pending[$0.path] != nil }) ?? !pending.isEmpty else { return nil }
        let (ends, continuation) = AsyncStream.makeStream(of: Never.self)
        return (waiting.add(continuation), ends)
    }

    mutating func endFollowing(_ subscriber: Int) { waiting.remove(subscriber) }
}

/// The downloads of pending commands and of commands left for a later poll; further commands for the same downloads
/// have to wait.
struct CommandConflicts {
    private let bases: RegistryBaseDirectories
    private var ids: Set<UInt64> = []
    /// The partial-file paths of these downloads, used to detect conflicting additions.
    private var partialPaths: Set<String> = []

    init(_ records: [DownloadRecord], bases: RegistryBaseDirectories) {
        self.bases = bases
        insert(records)
    }

    mutating func insert(_ records: some Sequence<DownloadRecord>) {
        for record in records {
            ids.insert(record.id.rawValue)
            partialPaths.insert(record.partialPath)
        }
    }

    /// Adds the downloads of a command that was left for a later poll, because it conflicts with an earlier command or
    /// because it failed.
    mutating func insert(_ command: RegistryCommand, in queue: QueueState) {
        ids.formUnion(command.ids)
        partialPaths.formUnion(paths(of: command))
        insert(command.ids.lazy.compactMap { queue.records[DownloadID(rawValue: $0)] })
    }

    /// Whether a command refers to one of these downloads, or adds a download with the same partial file.
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

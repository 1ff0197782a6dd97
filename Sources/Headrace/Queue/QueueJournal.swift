/// Writes the decisions of a queue to the disk, in the order in which they were made.
///
/// Decisions are recorded under the queue's lock, without file access. ``flush(syncing:always:_:)`` writes them to the
/// disk, and blocks.
final class QueueJournal: Sendable {
    /// A download as the journal stores it, except for its state.
    struct Member: Sendable {
        var record: DownloadRecord
        var label: Int64
        var priority: Int

        /// The state to record when the download is added: `paused` or `waiting`.
        fileprivate var firstState: RegistryEntry.State { record.request.startsPaused ? .paused : .waiting }
    }

    /// Changes that were recorded together.
    private enum Recorded {
        case change(RegistryChange)
        /// Added downloads.
        ///
        /// Their entries are large, so each is created only when it is written.
        case added([Member])

        var count: Int {
            switch self {
            case .change: 1
            case .added(let members): members.count
            }
        }

        func change(at index: Int, bases: RegistryBaseDirectories) -> RegistryChange {
            switch self {
            case .change(let change): change
            case .added(let members): .added([RegistryEntry(members[index], members[index].firstState, bases: bases)])
            }
        }
    }

    private struct Pending {
        var changes: [Recorded] = []
        /// Whether a change that was recorded since the last sync has to survive a power cut.
        var mustSync = false
        var isScheduled = false
        /// Whether a write failed, so that the next flush must write the whole queue instead of the changes.
        var isBehind = false
        /// The states of all downloads that are not `waiting`, as recorded but possibly not written yet.
        var states: [DownloadID: RegistryEntry.State] = [:]
    }

    /// Coalesces polls for other processes' commands: a poll requested while another one runs makes that one repeat.
    struct PollCoordinator {
        private var isRunning = false
        private var isRequested = false
        /// The callers that wait until the running poll has finished.
        private var waiting = Subscribers<Void>()

        /// Returns `nil` if no poll is running, so that the caller must run one.
        ///
        /// Otherwise, makes the running poll repeat, and returns a stream that finishes when the poll ends. If the poll
        /// succeeds, the stream yields one element first.
        mutating func begin() -> AsyncStream<Void>? {
            guard want() else {
                isRunning = true
                return nil
            }
            let (end, continuation) = AsyncStream.makeStream(of: Void.self)
            _ = waiting.add(continuation)
            return end
        }

        /// Makes the running poll repeat; returns `false` if none is running.
        mutating func want() -> Bool {
            if isRunning { isRequested = true }
            return isRunning
        }

        /// Ends the poll and returns the streams of its waiting callers, unless another poll was requested meanwhile.
        ///
        /// In that case, returns `nil`, and the caller must poll again.
        mutating func finishUnlessRepeatRequested() -> [AsyncStream<Void>.Continuation]? {
            guard isRequested else { return end() }
            isRequested = false
            return nil
        }

        mutating func end() -> [AsyncStream<Void>.Continuation] {
            defer { self = PollCoordinator() }
            return waiting.removeAll()
        }
    }

    /// The commands that this process has applied to the queue, by the paths of their files.
    private struct Commands {
        /// The commands that were applied, but still wait for transfers to stop or files to be deleted.
        var decided: [String: PendingCommand] = [:]
        /// The commands that were carried out, but whose files still exist or may be known to a running poll.
        var carriedOut: Set<String> = []
        /// Whether another poll is needed: the last poll was cancelled or left commands unapplied, or a pending command
        /// has been carried out since then.
        var isBehind = false
        /// The tasks that wait for a pending command to be carried out.
        var waiting = Subscribers<Never>()
    }

    let bases: RegistryBaseDirectories
    /// The commands that other processes post.
    let spool: CommandSpool
    private let file: RegistryFile
    /// Journal entries that cannot become downloads in this process; a rewrite of the journal preserves them.
    private let leftOut: [RegistryEntry]
    private let pending: Locked<Pending>
    private let polls = Locked(PollCoordinator())
    private let commands = Locked(Commands())
    /// The lock held during a write, so that changes are written in order.
    private let writing = Locked(())

    init(
        _ file: RegistryFile,
        _ spool: CommandSpool,
        bases: RegistryBaseDirectories,
        _ entries: some Sequence<RegistryEntry>,
        leftOut: [RegistryEntry]
    ) {
        self.file = file
        self.leftOut = leftOut
        self.spool = spool
        self.bases = bases
        var pending = Pending()
        for entry in entries where entry.state != .waiting {
            pending.states[DownloadID(rawValue: entry.id)] = entry.state
        }
        self.pending = Locked(pending)
    }

    // MARK: Recording

    func note(_ change: RegistryChange) {
        pending.withLock { pending in
            pending.changes.append(.change(change))
            switch change {
            case .state(let id, let state):
                pending.states[DownloadID(rawValue: id)] = state == .waiting ? nil : state
                // After a power cut, a running or requeued download is as good as a waiting one.
                if ![.running, .waiting, .requeued].contains(state) { pending.mustSync = true }
            case .removed(let ids):
                for id in ids { pending.states[DownloadID(rawValue: id)] = nil }
                pending.mustSync = true
            case .added, .moved, .relabelled, .priority:
                pending.mustSync = true
            }
        }
    }

    /// Records added downloads, each as `paused` or `waiting` according to its request.
    func note(added members: [Member]) {
        pending.withLock { pending in
            pending.changes.append(.added(members))
            for member in members where member.firstState != .waiting {
                pending.states[member.record.id] = member.firstState
            }
            pending.mustSync = true
        }
    }

    func note(_ id: DownloadID, _ state: RegistryEntry.State) {
        note(.state(id.rawValue, state))
    }

    /// Records the changed request of a download together with its present state.
    func recordRequest(of member: Member) {
        pending.withLock { pending in
            let state = pending.states[member.record.id] ?? .waiting
            pending.changes.append(.change(.added([RegistryEntry(member, state, bases: bases)])))
            pending.mustSync = true
        }
    }

    /// If a flush is needed and none is scheduled, records that one is and returns `true`; the caller must schedule it.
    func claimFlush() -> Bool {
        pending.withLock { pending in
            guard !pending.changes.isEmpty || pending.mustSync, !pending.isScheduled else { return false }
            pending.isScheduled = true
            return true
        }
    }

    /// Whether a write has failed; the next flush then writes the whole queue.
    var isBehind: Bool { pending.withLock { $0.isBehind } }

    // MARK: Commands

    /// Starts a poll for commands, or joins the running one; see ``PollCoordinator/begin()``.
    func beginPoll() -> AsyncStream<Void>? {
        polls.withLock { $0.begin() }
    }

    /// Makes the running poll repeat; returns `false` if none is running.
    func requestPoll() -> Bool {
        polls.withLock { $0.want() }
    }

    /// Ends the running poll, unless another one was requested meanwhile: then returns `true`, and the caller must poll
    /// again.
    func startsAnotherPoll() -> Bool {
        let waiting = polls.withLock { $0.finishUnlessRepeatRequested() }
        for continuation in waiting ?? [] {
            continuation.yield()
            continuation.finish()
        }
        return waiting == nil
    }

    /// Ends a poll that did not complete: the streams of waiting callers finish without an element.
    func endPoll() {
        for continuation in polls.withLock({ $0.end() }) { continuation.finish() }
    }

    /// Reads the commands in the order of posting; blocks, and throws if this manager has lost the registry.
    func takeCommands() throws(DownloadError) -> CommandSpool.Contents {
        try file.check()
        let contents = try spool.take()
        commands.withLock { $0.carriedOut.formIntersection(contents.items.map(\.path)) }
        return contents
    }

    /// Whether this process has already applied a command; applying it again would undo more recent operations.
    func isDecided(_ item: CommandSpool.Item) -> Bool {
        commands.withLock { $0.carriedOut.contains(item.path) || $0.decided[item.path] != nil }
    }

    /// Whether a command was carried out, so that its file can be removed once its changes are synced.
    func isCarriedOut(_ item: CommandSpool.Item) -> Bool {
        commands.withLock { $0.carriedOut.contains(item.path) }
    }

    /// Records that a command was carried out, so that this process does not repeat it.
    func recordCarriedOut(_ item: CommandSpool.Item) {
        _ = commands.withLock { $0.carriedOut.insert(item.path) }
    }

    /// Records a command that was applied, but waits for transfers to stop or files to be deleted.
    func recordDecided(_ item: CommandSpool.Item, _ end: PendingCommand) {
        commands.withLock { $0.decided[item.path] = end }
    }

    /// Records that a command is no longer pending; `isCarriedOut` is `false` if the command was abandoned.
    func recordEnd(of item: CommandSpool.Item, isCarriedOut: Bool) {
        let waiting = commands.withLock { commands in
            commands.decided[item.path] = nil
            // The next poll removes its file.
            if isCarriedOut { (_, commands.isBehind) = (commands.carriedOut.insert(item.path), true) }
            return commands.waiting.removeAll()
        }
        for continuation in waiting { continuation.finish() }
    }

    /// The pending commands, which were applied but still wait for transfers to stop or files to be deleted.
    var ends: [PendingCommand] { commands.withLock { Array($0.decided.values) } }

    /// Records whether a poll left commands unapplied, because pending ones conflict with them or it was cancelled.
    func recordPoll(isBehind: Bool) {
        commands.withLock { $0.isBehind = isBehind }
    }

    /// Whether another poll is needed, either now or once a pending command is carried out.
    var needsPoll: Bool { commands.withLock { $0.isBehind || !$0.decided.isEmpty } }

    /// Waits until the command `item` is carried out or abandoned; if `item` is `nil`, until any pending command is.
    ///
    /// Returns at once if no such command is pending, and when the task is cancelled.
    func waitForEnd(of item: CommandSpool.Item? = nil) async {
        repeat {
            let (ends, continuation) = AsyncStream.makeStream(of: Never.self)
            let subscriber: Int? = commands.withLock { commands in
                let isAwaited = item.map { commands.decided[$0.path] != nil } ?? !commands.decided.isEmpty
                return isAwaited ? commands.waiting.add(continuation) : nil
            }
            guard let subscriber else { return }
            for await _ in ends {}
            commands.withLock { $0.waiting.remove(subscriber) }
        } while item != nil && !Task.isCancelled
    }

    /// Removes the files of the given commands, which were carried out and whose changes are on the disk; blocks.
    func done(_ items: [CommandSpool.Item]) throws(DownloadError) {
        try file.check()
        for item in items { try spool.done(item.path) }
    }

    // MARK: Writing

    /// Writes the recorded changes to the journal; blocks.
    ///
    /// - Parameters:
    ///   - syncing: Whether to sync the file if the configuration and a recorded change require it, so that the changes
    ///     survive a power cut and not only the end of the process.
    ///   - always: With `syncing`, whether to sync even if neither requires it.
    ///   - members: A function that runs its argument under the queue's lock and returns all downloads of the queue.
    /// - Throws: The error that prevented the write; the next flush then writes the whole queue instead of the changes.
    func flush(
        syncing: Bool,
        always: Bool,
        _ members: (_ atomically: () -> Void) -> [Member]
    ) throws(DownloadError) {
        try writing.withLock { _ throws(DownloadError) in
            let (changes, syncs, isBehind) = pending.withLock { pending in
                defer {
                    pending.changes = []
                    pending.isScheduled = false
                    if syncing { pending.mustSync = false }
                }
                return (pending.changes, syncing && (pending.mustSync || always), pending.isBehind)
            }
            guard !isBehind else { return try rewrite(members) }
            guard !changes.isEmpty || syncs else { return }
            do throws(DownloadError) {
                let changes = changes.lazy.flatMap { [bases] recorded in
                    (0..<recorded.count).lazy.map { recorded.change(at: $0, bases: bases) }
                }
                switch try file.append(changes, syncing: syncs, always: always) {
                case .recorded: break
                // The journal is complete without the rewrite, which only makes it shorter.
                case .recordedAndDue: try? rewrite(members)
                case .wholeListNeeded:
                    pending.withLock { $0.isBehind = true }
                    try rewrite(members)
                }
            } catch {
                pending.withLock { $0.isBehind = true }
                throw error
            }
        }
    }

    /// Releases the registry for other managers; blocks.
    func close() {
        file.close()
    }

    private func rewrite(_ members: (_ atomically: () -> Void) -> [Member]) throws(DownloadError) {
        var taken = Pending()
        let members = members {
            taken = pending.withLock { pending in
                defer {
                    pending.changes = []
                    pending.isBehind = false
                }
                return pending
            }
        }
        do throws(DownloadError) {
            try file.replace(
                with: (0..<members.count + leftOut.count).lazy.map { [bases, leftOut] index in
                    guard index < members.count else { return leftOut[index - members.count] }
                    let member = members[index]
                    return RegistryEntry(member, taken.states[member.record.id] ?? .waiting, bases: bases)
                }
            )
        } catch {
            pending.withLock { pending in
                pending.changes = taken.changes + pending.changes
                pending.isBehind = taken.isBehind
            }
            throw error
        }
    }
}

extension RegistryEntry {
    init(_ member: QueueJournal.Member, _ state: State, bases: RegistryBaseDirectories) {
        var request = member.record.withoutSecrets ?? RegistryRequest(member.record.request, bases: bases)
        request.priority = member.priority
        if state.needsNoPieces { request.expectations.pieces = nil }
        self.init(
            id: member.record.id.rawValue,
            request,
            state: state,
            label: member.label,
            number: member.record.number
        )
        background = member.record.backgroundNote
    }
}

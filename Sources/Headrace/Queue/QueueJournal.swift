/// The decisions of a queue, written to the disk in the order they were made.
///
/// Decisions are recorded under the queue's lock, without file access. ``flush(syncing:always:_:)`` writes them, and blocks.
final class QueueJournal: Sendable {
    /// A download as the journal stores it, except for its state.
    struct Member: Sendable {
        var record: DownloadRecord
        var label: Int64
        var priority: Int

        /// The state of a newly added download.
        fileprivate var firstState: RegistryEntry.State { record.request.startsPaused ? .paused : .waiting }
    }

    /// Changes that were recorded together.
    private enum Recorded {
        case change(RegistryChange)
        /// Added downloads. Their entries are large, so each is created when it is written.
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
        /// Whether one of the changes, or an earlier one, has to survive a power cut.
        var mustSync = false
        var isScheduled = false
        /// Set after a failed write: the next flush writes the whole queue.
        var isBehind = false
        /// All states except `waiting`, including those that have not been written yet.
        var states: [DownloadID: RegistryEntry.State] = [:]
    }

    /// Coalesces polls for commands, which a process may start in two places.
    struct PollCoordinator {
        private var isRunning = false
        private var isRequested = false
        /// The callers that wait for the running poll.
        private var waiting = Subscribers<Void>()

        /// Starts a poll and returns `nil`, or, if one is running, asks it to poll again and returns a stream that finishes
        /// with it (after yielding one element on success).
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

        /// Ends the poll and returns its waiters, or returns `nil` if another poll was requested and has to follow.
        mutating func endUnlessWanted() -> [AsyncStream<Void>.Continuation]? {
            guard isRequested else { return end() }
            isRequested = false
            return nil
        }

        mutating func end() -> [AsyncStream<Void>.Continuation] {
            defer { self = PollCoordinator() }
            return waiting.removeAll()
        }
    }

    /// The state of commands, by the paths of their files.
    private struct Commands {
        /// Commands that wait for transfers to stop.
        var decided: [String: PendingCommand] = [:]
        /// Commands that were carried out, but whose files are still there, or may still be known to a poll.
        var carriedOut: Set<String> = []
        /// Whether the last poll left commands behind: they wait for commands that have ended since, or it was cancelled.
        var isBehind = false
        /// The callers that wait for the next command to end.
        var waiting = Subscribers<Never>()
    }

    let bases: RegistryBaseDirectories
    /// The commands that other processes post.
    let inbox: CommandSpool
    private let file: RegistryFile
    /// Entries in the journal that are not in the queue.
    private let leftOut: [RegistryEntry]
    private let pending: Locked<Pending>
    private let polls = Locked(PollCoordinator())
    private let commands = Locked(Commands())
    /// Held during a write, so that changes stay in order.
    private let writing = Locked(())

    init(
        _ file: RegistryFile,
        _ inbox: CommandSpool,
        bases: RegistryBaseDirectories,
        _ entries: some Sequence<RegistryEntry>,
        leftOut: [RegistryEntry]
    ) {
        self.file = file
        self.leftOut = leftOut
        self.inbox = inbox
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

    /// Records added downloads.
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

    /// Records a changed request of a download whose state is unchanged.
    func recordRequest(of member: Member) {
        pending.withLock { pending in
            let state = pending.states[member.record.id] ?? .waiting
            pending.changes.append(.change(.added([RegistryEntry(member, state, bases: bases)])))
            pending.mustSync = true
        }
    }

    /// Returns `true` if a flush is needed and none is scheduled; the caller then has to schedule it.
    func takesFlush() -> Bool {
        pending.withLock { pending in
            guard !pending.changes.isEmpty || pending.mustSync, !pending.isScheduled else { return false }
            pending.isScheduled = true
            return true
        }
    }

    /// Whether a write failed that the next flush repeats.
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

    /// Returns whether another poll was requested during this one; if not, ends this one.
    func looksAgain() -> Bool {
        let waiting = polls.withLock { $0.endUnlessWanted() }
        for continuation in waiting ?? [] {
            continuation.yield()
            continuation.finish()
        }
        return waiting == nil
    }

    /// Ends an incomplete poll: callers that waited for it get no element, and have to poll themselves.
    func endLook() {
        for continuation in polls.withLock({ $0.end() }) { continuation.finish() }
    }

    /// Reads the commands in the order of posting; blocks, and throws if this manager has lost the registry.
    func takeCommands() throws(DownloadError) -> CommandSpool.Contents {
        try file.check()
        let contents = try inbox.take()
        commands.withLock { $0.carriedOut.formIntersection(contents.items.map(\.path)) }
        return contents
    }

    /// Whether a command was decided: repeating it would undo later decisions.
    func isDecided(_ item: CommandSpool.Item) -> Bool {
        commands.withLock { $0.carriedOut.contains(item.path) || $0.decided[item.path] != nil }
    }

    /// Whether a command is carried out, so that only its changes have to be synced.
    func isCarriedOut(_ item: CommandSpool.Item) -> Bool {
        commands.withLock { $0.carriedOut.contains(item.path) }
    }

    /// Records that a command was carried out, so that this process does not repeat it.
    func recordCarriedOut(_ item: CommandSpool.Item) {
        _ = commands.withLock { $0.carriedOut.insert(item.path) }
    }

    /// Records a decided command that waits for transfers to stop.
    func recordDecided(_ item: CommandSpool.Item, _ end: PendingCommand) {
        commands.withLock { $0.decided[item.path] = end }
    }

    /// Records that a command does not wait any more.
    func recordEnd(of item: CommandSpool.Item, isCarriedOut: Bool) {
        let waiting = commands.withLock { commands in
            commands.decided[item.path] = nil
            // The next poll removes its file.
            if isCarriedOut { (_, commands.isBehind) = (commands.carriedOut.insert(item.path), true) }
            return commands.waiting.removeAll()
        }
        for continuation in waiting { continuation.finish() }
    }

    /// The decided commands that are still pending.
    var ends: [PendingCommand] { commands.withLock { Array($0.decided.values) } }

    /// Records whether a poll left commands behind, because they wait for others or because it was cancelled.
    func noteLook(isBehind: Bool) {
        commands.withLock { $0.isBehind = isBehind }
    }

    /// Whether another poll is needed, at once or after the next command ends.
    var needsLook: Bool { commands.withLock { $0.isBehind || !$0.decided.isEmpty } }

    /// Returns when a decided command has ended (`item`, if given), when none is pending, or when the task is cancelled.
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

    /// Removes the files of commands that were carried out and whose changes are on the disk; blocks.
    func done(_ items: [CommandSpool.Item]) throws(DownloadError) {
        try file.check()
        for item in items { try inbox.done(item.path) }
    }

    // MARK: Writing

    /// Writes what was recorded; blocks.
    ///
    /// - Parameters:
    ///   - syncing: `false` if the changes only have to survive the end of the process.
    ///   - always: Whether all changes have to survive a power cut, even if the queue does not sync.
    ///   - members: Returns all downloads of the queue, and calls its argument under the queue's lock.
    /// - Throws: The error that prevented the write; the next flush writes the changes.
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
                // The journal is readable as it is.
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

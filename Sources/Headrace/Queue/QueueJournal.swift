/// What a list decides, on its way to the disk in the same order.
///
/// Decisions are noted under the list's lock, which costs no file call. ``flush(syncing:always:_:)`` writes them, and blocks.
final class QueueJournal: Sendable {
    /// A download as the journal knows it, but for its state.
    struct Member: Sendable {
        var record: DownloadRecord
        var label: Int64
        var priority: Int

        /// Where it stands when it comes into the list.
        fileprivate var firstState: RegistryEntry.State { record.request.startsPaused ? .paused : .waiting }
    }

    /// Changes that were noted together.
    private enum Noted {
        case change(RegistryChange)
        /// Downloads that came in; their entries, which are large, are made one after the other when they are written.
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
        var changes: [Noted] = []
        /// Whether one of them, or one before, is to outlive a power cut.
        var mustSync = false
        var isScheduled = false
        /// After a failure: what could not be written is in the list, which is written as a whole the next time.
        var isBehind = false
        /// The states but `waiting`, with what has not been written yet.
        var states: [DownloadID: RegistryEntry.State] = [:]
    }

    /// One process may look for commands in two places of its program.
    struct PollCoordinator {
        private var isGoingOn = false
        private var isWanted = false
        /// Those who wait for the end of the one that is going on.
        private var waiting = Subscribers<Void>()

        /// Nil where a look begins; else what ends with the one that is going on, which looks again, after an element where that
        /// has done all.
        mutating func begin() -> AsyncStream<Void>? {
            guard want() else {
                isGoingOn = true
                return nil
            }
            let (end, continuation) = AsyncStream.makeStream(of: Void.self)
            _ = waiting.add(continuation)
            return end
        }

        /// Has the look that is going on look again; false where there is none.
        mutating func want() -> Bool {
            if isGoingOn { isWanted = true }
            return isGoingOn
        }

        /// Ends the look, and returns those who waited for that; nil where another one was wanted during it, which follows.
        mutating func endUnlessWanted() -> [AsyncStream<Void>.Continuation]? {
            guard isWanted else { return end() }
            isWanted = false
            return nil
        }

        mutating func end() -> [AsyncStream<Void>.Continuation] {
            defer { self = PollCoordinator() }
            return waiting.removeAll()
        }
    }

    /// What has become of commands, by their files.
    private struct Commands {
        /// Those that wait for transfers to end.
        var decided: [String: PendingCommand] = [:]
        /// Those that were carried out, whose files go when what they changed is on the disk, or may still be known to a look.
        var carriedOut: Set<String> = []
        /// Whether the last look left some, for which others have to end, which have ended since, or as it was cancelled.
        var isBehind = false
        /// Those who wait for the next end.
        var waiting = Subscribers<Never>()
    }

    let bases: RegistryBaseDirectories
    /// Where other processes leave what they want of the list.
    let inbox: CommandSpool
    private let file: RegistryFile
    /// What is in the journal and not in the list.
    private let leftOut: [RegistryEntry]
    private let pending: Locked<Pending>
    private let looks = Locked(PollCoordinator())
    private let commands = Locked(Commands())
    /// Held while changes are on their way, so that none overtakes another.
    private let turn = Locked(())

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

    // MARK: Noting

    func note(_ change: RegistryChange) {
        pending.withLock { pending in
            pending.changes.append(.change(change))
            switch change {
            case .state(let id, let state):
                pending.states[DownloadID(rawValue: id)] = state == .waiting ? nil : state
                // What runs or waits is as good as waiting after a power cut.
                if ![.running, .waiting, .requeued].contains(state) { pending.mustSync = true }
            case .removed(let ids):
                for id in ids { pending.states[DownloadID(rawValue: id)] = nil }
                pending.mustSync = true
            case .added, .moved, .relabelled, .priority:
                pending.mustSync = true
            }
        }
    }

    /// Notes downloads that came in.
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

    /// Notes a request that is another one now, of a download that stands as it did.
    func recordRequest(of member: Member) {
        pending.withLock { pending in
            let state = pending.states[member.record.id] ?? .waiting
            pending.changes.append(.change(.added([RegistryEntry(member, state, bases: bases)])))
            pending.mustSync = true
        }
    }

    /// Whether a flush is wanted and none is on its way, which the caller then has to see to.
    func takesFlush() -> Bool {
        pending.withLock { pending in
            guard !pending.changes.isEmpty || pending.mustSync, !pending.isScheduled else { return false }
            pending.isScheduled = true
            return true
        }
    }

    /// Whether something could not be written, which the next flush writes.
    var isBehind: Bool { pending.withLock { $0.isBehind } }

    // MARK: Commands

    /// Nil where a look for commands begins; else what ends with the one that is going on, which looks again.
    func beginPoll() -> AsyncStream<Void>? {
        looks.withLock { $0.begin() }
    }

    /// Has the look that is going on look again; false where there is none.
    func requestPoll() -> Bool {
        looks.withLock { $0.want() }
    }

    /// Whether another look was wanted during this one, which ends where it was not.
    func looksAgain() -> Bool {
        let waiting = looks.withLock { $0.endUnlessWanted() }
        for continuation in waiting ?? [] {
            continuation.yield()
            continuation.finish()
        }
        return waiting == nil
    }

    /// Ends a look that did not do all; who waited for it gets no element, and has to look itself.
    func endLook() {
        for continuation in looks.withLock({ $0.end() }) { continuation.finish() }
    }

    /// Reads the commands in the order of posting, which are for this list alone; blocks.
    func takeCommands() throws(DownloadError) -> CommandSpool.Contents {
        try file.check()
        let contents = try inbox.take()
        commands.withLock { $0.carriedOut.formIntersection(contents.items.map(\.path)) }
        return contents
    }

    /// Whether a command was decided: done again, it would undo what was decided since.
    func isDecided(_ item: CommandSpool.Item) -> Bool {
        commands.withLock { $0.carriedOut.contains(item.path) || $0.decided[item.path] != nil }
    }

    /// Whether a command needs nothing more than the disk.
    func isCarriedOut(_ item: CommandSpool.Item) -> Bool {
        commands.withLock { $0.carriedOut.contains(item.path) }
    }

    /// Takes note that a command was carried out, and is to be done no more by this process.
    func recordCarriedOut(_ item: CommandSpool.Item) {
        _ = commands.withLock { $0.carriedOut.insert(item.path) }
    }

    /// Takes note that a command was decided, and waits for transfers to end.
    func recordDecided(_ item: CommandSpool.Item, _ end: PendingCommand) {
        commands.withLock { $0.decided[item.path] = end }
    }

    /// Takes note that a command waits no more.
    func recordEnd(of item: CommandSpool.Item, isCarriedOut: Bool) {
        let waiting = commands.withLock { commands in
            commands.decided[item.path] = nil
            // Its file goes with the next look.
            if isCarriedOut { (_, commands.isBehind) = (commands.carriedOut.insert(item.path), true) }
            return commands.waiting.removeAll()
        }
        for continuation in waiting { continuation.finish() }
    }

    /// What the commands that were decided still wait for.
    var ends: [PendingCommand] { commands.withLock { Array($0.decided.values) } }

    /// Takes note whether a look left commands, for which others have to end or as it was cancelled.
    func noteLook(isBehind: Bool) {
        commands.withLock { $0.isBehind = isBehind }
    }

    /// Whether there are commands that need another look, after the next end or at once.
    var needsLook: Bool { commands.withLock { $0.isBehind || !$0.decided.isEmpty } }

    /// Returns when a command has ended that was decided, with an item when that one has; at once where there is none, and when
    /// the task is cancelled.
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

    /// Removes the files of commands that were carried out, once what they changed is on the disk; blocks.
    func done(_ items: [CommandSpool.Item]) throws(DownloadError) {
        try file.check()
        for item in items { try inbox.done(item.path) }
    }

    // MARK: Writing

    /// Writes what was noted; blocks.
    ///
    /// - Parameters:
    ///   - syncing: False where what matters has only to outlive the process.
    ///   - always: Whether all of it is to outlive a power cut, also where the list does not sync.
    ///   - members: Gives all downloads of the list, under whose lock it calls what it is given.
    /// - Throws: What keeps the registry from being written; what was noted is written the next time.
    func flush(
        syncing: Bool,
        always: Bool,
        _ members: (_ atomically: () -> Void) -> [Member]
    ) throws(DownloadError) {
        try turn.withLock { _ throws(DownloadError) in
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
                let changes = changes.lazy.flatMap { [bases] noted in
                    (0..<noted.count).lazy.map { noted.change(at: $0, bases: bases) }
                }
                switch try file.append(changes, syncing: syncs, always: always) {
                case .recorded: break
                // It can be read as it is.
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

    /// Frees the list for other managers; blocks.
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

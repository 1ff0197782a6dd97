/// The changes of a queue that are recorded, but not yet written to the journal on the disk.
///
/// Changes are recorded in the order in which they are made, without file access. A ``Write`` writes them to the disk.
struct QueueJournal: Sendable {
    /// A download as the journal stores it, except for its state.
    struct Member: Sendable {
        var record: DownloadRecord
        var label: Int64
        var priority: Int

        /// The state to record when the download is added: `paused` or `waiting`.
        fileprivate var firstState: RegistryEntry.State { record.request.startsPaused ? .paused : .waiting }
    }

    /// Changes that were recorded together.
    fileprivate enum Recorded: Sendable {
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

    /// The time after which a failed write is retried, even without another change.
    private static let retryDelay = Duration.seconds(30)

    let bases: RegistryBaseDirectories
    /// Journal entries that cannot become downloads in this process; a rewrite of the journal preserves them.
    private let leftOut: [RegistryEntry]
    private var changes: [Recorded] = []
    /// Whether a change that was recorded since the last sync has to survive a power cut.
    private var mustSync = false
    private var isScheduled = false
    /// Whether a write has failed, so that the next one must write the whole queue instead of the changes.
    private(set) var isBehind = false
    /// The time for which a call of ``retry(at:)`` is scheduled, after a failed write.
    private var retryTime: Duration?
    /// The states of all downloads that are not `waiting`, as recorded but possibly not written yet.
    private var states: [DownloadID: RegistryEntry.State] = [:]

    init(bases: RegistryBaseDirectories, _ entries: some Sequence<RegistryEntry>, leftOut: [RegistryEntry]) {
        self.bases = bases
        self.leftOut = leftOut
        for entry in entries where entry.state != .waiting { states[DownloadID(rawValue: entry.id)] = entry.state }
    }

    /// Throws `invalidRequest` if a request is too large for the journal, or its body cannot be saved.
    func check(_ requests: [DownloadRequest]) throws(DownloadError) {
        for request in requests { try request.body?.requireSavable() }
        for request in requests where request.isLong(maxBytes: RegistryEncoder.leastCheckedBytes) {
            try RegistryEncoder.check(RegistryRequest(request, bases: bases))
        }
    }

    // MARK: Recording

    mutating func note(_ change: RegistryChange) {
        changes.append(.change(change))
        switch change {
        case .state(let id, let state, _):
            let id = DownloadID(rawValue: id)
            let previous = states[id] ?? .waiting
            states[id] = state == .waiting ? nil : state
            if !state.isActive || !previous.isActive { mustSync = true }
        case .removed(let ids):
            for id in ids { states[DownloadID(rawValue: id)] = nil }
            mustSync = true
        case .added, .moved, .relabelled, .priority:
            mustSync = true
        }
    }

    /// Records added downloads, each as `paused` or `waiting` according to its request.
    mutating func note(added members: [Member]) {
        changes.append(.added(members))
        for member in members where member.firstState != .waiting { states[member.record.id] = member.firstState }
        mustSync = true
    }

    /// Records a new state; `time` is the time of a start or of an end, in milliseconds since 1970.
    mutating func note(_ id: DownloadID, _ state: RegistryEntry.State, at time: Int64? = nil) {
        note(.state(id.rawValue, state, at: time))
    }

    /// Records the file of a finished download and the time at which it finished.
    mutating func note(_ file: FinishedFile, of id: DownloadID, at time: Int64?) {
        let path = RelocatablePath(file.url.filePath, bases: bases)
        // A file that could not be inspected gets a stamp that matches no file.
        let stamp = file.stamp ?? FileStamp(size: -1, modified: 0, inode: 0)
        note(id, file.wasThere ? .skipped(path, stamp) : .finished(path, stamp), at: time)
    }

    /// Records the changed request of a download together with its present state.
    mutating func recordRequest(of member: Member) {
        changes.append(.change(.added([RegistryEntry(member, states[member.record.id] ?? .waiting, bases: bases)])))
        mustSync = true
    }

    /// Returns whether the caller must schedule a write, because one is needed and none is scheduled yet.
    ///
    /// The write then counts as scheduled.
    @discardableResult
    mutating func claimFlush() -> Bool {
        guard !changes.isEmpty || mustSync, !isScheduled else { return false }
        isScheduled = true
        return true
    }

    // MARK: Writing

    /// Recorded changes, or the whole queue, to be written to the journal's file.
    struct Write: Sendable {
        fileprivate enum Content: Sendable {
            /// `live` is the number of downloads in the queue.
            case changes(syncing: Bool, always: Bool, live: Int)
            case all([Member], [DownloadID: RegistryEntry.State], leftOut: [RegistryEntry])
        }

        fileprivate let content: Content
        /// The recorded changes that this write covers.
        fileprivate let changes: [Recorded]
        fileprivate let bases: RegistryBaseDirectories
        /// Whether the write only serves to make the journal shorter; if it fails, the existing journal stays usable.
        let isOptional: Bool

        /// Writes to the journal's file, and syncs it if the changes require it; blocks.
        /// - Returns: Whether the whole queue should, or must, be written next.
        func perform(on file: RegistryFile) throws(DownloadError) -> RegistryStore.Outcome {
            switch content {
            case .changes(let syncing, let always, let live):
                let changes = changes.lazy.flatMap { [bases] recorded in
                    (0..<recorded.count).lazy.map { recorded.change(at: $0, bases: bases) }
                }
                return try file.append(changes, syncing: syncing, always: always, live: live)
            case .all(let members, let states, let leftOut):
                try file.replace(
                    with: (0..<members.count + leftOut.count).lazy.map { [bases] index in
                        guard index < members.count else { return leftOut[index - members.count] }
                        let member = members[index]
                        return RegistryEntry(member, states[member.record.id] ?? .waiting, bases: bases)
                    }
                )
                return .recorded
            }
        }
    }

    /// Takes the recorded changes to write them.
    /// - Parameters:
    ///   - syncing: Whether to sync the file if the configuration and a recorded change require it. Synced changes
    ///     survive a power cut; without a sync, changes survive only the end of the process.
    ///   - always: With `syncing`, whether to sync even if the configuration and the changes do not require it.
    ///   - members: All downloads of the queue, needed after a failed write.
    ///   - count: The number of downloads in the queue.
    /// - Returns: The write to perform; `nil` if there is none.
    mutating func takeChanges(syncing: Bool, always: Bool, members: [Member], count: Int) -> Write? {
        let syncs = syncing && (mustSync || always)
        isScheduled = false
        if syncing { mustSync = false }
        guard !isBehind else { return takeAll(members, isOptional: false) }
        guard !changes.isEmpty || syncs else { return nil }
        defer { changes = [] }
        return Write(
            content: .changes(syncing: syncs, always: always, live: count + leftOut.count),
            changes: changes,
            bases: bases,
            isOptional: false
        )
    }

    /// Takes the whole queue, including the recorded changes, to write it in place of the journal.
    ///
    /// `isOptional` means that the write only serves to make the journal shorter: if it fails, the recorded changes can
    /// still be appended.
    mutating func takeAll(_ members: [Member], isOptional: Bool) -> Write {
        defer { (changes, isBehind) = ([], false) }
        return Write(
            content: .all(members, states, leftOut: leftOut),
            changes: changes,
            bases: bases,
            isOptional: isOptional
        )
    }

    /// Records that a write has failed, so that the next write includes its changes.
    /// - Returns: The time at which the caller must call ``retry(at:)``; `nil` if no call is needed, or if one is
    ///   scheduled already.
    mutating func failed(_ write: Write, at now: Duration) -> Duration? {
        guard !write.isOptional else {
            changes = write.changes + changes
            return nil
        }
        isBehind = true
        guard retryTime == nil else { return nil }
        retryTime = now + Self.retryDelay
        return retryTime
    }

    /// Requests another write if a failed one is due to be retried, and no later write has included its changes.
    mutating func retry(at now: Duration) {
        guard let time = retryTime, time <= now else { return }
        retryTime = nil
        if isBehind { mustSync = true }
    }
}

extension RegistryEntry {
    init(_ member: QueueJournal.Member, _ state: State, bases: RegistryBaseDirectories) {
        var request = member.record.withoutSecrets ?? RegistryRequest(member.record.request, bases: bases)
        request.priority = member.priority
        self.init(
            id: member.record.id.rawValue,
            request,
            state: state,
            label: member.label,
            number: member.record.number
        )
        background = member.record.backgroundNote
        added = member.record.added
        let times = member.record.status.times
        started = times.started
        ended = state.isEnded ? times.ended : nil
        dropUnneededPieces()
    }
}

extension RegistryEntry.State {
    /// Whether the next process runs the download; a change between two such states need not survive a power cut.
    fileprivate var isActive: Bool { [.running, .waiting, .requeued].contains(self) }
}

import Headrace
import HeadracePlatform

/// The downloads of a queue as the user of a simulation expects them.
struct QueueModel {
    enum Verb: CaseIterable {
        case pause, resume, retry, cancel, remove
    }

    /// The state that the user wants a download to have.
    private enum Intent: String {
        case active, paused, cancelled, removed

        /// The intents after a verb.
        func after(_ verb: Verb) -> Intent {
            switch (verb, self) {
            case (_, .removed), (.remove, _): .removed
            case (.pause, .active): .paused
            case (.resume, _): .active
            case (.cancel, _): .cancelled
            case (.pause, _), (.retry, _): self
            }
        }

        /// The intents after any of these verbs, in this order; first the intent after none of them.
        func after(someOf verbs: [Verb]) -> [Intent] {
            verbs.reduce(into: [self]) { intents, verb in
                for next in intents.map({ $0.after(verb) }) where !intents.contains(next) { intents.append(next) }
            }
        }

        /// Whether a queue may show this state; `nil` if the download is not in it.
        func allows(_ state: DownloadState.Kind?, isFinal: Bool, isShared: Bool) -> Bool {
            switch (self, state) {
            case (.removed, nil): true
            case (.removed, _), (_, nil): false
            // A download is not queued again while another one uses its file.
            case (.active, .failed), (.active, .cancelled): !isFinal || isShared
            case (.active, let state?): isFinal ? state == .finished : state != .paused
            case (.paused, .cancelled): isShared
            case (.paused, let state?): [.paused, .finished, .failed].contains(state)
            case (.cancelled, let state?): [.cancelled, .finished].contains(state)
            }
        }
    }

    private struct Entry {
        var intent: Intent
        /// The earlier intents that a crash may restore, because no write of the queue was awaited since.
        var earlier: [Intent] = []
        /// The verbs of commands that have failed and may be carried out later all the same.
        var pending: [Verb] = []
        var wasStopped = false
        let request: DownloadRequest
    }

    private var entries: [DownloadID: Entry] = [:]
    /// The additions that were interrupted or have failed, so that their downloads may be there all the same, or come later.
    var uncertain: [DownloadRequest] = []

    /// The downloads that were not removed, in a fixed order.
    var ids: [DownloadID] {
        entries.filter { $0.value.intent != .removed }.keys.sorted { $0.rawValue < $1.rawValue }
    }

    /// Records an addition, after which the download has this state; returns the difference.
    mutating func added(_ id: DownloadID, _ request: DownloadRequest, _ state: DownloadState.Kind?) -> String? {
        let known = entries[id]
        guard let state else {
            // A command that had failed may have removed the download meanwhile.
            return known?.pending.contains(.remove) == true ? nil : "\(id) is not there after its addition"
        }
        guard known == nil || known?.intent == .removed else { return nil }
        // An addition that failed after it was carried out may have added the same file as paused.
        entries[id] = Entry(intent: state == .paused ? .paused : .active, wasStopped: known != nil, request: request)
        return nil
    }

    /// Whether another download of the same file may be in the queue.
    private func isShared(_ id: DownloadID) -> Bool {
        guard let request = entries[id]?.request else { return true }
        return entries.contains { $0 != id && $1.request.isForFile(of: request) }
    }

    /// Whether several downloads have had this URL, so that its bytes may be received more than once; additions that have
    /// failed may have added some of those that are in the queue.
    func isRequestedTwice(_ url: URL, _ present: [Download]) -> Bool {
        let name = url.lastPathComponent
        let ids = entries.filter { $0.value.request.url.lastPathComponent == name }.map(\.key)
        return Set(ids + present.filter { $0.request.url.lastPathComponent == name }.map(\.id)).count > 1
    }

    /// Records that a verb may have taken effect.
    mutating func begin(_ verb: Verb, _ ids: [DownloadID]) {
        stopped(ids)
        for id in ids { if let intent = entries[id]?.intent { entries[id]?.earlier.append(intent.after(verb)) } }
    }

    /// Records that a verb has been carried out, after which the downloads have these states; returns the differences.
    mutating func done(_ verb: Verb, _ ids: [DownloadID], _ states: [DownloadID: DownloadState.Kind]) -> [String] {
        ids.compactMap { id in
            guard let intent = entries[id]?.intent else { return nil }
            entries[id]?.earlier.append(intent)
            // An ended download cannot be paused.
            guard verb != .pause || states[id]?.isEnded != true else { return nil }
            let pending = entries[id]?.pending ?? []
            let allowed = intent.after(someOf: pending).map { $0.after(verb) }.flatMap { $0.after(someOf: pending) }
            let next = allowed.first { $0.allows(states[id], isFinal: false, isShared: true) }
            entries[id]?.intent = next ?? intent.after(verb)
            return next == nil ? "after \(verb), \(id) is \(states[id]?.rawValue ?? "not there")" : nil
        }
    }

    /// Records that a command has failed, but may be carried out later, because its file may remain.
    mutating func postponed(_ verb: Verb, _ ids: [DownloadID]) {
        for id in ids { entries[id]?.pending.append(verb) }
    }

    /// Records that the transfers of downloads may have been stopped, so that received bytes were discarded.
    mutating func stopped(_ ids: [DownloadID]) {
        for id in ids { entries[id]?.wasStopped = true }
    }

    func wasStopped(_ id: DownloadID) -> Bool { entries[id]?.wasStopped ?? true }

    /// Records that all effects so far survive a crash.
    mutating func written() {
        for id in entries.keys { entries[id]?.earlier = [] }
    }

    /// Records that the process was killed.
    mutating func interrupted() {
        for id in entries.keys { entries[id]?.wasStopped = true }
    }

    /// Compares the queue of a new process, and adopts it if several states are allowed; returns the differences.
    mutating func resolve(_ downloads: [Download]) -> [String] {
        let states = Dictionary(uniqueKeysWithValues: downloads.map { ($0.id, $0.state.kind) })
        var differences: [String] = []
        for id in entries.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            guard let entry = entries[id] else { continue }
            let intents = [entry.intent] + entry.earlier.reversed()
            let allowed = intents + intents.flatMap { $0.after(someOf: entry.pending) }
            let state = states[id]
            let intent =
                allowed.first { $0.rawValue == state?.rawValue }
                ?? allowed.first { $0.allows(state, isFinal: false, isShared: true) }
            if let intent {
                entries[id] = Entry(intent: intent, request: entry.request)
            } else if allowed.contains(.removed), let state, mayBeAdded(entry.request) {
                // The addition named the removed download, and was carried out after the removal.
                entries[id] = Entry(intent: state == .paused ? .paused : .active, request: entry.request)
            } else {
                differences.append(
                    "\(id) is \(states[id]?.rawValue ?? "not there") instead of \(allowed.map(\.rawValue))"
                )
            }
        }
        for download in downloads where entries[download.id] == nil {
            guard mayBeAdded(download.request) else {
                differences.append("\(download.id) was never added")
                continue
            }
            let isPaused = download.state.kind == .paused
            entries[download.id] = Entry(intent: isPaused ? .paused : .active, request: download.request)
        }
        uncertain = []
        return differences
    }

    private func mayBeAdded(_ request: DownloadRequest) -> Bool { uncertain.contains { $0.isForFile(of: request) } }

    /// Compares the queue after all faults and all work have ended; returns the differences.
    func final(_ downloads: [Download], _ site: SimulatedSite) -> [String] {
        let byID = Dictionary(uniqueKeysWithValues: downloads.map { ($0.id, $0) })
        return entries.sorted { $0.key.rawValue < $1.key.rawValue }.compactMap { id, entry in
            let (download, state) = (byID[id], byID[id]?.state.kind)
            // A file that does not have the expected checksum must fail.
            if entry.intent == .active, state == .failed, download?.request.checksums.isEmpty == false,
                site.file(at: entry.request.url)?.isExpected == false
            {
                return nil
            }
            return entry.intent.allows(state, isFinal: true, isShared: isShared(id))
                ? nil : "at the end, \(id) is \(state?.rawValue ?? "not there") instead of \(entry.intent.rawValue)"
        }
    }
}

extension DownloadRequest {
    /// Whether two requests are for one file, which may have several URLs.
    func isForFile(of other: DownloadRequest) -> Bool {
        url.lastPathComponent == other.url.lastPathComponent && destination == other.destination
    }
}

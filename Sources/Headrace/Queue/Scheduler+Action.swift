import HeadracePlatform

/// The inputs and outputs of the scheduler, and its state for each download.
extension Scheduler {
    /// The scheduling state of a download.
    enum Phase: Sendable, Hashable {
        case waiting
        case running
        case paused
        case finished
        case failed
        case cancelled
        /// The manager was shut down before the download ended.
        case interrupted
    }

    /// The outcome of a transfer.
    enum Outcome: Sendable, Hashable {
        case finished
        case failed
        /// The transfer stopped on request; `keptBytes` is `true` if received bytes remain on the disk, or if a resume
        /// record without a partial file was found.
        case stopped(keptBytes: Bool)
        /// The transfer failed temporarily and must be retried, but not before this time.
        case retry(at: Duration)
    }

    enum Action: Sendable, Hashable {
        /// Start the transfer of a download, which counts as running from now on.
        case start(ID)
        /// Stop a transfer; if it is already being stopped, only a cancellation changes the reason.
        ///
        /// Call ``ended(_:_:_:at:)`` once the transfer has stopped.
        case stop(ID, StopSignal.Reason)
        /// The download has a free slot, but must wait because the network does not admit it.
        case hold(ID, NetworkBlocker)
        /// The download enters a phase other than `running`.
        ///
        /// With `discardingBytes`, the download was cancelled: delete its partial file before publishing the phase,
        /// unless another download uses that file.
        case enter(ID, Phase, discardingBytes: Bool = false)
        /// The download leaves the queue.
        ///
        /// With `deletingFile`, its partial or finished file is deleted too.
        case remove(ID, deletingFile: Bool)
    }

    /// The scheduling properties of a download to add.
    struct Item: Sendable, Hashable {
        var id: ID
        var host: String
        var priority = 0
        /// The initial phase; not `running`.
        var phase = Phase.waiting
        var notBefore: Duration?
        var need = NetworkRequirement()
        var mayRepeat = true
        /// The label in an earlier run, reused if greater than all labels in the queue; `nil` for a new download.
        var label: QueueOrder.Label?
    }

    /// The reason for stopping a running download; decides its phase, together with the outcome of its transfer.
    ///
    /// Later cases outrank earlier cases, but `requeue` and `pause` replace each other.
    enum Intent: Comparable {
        case requeue
        case pause
        case interrupt
        case cancel
        case remove(deletingFile: Bool)

        private var rank: Int {
            switch self {
            // These replace each other: a user may pause and resume repeatedly.
            case .requeue, .pause: 0
            case .interrupt: 1
            case .cancel: 2
            case .remove(let deletingFile): deletingFile ? 4 : 3
            }
        }

        static func < (lhs: Intent, rhs: Intent) -> Bool { lhs.rank < rhs.rank }
    }

    struct Entry {
        var priority: Int
        var host: QueueHosts.Number
        /// The host of a running download's new URL, which replaces ``host`` once the transfer has ended; else `nil`.
        var nextHost: QueueHosts.Number?
        var phase = Phase.waiting
        var intent: Intent?
        var need: NetworkRequirement
        /// Whether the request may be sent again, so that the running download can return to the queue.
        let mayRepeat: Bool
        /// Whether the addition or revival of the download is in the journal, as it must be before the download starts;
        /// always `true` without a journal.
        var isSaved: Bool
    }

    var ids: [ID] { order.ids }

    func phase(of id: ID) -> Phase? { entries[id]?.phase }
    func isPausing(_ id: ID) -> Bool { entries[id]?.intent == .pause }
    /// Whether a running download is being cancelled or removed.
    func isLeaving(_ id: ID) -> Bool { entries[id]?.intent.map { $0 >= .cancel } ?? false }
    func priority(of id: ID) -> Int? { entries[id]?.priority }
    func networkBlocker(of id: ID) -> NetworkBlocker? { waiting.blockers[id] }
    func waitEnd(of id: ID) -> Duration? { entries[id]?.phase == .waiting ? waiting.startTimes[id] : nil }

    /// Whether a download that starts may share a connection with others.
    func mayShareConnection(_ id: ID) -> Bool {
        guard let host = entries[id]?.host else { return false }
        return limits.mayShareConnection(to: hosts.name(host), with: waiting.count(for: host))
    }
}

extension Scheduler.Item {
    init(_ record: DownloadRecord, at now: Duration) {
        self = record.requested { request in
            Self(
                id: record.id,
                host: HostLimiter.host(of: request.url),
                priority: request.priority.rawValue,
                phase: request.startsPaused ? .paused : .waiting,
                notBefore: request.notBefore(at: now),
                need: NetworkRequirement(request),
                mayRepeat: request.mayRepeat
            )
        }
    }
}

extension DownloadRequest {
    /// Returns the earliest start time on the scheduler's clock, possibly in the past; `nil` if the request has none.
    func notBefore(at now: Duration) -> Duration? { earliestBegin.map { now + WallTime.duration(until: $0) } }
}

extension DownloadState {
    var phase: Scheduler.Phase {
        switch self {
        case .waiting, .running: .waiting
        case .paused: .paused
        case .finished: .finished
        case .failed: .failed
        case .cancelled: .cancelled
        }
    }
}

extension TransferOutcome {
    /// The part of the outcome that the scheduler needs.
    var schedulerOutcome: Scheduler.Outcome {
        switch self {
        case .finished: .finished
        case .failed: .failed
        case .stopped(let keptBytes): .stopped(keptBytes: keptBytes)
        case .retry(_, let time): .retry(at: time)
        }
    }
}

import HeadracePlatform

/// What comes into the queue, and what comes out of it.
extension Scheduler {
    /// How a download stands.
    enum Phase: Sendable, Hashable {
        case waiting
        case running
        case paused
        case finished
        case failed
        case cancelled
        /// The manager was shut down before the download could end.
        case interrupted
    }

    /// How a transfer ended.
    enum Outcome: Sendable, Hashable {
        case finished
        case failed
        /// It was told to; `keptBytes` where a partial is left, or a record without one.
        case stopped(keptBytes: Bool)
        /// It is to be tried again, but not before this time.
        case retry(at: Duration)
    }

    enum Action: Sendable, Hashable {
        /// Begin the transfer of a download, which is running from now on.
        case start(ID)
        /// Tell a transfer to stop, or that the reason is another; ``ended(_:_:at:)`` is to follow.
        case stop(ID, StopSignal.Reason)
        /// The download waits, and does not run although there is a place for it.
        case hold(ID, NetworkBlocker)
        /// The download has another phase, which is not `running`; a cancelled one has bytes on the disk that have to go
        /// first, unless its transfer has seen to it.
        case enter(ID, Phase, discardingBytes: Bool = false)
        /// The download is in the list no more; where asked, its file goes as well, finished or not.
        case remove(ID, deletingFile: Bool)
    }

    /// What a download brings along.
    struct Item: Sendable, Hashable {
        var id: ID
        var host: String
        var priority = 0
        /// Not `running`.
        var phase = Phase.waiting
        var notBefore: Duration?
        var need = NetworkRequirement()
        /// Its place, of one that comes from an earlier run, in ascending order; else it comes last.
        var label: QueueOrder.Label?
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
                need: NetworkRequirement(request)
            )
        }
    }
}

extension DownloadRequest {
    /// When a download that is to begin later may begin, on the queue's clock.
    func notBefore(at now: Duration) -> Duration? {
        earliestBegin.map { now + WallTime.duration(until: $0) }
    }
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
    /// The part of the outcome that decides what runs next.
    var forQueue: Scheduler.Outcome {
        switch self {
        case .finished: .finished
        case .failed: .failed
        case .stopped(let keptBytes): .stopped(keptBytes: keptBytes)
        case .retry(_, let time): .retry(at: time)
        }
    }
}

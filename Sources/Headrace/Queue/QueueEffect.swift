import HeadracePlatform

/// An effect of a decision, which the manager performs before it decides anything else.
enum QueueEffect: Sendable {
    case start(DownloadRun)
    case stop(StopSignal, StopSignal.Reason)
    case publish(DownloadRecord, DownloadStateChange)
    case remove(FileRemoval)
    /// Call ``QueueState/tick(at:)`` at this time.
    case alarm(Duration)
    /// Open the latches of downloads that waited for an earlier download of the same file to stop.
    case release([Latch])
}

extension [QueueEffect] {
    /// Removes and returns the first start; returns `nil` if there is none, or if the effects include a removal of
    /// files, which must come first.
    mutating func takeStart() -> DownloadRun? {
        let mustRemove = contains { if case .remove = $0 { true } else { false } }
        guard !mustRemove, let index = firstIndex(where: { if case .start = $0 { true } else { false } }),
            case .start(let run) = remove(at: index)
        else { return nil }
        return run
    }
}

/// The transfer state of a download that is retried; `none` for a download that starts without earlier attempts.
///
/// The state is stored indirectly, because it is large and most downloads have none.
enum EarlierAttempts: Sendable {
    case none
    indirect case some(TransferState)

    var state: TransferState? { if case .some(let state) = self { state } else { nil } }
}

/// A started download and the signal that stops its transfer.
struct DownloadRun: Sendable {
    let record: DownloadRecord
    let stop: StopSignal
    let earlier: EarlierAttempts
    /// A latch that opens when earlier downloads of the same file no longer use the partial file; `nil` if the transfer
    /// need not wait.
    let removal: Latch?
    /// Whether the transfer must report its first response head to the manager.
    let reportsHead: Bool
    /// Whether the transfer may share a connection with others.
    let mayShareConnection: Bool
}

/// The files of one removed or cancelled download to delete, and the state change to publish afterwards.
struct FileRemoval: Sendable {
    let record: DownloadRecord
    /// Whether the partial file is deleted; `true` only if no other download uses that file.
    let partial: Bool
    /// The finished file, if it is deleted too; otherwise `nil`.
    let file: FinishedFile?
    let stateChange: DownloadStateChange
}

/// The new state of a download and the event to publish; `nil` for no change of the state, or for no event.
struct DownloadStateChange: Sendable {
    let state: DownloadState?
    let event: DownloadEvent?

    init(_ state: DownloadState?, _ event: DownloadEvent?) {
        (self.state, self.event) = (state, event)
    }
}

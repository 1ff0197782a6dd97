/// Fetches files outside the process; implemented by ``BackgroundTransfers``.
///
/// A protocol, so that a transfer does not depend on the system's API for background downloads.
protocol BackgroundFetcher: Sendable {
    /// Starts to receive the events that the system reports for the background session.
    func connect()
    /// Releases the session, so that another manager can use it; a second call has no effect.
    func release()
    /// The reports of the background session to the manager, in order; finishes after ``endReports()``.
    var reports: AsyncStream<BackgroundReport> { get }
    /// Finishes ``reports``; called when the manager saves no further changes.
    func endReports()
    /// Remembers the download if `state` is waiting, running or paused; does nothing otherwise.
    ///
    /// Called when a download is added or restored, and after each of its changes; `state` is the new state, or `nil`
    /// if it is unchanged. If the state is paused, a background task that no transfer waits for is stopped too, and its
    /// bytes are kept.
    func entered(_ record: DownloadRecord, _ state: DownloadState?)
    /// Records that a download is being cancelled or removed, or was removed.
    func left(_ record: DownloadRecord)
    /// Records that this download's transfer has returned, before the queue processes its outcome (see ``ended(_:)``).
    func runLeft(_ id: DownloadID)
    /// Records that the queue has processed the outcome of this download's transfer.
    func ended(_ id: DownloadID)
    /// Calls `body` while no delivered file is being moved to a partial file, and returns the result of `body`.
    func betweenFiles<Value>(_ body: () throws(DownloadError) -> Value) throws(DownloadError) -> Value
    /// Makes the system fetch the file of a transfer, then verifies and renames the file; returns `.again` if the
    /// system must fetch it again.
    ///
    /// Throws `CancellationError` if the transfer is stopped meanwhile, and the errors of the fetch and of the file.
    func fetch(for transfer: inout DownloadTransfer) async throws -> DownloadTransfer.Step
}

/// A report of the background session to the manager.
enum BackgroundReport: Sendable {
    /// The state of a download's background task has changed, and must be saved.
    case noteChanged(DownloadID)
    /// All events of a wake-up were processed: call these functions once everything is saved.
    case processed([@Sendable () -> Void])
}

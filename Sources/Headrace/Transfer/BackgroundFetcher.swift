/// Fetches files outside the process; implemented by ``BackgroundTransfers``.
///
/// A protocol, so that a transfer does not depend on how the system fetches files.
protocol BackgroundFetcher: Sendable {
    /// Starts to receive the events that the system reports for the background session.
    func connect()
    /// Releases the session, so that another manager can use it; later calls have no effect.
    func release()
    /// Records that the transfer of this download no longer needs the system and is about to finish.
    func runLeft(_ id: DownloadID)
    /// Records that the queue has processed the outcome of this download's transfer.
    func ended(_ id: DownloadID)
    /// Calls `body` at a time when no delivered file is being moved to a partial file, and returns its result.
    func betweenFiles<Value>(_ body: () throws(DownloadError) -> Value) throws(DownloadError) -> Value
    /// Makes the system fetch the file of a transfer, then verifies and renames the file; returns `nil` if the file
    /// must be requested again.
    func fetch(
        for transfer: DownloadTransfer,
        _ session: inout PartialDownload,
        _ attempts: inout TransferState
    ) async throws -> FinishedFile?
}

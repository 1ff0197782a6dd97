/// Fetches files outside the process; implemented by ``BackgroundTransfers``.
///
/// A protocol, so that a transfer does not depend on how the system fetches files.
protocol BackgroundFetcher: Sendable {
    /// Starts to receive what the system reports.
    func connect()
    /// Releases the session for another manager; later calls have no effect.
    func release()
    /// Called when the run of a download no longer uses the system and is about to finish.
    func left(_ id: DownloadID)
    /// Called when the queue knows the outcome of the run.
    func ended(_ id: DownloadID)
    /// Runs `body` while no delivered file is being moved to a partial file.
    func betweenFiles<Value>(_ body: () throws(DownloadError) -> Value) throws(DownloadError) -> Value
    /// Makes the system fetch the file of a transfer, then verifies and names it; returns `nil` to request it again.
    func fetch(
        for transfer: DownloadTransfer,
        _ session: inout PartialDownload,
        _ attempts: inout TransferState
    ) async throws -> FinishedFile?
}

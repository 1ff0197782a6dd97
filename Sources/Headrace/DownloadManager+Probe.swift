extension DownloadManager {
    /// Requests a file without downloading it, and returns the name, the size and the validators from the response.
    ///
    ///     let probe = try await manager.probe(DownloadRequest(url, to: .directory(folder)))
    ///     print(probe.file.lastPathComponent, probe.totalBytes ?? 0)
    ///
    /// The request is a GET, because servers may respond to HEAD differently; the body is not read. Redirects, retries and mirrors
    /// are handled as for a download, within its ``DownloadConfiguration/timeLimit``. Nothing is written to the disk or added to
    /// the queue, and the limits of the queue do not apply, so probe a few files at a time.
    /// - Parameter request: The file, and the destination that a download would have.
    /// - Returns: The response, and the effect that a download would have on existing files.
    /// - Throws: `CancellationError` if the task is cancelled, and the error with which a download would fail before its first
    ///   byte: `invalidRequest` if the request is invalid or the manager uses a background session, `shutDown` after
    ///   ``shutdown()``, and after all retries any error of the network or the server.
    public nonisolated func probe(_ request: DownloadRequest) async throws -> DownloadProbe {
        try request.validate()
        guard request.method == "GET" else {
            throw DownloadError(.invalidRequest, "A probe sends GET; it cannot send \(request.method).")
        }
        guard environment.configuration.backgroundSession == nil else {
            throw DownloadError(.invalidRequest, "A manager with a background session cannot probe files.")
        }
        let run = ProbeRun(request: request, environment: environment, executor: executor)
        return try await run.run(untilEndOf: observers.events())
    }
}

public import HeadracePlatform

/// Values for a row of a list.
extension Download {
    /// The progress at this moment; see ``progress`` for a stream of its changes.
    public var currentProgress: DownloadProgress { record.status.progress }

    /// The finished file; `nil` unless the download is finished.
    public var fileURL: URL? { state.fileURL }

    /// The name of the finished file or, before that, the expected one.
    ///
    /// A name that the server proposes is known once the server has responded.
    public var fileName: String { fileURL?.lastPathComponent ?? record.plannedName }

    /// The error of a failed download; otherwise `nil`.
    public var error: DownloadError? { state.error }

    /// The requests that this manager has sent for the download.
    ///
    /// `nil` until the first request has ended, and always without ``DownloadConfiguration/collectsMetrics``.
    ///
    ///     for request in download.metrics?.requests ?? [] { print(request.address ?? "", request.total) }
    public var metrics: DownloadMetrics? { record.status.metrics }

    /// Waits for the finished file as ``value`` does, and can cancel the download together with the waiting task.
    ///
    ///     let file = try await download.value(cancelling: true)
    ///
    /// - Parameter cancelling: Whether to cancel the download, and delete its partial file, if the waiting task is
    ///   cancelled.
    /// - Returns: The URL of the finished file.
    /// - Throws: The errors of ``value``.
    public func value(cancelling: Bool) async throws -> URL {
        do {
            return try await value
        } catch let error as CancellationError {
            if cancelling { await cancel() }
            throw error
        }
    }
}

public import HeadracePlatform

extension URL {
    /// Downloads the file at this URL.
    ///
    ///     let file = try await url.download(to: .directory(folder))
    ///
    /// Retries, resumes and verifies as a manager does; see ``DownloadManager`` for several files, queues and progress.
    /// If the task is cancelled, the received bytes are retained, and the next call resumes from them.
    /// - Parameters:
    ///   - destination: A file, or the directory in which the file is created.
    ///   - configuration: The settings.
    /// - Returns: The URL of the finished file.
    /// - Throws: The ``DownloadError`` with which the download fails, or `CancellationError`.
    public func download(
        to destination: DownloadRequest.Destination,
        configuration: DownloadConfiguration = DownloadConfiguration()
    ) async throws -> URL {
        try await withDownloadManager(configuration) { manager in
            try await manager.download(DownloadRequest(self, to: destination)).value
        }
    }

    /// Not available: a URL alone does not show whether the destination is a file or a directory.
    @available(*, unavailable, message: "Write .file(url), or .directory(url) to let the server name the file.")
    public func download(to destination: URL) async throws -> URL {
        try await download(to: .file(destination))
    }
}

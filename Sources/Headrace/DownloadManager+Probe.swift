public import HeadracePlatform

extension DownloadManager {
    /// Requests a file without downloading it, and returns the name, the size and the validators from the response.
    ///
    ///     let probe = try await manager.probe(DownloadRequest(url, to: .directory(folder)))
    ///     print(probe.file.lastPathComponent, probe.totalBytes ?? 0)
    ///
    /// The request is a GET, because servers may respond to HEAD differently; the body is not read. Redirects, retries
    /// and mirrors are handled as for a download, within the ``DownloadConfiguration/timeLimit``; link providers are
    /// not called. Nothing is written to the disk or added to the queue, and the limits of the queue do not apply, so
    /// probe a few files at a time. A delay that a server requests is waited for only if it is not longer than
    /// ``RetryPolicy/maxDelay``; otherwise the error, which contains it, is thrown at once.
    /// - Parameter request: The file, and the destination that a download would have.
    /// - Returns: The response, and the effect that a download would have on existing files.
    /// - Throws: The error with which a download would fail before its first byte: any error of the network or the
    ///   server, after all retries. Also `invalidRequest` if the request is invalid or not a GET, or if the manager has
    ///   a background session, `shutDown` after ``shutdown()``, and `CancellationError` if the task is cancelled.
    public nonisolated func probe(_ request: DownloadRequest) async throws -> DownloadProbe {
        guard request.method == "GET" else {
            throw DownloadError(.invalidRequest, "A probe sends GET; it cannot send \(request.method).")
        }
        return try await run(request, to: "probe files").probe(untilEndOf: observers.events())
    }

    /// Requests a small file and returns its bytes, without writing them to the disk.
    ///
    ///     let list = try await manager.data(from: url, maxBytes: 1 << 20)
    ///
    /// Redirects and retries are handled as in ``probe(_:)``, within the ``DownloadConfiguration/timeLimit``; a retry
    /// begins at zero. No content coding is requested. The limits of the queue and on rates do not apply, so request a
    /// few files at a time.
    /// - Parameters:
    ///   - url: The URL; `http` or `https`, with a host.
    ///   - headers: The header fields to send.
    ///   - maxBytes: The maximum size of the file in bytes.
    /// - Returns: The bytes of the file.
    /// - Throws: `fileTooLarge` if the file exceeds `maxBytes` or, according to the response,
    ///   ``DownloadConfiguration/maxFileSize``, and the errors of ``probe(_:)``.
    public nonisolated func data(
        from url: URL,
        headers: [HeaderField] = [],
        maxBytes: Int = 16 << 20
    ) async throws -> Data {
        let request = DownloadRequest(url, to: .directory(URL(filePath: "/")), headers: headers)
        let run = try run(request, to: "read files into memory")
        return try await run.data(maxBytes: maxBytes, untilEndOf: observers.events())
    }

    private nonisolated func run(_ request: DownloadRequest, to purpose: String) throws(DownloadError) -> ProbeRun {
        try request.validate()
        guard environment.configuration.backgroundSession == nil else {
            throw DownloadError(.invalidRequest, "A manager with a background session cannot \(purpose).")
        }
        return ProbeRun(request: request, environment: environment, executor: executor)
    }
}

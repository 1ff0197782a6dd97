public import HeadracePlatform

/// A handle on one download of a manager; copies refer to the same download.
///
///     let download = try await manager.download(DownloadRequest(url, to: .directory(folder)))
///     for await progress in download.progress { print(progress.fractionCompleted ?? 0) }
///     let file = try await download.value
///
/// Releasing a handle, or cancelling a task that waits for ``value``, does not stop the download: ``cancel()`` does.
public struct Download: Sendable, Identifiable {
    /// The identity of a download.
    public typealias ID = DownloadID

    /// The download's identity.
    public var id: ID { record.id }
    /// The request that the download was added with, updated by later changes such as ``setURL(_:)``.
    public var request: DownloadRequest { record.request }
    /// The current state.
    public var state: DownloadState { record.status.state }

    /// The current priority: the request's priority until ``setPriority(_:)`` changes it.
    public var priority: DownloadPriority { record.status.priority }

    /// The reason why the network keeps the download from running; `nil` if it is not waiting for the network.
    public var networkBlocker: NetworkBlocker? { record.status.networkBlocker }

    /// Whether the finished file still exists at its path; `false` if the download is not finished, or if the file's
    /// status cannot be read.
    public var fileExists: Bool {
        get async {
            guard case .finished(let file) = state else { return false }
            return await status(of: file) != nil
        }
    }

    /// Whether the finished file has the same size, modification time and inode number as when the download finished.
    ///
    /// `false` if the download is not finished, or if these properties cannot be read or were not recorded.
    public var fileIsIntact: Bool {
        get async {
            guard case .finished(let file) = state, let stamp = record.finishedFile?.stamp else { return false }
            return await status(of: file).map { FileStamp($0) } == stamp
        }
    }

    private func status(of file: URL) async -> FileStatus? {
        await manager.executor.run { [files = manager.environment.files] in try? files.status(file.filePath) }
    }

    /// The path of the partial file.
    ///
    /// The file exists from the first received byte until it is renamed to its final name. A small file whose bytes
    /// arrive at once may have no partial file. After a failure, a partial file with bytes remains, and a later
    /// download of the same URL to the same destination resumes it.
    public var partialFile: URL {
        URL(filePath: record.names.partialPath(in: manager.environment.configuration.partialsDirectory))
    }

    /// Whether a stopped or failed download can be resumed, according to the server's responses.
    ///
    /// `true` is no guarantee, since the file on the server may change meanwhile. `false` means that the bytes cannot
    /// be validated and will be downloaded again. The value is `nil`:
    /// - while the download is running, and once it is finished or cancelled;
    /// - before a transfer of this manager has stopped with received bytes.
    public var isResumable: Bool? { record.isResumable }

    let manager: DownloadManager
    let record: DownloadRecord
}

extension Download {
    /// The current state and each later one; finishes after `finished`, `failed` or `cancelled`.
    ///
    /// Each access returns a new stream. A slow reader may miss intermediate states, but never the last one.
    public var states: AsyncStream<DownloadState> { record.status.states() }

    /// The current progress and its changes, at most ten times a second; finishes when the download does.
    ///
    /// Each access returns a new stream. A slow reader may miss intermediate values, but never the last one.
    public var progress: AsyncStream<DownloadProgress> { record.status.progressUpdates() }

    /// The past and future events of the download in this manager; finishes when the download does.
    ///
    /// Each access returns a new stream. If there are more than 256 past or unread events, the oldest are dropped.
    public var events: AsyncStream<DownloadEvent> { record.status.events() }

    /// The URL of the finished file; waits until the download is complete.
    ///
    /// Throws the download's ``DownloadError`` if it fails or is cancelled, and `CancellationError` if the waiting task
    /// is cancelled, which does not cancel the download.
    public var value: URL {
        get async throws {
            for await state in states {
                switch state {
                case .waiting, .running, .paused: continue
                case .finished(let file): return file
                case .failed(let error): throw error
                case .cancelled: throw DownloadError.cancelled(request.url)
                }
            }
            throw CancellationError()
        }
    }

    /// Pauses the download until ``resume()`` is called.
    ///
    /// The download retains its position in the queue and its bytes.
    ///
    /// Returns once the transfer has stopped and its slot is free, even if the calling task is cancelled. Called from
    /// one of this download's own hooks, such as ``RetryPolicy/decide``, or from a task that a hook starts, it returns
    /// immediately. Does nothing if the download is finished, failed or cancelled.
    public func pause() async {
        try? await manager.pause(.downloads([id]))
    }

    /// Queues the download again after a pause, a failure or a cancellation, or if its finished file no longer exists.
    ///
    /// The download runs as soon as the limits allow, at its old position in the queue. If it is waiting for a retry or
    /// for its ``DownloadRequest/earliestBegin``, that wait ends. Does nothing if the download is running or was
    /// removed, or while another download of the same file is waiting, running or paused.
    public func resume() async {
        if state.isFinished {
            let files = manager.environment.files
            guard let file = record.finishedFile?.url.filePath else { return }
            if await manager.executor.run({ files.isMissing(file) }) { await restart() }
        } else {
            await manager.apply { $0.start([id], at: manager.clock.now()) }
        }
    }

    /// Queues a finished download again.
    ///
    /// The request's ``DownloadRequest/refetchPolicy-swift.property`` and
    /// ``DownloadRequest/conflictPolicy-swift.property`` apply to the existing file: by default, it is not downloaded
    /// again if it is the server's current version. Does nothing if the download is not finished or was removed, or
    /// while another download of the same file is waiting, running or paused.
    public func restart() async {
        await manager.apply { $0.restart(id, at: manager.clock.now()) }
    }

    /// Sends a running download with a lower priority back to the queue, so that this download can have its slot.
    ///
    /// The running download with the lowest priority is chosen; of several, the one that started last. If the limit per
    /// host is reached, only downloads from the same host are considered. Requests that must not be repeated are never
    /// chosen. Does nothing if this download is not waiting for a slot, or if there is no such download of a lower
    /// priority.
    ///
    /// Returns before the slot is free. The slot then goes to the first waiting download by priority and position.
    public func preempt() async {
        await manager.apply { $0.effects(of: $0.scheduler.preempt(for: id)) }
    }

    /// Cancels the download and deletes its partial file.
    ///
    /// Returns once the transfer has stopped, its slot is free and the file is deleted, even if the calling task is
    /// cancelled. Called from one of this download's own hooks, such as ``RetryPolicy/decide``, or from a task that a
    /// hook starts, it returns immediately. Does nothing if the download is finished or cancelled.
    ///
    /// If the registry cannot be written, which is reported as ``QueueEvent/registryFailed(_:)``, the partial file
    /// remains. But if the reason is a full disk, a partial file on the registry's disk is deleted, to make room.
    public func cancel() async {
        try? await manager.cancel(.downloads([id]))
    }

    /// Removes the download from the queue, in any state; an active download ends as `cancelled`.
    ///
    /// Returns once the transfer has stopped and, with `deletingFile`, the files are deleted, even if the calling task
    /// is cancelled. Called from one of this download's own hooks, such as ``RetryPolicy/decide``, or from a task that
    /// a hook starts, it returns immediately.
    /// - Parameter deletingFile: Whether to delete the finished or partial file as well. A finished file remains if it
    ///   existed before the download, or was changed since. If the registry cannot be written, both files remain. But
    ///   if the reason is a full disk, the files on the registry's disk are deleted, to make room.
    public func remove(deletingFile: Bool = false) async {
        try? await manager.remove(.downloads([id]), deletingFiles: deletingFile)
    }

    /// Moves the download to another position in the queue; a running download continues.
    ///
    /// Does nothing if the download has been removed.
    /// - Parameter position: The new position.
    /// - Throws: `unknownDownload` if the position is an index out of range, or refers to a download that is not in the
    ///   queue; then nothing changes.
    public func move(to position: QueuePosition) async throws(DownloadError) {
        try await manager.change { queue throws(DownloadError) in
            guard try queue.move(id, to: position, at: manager.clock.now()) else { return }
            manager.observers.publish(.moved(id))
        }
    }

    /// Changes the priority: waiting downloads start in order of priority; equal ones in queue order.
    /// - Parameter priority: The new priority; higher ones start first.
    public func setPriority(_ priority: DownloadPriority) async {
        await manager.change { queue in
            guard queue.setPriority(priority.rawValue, of: id, at: manager.clock.now()) else { return }
            manager.observers.publish(.priorityChanged(id, priority))
        }
    }
}

extension Download {
    /// The rate limit of this download alone, in bytes per second; `nil` for none.
    public var rateLimit: Int64? { record.rateLimit }

    /// Changes the rate limit of this download, which is saved with the queue.
    ///
    /// Does nothing if the download has been removed.
    /// - Parameter bytesPerSecond: The limit, above zero; `nil` for none.
    /// - Throws: `invalidRequest` if the limit is not above zero; nothing changes then.
    public func setRateLimit(_ bytesPerSecond: Int64?) async throws(DownloadError) {
        try bytesPerSecond?.validateAsRate()
        await manager.change { $0.setRateLimit(bytesPerSecond, of: id) }
        manager.environment.rates.limitChanged(of: record)
    }
}

extension Download {
    /// Replaces the URL by another one of the same file, such as a new signed link, and saves it with the queue.
    ///
    ///     try await download.setURL(link)
    ///
    /// The received bytes are retained if the new URL has a matching validator, as on any resume; in a background
    /// session, the download starts again at zero. Secret header fields are removed if the new URL has another origin.
    ///
    /// A running download continues with the new URL; it fails if its request was sent and must not be repeated. A
    /// paused, cancelled or finished download keeps its state. A download that failed or waits for a retry is queued
    /// again. Does nothing if the download has been removed, or after the shutdown.
    /// - Parameter url: The URL; `http` or `https`, with a host.
    /// - Throws: `invalidRequest` if the URL is invalid or too long for the registry, or if it has another origin and
    ///   the request has a secret body; nothing changes then.
    public func setURL(_ url: URL) async throws(DownloadError) {
        try url.validate()
        try await manager.apply { queue throws(DownloadError) in
            try queue.setURL(url, of: id, at: manager.clock.now())
        }
    }
}

extension Download: Hashable {
    /// Compares the downloads to which two handles refer.
    /// - Parameters:
    ///   - lhs: A handle.
    ///   - rhs: Another handle.
    /// - Returns: Whether both refer to the same download of the same manager.
    public static func == (lhs: Download, rhs: Download) -> Bool {
        lhs.record === rhs.record
    }

    /// Hashes the download to which the handle refers.
    /// - Parameter hasher: The hasher to feed.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(record))
    }
}

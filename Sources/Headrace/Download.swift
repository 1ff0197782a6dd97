public import HeadracePlatform

/// A handle on one download of a manager; copies are the same download.
public struct Download: Sendable, Identifiable {
    /// The identity of a download.
    public typealias ID = DownloadID

    /// The download's identity.
    public var id: ID { record.id }
    /// What was asked for.
    public var request: DownloadRequest { record.request }
    /// Where the download stands now.
    public var state: DownloadState { record.status.state }

    /// The present priority, which is the request's until it is changed.
    public var priority: DownloadPriority {
        manager.list.priority(of: id).map(DownloadPriority.init(rawValue:)) ?? request.priority
    }

    /// What of the network keeps the download from running; nil where it does not wait, or waits for something else.
    public var networkBlocker: NetworkBlocker? { manager.list.networkBlocker(of: id) }

    /// Whether the finished file is still under its name; false for a download that is not finished.
    public var fileExists: Bool {
        get async {
            guard case .finished(let file) = state else { return false }
            return await manager.status(of: file) != nil
        }
    }

    /// Whether the finished file is as it was when it got its name, by its size, its time and its number in the file
    /// system; false for a download that is not finished.
    public var fileIsIntact: Bool {
        get async {
            guard case .finished(let file) = state, let stamp = manager.list.stamp(of: id) else { return false }
            return await manager.status(of: file).map { FileStamp($0) } == stamp
        }
    }

    /// The partial file, which is there from the first byte until the file has its final name.
    ///
    /// After a failure it stays where bytes have come, and a later download of the same URL to the same destination goes
    /// on with it.
    public var partialFile: URL { URL(filePath: record.names.partialPath) }

    /// Whether the bytes that this manager has kept of a stopped or failed download can be gone on with, as far as its server
    /// has told; nil where it has kept none.
    ///
    /// False where nothing could prove that they are of the server's version: they will be fetched again. True is no promise,
    /// since the server may have another version by then.
    public var isResumable: Bool? { record.isResumable }

    let manager: DownloadManager
    let record: DownloadRecord
}

extension Download {
    /// The states from the current one on; ends after `finished`, `failed` or `cancelled`.
    ///
    /// Each access is a stream of its own. A slow reader misses states in between, never the last one.
    public var states: AsyncStream<DownloadState> { record.status.states() }

    /// The progress from now on, at most ten a second and one at the end; ends when the download ends.
    ///
    /// Each access is a stream of its own, which begins with the current value. A slow reader misses values in
    /// between, never the last one.
    public var progress: AsyncStream<DownloadProgress> { record.status.progressUpdates() }

    /// What happened so far and what happens from now on, with reasons; ends when the download ends.
    ///
    /// Each access is a stream of its own. Of a very long history, and for a slow reader, the oldest events are dropped.
    public var events: AsyncStream<DownloadEvent> { record.status.events() }

    /// The finished file's URL, as soon as it is there.
    ///
    /// Throws the download's ``DownloadError`` when it failed or was cancelled, and `CancellationError` when the task
    /// that waits is cancelled. Cancelling the waiting task does not cancel the download: ``cancel()`` does.
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

    /// Stops the download until ``resume()``; its place in the list and its bytes are kept.
    ///
    /// Returns when the transfer has ended and the next download has its place among the running, also where the task that
    /// waits is cancelled; at once in a hook of this download, such as ``RetryPolicy/decide``, and in tasks that it starts. Does
    /// nothing to a download that has ended.
    public func pause() async {
        try? await manager.pause(.downloads([id]))
    }

    /// Has the download wait for its turn again after a pause, a failure or a cancellation, or where its finished file is
    /// gone.
    ///
    /// It never runs beyond a limit: where all places are taken it waits, and as its place in the list is kept, it runs
    /// before those after it. One that waits to be tried again, or for its ``DownloadRequest/earliestBegin``, waits for that
    /// no more. Does nothing to one that runs, and to one whose file another download was added for meanwhile.
    public func resume() async {
        if case .finished = state {
            if await !fileExists { restart() }
        } else {
            manager.list.resume(id)
        }
    }

    /// Fetches a finished download again, when it is its turn; what happens to the file that is there is the request's
    /// ``DownloadRequest/conflictPolicy-swift.property``.
    ///
    /// Returns at once. Does nothing to a download that is not finished, and to one whose file another download was added
    /// for meanwhile.
    public func restart() {
        manager.list.restart(id)
    }

    /// Makes room for this download, where all places are taken, by sending a running one of a lower priority back to
    /// waiting: that of the lowest, and of several the newest.
    ///
    /// Returns at once. Does nothing to a download that does not wait, or where none that runs has a lower priority.
    public func preempt() {
        manager.list.preempt(for: id)
    }

    /// Cancels the download and removes its partial file; that is no failure.
    ///
    /// Returns when the transfer has ended, its place is free and the file is gone, also where the task that waits is
    /// cancelled; at once in a hook of this download, such as ``RetryPolicy/decide``, and in tasks that it starts. Does nothing
    /// to a download that is finished or cancelled. The file stays where the list is kept on a disk and cannot be written,
    /// which ``QueueEvent/registryFailed(_:)`` tells.
    public func cancel() async {
        try? await manager.cancel(.downloads([id]))
    }

    /// Takes the download out of the list, whatever it does.
    ///
    /// Returns when the transfer, where one ran, has ended, also where the task that waits is cancelled; at once in a hook of
    /// this download, such as ``RetryPolicy/decide``, and in tasks that it starts. One that had not ended is told to be
    /// cancelled.
    /// - Parameter deletingFile: Whether its file, finished or not, goes as well; it stays where ``cancel()`` leaves one, and
    ///   where it was there before the download.
    public func remove(deletingFile: Bool = false) async {
        try? await manager.remove(.downloads([id]), deletingFiles: deletingFile)
    }

    /// Changes the download's place in the list; one that runs goes on.
    ///
    /// Does nothing to a download that was taken out of the list.
    /// - Parameter place: Where it goes to.
    /// - Throws: `unknownDownload` for a place that the list does not have, and nothing changes.
    public func move(to place: QueuePosition) throws(DownloadError) {
        try manager.list.move(id, to: place)
    }

    /// Changes the priority, which decides before the order of the list who runs next.
    /// - Parameter priority: The greater, the sooner.
    public func setPriority(_ priority: DownloadPriority) {
        manager.list.setPriority(priority, of: id)
    }
}

extension Download: Hashable {
    /// Compares the identities of two handles.
    /// - Parameters:
    ///   - lhs: A handle.
    ///   - rhs: Another handle.
    /// - Returns: True when both are the same download of the same manager.
    public static func == (lhs: Download, rhs: Download) -> Bool {
        lhs.record === rhs.record
    }

    /// Hashes the identity.
    /// - Parameter hasher: The hasher to feed.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(record))
    }
}

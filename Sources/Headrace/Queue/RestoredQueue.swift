import HeadracePlatform

/// The queue read from the journal of the last manager, whose process may have been killed.
struct RestoredQueue: Sendable {
    /// A stored download and the state in which it is restored.
    struct Member: Sendable {
        let entry: RegistryEntry
        let request: DownloadRequest
        let names: DestinationPaths
        let state: DownloadState
        let file: FinishedFile?
        let progress: DownloadProgress

        var id: DownloadID { DownloadID(rawValue: entry.id) }
    }

    /// The downloads in queue order.
    private(set) var members: [Member] = []
    /// Entries that cannot become downloads in this process; they stay in the journal for another process.
    private(set) var leftOut: [RegistryEntry] = []
    /// The changes to record in the journal.
    ///
    /// Interrupted downloads become paused, requeued or finished. A download fails if an earlier one that has not ended
    /// has the same file.
    private(set) var changes: [RegistryChange] = []
    /// One sentence for each problem in the journal.
    private(set) var findings: [String]

    /// Restores the queue from a journal; blocks to inspect files.
    ///
    /// A download was interrupted if the journal records it as running or as being renamed. It is restored as:
    /// - finished, if its file has been renamed to the final name; its resume record is removed then;
    /// - otherwise paused, if `pausing` is `true` or its request must not be repeated;
    /// - otherwise waiting.
    ///
    /// If `isStarting` is `false`, because the manager starts no downloads, an interrupted download that is restored as
    /// waiting keeps its recorded state in the journal, so that the next manager still knows that it was interrupted.
    /// `partials` is the directory for partial files; `nil` if they are beside their destinations.
    init(
        _ snapshot: RegistrySnapshot,
        _ report: RegistryReport,
        bases: RegistryBaseDirectories,
        pausing: Bool,
        isStarting: Bool,
        partials: URL?,
        files: FileSystem
    ) {
        findings = report.sentences
        var folder: DownloadRequest.Destination?
        // Downloads that have not ended, by partial-file path.
        var open: [String: DownloadID] = [:]
        for var entry in snapshot.ordered {
            let id = DownloadID(rawValue: entry.id)
            guard var request = entry.request.downloadRequest(in: bases) else {
                leaveOut(entry)
                continue
            }
            // The downloads of a folder share one copy of its URL.
            if folder == request.destination, let folder { request.destination = folder }
            folder = request.destination
            let names = DestinationPaths(request)
            var (state, file) = entry.state.restored(
                request.url,
                bases: bases,
                // A request that must not be repeated, such as a POST, may already have had its effect on the server.
                pausing: pausing || !request.mayRepeat,
                files: files
            )
            if let change = entry.state.change(restoredAs: state, isStarting: isStarting) {
                self.change(&entry, to: change)
                if case .finished = change {
                    Self.removeLeftovers(of: names.partialPath(in: partials), SharedFileSystem(files))
                }
            }
            // A damaged queue, or one of an earlier release, may have two downloads of one file.
            if let other = open[names.partialPath], !state.isEnded { state = failed(&entry, request.url, like: other) }
            if !state.isEnded { open[names.partialPath] = id }
            members.append(
                Member(
                    entry: entry,
                    request: request,
                    names: names,
                    state: state,
                    file: file,
                    progress: entry.state.progress(file?.stamp, at: names.partialPath(in: partials), files)
                )
            )
        }
    }

    /// Removes the resume record of a file that has its final name, and the partial file from which the final file was
    /// decoded or copied.
    private static func removeLeftovers(of partialPath: String, _ files: SharedFileSystem) {
        let recordFile = RecordFile(of: partialPath, calls: files)
        if case .record(let record)? = try? recordFile.read(), record.decoded != nil,
            let original = try? PartialFile.existing(partialPath, calls: files)
        {
            original.remove()
            original.close()
        }
        recordFile.remove()
    }

    private mutating func leaveOut(_ entry: RegistryEntry) {
        findings.append(entry.leftOut)
        leftOut.append(entry)
    }

    private mutating func failed(_ entry: inout RegistryEntry, _ url: URL, like other: DownloadID) -> DownloadState {
        let error = DownloadError(.busy, "The download \(other) has the same file. Remove one of the two.", url: url)
        change(&entry, to: RegistryEntry.State(error))
        return .failed(error)
    }

    /// Adds a new state of a download to ``changes``; an ended state gets the present time.
    private mutating func change(_ entry: inout RegistryEntry, to state: RegistryEntry.State) {
        entry.ended = state.isEnded ? WallTime.milliseconds() : nil
        changes.append(.state(entry.id, state, at: entry.ended))
    }
}

extension RegistryReport {
    /// One sentence for each problem, and one for the copy of the damaged file.
    fileprivate var sentences: [String] {
        findings.sentences + (unreadCopy.map { ["A copy of the damaged file was saved as \($0)."] } ?? [])
    }
}

extension RegistryEntry {
    /// The sentence for the user about an entry that cannot become a download.
    var leftOut: String {
        "The saved download \(DownloadID(rawValue: id)) was skipped: its URL is invalid or its folder unknown here."
    }
}

extension RegistryEntry.State {
    /// Creates the state of a failed download; truncates the message, since it may contain a long text from a server.
    init(_ error: DownloadError) {
        self = .failed(
            code: error.code.description,
            message: String(error.message.prefix(2000)),
            status: error.statusCode
        )
    }

    /// Returns the state in which this process restores the download, and the finished file, if any.
    ///
    /// With `pausing`, an interrupted download is restored as paused. Without `files`, an interrupted renaming of a
    /// finished file counts as not done. A finished download is restored as waiting if the base directory of its file
    /// is unknown in this process.
    func restored(
        _ url: URL,
        bases: RegistryBaseDirectories,
        pausing: Bool = false,
        files: FileSystem? = nil
    ) -> (DownloadState, FinishedFile?) {
        switch self {
        case .waiting, .requeued: return (.waiting, nil)
        case .running: return (pausing ? .paused : .waiting, nil)
        case .paused: return (.paused, nil)
        case .cancelled: return (.cancelled, nil)
        case .failed(let code, let message, let status):
            return (.failed(DownloadError(DownloadError.Code(code), message, statusCode: status, url: url)), nil)
        case .finished(let path, let stamp), .skipped(let path, let stamp):
            guard let path = path.resolved(in: bases) else { return (.waiting, nil) }
            return restored(at: path, stamp)
        case .finishing(let path, let stamp):
            // The earlier process ended during the renaming: the file itself shows whether it was renamed.
            guard let path = path.resolved(in: bases), let status = try? files?.status(path),
                FileStamp(status) == stamp
            else { return (pausing ? .paused : .waiting, nil) }
            return restored(at: path, stamp)
        }
    }

    /// Returns the state to record in the journal for an interrupted download; `nil` if the recorded state stays.
    fileprivate func change(restoredAs state: DownloadState, isStarting: Bool) -> Self? {
        switch (self, state) {
        case (.running, .paused), (.finishing, .paused): .paused
        // A manager that starts nothing leaves the recorded state unchanged.
        case (.running, .waiting), (.finishing, .waiting): isStarting ? .requeued : nil
        case (.finishing(let path, let stamp), .finished): .finished(path, stamp)
        default: nil
        }
    }

    private func restored(at path: String, _ stamp: FileStamp) -> (DownloadState, FinishedFile?) {
        let url = URL(filePath: path, directoryHint: .notDirectory)
        let wasThere = if case .skipped = self { true } else { false }
        return (.finished(url), FinishedFile(url: url, stamp: stamp, wasThere: wasThere))
    }

    /// Returns the progress of a restored download; `stamp` is that of its finished file, if any.
    ///
    /// Blocks to inspect the partial file if there is no stamp, unless the download has not begun or was cancelled.
    func progress(_ stamp: FileStamp?, at partialPath: String, _ files: FileSystem) -> DownloadProgress {
        switch self {
        case .waiting, .cancelled: DownloadProgress()
        case .requeued, .running, .paused, .failed, .finishing, .finished, .skipped:
            DownloadProgress(stamp, orPartialAt: partialPath, files)
        }
    }
}

extension DownloadProgress {
    /// Creates the progress of a finished file, or of a partial file that another process may be writing; blocks.
    fileprivate init(_ finished: FileStamp?, orPartialAt path: String, _ files: FileSystem) {
        if let finished {
            self.init(bytesReceived: finished.size, totalBytes: finished.size)
            return
        }
        guard let status = try? files.status(path) else {
            self.init()
            return
        }
        guard case .record(let record) = try? RecordFile(of: path, calls: SharedFileSystem(files)).read() else {
            self.init(bytesReceived: files.dataCount(path, status))
            return
        }
        // Parallel connections leave gaps in the file, so that its size is not the number of received bytes.
        let bootID = (try? files.bootID()) ?? ""
        let received = record.trusted(bootID: bootID, fileSize: status.size, file: status.identity)
        self.init(bytesReceived: received.count, totalBytes: record.totalBytes)
    }
}

extension DownloadRecord {
    convenience init(_ member: RestoredQueue.Member, number: Int, observers: QueueObservers) {
        let entry = member.entry
        self.init(
            id: member.id,
            number: number,
            added: entry.added,
            request: member.request,
            names: member.names,
            withoutSecrets: entry.request.lacksSecrets ? entry.request : nil,
            backgroundNote: entry.background,
            state: member.state,
            progress: member.progress,
            observers: observers
        )
        status.restoreTimes(started: entry.started, ended: member.state.isEnded ? entry.ended : nil)
    }
}

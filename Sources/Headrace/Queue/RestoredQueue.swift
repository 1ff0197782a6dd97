import HeadracePlatform

/// A list as it was when its last manager ended, however it ended.
struct RestoredQueue: Sendable {
    /// A download, and where it stands now.
    struct Member: Sendable {
        var id: DownloadID
        var request: DownloadRequest
        var names: DestinationPaths
        /// What was kept of the request, where that is not all of it.
        var withoutSecrets: RegistryRequest?
        var state: DownloadState
        var file: FinishedFile?
        var progress: DownloadProgress
        var label: Int64
        var number: Int?
        var background: BackgroundTaskState?
    }

    /// In the order of the list.
    private(set) var members: [Member] = []
    /// What cannot be made a download of in this process, and stays in the journal for one in which it can.
    private(set) var leftOut: [RegistryEntry] = []
    /// What is otherwise than the journal has it: what ran is paused, or had got its name, or has a file of another one.
    private(set) var changes: [RegistryChange] = []
    /// What in it was not as it was written, each a sentence.
    private(set) var findings: [String]

    /// Reads what a journal told; blocks for files that were about to get their names.
    init(
        _ image: RegistrySnapshot,
        _ report: RegistryReport,
        bases: RegistryBaseDirectories,
        pausing: Bool,
        isStarting: Bool,
        files: FileSystem
    ) {
        findings = report.findings.sentences
        if let copy = report.unreadCopy { findings.append("What could not be read is kept as \(copy).") }
        var folder: DownloadRequest.Destination?
        // Those that have not ended, by the path of their partial.
        var open: [String: DownloadID] = [:]
        for entry in image.ordered {
            let id = DownloadID(rawValue: entry.id)
            guard var request = entry.request.downloadRequest(in: bases) else {
                findings.append(entry.leftOut)
                leftOut.append(entry)
                continue
            }
            // Of the many downloads of one folder, each would have a copy of its URL.
            if folder == request.destination, let folder { request.destination = folder }
            folder = request.destination
            // What it was changed to since.
            request.priority = DownloadPriority(rawValue: entry.request.priority)
            let names = DestinationPaths(request)
            var (state, file) = entry.state.restored(request.url, bases: bases, pausing: pausing, files: files)
            switch (entry.state, state) {
            case (.running, .paused), (.finishing, .paused): changes.append(.state(entry.id, .paused))
            case (.running, .waiting), (.finishing, .waiting):
                // Until somebody starts it, it is one that ran.
                if isStarting { changes.append(.state(entry.id, .requeued)) }
            case (.finishing(let path, let stamp), .finished):
                changes.append(.state(entry.id, .finished(path, stamp)))
                RecordFile(of: names.partialPath, calls: SharedFileSystem(files)).remove()
            default: break
            }
            if let other = open[names.partialPath], !state.isEnded {
                // Of a list that was damaged, or is of an earlier release: one file has one download.
                let error = DownloadError.sameFile(request.url, as: other)
                state = .failed(error)
                changes.append(.state(entry.id, RegistryEntry.State(error)))
            }
            if !state.isEnded { open[names.partialPath] = id }
            members.append(
                Member(
                    id: id,
                    request: request,
                    names: names,
                    withoutSecrets: entry.request.lacksSecrets ? entry.request : nil,
                    state: state,
                    file: file,
                    progress: entry.state.progress(file?.stamp, at: names.partialPath, files),
                    label: entry.label,
                    number: entry.number,
                    background: entry.background
                )
            )
        }
    }
}

extension RegistryEntry {
    /// What is told of it where it cannot be made a download of.
    var leftOut: String {
        "The download \(DownloadID(rawValue: id)) is kept, but left out: its URL or its folder is none here."
    }
}

extension RegistryEntry.State {
    /// That of a download that failed; the message may hold what a server sent.
    init(_ error: DownloadError) {
        self = .failed(
            code: error.code.description,
            message: String(error.message.prefix(2000)),
            status: error.statusCode
        )
    }

    /// What a state means after the process that wrote it.
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
            let code = DownloadError.Code(name: code) ?? .fileSystem
            return (.failed(DownloadError(code, message, statusCode: status, url: url)), nil)
        case .finished(let path, let stamp), .skipped(let path, let stamp):
            guard let path = path.resolved(in: bases) else { return (.waiting, nil) }
            return restored(at: path, stamp)
        case .finishing(let path, let stamp):
            // Whether it got its name is told by the file itself.
            guard let path = path.resolved(in: bases), let status = try? files?.status(path),
                FileStamp(status) == stamp
            else { return (pausing ? .paused : .waiting, nil) }
            return restored(at: path, stamp)
        }
    }

    private func restored(at path: String, _ stamp: FileStamp) -> (DownloadState, FinishedFile?) {
        let url = URL(filePath: path, directoryHint: .notDirectory)
        let wasThere = if case .skipped = self { true } else { false }
        return (.finished(url), FinishedFile(url: url, stamp: stamp, wasThere: wasThere))
    }

    /// How far a download was; blocks, but not for one that has not begun, of which a list may have thousands.
    func progress(_ stamp: FileStamp?, at partialPath: String, _ files: FileSystem) -> DownloadProgress {
        switch self {
        case .waiting, .cancelled: DownloadProgress()
        case .requeued, .running, .paused, .failed, .finishing, .finished, .skipped:
            DownloadProgress(stamp, orPartialAt: partialPath, files)
        }
    }
}

extension DownloadProgress {
    /// What a finished file, or the partial of an earlier run or of another process, tells; blocks.
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
            self.init(bytesReceived: status.size)
            return
        }
        // Of several connections' bytes there are gaps in the file, so that its size tells nothing.
        let bootID = (try? files.bootID()) ?? ""
        let held = record.trusted(bootID: bootID, fileSize: status.size, file: status.identity)
        self.init(bytesReceived: held.count, totalBytes: record.totalBytes)
    }
}

extension DownloadRecord {
    convenience init(_ member: RestoredQueue.Member, number: Int, observers: QueueObservers) {
        self.init(
            id: member.id,
            number: number,
            request: member.request,
            names: member.names,
            withoutSecrets: member.withoutSecrets,
            backgroundNote: member.background,
            state: member.state,
            progress: member.progress,
            observers: observers
        )
    }
}

extension DownloadError {
    fileprivate static func sameFile(_ url: URL, as other: DownloadID) -> DownloadError {
        DownloadError(.busy, "The download \(other) of the list has the same file. Remove one of the two.", url: url)
    }
}

public import HeadracePlatform

/// The registry of a list of downloads as any process sees it, also while a manager of another process has it.
///
///     let registry = DownloadRegistry(directory: folder)
///     for download in try await registry.downloads() { print(download.id, download.state.kind) }
///     try await registry.perform(.pause(ids))
///
/// Reading takes no lock and changes nothing. A command is left in the directory, for the manager that has the list, which
/// takes it with ``DownloadManager/takeCommands()`` and when it starts; where none has it, it is carried out at once. What a
/// manager that was killed has not taken, ``takeCommands()`` carries out, or the next command.
public struct DownloadRegistry: Sendable, Hashable {
    /// Something to do to a list; identities that it does not have, or no more, are passed over.
    public enum Command: Sendable, Hashable {
        /// Pauses downloads.
        case pause([DownloadID])
        /// Has downloads wait for their turn, as ``Download/resume()`` does.
        case resume([DownloadID])
        /// Has those that failed wait for their turn.
        case retry([DownloadID])
        /// Cancels downloads and removes their partial files.
        case cancel([DownloadID])
        /// Takes downloads out of the list.
        case remove([DownloadID], deletingFiles: Bool)
        /// Changes a download's place in the list.
        case move(DownloadID, to: QueuePosition)
        /// Changes the priority of a download.
        case setPriority(DownloadPriority, DownloadID)
    }

    /// How long a manager that has the list may take to carry out a command before nobody waits for it.
    private static func timeout(for command: RegistryCommand) -> Duration {
        // Of a hundred thousand downloads it takes some seconds.
        .seconds(3) + .microseconds(200) * command.recordCount
    }

    /// The registry's own directory; see ``DownloadConfiguration/registryDirectory``.
    public let directory: URL

    /// Creates a view of a registry; nothing is read or made.
    /// - Parameter directory: The registry's own directory.
    public init(directory: URL) {
        self.directory = directory
    }

    /// Reads the list as its manager has written it; of a registry that is not there, an empty one.
    ///
    /// Progress is what the disk tells: the bytes
    /// of the partial files, and the sizes where they were recorded.
    /// - Returns: The downloads in their order.
    /// - Throws: `permission` or `fileSystem` where the registry cannot be read, or is of a later release.
    public func downloads() async throws(DownloadError) -> [DownloadSnapshot] {
        try await read().downloads
    }

    /// Carries out what was left, as ``takeCommands()`` does, and reads the list.
    /// - Returns: The downloads in their order, and what in the registry is not as it was written, each a sentence.
    /// - Throws: As ``downloads()``; who may only read the list sees it as it is.
    package func present() async throws(DownloadError) -> (downloads: [DownloadSnapshot], findings: [String]) {
        var earlier: Reading?
        if (try? await hasCommands) == true {
            // What is damaged goes as soon as the list is written anew.
            earlier = try await read()
            _ = try? await withListTakingCommands()
        }
        let present = try await read()
        let earlierFindings = earlier?.findings ?? []
        var findings = earlierFindings + present.findings.filter { !earlierFindings.contains($0) }
        let copy = directory.appending(path: RegistryStore.fileName + RegistryStore.unreadSuffix).filePath
        if present.hasLoss, !present.isRun {
            findings.append("The next change of the list keeps it as it is now, as \(copy).")
        } else if earlier?.hasLoss == true, !present.hasLoss {
            findings.append("The list as it was is kept as \(copy).")
        }
        return (present.downloads, findings)
    }

    private struct Reading: Sendable {
        var downloads: [DownloadSnapshot] = []
        var findings: [String]
        /// Whether something is lost, which is still to be read.
        let hasLoss: Bool
        let isRun: Bool
    }

    private func read() async throws(DownloadError) -> Reading {
        try await blocking { () throws(DownloadError) in
            let bases = RegistryBaseDirectories(of: directory)
            let (image, found) = try RegistryFile.read(directory.filePath, calls: .system)
            let isRun = RegistryLock.holder(in: directory.filePath, calls: .system) != nil
            var reading = Reading(findings: found.ofReader.sentences, hasLoss: found.hasLoss, isRun: isRun)
            for entry in image.ordered {
                guard let request = entry.request.downloadRequest(in: bases) else {
                    reading.findings.append(entry.leftOut)
                    continue
                }
                let (state, file) = entry.state.restored(request.url, bases: bases)
                reading.downloads.append(
                    DownloadSnapshot(
                        id: DownloadID(rawValue: entry.id),
                        number: entry.number,
                        request: request,
                        state: isRun && entry.state.isRunning ? .running : state,
                        priority: request.priority,
                        progress: entry.state.progress(
                            file?.stamp,
                            at: DestinationPaths(request).partialPath,
                            .system
                        )
                    )
                )
            }
            return reading
        }
    }

    /// The process whose manager runs the list, as that one has told; nil where none does.
    ///
    /// One that has the list for a moment to change it, or with ``DownloadConfiguration/startsDownloads`` false, is none.
    ///
    /// Of one that was killed, the number may have gone to another process by now.
    public var processID: Int32? {
        get async throws(DownloadError) {
            try await blocking { RegistryLock.holder(in: directory.filePath, calls: .system) }
        }
    }

    /// Carries out the commands that were left for a manager that has ended before it took them.
    ///
    /// Does nothing where there are none, and where a manager has the list, which takes them itself.
    /// - Throws: What keeps the directory from being read, or the registry from being written; the commands stay there then.
    public func takeCommands() async throws(DownloadError) {
        if try await hasCommands { _ = try await withListTakingCommands() }
    }

    private var hasCommands: Bool {
        get async throws(DownloadError) {
            try await blocking { () throws(DownloadError) in try CommandSpool(in: directory.filePath).hasCommands }
        }
    }

    /// Adds downloads to the list.
    ///
    /// Secrets are not kept, so that a request with some fails when it is its turn; see ``HeaderField/isSecret``.
    /// - Parameter requests: What to download and where to put it.
    /// - Returns: The identity of each download, that of the one in the list where it has the file already, and whether they
    ///   are in the list now; else the manager that has it adds them, under these identities unless somebody else adds the same
    ///   file before.
    /// - Throws: `invalidRequest` for the first request that cannot be made, or that contradicts what the one in the list
    ///   tells of the file, and what keeps the registry from being written; then none is added. Where somebody else adds the
    ///   same file at the same moment with another checksum or size, the others are. `fileSystem` as ``perform(_:)``.
    @discardableResult
    public func add(_ requests: [DownloadRequest]) async throws(DownloadError) -> (ids: [DownloadID], isDone: Bool) {
        for request in requests { try request.validate() }
        guard !requests.isEmpty else { return ([], true) }
        let ids = try await withList { manager throws(DownloadError) in
            try await manager.download(requests).map(\.id)
        }
        return if let ids { (ids, true) } else { try await post(requests) }
    }

    /// Leaves downloads for the manager that has the list.
    private func post(_ requests: [DownloadRequest]) async throws(DownloadError) -> (ids: [DownloadID], isDone: Bool) {
        let bases = try await blocking { RegistryBaseDirectories(of: directory) }
        var active = try await active()
        var (ids, entries): ([DownloadID], [RegistryEntry]) = ([], [])
        for request in requests {
            let path = DestinationPaths(request).partialPath
            let twin = active[path]
            let (id, known) = (twin?.id ?? .random(), twin?.expectations ?? FileExpectations())
            let expectations = try known.adding(request.expectations, of: request.url)
            active[path] = (id, expectations)
            ids.append(id)
            // Of one that is there only what its file has to be is taken over.
            guard twin == nil || expectations != known else { continue }
            entries.append(RegistryEntry(id: id.rawValue, RegistryRequest(request, bases: bases), label: 0))
        }
        guard !entries.isEmpty else { return (ids, true) }
        for entry in entries { try RegistryEncoder.check(entry.request) }
        guard try await post(.add(entries)) else { return (ids, false) }
        // Meanwhile somebody else may have added the same file.
        active = try await self.active()
        for (index, request) in requests.enumerated() {
            guard let twin = active[DestinationPaths(request).partialPath] else { continue }
            _ = try twin.expectations.adding(request.expectations, of: request.url)
            ids[index] = twin.id
        }
        return (ids, true)
    }

    /// The downloads that have not ended, by the path of their partial: one file has one download.
    private func active() async throws(DownloadError) -> [String: (id: DownloadID, expectations: FileExpectations)] {
        try await blocking { () throws(DownloadError) in
            let bases = RegistryBaseDirectories(of: directory)
            var active: [String: (id: DownloadID, expectations: FileExpectations)] = [:]
            for entry in try RegistryFile.read(directory.filePath, calls: .system).image.entries {
                guard let request = entry.request.downloadRequest(in: bases),
                    !entry.state.restored(request.url, bases: bases).0.isEnded
                else { continue }
                active[DestinationPaths(request).partialPath] = (DownloadID(rawValue: entry.id), request.expectations)
            }
            return active
        }
    }

    /// Has a command carried out: at once where no manager has the list, else by the one that has it.
    ///
    /// Waits three seconds for that one, and longer for thousands of downloads, so that who reads the list next sees what was
    /// done. A command that is not done by then stays there and is carried out later, also where the task is cancelled.
    /// - Parameter command: What to do.
    /// - Returns: Whether it is done.
    /// - Throws: What keeps the registry from being written, and `fileSystem` where the manager that has it has set the command
    ///   aside, as one of an earlier release does with what it does not know.
    @discardableResult
    public func perform(_ command: Command) async throws(DownloadError) -> Bool {
        let command = RegistryCommand(command)
        let done: Void? = try await withList { manager throws(DownloadError) in
            try await manager.carryOutAndFlush(command)
        }
        return done != nil ? true : try await post(command)
    }

    /// Leaves a command for the manager that has the list, and waits for a moment; false where it is not done by then.
    private func post(_ command: RegistryCommand) async throws(DownloadError) -> Bool {
        let file = try await blocking { () throws(DownloadError) in
            try CommandSpool(in: directory.filePath).post(command)
        }
        let end = ContinuousClock.now + Self.timeout(for: command)
        // It takes a few milliseconds where that one is told of the command, and else a part of a second.
        var pause = Duration.milliseconds(1)
        repeat {
            let (isRun, isDone) = try await blocking { () throws(DownloadError) in
                (
                    RegistryLock.holder(in: directory.filePath, calls: .system) != nil,
                    try CommandSpool(in: directory.filePath).isDone(file)
                )
            }
            if isDone { return true }
            // Whoever had the list may have ended without having seen the command.
            if !isRun, try await withListTakingCommands() {
                return try await blocking { () throws(DownloadError) in
                    try CommandSpool(in: directory.filePath).isDone(file)
                }
            }
            pause = min(pause * 2, .milliseconds(25))
        } while await sleeps(for: pause, until: end)
        return false
    }

    /// Waits a moment; false where the end is reached, or the task cancelled.
    private func sleeps(for pause: Duration, until end: ContinuousClock.Instant) async -> Bool {
        guard ContinuousClock.now < end else { return false }
        return (try? await Task.sleep(for: pause)) != nil
    }

    /// Carries out what was left; false where a manager of another process has the list.
    private func withListTakingCommands() async throws(DownloadError) -> Bool {
        // The start of a manager takes them, and only tells what it could not do.
        let done: Void? = try await withList { manager throws(DownloadError) in try await manager.takeCommands() }
        return done != nil
    }

    /// Runs `body` with the list; nil where a manager of another process has it.
    private func withList<Value>(
        _ body: (DownloadManager) async throws(DownloadError) -> Value
    ) async throws(DownloadError) -> Value? {
        let configuration = DownloadConfiguration {
            $0.registryDirectory = directory
            $0.startsDownloads = false
        }
        let manager: DownloadManager
        do throws(DownloadError) {
            manager = try await DownloadManager(
                environment: TransferEnvironment(
                    configuration: configuration,
                    transport: NoTransport(),
                    clock: AnyClock(ContinuousClock())
                )
            )
        } catch  where error.code == .busy {
            return nil
        }
        // What was left before comes before, also where it takes longer than the start waits for.
        try? await manager.takeCommands()
        do throws(DownloadError) {
            let value = try await body(manager)
            await manager.shutdown()
            return value
        } catch {
            await manager.shutdown()
            throw error
        }
    }

    private func blocking<Value: Sendable>(
        _ body: @escaping @Sendable () throws(DownloadError) -> Value
    ) async throws(DownloadError) -> Value {
        let executor = try BlockingExecutor.forFiles("headrace-registry", maxThreads: 1, maxWorking: 1)
        do throws(DownloadError) {
            let value = try await executor.run(body)
            await executor.shutdown()
            return value
        } catch {
            await executor.shutdown()
            throw error
        }
    }
}

extension RegistryCommand {
    fileprivate init(_ command: DownloadRegistry.Command) {
        self =
            switch command {
            case .pause(let ids): .pause(ids.map(\.rawValue))
            case .resume(let ids): .resume(ids.map(\.rawValue))
            case .retry(let ids): .retry(ids.map(\.rawValue))
            case .cancel(let ids): .cancel(ids.map(\.rawValue))
            case .remove(let ids, let deletingFiles): .remove(ids.map(\.rawValue), deletingFiles: deletingFiles)
            case .move(let id, let place): .move(id.rawValue, place)
            case .setPriority(let priority, let id): .priority(id.rawValue, priority.rawValue)
            }
    }
}

extension RegistryEntry.State {
    fileprivate var isRunning: Bool {
        switch self {
        case .running, .finishing: true
        default: false
        }
    }
}

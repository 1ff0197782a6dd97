public import HeadracePlatform

/// Reads and changes a saved queue from any process, even while a manager in another process uses it.
///
///     let registry = DownloadRegistry(directory: folder)
///     for download in try await registry.downloads() { print(download.id, download.state.kind) }
///     try await registry.perform(.pause(ids))
///
/// Reading takes no lock and changes nothing. If a manager uses the registry, a command is left in the registry's
/// directory. That manager carries it out in ``DownloadManager/serveCommands(untilIdle:)`` or
/// ``DownloadManager/takeCommands()``; if it does not, the next manager carries it out when it starts. If no manager
/// uses the registry, the command is carried out immediately, after any commands that a manager left behind.
public struct DownloadRegistry: Sendable, Hashable {
    /// A change to the queue; identities that are not in the queue are skipped.
    public enum Command: Sendable, Hashable {
        /// Pauses downloads.
        case pause([DownloadID])
        /// Queues downloads again, as ``Download/resume()`` does.
        case resume([DownloadID])
        /// Queues downloads again if they have failed.
        case retry([DownloadID])
        /// Cancels downloads and deletes their partial files.
        case cancel([DownloadID])
        /// Removes downloads from the queue; running downloads are stopped first.
        ///
        /// With `deletingFiles`, the finished and partial files of these downloads are deleted too, except finished
        /// files that existed before the download or were changed since.
        case remove([DownloadID], deletingFiles: Bool)
        /// Moves a download to another position in the queue; does nothing if the queue has no such position.
        case move(DownloadID, to: QueuePosition)
        /// Changes the priority of a download.
        case setPriority(DownloadPriority, DownloadID)
        /// Replaces the URL of a download, as ``Download/setURL(_:)`` does; the URL must not contain a user or
        /// password.
        case setURL(URL, DownloadID)
    }

    /// The time to wait for the manager that uses the registry to carry out a command.
    private static func timeout(for command: RegistryCommand) -> Duration {
        // A command on a hundred thousand downloads takes some seconds.
        .seconds(3) + .microseconds(200) * command.recordCount
    }

    /// The registry's own directory; see ``DownloadConfiguration/registryDirectory``.
    public let directory: URL
    /// The simulated system of a test; `nil` for the real one.
    private let simulated: SimulatedSystem?

    private var calls: FileSystem { simulated?.files ?? .system }
    private var clock: AnyClock { simulated?.clock ?? AnyClock(ContinuousClock()) }

    /// Creates a view of a registry, without reading or creating anything.
    /// - Parameter directory: The registry's own directory.
    public init(directory: URL) {
        self.init(directory: directory, in: nil)
    }

    /// Creates a view of a registry in a simulation.
    package init(directory: URL, in simulated: SimulatedSystem?) {
        self.directory = directory
        self.simulated = simulated
    }

    /// Returns whether the directories of two views have the same URL.
    public static func == (left: DownloadRegistry, right: DownloadRegistry) -> Bool {
        left.directory == right.directory
    }

    /// Hashes the directory.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(directory)
    }

    /// Reads the queue as its manager last wrote it.
    ///
    /// The progress is read from the disk: from the recorded sizes of finished files, and from partial files and their
    /// resume records.
    /// - Returns: The downloads in queue order; empty if there is no registry.
    /// - Throws: `permission` or `fileSystem` if the registry cannot be read or was written by a later release.
    public func downloads() async throws(DownloadError) -> [DownloadSnapshot] {
        try await read().downloads
    }

    /// Carries out pending commands as ``takeCommands()`` does, but ignores errors, and then reads the queue.
    /// - Returns: The downloads in queue order, and sentences about damage and about commands that were not carried out.
    /// - Throws: The same errors as ``downloads()``.
    package func present() async throws(DownloadError) -> (downloads: [DownloadSnapshot], findings: [String]) {
        var (earlier, ofCommands): (Reading?, [String]) = (nil, [])
        if (try? await hasCommands) == true {
            // Carrying out commands may rewrite the registry without its damaged entries, so these are reported first.
            earlier = try await read()
            ofCommands = (try? await withList { $0.observers.laterFindings }) ?? []
        }
        let present = try await read()
        let earlierFindings = earlier?.findings ?? []
        var findings = earlierFindings + ofCommands + present.findings.filter { !earlierFindings.contains($0) }
        let copy = directory.appending(path: RegistryStore.fileName + RegistryStore.unreadSuffix).filePath
        if present.hasLoss, !present.isRun {
            findings.append("The next change to the queue will save the present registry as \(copy).")
        } else if earlier?.hasLoss == true, !present.hasLoss {
            findings.append("The previous registry was saved as \(copy).")
        }
        return (present.downloads, findings)
    }

    private struct Reading: Sendable {
        var downloads: [DownloadSnapshot] = []
        var findings: [String]
        /// Whether rewriting the registry would lose entries.
        let hasLoss: Bool
        let isRun: Bool
    }

    private func read() async throws(DownloadError) -> Reading {
        try await blocking { () throws(DownloadError) in
            let bases = RegistryBaseDirectories(of: directory)
            let (snapshot, found) = try RegistryFile.read(directory.filePath, calls: calls)
            let isRun = RegistryLock.holder(in: directory.filePath, calls: calls) != nil
            let partials = RegistryPartials(in: directory.filePath, bases: bases, calls: calls).directory
            var reading = Reading(findings: found.ofReader.sentences, hasLoss: found.hasLoss, isRun: isRun)
            for entry in snapshot.ordered {
                guard let request = entry.request.downloadRequest(in: bases) else {
                    reading.findings.append(entry.leftOut)
                    continue
                }
                let (state, file) = entry.state.restored(request.url, bases: bases, pausing: !request.mayRepeat)
                let partialPath = DestinationPaths(request).partialPath(in: partials)
                var snapshot =
                    DownloadSnapshot(
                        id: DownloadID(rawValue: entry.id),
                        number: entry.number,
                        request: request,
                        state: isRun && entry.state.isRunning ? .running : state,
                        priority: request.priority,
                        progress: entry.state.progress(file?.stamp, at: partialPath, calls)
                    )
                snapshot.position = reading.downloads.count
                snapshot.partialsDirectory = partials
                snapshot.setDates(added: entry.added, started: entry.started, ended: entry.ended)
                reading.downloads.append(snapshot)
            }
            return reading
        }
    }

    /// The identifier of the process whose manager runs the queue; `nil` if there is none.
    ///
    /// A process that only changes the queue, or whose ``DownloadConfiguration/startsDownloads`` is `false`, does not
    /// count, nor does a process that has ended.
    public var processID: Int32? {
        get async throws(DownloadError) {
            try await blocking { RegistryLock.holder(in: directory.filePath, calls: calls) }
        }
    }

    /// Carries out the commands that a manager had not carried out when its process ended.
    ///
    /// Does nothing if there are none, or if a manager uses the registry: that manager carries them out itself.
    /// - Throws: Any error from reading the directory or writing the registry; then the commands remain.
    public func takeCommands() async throws(DownloadError) {
        if try await hasCommands { _ = try await withListTakingCommands() }
    }

    private var hasCommands: Bool {
        get async throws(DownloadError) {
            try await blocking { () throws(DownloadError) in
                try CommandSpool(in: directory.filePath, calls: calls).hasCommands
            }
        }
    }

    /// Adds downloads to the queue; a manager that uses the registry adds them as soon as it reads the command.
    ///
    /// Secrets are not saved, so a request with secrets fails when it starts; see ``HeaderField/isSecret``.
    /// - Parameter requests: The files to download and their destinations.
    /// - Returns: The identity of each download, in the order of the requests, and whether all are in the queue now. A
    ///   request for the file of an active download gets its identity. `isDone` is `false` in these cases:
    ///   - The manager has not carried out the command in time, or the task was cancelled. The downloads are then added
    ///     later. One gets another identity if the same file is added or resumed in another way before that, or if the
    ///     active download of its file ends without the size or checksums that the request expects.
    ///   - A request was skipped, or a download has left the queue again.
    /// - Throws: `invalidRequest` for the first request that is invalid or contradicts an active download of the same
    ///   file, or an error from writing the registry; nothing is added then. `invalidRequest` also if another process
    ///   adds the same file at the same moment with a different checksum or size; the other requests are added then.
    ///   `fileSystem` if the manager does not understand the command; see ``perform(_:)``.
    @discardableResult
    public func add(_ requests: [DownloadRequest]) async throws(DownloadError) -> (ids: [DownloadID], isDone: Bool) {
        for request in requests { try request.validate() }
        guard !requests.isEmpty else { return ([], true) }
        let ids = try await withList { manager throws(DownloadError) in
            try await manager.download(requests).map(\.id)
        }
        return if let ids { (ids, true) } else { try await post(requests) }
    }

    /// Posts a command to add the downloads to the manager that uses the registry, and waits as ``perform(_:)`` does.
    private func post(_ requests: [DownloadRequest]) async throws(DownloadError) -> (ids: [DownloadID], isDone: Bool) {
        let bases = try await blocking { RegistryBaseDirectories(of: directory) }
        var active = try await known().compactMapValues { $0.first(where: \.isActive) }
        var (ids, entries): ([DownloadID], [RegistryEntry]) = ([], [])
        var random = simulated?.random ?? .system
        for request in requests {
            try request.body?.requireSavable()
            let path = DestinationPaths(request).partialPath
            var known =
                active[path]
                ?? Known(id: .random(using: &random), requiresPublicAddress: request.requiresPublicAddress)
            known.expectations = try known.expectations(joinedBy: request)
            active[path] = known
            let id = known.id
            ids.append(id)
            // Posted even if the download is active on the disk: its manager may not have written its removal yet.
            entries.append(RegistryEntry(id: id.rawValue, RegistryRequest(request, bases: bases), label: 0))
        }
        for entry in entries { try RegistryEncoder.check(entry.request) }
        guard try await post(.add(entries)) else { return (ids, false) }
        // Meanwhile another process may have added the file, or its download may have ended without the expectations.
        let present = try await known()
        var isDone = true
        for (index, request) in requests.enumerated() {
            let known = present[DestinationPaths(request).partialPath] ?? []
            let id = try known.identity(of: request, posted: ids[index])
            isDone = isDone && id != nil
            ids[index] = id ?? ids[index]
        }
        return (ids, isDone)
    }

    /// Returns the downloads of the queue on the disk by the path of the partial file; at most one per path is active.
    private func known() async throws(DownloadError) -> [String: [Known]] {
        try await blocking { () throws(DownloadError) in
            let bases = RegistryBaseDirectories(of: directory)
            var known: [String: [Known]] = [:]
            for entry in try RegistryFile.read(directory.filePath, calls: calls).snapshot.entries {
                guard let request = entry.request.downloadRequest(in: bases) else { continue }
                let isActive = !entry.state.restored(request.url, bases: bases).0.isEnded
                let id = DownloadID(rawValue: entry.id)
                known[DestinationPaths(request).partialPath, default: []].append(
                    Known(
                        id: id,
                        number: entry.number ?? 0,
                        expectations: request.expectations,
                        requiresPublicAddress: request.requiresPublicAddress,
                        isActive: isActive
                    )
                )
            }
            return known
        }
    }

    /// Carries out a command immediately or, if a manager uses the registry, leaves it for that manager.
    ///
    /// Waits up to three seconds for the manager, longer for thousands of downloads, so that the next reading of the
    /// queue shows the result. If the command is not done by then, or if the task is cancelled, the command remains and
    /// is carried out later.
    /// - Parameter command: The change to make.
    /// - Returns: Whether the command is done.
    /// - Throws: Any error from writing the registry. `invalidRequest` if a new URL is invalid, contains a user or
    ///   password (which are never saved), or cannot be saved in the queue. `fileSystem` if the manager could not read
    ///   or understand the command, for example because the manager is of an earlier release.
    @discardableResult
    public func perform(_ command: Command) async throws(DownloadError) -> Bool {
        if case .setURL(let url, _) = command {
            try url.validate()
            guard url.login == nil else {
                throw DownloadError(.invalidRequest, "The new URL has a user or a password, which are never saved.")
            }
        }
        let command = RegistryCommand(command)
        let done: Void? = try await withList { manager throws(DownloadError) in
            try await manager.commandServer.carryOutAndFlush(command, for: manager)
        }
        return done != nil ? true : try await post(command)
    }

    /// Leaves a command for the registry's manager and waits; returns `false` on timeout or if the task is cancelled.
    private func post(_ command: RegistryCommand) async throws(DownloadError) -> Bool {
        let file = try await blocking { () throws(DownloadError) in
            try CommandSpool(in: directory.filePath, calls: calls).post(command)
        }
        let clock = clock
        let end = clock.now() + Self.timeout(for: command)
        // A manager notified by the file system takes milliseconds; one that polls takes up to half a second.
        var pause = Duration.milliseconds(1)
        repeat {
            let (isRun, isDone) = try await blocking { () throws(DownloadError) in
                (
                    RegistryLock.holder(in: directory.filePath, calls: calls) != nil,
                    try CommandSpool(in: directory.filePath, calls: calls).isDone(file)
                )
            }
            if isDone { return true }
            do throws(DownloadError) {
                // The manager may have ended before it saw the command.
                if !isRun, try await withListTakingCommands() {
                    return try await blocking { () throws(DownloadError) in
                        try CommandSpool(in: directory.filePath, calls: calls).isDone(file)
                    }
                }
            } catch {
                guard try await withdraw(file) else { throw error }
                return true
            }
            pause = min(pause * 2, .milliseconds(25))
            guard clock.now() < end, (try? await clock.sleep(clock.now() + pause)) != nil else { return false }
        } while true
    }

    /// Removes a failed command, so that no manager carries it out later; returns `true` if it was done after all.
    private func withdraw(_ file: String) async throws(DownloadError) -> Bool {
        try await blocking { () throws(DownloadError) in
            let spool = CommandSpool(in: directory.filePath, calls: calls)
            if try spool.isDone(file) { return true }
            try? spool.done([file])
            return false
        }
    }

    /// Carries out pending commands; returns `false` if ``withList(_:)`` does not call its body.
    private func withListTakingCommands() async throws(DownloadError) -> Bool {
        let done: Void? = try await withList { _ in }
        return done != nil
    }

    /// Runs `body` with a temporary manager that has carried out all earlier commands.
    ///
    /// Returns `nil` if another manager uses the registry, or if the task is cancelled before those commands are done.
    private func withList<Value>(
        _ body: (DownloadManager) async throws(DownloadError) -> Value
    ) async throws(DownloadError) -> Value? {
        let configuration = DownloadConfiguration {
            $0.registryDirectory = directory
            $0.startsDownloads = false
        }
        let manager: DownloadManager
        do throws(DownloadError) {
            let environment =
                simulated?.environment(configuration)
                ?? TransferEnvironment(configuration: configuration, transport: NoTransport(), clock: clock)
            manager = try await DownloadManager(environment: environment)
        } catch  where error.code == .busy {
            return nil
        }
        do throws(DownloadError) {
            // A manager also carries out commands when it starts, but it neither waits for all nor throws their errors.
            try await manager.takeCommands()
            let value: Value? = if Task.isCancelled, try await hasCommands { nil } else { try await body(manager) }
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
        let executor = try BlockingExecutor.forFiles(
            "headrace-registry",
            maxThreads: 1,
            maxWorking: 1,
            on: simulated?.executor
        )
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
            case .setURL(let url, let id): .relink(id.rawValue, url.absoluteURL.absoluteString)
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

import Headrace
import HeadracePlatform

/// Runs the downloads of a manager and prints their progress and results, for `get` and `queue run`.
struct Run {
    private enum End {
        /// A signal stopped the run, or standard output lacks a part of the file; an empty message is not printed.
        case interrupted(ExitCode, message: String)
        /// The queue's directory was removed, or another process took it over.
        case lost(DownloadError)
    }

    let manager: DownloadManager
    private let options: GetOptions
    /// The directory of the queue, which other processes can change during the run; `nil` for `get`.
    private let registry: URL?
    private let requests: AsyncStream<Signals.Request>
    private let printer: ProgressPrinter
    private let events: AsyncStream<QueueEvent>?

    /// Creates a run; must be called before the first download is added.
    init(_ manager: DownloadManager, _ options: GetOptions, _ requests: AsyncStream<Signals.Request>) {
        self.manager = manager
        self.options = options
        registry = options.configuration.registryDirectory
        self.requests = requests
        printer = ProgressPrinter(options)
        // A quiet `get` does not need the events, which are costly for thousands of small files.
        let isSimple = registry == nil && options.hooks.isEmpty && !options.copiesToOutput
        events = isSimple && printer.isQuiet ? nil : manager.events
    }

    /// Whether the run waits for more downloads when none is left, as `--watch` requests.
    private var watches: Bool { options.arguments.has(.watch) }

    /// Waits until all downloads have ended or a signal stopped them, and returns the exit status.
    ///
    /// Throws if the queue's directory is lost.
    func finish() async throws(DownloadError) -> ExitCode {
        // Read first, because a shutdown makes paused downloads fail.
        let downloads = events == nil ? [] : await manager.downloads
        await printer.recordStates(of: downloads)
        let end = await withTaskGroup(of: End?.self) { group in
            group.addTask { await obeySignals() }
            group.addTask { await draw() }
            if events != nil { group.addTask { await stopWhenDone() } }
            await followAll(downloads)
            group.cancelAll()
            return await group.reduce(nil) { $0 ?? $1 }
        }
        if printer.isQuiet { await printer.reportFailures(among: manager.downloads) }
        if case .interrupted(let status, let message) = end {
            return await printer.end(after: (status, message))
        }
        if case .lost(let error) = end {
            _ = await printer.end(after: (ExitCode(error.code), ""))
            throw error
        }
        let status = await printer.end()
        return await manager.isSaved ? status : ExitCode(of: [status, .disk])
    }

    /// Waits until nothing is left to do, then shuts the manager down; returns the reason if the run ends early.
    ///
    /// While it waits, carries out the commands of other processes if the run is for a queue. The shutdown ends the
    /// stream of events, but only after the last event.
    private func stopWhenDone() async -> End? {
        var end: End?
        if registry == nil {
            end = await copyToOutput()
        } else {
            do throws(DownloadError) {
                try await manager.serveCommands(untilIdle: !watches)
            } catch {
                end = .lost(error)
            }
        }
        // The shutdown saves the queue, and an event reports a failure to do so.
        if !Task.isCancelled { await manager.shutdown() }
        return end
    }

    /// Copies the file to standard output if the options request that, and waits until no download is running or
    /// waiting.
    ///
    /// Returns the reason to end the run early; `nil` if there is none.
    private func copyToOutput() async -> End? {
        guard options.copiesToOutput, let download = await manager.downloads.first else {
            await manager.waitUntilIdle()
            return nil
        }
        let (bytes, failure) = await download.copyToOutput()
        switch failure {
        case let error as SystemError where error.errno == EPIPE: return await interrupt(.signal(SIGPIPE), "")
        case let error as SystemError:
            return await interrupt(.disk, "headrace: cannot write to standard output: \(error)")
        case let error as DownloadError where download.state.kind != .failed:
            return await interrupt(ExitCode(error.code), "headrace: \(error.message)".printable)
        default: break
        }
        await manager.waitUntilIdle()
        if bytes > 0, case .failed(let error) = download.state, error.code != .shutDown {
            await printer.warn("\(Format.size(bytes)) of the file were already written to standard output")
        }
        return nil
    }

    /// Follows downloads and runs the commands of `--on-finish` and `--on-fail`, until the manager is shut down.
    ///
    /// If ``events`` is `nil`, nothing is followed: only waits until no download is running or waiting.
    /// - Parameter downloads: The downloads that are already in the queue, including those of an earlier run.
    private func followAll(_ downloads: [Download]) async {
        guard let events else { return await manager.waitUntilIdle() }
        await withDiscardingTaskGroup { group in
            var hooks = options.hooks
            for download in downloads { follow(download, download.state, in: &group) }
            for await event in events {
                switch event {
                case .added(let ids):
                    for id in ids { if let download = await manager[id] { await printer.recordStates(of: [download]) } }
                case .stateChanged(let id, let state):
                    guard let download = await manager[id] else { continue }
                    runHook(of: download, state, &hooks, in: &group)
                    if state == .waiting || state == .paused { await printer.recordStates(of: [download]) }
                    // A finished download has been followed since it started.
                    if state.kind != .finished { follow(download, state, in: &group) }
                case .removed(let id): await printer.forget(id)
                case .registryDamaged(let message):
                    await printer.warn("\(registry?.plainPath ?? ""): \(message)")
                // The end of the run reports that the queue is lost.
                case .registryFailed(let error) where !error.isRegistryLost:
                    await printer.warn(error.message, key: error.code.description)
                case .idle:
                    await followMissed(in: &group)
                    let paused = await manager.pausedWhileServing
                    if registry != nil, !watches, paused > 0 { await printer.explainWaiting(for: paused) }
                default: break
                }
            }
            await followMissed(in: &group)
            for download in await manager.downloads { runHook(of: download, download.state, &hooks, in: &group) }
        }
    }

    /// Starts the command for a download that has ended, if there is one that has not run yet.
    private func runHook(
        of download: Download,
        _ state: DownloadState,
        _ hooks: inout Hooks,
        in group: inout DiscardingTaskGroup
    ) {
        let (id, request, partial) = (download.id, download.request, download.partialPath)
        guard !hooks.isEmpty, let call = hooks.call(for: id, request, partial: partial, state) else { return }
        group.addTask { if let problem = await call.run() { await printer.report(failedHook: problem) } }
    }

    /// Follows ended downloads whose queue events were dropped because the run read the events too slowly.
    private func followMissed(in group: inout DiscardingTaskGroup) async {
        for download in await printer.endedButNotFollowed(among: manager.downloads) {
            follow(download, download.state, in: &group)
        }
    }

    /// Starts following a download, if there is anything to report about a download in this state.
    private func follow(_ download: Download, _ state: DownloadState, in group: inout DiscardingTaskGroup) {
        guard !printer.isQuiet else { return }
        switch state {
        // There is nothing to report before the download runs.
        case .waiting where download.networkBlocker == nil: return
        case .paused: return
        // A signal stopped the download, which remains in the queue.
        case .failed(let error) where error.code == .shutDown && registry != nil: return
        case .waiting, .running, .finished, .failed, .cancelled: group.addTask { await printer.follow(download) }
        }
    }

    /// Waits for the first stop signal, shuts the manager down, and returns the end of the run.
    ///
    /// Returns `nil` if the signal interrupted nothing, as ``interrupt(_:_:)`` determines, or if the stream of signals
    /// ends before a stop signal.
    private func obeySignals() async -> End? {
        for await request in requests {
            switch request {
            case .redraw: await printer.forgetStatusArea()
            case .stop(let number): return await interrupt(.signal(number))
            }
        }
        return nil
    }

    /// Shuts the manager down; returns the end of the run, or `nil` if a signal interrupted neither a download nor the
    /// copy to standard output.
    ///
    /// `problem` is the message if standard output lacks a part of the file, and `nil` after a signal. It is empty if
    /// the reader has closed the pipe, as `head` does.
    private func interrupt(_ status: ExitCode, _ problem: String? = nil) async -> End? {
        let open = await manager.downloads.filter { !$0.state.isEnded && $0.state != .paused }
        await manager.shutdown()
        let stopped = open.filter { $0.error?.code == .shutDown }
        if let problem { return .interrupted(status, message: problem) }
        if options.isTemporary || options.copiesToOutput && stopped.isEmpty {
            return .interrupted(status, message: "headrace: interrupted")
        }
        return stopped.isEmpty ? nil : .interrupted(status, message: await message(afterStopping: stopped))
    }

    private func message(afterStopping stopped: [Download]) async -> String {
        guard registry == nil else {
            return
                "headrace: interrupted; unfinished downloads remain in the queue. Run the same command again to continue."
        }
        // A download that has not started may have a partial file from an earlier run.
        let begun = stopped.filter { Files.exists($0.partialPath) }
        let hasFinished = await manager.downloads.contains { $0.state.kind == .finished }
        return Interruption(
            partialFiles: begun.filter { $0.isResumable != false }.map(\.partialPath),
            isResumeDisabled: !options.configuration.resumesPartialDownloads,
            restarting: begun.filter { $0.isResumable == false }.map(\.fileName),
            finished: hasFinished ? options.rerun : nil
        ).message
    }

    private func draw() async -> End? {
        let interval = await printer.interval()
        var turnCount: Int?
        while !Task.isCancelled {
            if printer.isQuiet {
                // The queue may have many thousands of downloads.
                let count = await manager.turnCount
                if count != turnCount { await printer.reportFailures(among: manager.downloads) }
                turnCount = count
            } else {
                await printer.draw()
            }
            try? await Task.sleep(for: interval)
        }
        return nil
    }
}

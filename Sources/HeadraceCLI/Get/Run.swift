import Headrace

/// The downloads of a manager from their start to the last line, for `get` and `queue run`.
struct Run {
    /// What else goes on with a list that other processes see.
    enum Mode {
        /// All downloads are there when the run begins.
        case alone
        /// Others send changes to the list in this directory; where it watches, the run ends by a signal only.
        case shared(directory: String, watches: Bool)
    }

    /// What ended the run before all was done.
    private enum End {
        case interrupted(Interruption)
        /// The list is gone.
        case lost(DownloadError)
    }

    let manager: DownloadManager
    let mode: Mode
    private let options: GetOptions
    private let requests: AsyncStream<Signals.Request>
    private let printer: ProgressPrinter
    private let events: AsyncStream<QueueEvent>?

    /// To be made before the first download is added.
    init(_ manager: DownloadManager, _ mode: Mode, _ options: GetOptions, _ requests: AsyncStream<Signals.Request>) {
        self.manager = manager
        self.mode = mode
        self.options = options
        self.requests = requests
        printer = ProgressPrinter(options)
        // What nobody reads need not be told: of thousands of small files it would be a cost.
        events = mode.isAlone && printer.isQuiet ? nil : manager.events
    }

    /// Returns when all is done, or stopped by a signal; throws what took the list away.
    func finish() async throws(DownloadError) -> ExitCode {
        let end = await withTaskGroup(of: End?.self) { group in
            group.addTask { await obeySignals() }
            group.addTask { await draw() }
            if !mode.isAlone { group.addTask { await takeCommands() } }
            await followAll()
            group.cancelAll()
            return await group.reduce(nil) { $0 ?? $1 }
        }
        if printer.isQuiet { await printer.look(at: manager.downloads) }
        if case .interrupted(let interruption) = end {
            return await printer.end(after: interruption, message(interruption))
        }
        let status = await printer.end(after: nil, "")
        if case .lost(let error) = end { throw error }
        return status
    }

    /// Follows what runs until nothing does and nothing waits.
    private func followAll() async {
        guard let events else { return await manager.waitUntilIdle() }
        await withDiscardingTaskGroup { group in
            // What began before the events were listened to; of an earlier run, what has ended has no events of its own.
            let downloads = await manager.downloads
            await printer.note(downloads)
            for download in downloads { follow(download, download.state, in: &group) }
            var paused: Set<Download.ID> = []
            // Where nothing is left to do, what was told of the list is still to be read: the events end with the manager.
            if await !continues() { await manager.shutdown() }
            for await event in events {
                switch event {
                case .added(let ids): await printer.note(ids.compactMap { manager[$0] })
                case .stateChanged(let id, let state):
                    await note(id, state, in: &group)
                    if state == .paused {
                        paused.insert(id)
                    } else if paused.remove(id) != nil, state.isEnded, await isOver(pausedMeanwhile: paused, in: &group)
                    {
                        return
                    }
                case .removed(let id):
                    await printer.forget(id)
                    if paused.remove(id) != nil, await isOver(pausedMeanwhile: paused, in: &group) { return }
                case .registryDamaged(let message): await printer.warn(mode.naming(message))
                case .registryFailed(let error): await warn(error)
                case .idle: if await isOver(pausedMeanwhile: paused, in: &group) { return }
                default: break
                }
            }
            await followMissed(in: &group)
        }
    }

    /// Whether nothing is left to do; shuts the manager of a shared list down, whose last events are still to be read.
    ///
    /// A download that was paused during the run keeps it going: whoever paused it may resume it.
    private func isOver(pausedMeanwhile paused: Set<Download.ID>, in group: inout DiscardingTaskGroup) async -> Bool {
        // If the list is gone, the task that takes commands ends the run.
        guard await takeLastCommands() else { return false }
        await followMissed(in: &group)
        if await continues() { return false }
        guard !mode.isAlone else { return true }
        guard paused.isEmpty else {
            await printer.explainWaiting(for: paused.count)
            return false
        }
        // Whether the list could be written for the last time is reported after that.
        await manager.shutdown()
        return false
    }

    private func note(_ id: Download.ID, _ state: DownloadState, in group: inout DiscardingTaskGroup) async {
        guard let download = manager[id] else { return }
        switch state {
        case .waiting, .paused:
            await printer.note([download])
            follow(download, state, in: &group)
        case .running, .failed, .cancelled: follow(download, state, in: &group)
        // It has run, and is followed for that.
        case .finished: break
        }
    }

    /// Who reads too slowly misses events of the list, and with them what became of a download.
    private func followMissed(in group: inout DiscardingTaskGroup) async {
        for download in await printer.missed(of: manager.downloads) { follow(download, download.state, in: &group) }
    }

    /// Follows a download in this state, where there is anything to tell of it.
    private func follow(_ download: Download, _ state: DownloadState, in group: inout DiscardingTaskGroup) {
        guard !printer.isQuiet else { return }
        switch state {
        // Of one that never ran there is nothing else to tell.
        case .waiting where download.networkBlocker == nil: return
        case .paused: return
        // The list keeps what a signal stopped.
        case .failed(let error) where error.code == .shutDown && !mode.isAlone: return
        case .waiting, .running, .finished, .failed, .cancelled: group.addTask { await printer.follow(download) }
        }
    }

    private func continues() async -> Bool {
        if case .shared(_, watches: true) = mode { return true }
        return await manager.downloads.contains(where: \.isOpen)
    }

    /// Stops everything at the first signal that asks for it, and tells what that stopped.
    private func obeySignals() async -> End? {
        for await request in requests {
            switch request {
            case .redraw: await printer.forgetArea()
            case .stop(let number):
                let open = await manager.downloads.filter(\.isOpen)
                await manager.shutdown()
                return .interrupted(
                    Interruption(
                        signal: number,
                        downloads: open.filter(\.isInterrupted),
                        hasFinished: await manager.downloads.contains { $0.state.kind == .finished }
                    )
                )
            }
        }
        return nil
    }

    /// What is said of downloads that a signal stopped.
    private func message(_ interruption: Interruption) -> String {
        guard mode.isAlone else {
            return "headrace: interrupted; the list keeps what is not done. Run the same command again to go on."
        }
        var rest = Interruption.Rest(finished: interruption.hasFinished ? options.again : nil)
        let begun = interruption.downloads.filter { Files.exists($0.partialPath) }
        // Of those that have not begun, an earlier run may have left something.
        rest.kept = begun.filter { $0.isResumable != false }.map(\.partialPath)
        rest.lost = begun.filter { $0.isResumable == false }.map { DisplayedDownload(id: "", request: $0.request).name }
        rest.isAbandoned = !options.configuration.resumesPartialDownloads
        return rest.message
    }

    private func draw() async -> End? {
        guard let interval = await printer.interval() else { return nil }
        while !Task.isCancelled {
            if printer.isQuiet {
                await printer.look(at: manager.downloads)
            } else {
                await printer.draw()
            }
            try? await Task.sleep(for: interval)
        }
        return nil
    }

    /// Carries out what other processes want of the list, until it is gone, which stops everything.
    private func takeCommands() async -> End? {
        do throws(DownloadError) {
            try await manager.keepTakingCommands()
            return nil
        } catch {
            await manager.shutdown()
            return .lost(error)
        }
    }

    /// Carries out what other processes want of the list, where the run would end for want of downloads; false where it is gone.
    private func takeLastCommands() async -> Bool {
        guard case .shared(_, watches: false) = mode else { return true }
        do throws(DownloadError) {
            try await manager.takeCommands()
        } catch {
            if error.code != .shutDown { await warn(error) }
            return !error.isRegistryLost
        }
        return true
    }

    /// Tells why the list cannot be written or read; that it is gone, the end of the run tells.
    private func warn(_ error: DownloadError) async {
        if !error.isRegistryLost { await printer.warn(error) }
    }
}

extension Run.Mode {
    fileprivate var isAlone: Bool {
        if case .alone = self { true } else { false }
    }

    /// What is wrong with a list, with the name of its directory.
    fileprivate func naming(_ message: String) -> String {
        if case .shared(let directory, _) = self { "\(directory): \(message)" } else { message }
    }
}

extension Download {
    /// Whether it runs or waits.
    fileprivate var isOpen: Bool {
        switch state {
        case .waiting, .running: true
        case .paused, .finished, .failed, .cancelled: false
        }
    }

    /// Whether the shutdown stopped it.
    fileprivate var isInterrupted: Bool {
        guard case .failed(let error) = state else { return false }
        return error.code == .shutDown
    }
}

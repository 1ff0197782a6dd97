import Headrace

/// Follows downloads and prints their progress and results.
///
/// The only type that writes the output of ``ProgressRenderer``.
actor ProgressPrinter {
    /// The maximum number of past events that a download stores for later followers.
    private static let maxHistory = 256

    private let start = ContinuousClock.now
    private var renderer: ProgressRenderer
    private var area = StatusArea()
    private var permanent: [String] = []
    /// `success` as long as standard output can be written.
    private var outputStatus = ExitCode.success
    private var warnings: Set<String> = []
    private var hasFailedHook = false
    private var followed: [Download.ID: Download] = [:]
    /// For each download followed so far, the number of handled events; following it again skips that many events.
    private var seen: [Download.ID: Int] = [:]
    /// In a quiet run, the failed and cancelled downloads that have been reported.
    private var reported: Set<Download.ID> = []
    /// Whether only failures are printed.
    ///
    /// A quiet run reports only failed and cancelled downloads at intervals, because following the events of thousands
    /// of small files is costly.
    nonisolated let isQuiet: Bool

    init(_ options: GetOptions) {
        let style: ProgressRenderer.Style =
            switch (options.writesJSON, options.verbosity) {
            case (true, _): .json
            case (_, .quiet): .quiet
            // The progress area would erase lines of the file on the same terminal.
            default: Console.error.canRedraw && !(options.copiesToOutput && Console.output.isTerminal) ? .live : .plain
            }
        isQuiet = style == .quiet
        let queueWords = options.arguments.queueWords
        renderer = ProgressRenderer(style: style, verbosity: options.verbosity, queueWords: queueWords)
        if style == .json, options.writesJSONHead { outputStatus = Console.output.write(JSONLines.head + "\n") }
    }

    /// Returns the interval of progress updates, or of failure reports in a quiet run.
    nonisolated func interval() async -> Duration {
        switch await renderer.style {
        case .live: .milliseconds(100)
        case .quiet: .milliseconds(250)
        case .json, .plain: .seconds(1)
        }
    }

    func recordStates(of downloads: [Download]) {
        for download in downloads { renderer.setState(download.state, of: download.id) }
    }

    /// Returns the ended downloads that were never followed.
    func endedButNotFollowed(among downloads: [Download]) -> [Download] {
        downloads.filter { seen[$0.id] == nil && $0.state.isEnded }
    }

    /// Follows a download until it is paused or has ended, unless it is already being followed.
    nonisolated func follow(_ download: Download) async {
        guard await begin(download) else { return }
        repeat {
            for await event in download.events.dropFirst(await seenEvents(of: download)) {
                await record(event, of: download)
                if event == .paused { break }
            }
        } while await continues(download)
    }

    /// In a quiet run, reports the downloads that failed or were cancelled since the last call.
    func reportFailures(among downloads: [Download]) async {
        for download in downloads {
            switch download.state {
            case .failed, .cancelled:
                if reported.insert(download.id).inserted { await follow(download) }
            case .waiting, .running, .paused, .finished:
                if reported.remove(download.id) != nil { renderer.forget(download.id) }
            }
        }
    }

    /// Updates the progress display, or prints lines with the progress for a program or a log.
    func draw() {
        let elapsed = ContinuousClock.now - start
        guard renderer.style != .plain || renderer.isLogDue(after: elapsed) else { return }
        // Reads the progress only when drawing, so that a download that ends between two frames costs nothing.
        for (id, download) in followed {
            renderer.update(download.currentProgress, of: id, isRunning: download.state == .running)
        }
        switch renderer.style {
        case .json: print(renderer.progressLines)
        case .plain: print(renderer.logLines(after: elapsed))
        case .live, .quiet: drawArea(renderer.liveProgress)
        }
    }

    /// Makes the next drawn frame start on a new line, for example after the process was in the background.
    func forgetStatusArea() {
        area.forget()
    }

    func forget(_ id: Download.ID) {
        guard followed[id] == nil else { return }
        renderer.forget(id)
        seen[id] = nil
        reported.remove(id)
    }

    /// Prints a problem with the queue itself, unless one with the same key was printed before; without a key, the
    /// messages are compared.
    func warn(_ message: String, key: String? = nil) {
        guard warnings.insert(key ?? message).inserted else { return }
        print([.error("headrace: \(message)".printable)])
    }

    /// Prints why a command of `--on-finish` or `--on-fail` failed, which changes the exit status.
    func report(failedHook problem: String) {
        hasFailedHook = true
        print([.error("headrace: \(problem)".printable)])
    }

    /// Prints that the run waits for downloads that were paused during it.
    func explainWaiting(for count: Int) {
        guard renderer.style != .quiet else { return }
        print([.error(renderer.text.explanation(ofWaitingFor: count))])
    }

    /// Prints the summary, or the message of an interruption, and returns the exit status of the run.
    func end(after interruption: (status: ExitCode, message: String)? = nil) -> ExitCode {
        if let interruption {
            print(interruption.message.isEmpty ? [] : [.error(interruption.message)])
        } else {
            print(renderer.summary(elapsed: .now - start))
        }
        drawArea(LiveProgress(running: [], totals: renderer.totals))
        guard outputStatus == .success else { return outputStatus }
        return interruption?.status ?? ExitCode(of: [renderer.totals.status, hasFailedHook ? .other : .success])
    }

    private func begin(_ download: Download) -> Bool {
        renderer.setState(download.state, of: download.id)
        return followed.updateValue(download, forKey: download.id) == nil
    }

    private func seenEvents(of download: Download) -> Int {
        // Also marks the download as followed.
        seen[download.id] = seen[download.id] ?? 0
        return min(seen[download.id] ?? 0, Self.maxHistory)
    }

    private func record(_ event: DownloadEvent, of download: Download) {
        seen[download.id, default: 0] += 1
        print(renderer.record(event, of: download.id, download.request))
    }

    /// Returns `true` while the download is waiting or running and the task is not cancelled.
    ///
    /// Otherwise stops following the download, prints its final lines and returns `false`.
    private func continues(_ download: Download) -> Bool {
        let state = download.state
        if !Task.isCancelled, state == .waiting || state == .running { return true }
        followed[download.id] = nil
        print(renderer.stopFollowing(state, of: download.id, download.request))
        return false
    }

    private func print(_ lines: [ProgressRenderer.Line]) {
        for line in lines {
            switch line {
            case .error(let text) where renderer.style == .live: permanent.append(text)
            case .error(let text): Console.error.write(text + "\n")
            case .output(let text): write(text)
            }
        }
    }

    private func write(_ text: String) {
        if outputStatus == .success { outputStatus = Console.output.write(text + "\n") }
    }

    private func drawArea(_ liveProgress: LiveProgress) {
        guard renderer.style == .live else { return }
        let (columns, rows) = Console.error.size
        let live = liveProgress.draw(width: columns, height: rows, Console.glyphs)
        if Console.error.draw(live, below: permanent, in: &area) { permanent = [] }
    }
}

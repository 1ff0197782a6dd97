import Headrace

/// Follows downloads and prints: the one place where the output's state and the terminal meet.
actor ProgressPrinter {
    /// Of a longer history a download has dropped the oldest events.
    private static let longestHistory = 256

    private let start = ContinuousClock.now
    private var renderer: ProgressRenderer
    private var area = StatusArea()
    /// Lines for above the live area, kept for its next drawing.
    private var permanent: [String] = []
    private var canWriteOutput = true
    private var warnings: Set<String> = []
    /// Those that are followed now.
    private var followed: [Download.ID: Download] = [:]
    /// How many events of a download were taken in; the next who follows it begins after them.
    private var seen: [Download.ID: Int] = [:]
    /// Of a quiet run, those that had ended in a way that is told at the last look.
    private var known: Set<Download.ID> = []
    /// Whether only failures are told, so that thousands of small files need not pay for being followed.
    nonisolated let isQuiet: Bool

    init(_ options: GetOptions) {
        let style: ProgressRenderer.Style =
            switch (options.writesJSON, options.verbosity) {
            case (true, _): .json
            case (_, .quiet): .quiet
            default: Console.error.canRedraw ? .live : .plain
            }
        isQuiet = style == .quiet
        renderer = ProgressRenderer(style: style, verbosity: options.verbosity, queueWords: options.queueWords)
        if style == .json, options.writesJSONHead { canWriteOutput = Self.write(JSONLines.head) }
    }

    /// How often ``draw()`` is wanted; nil where nothing moves.
    nonisolated func interval() async -> Duration? {
        switch await renderer.style {
        case .live: .milliseconds(100)
        case .quiet: .milliseconds(250)
        case .json: .seconds(1)
        case .plain: nil
        }
    }

    /// Takes over where downloads stand.
    func note(_ downloads: [Download]) {
        for download in downloads { renderer.note(download.state, of: download.id) }
    }

    /// Of these, the ended ones that nobody has followed.
    func missed(of downloads: [Download]) -> [Download] {
        downloads.filter { seen[$0.id] == nil && $0.state.isEnded }
    }

    /// Follows one download until it is paused or has ended; does nothing for one that is followed already.
    nonisolated func follow(_ download: Download) async {
        guard await begin(download) else { return }
        repeat {
            for await event in download.events.dropFirst(await seenEvents(of: download)) {
                await record(event, of: download)
                if event == .paused { break }
            }
        } while await continues(download)
    }

    /// Tells what has ended since the last look, where nothing is followed.
    func look(at downloads: [Download]) async {
        for download in downloads {
            switch download.state {
            case .failed, .cancelled:
                if known.insert(download.id).inserted { await follow(download) }
            case .waiting, .running, .paused, .finished:
                if known.remove(download.id) != nil { renderer.forget(download.id) }
            }
        }
    }

    /// Shows how far the running downloads are.
    func draw() async {
        // Asked for here instead of followed: a download that ends between two frames costs nothing.
        for (id, download) in followed {
            guard let progress = await download.currentProgress else { continue }
            renderer.update(progress, of: id, isRunning: download.state == .running)
        }
        if renderer.style == .json {
            print(renderer.progressLines)
        } else {
            drawArea(renderer.liveProgress)
        }
    }

    /// Leaves what the terminal shows, as after a stay in the background.
    func forgetArea() {
        area.forget()
    }

    /// Forgets a download that is in the list no more.
    func forget(_ id: Download.ID) {
        guard followed[id] == nil else { return }
        renderer.forget(id)
        seen[id] = nil
        known.remove(id)
    }

    /// Prints what is wrong with the list itself, each thing once.
    func warn(_ message: String) {
        guard warnings.insert(message).inserted else { return }
        print([.error("headrace: \(message)".printable)])
    }

    /// Prints why the list cannot be written or read, each kind of failure once: of one disk, each attempt may fail on another
    /// file.
    func warn(_ error: DownloadError) {
        guard warnings.insert(error.code.description).inserted else { return }
        warn(error.message)
    }

    /// Prints that the run waits for downloads that were paused during it.
    func explainWaiting(for count: Int) {
        guard renderer.style != .quiet else { return }
        print([.error(renderer.explanation(ofWaitingFor: count))])
    }

    /// Prints what is left to print, and gives the status of the run.
    func end(after interruption: Interruption?, _ message: String) -> ExitCode {
        let stopped = interruption?.downloads ?? []
        print(stopped.isEmpty ? renderer.summary(elapsed: .now - start) : [.error(message)])
        drawArea(LiveProgress(running: [], totals: renderer.totals))
        guard canWriteOutput else { return .disk }
        guard let interruption, !stopped.isEmpty else { return renderer.totals.status }
        return .signal(interruption.signal)
    }

    private func begin(_ download: Download) -> Bool {
        renderer.note(download.state, of: download.id)
        return followed.updateValue(download, forKey: download.id) == nil
    }

    private func seenEvents(of download: Download) -> Int {
        // Also marks it as one that was looked at.
        seen[download.id] = seen[download.id] ?? 0
        return min(seen[download.id] ?? 0, Self.longestHistory)
    }

    private func record(_ event: DownloadEvent, of download: Download) {
        seen[download.id, default: 0] += 1
        print(renderer.record(event, of: download.id, download.request))
    }

    /// Whether the download still waits or runs; else it is followed no more.
    private func continues(_ download: Download) -> Bool {
        let state = download.state
        if !Task.isCancelled, state == .waiting || state == .running { return true }
        followed[download.id] = nil
        print(renderer.leave(state, of: download.id, download.request))
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

    /// The downloads go on when nobody reads the output any more; the exit status tells.
    private func write(_ text: String) {
        if canWriteOutput { canWriteOutput = Self.write(text) }
    }

    private static func write(_ line: String) -> Bool { Console.output.write(line + "\n") }

    private func drawArea(_ liveProgress: LiveProgress) {
        guard renderer.style == .live, Console.error.isForeground || liveProgress.running.isEmpty else { return }
        let (columns, rows) = Console.error.size
        let live = liveProgress.draw(width: columns, height: rows, Console.glyphs)
        if let frame = area.frame(permanent: permanent, live: live, width: columns) { Console.error.write(frame) }
        permanent = []
    }
}

extension Download {
    /// How far the download is now.
    fileprivate var currentProgress: DownloadProgress? {
        get async {
            for await progress in progress { return progress }
            return nil
        }
    }
}

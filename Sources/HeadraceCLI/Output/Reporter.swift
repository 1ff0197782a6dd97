import Headrace

/// Follows the downloads and prints: the one place where the output's state and the terminal meet.
actor Reporter {
    private let downloads: [Download]
    private let start = ContinuousClock.now
    private var report: Report
    private var area = LiveArea()
    /// Lines for above the live area, kept for its next drawing.
    private var permanent: [String] = []
    private var canWriteOutput = true
    /// Whether only failures are told, so that thousands of small files need not pay for being followed.
    nonisolated let isQuiet: Bool
    /// Of a quiet run, the downloads that had begun and not ended at the last look, and the first after them.
    private var begun: [Int] = []
    private var next = 0

    init(_ downloads: [Download], options: GetOptions) {
        self.downloads = downloads
        let style: Report.Style =
            switch (options.writesJSON, options.verbosity) {
            case (true, _): .json
            case (_, .quiet): .quiet
            default: Console.error.canRedraw ? .live : .plain
            }
        isQuiet = style == .quiet
        report = Report(style: style, verbosity: options.verbosity, count: downloads.count)
    }

    /// How often ``draw()`` is wanted; nil where nothing moves.
    nonisolated func interval() async -> Duration? {
        switch await report.style {
        case .live, .quiet: .milliseconds(100)
        case .json: .seconds(1)
        case .plain: nil
        }
    }

    /// Follows one download to its end.
    nonisolated func follow(_ index: Int) async {
        await begin(index)
        for await event in downloads[index].events { await record(event, of: index) }
        await close(index)
    }

    /// Shows how far the running downloads are.
    func draw() async {
        guard !isQuiet else { return closeEnded() }
        // Asked for here instead of followed: a download that ends between two frames costs nothing.
        for index in report.running {
            guard let progress = await downloads[index].currentProgress else { continue }
            report.update(progress, of: index)
        }
        if report.style == .json {
            print(report.progressLines)
        } else {
            drawArea(report.snapshot)
        }
    }

    /// Leaves what the terminal shows, as after a stay in the background.
    func forgetArea() {
        area.forget()
    }

    /// Prints what is left to print, and gives the status of the run.
    func end(after signal: Int32?) -> ExitCode {
        if isQuiet { closeEnded() }
        let isInterrupted = signal != nil && report.tally.finished < report.tally.count
        let kept = isInterrupted ? downloads.filter(\.isInterrupted).map(\.partialPath).filter(Files.exists) : []
        print(isInterrupted ? [.error(Interruption.message(kept: kept))] : report.summary(elapsed: .now - start))
        drawArea(Snapshot(running: [], tally: report.tally))
        guard canWriteOutput else { return .disk }
        return isInterrupted ? signal.map(ExitCode.signal) ?? .other : report.tally.status
    }

    private func begin(_ index: Int) {
        report.add(Item(id: downloads[index].id.description, request: downloads[index].request), at: index)
    }

    /// Takes note of the downloads of a quiet run that have ended since the last look.
    private func closeEnded() {
        while next < downloads.count, downloads[next].state != .waiting {
            begun.append(next)
            next += 1
        }
        begun.removeAll { index in
            let state = downloads[index].state
            if case .finished = state {
                report.countFinished()
            } else if state.isEnded {
                begin(index)
                close(index)
            }
            return state.isEnded
        }
    }

    private func record(_ event: DownloadEvent, of index: Int) {
        print(report.record(event, of: index))
    }

    private func close(_ index: Int) {
        print(report.close(downloads[index].state, of: index))
    }

    private func print(_ lines: [Report.Line]) {
        for line in lines {
            switch line {
            case .error(let text) where report.style == .live: permanent.append(text)
            case .error(let text): Console.error.write(text + "\n")
            case .output(let text): write(text)
            }
        }
    }

    /// The downloads go on when nobody reads the output any more; the exit status tells.
    private func write(_ text: String) {
        guard canWriteOutput else { return }
        canWriteOutput = Console.output.write(text + "\n")
        if !canWriteOutput { Console.error.write("headrace: standard output cannot be written\n") }
    }

    private func drawArea(_ snapshot: Snapshot) {
        guard report.style == .live, Console.error.isForeground || snapshot.running.isEmpty else { return }
        let (columns, rows) = Console.error.size
        let live = snapshot.draw(width: columns, height: rows)
        if let frame = area.frame(permanent: permanent, live: live, width: columns) { Console.error.write(frame) }
        permanent = []
    }
}

extension Download {
    /// Whether the shutdown stopped it.
    fileprivate var isInterrupted: Bool {
        guard case .failed(let error) = state else { return false }
        return error.code == .shutDown
    }

    /// How far the download is now.
    fileprivate var currentProgress: DownloadProgress? {
        get async {
            for await progress in progress { return progress }
            return nil
        }
    }
}

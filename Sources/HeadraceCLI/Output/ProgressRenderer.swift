import Headrace
import HeadracePlatform

/// Converts the events of a run to lines of output, and counts the totals.
///
/// It does no I/O, so that it can be tested without a terminal.
struct ProgressRenderer: Sendable {
    enum Style: Sendable, Equatable {
        case quiet
        case plain
        case live
        case json
    }

    /// A line for standard output or standard error.
    enum Line: Sendable, Equatable {
        case output(String)
        case error(String)
    }

    let style: Style
    private(set) var totals = RunTotals()
    let text: MessageFormatter
    private var lastLog = Duration.zero
    private var items: [Download.ID: DisplayedDownload] = [:]
    private var order: [Download.ID] = []

    init(style: Style, verbosity: GetOptions.Verbosity, queueWords: String = "") {
        self.style = style
        // In JSON, other messages than failures would repeat the events.
        let verbosity = style == .json ? .quiet : verbosity
        text = MessageFormatter(verbosity: verbosity, isLive: style == .live, queueWords: queueWords)
    }

    var liveProgress: LiveProgress {
        LiveProgress(running: order.compactMap { items[$0] }.filter(\.isRunning), totals: totals)
    }

    /// Records the state of a download for the totals.
    ///
    /// A download that ends while it is followed is counted when its last event is recorded.
    mutating func setState(_ state: DownloadState, of id: Download.ID) {
        switch state {
        case .waiting, .running:
            totals.open.insert(id)
            totals.paused.remove(id)
            totals.failedEarlier.remove(id)
        case .paused:
            totals.open.remove(id)
            totals.paused.insert(id)
        case .failed(let error) where error.code != .shutDown: totals.failedEarlier.insert(id)
        case .cancelled:
            totals.paused.remove(id)
            totals.failedEarlier.remove(id)
        case .finished, .failed: break
        }
    }

    mutating func record(_ event: DownloadEvent, of id: Download.ID, _ request: DownloadRequest) -> [Line] {
        var item = items[id] ?? DisplayedDownload(id: id.description, request: request)
        if case .started = event { item.url = request.url.withoutCredentials.absoluteString }
        let lines = lines(for: event, of: item)
        item.apply(event)
        if items.updateValue(item, forKey: id) == nil { order.append(id) }
        switch event {
        case .started: totals.failures[id] = nil
        case .skipped, .unchanged:
            close(id)
            totals.addFinished(0, fetched: 0)
        case .finished(let summary):
            close(id)
            totals.addFinished(summary.fileSize, fetched: summary.bytesFetched)
        case .failed(let error):
            close(id)
            // Stopped by a signal, which is not a failure.
            if error.code != .shutDown { totals.failures[id] = ExitCode(error.code) }
        case .paused, .cancelled, .removed: close(id)
        default: break
        }
        return lines
    }

    /// Closes the item of a download that is no longer followed, and returns the lines that are still due for it.
    ///
    /// - Usually no lines are due, because the last event of the download has been recorded.
    /// - If the follower missed that event, because a download stores only its latest ones, the event is recreated from
    ///   `state`. A finished file is then reported as `skipped`, because the state lacks the summary.
    /// - If the download is waiting or running, its follower was cancelled; the item is not closed.
    mutating func stopFollowing(_ state: DownloadState, of id: Download.ID, _ request: DownloadRequest) -> [Line] {
        guard items[id] != nil else {
            close(id)
            return []
        }
        return switch state {
        case .waiting, .running: []
        case .paused: record(.paused, of: id, request)
        case .finished(let file): record(.skipped(file), of: id, request)
        case .failed(let error): record(.failed(error), of: id, request)
        case .cancelled: record(.cancelled, of: id, request)
        }
    }

    /// Forgets a download that was retried after a failure or removed from the queue.
    mutating func forget(_ id: Download.ID) {
        totals.open.remove(id)
        totals.paused.remove(id)
        totals.failedEarlier.remove(id)
        totals.failures[id] = nil
    }

    mutating func update(_ progress: DownloadProgress, of id: Download.ID, isRunning: Bool) {
        guard var item = items[id] else { return }
        let totalBytes = progress.totalBytes ?? item.progress.totalBytes
        item.progress = progress
        item.progress.totalBytes = totalBytes
        item.isRunning = isRunning
        items[id] = item
    }

    private mutating func close(_ id: Download.ID) {
        totals.open.remove(id)
        guard items.removeValue(forKey: id) != nil else { return }
        order.removeAll { $0 == id }
    }

    /// The `--json` lines with the progress of the running downloads.
    var progressLines: [Line] {
        liveProgress.running.filter { $0.plannedPath != nil }.map { .output(JSONLines.progressLine(of: $0)) }
    }

    /// Returns whether the next progress line of a log is due: at first every ten seconds, later every minute.
    func isLogDue(after elapsed: Duration) -> Bool {
        elapsed - lastLog >= min(.seconds(60), max(.seconds(10), elapsed / 10))
    }

    /// Returns the next progress line of a log, and records its time for ``isLogDue(after:)``; empty if no download is
    /// running.
    mutating func logLines(after elapsed: Duration) -> [Line] {
        lastLog = elapsed
        return liveProgress.line.map { [.error($0.printable)] } ?? []
    }

    /// Returns the last line of the run, which summarizes it; empty for a quiet run and for a single download.
    func summary(elapsed: Duration) -> [Line] {
        text.summary(totals, elapsed: elapsed).map { [.error($0)] } ?? []
    }

    private func lines(for event: DownloadEvent, of item: DisplayedDownload) -> [Line] {
        // Stopped by a signal, which is reported once for the whole run.
        if case .failed(let error) = event, error.code == .shutDown { return [] }
        let json = style == .json ? [Line.output(JSONLines.line(for: event, of: item))] : []
        return json + (text.line(for: event, of: item).map { [.error($0)] } ?? [])
    }
}

import Headrace

/// What is printed for what happens, and what the live area shows.
struct ProgressRenderer: Sendable {
    /// How the output looks.
    enum Style: Sendable, Equatable {
        case quiet
        case plain
        case live
        case json
    }

    /// A line and the stream it belongs to.
    enum Line: Sendable, Equatable {
        case output(String)
        case error(String)
    }

    let style: Style
    private(set) var totals = RunTotals()
    private let text: MessageFormatter
    private var items: [Download.ID: DisplayedDownload] = [:]
    /// Those of the items, in the order in which they began.
    private var order: [Download.ID] = []
    /// Those that run or wait, as far as anything was told of them.
    private var open: Set<Download.ID> = [] {
        didSet { totals.open = open.count }
    }
    private var paused: Set<Download.ID> = [] {
        didSet { totals.paused = paused.count }
    }
    private var failedEarlier: Set<Download.ID> = [] {
        didSet { totals.failedEarlier = failedEarlier.count }
    }

    init(style: Style, verbosity: GetOptions.Verbosity, queueWords: String = "") {
        self.style = style
        text = MessageFormatter(verbosity: verbosity, isLive: style == .live, queueWords: queueWords)
    }

    var liveProgress: LiveProgress {
        LiveProgress(running: order.compactMap { items[$0] }.filter(\.isRunning), totals: totals)
    }

    /// Takes over where a download stands; what a run brings to its end, its last event tells.
    mutating func note(_ state: DownloadState, of id: Download.ID) {
        switch state {
        case .waiting, .running:
            open.insert(id)
            paused.remove(id)
            failedEarlier.remove(id)
        case .paused:
            open.remove(id)
            paused.insert(id)
        case .failed: failedEarlier.insert(id)
        case .finished, .cancelled: break
        }
    }

    /// Takes an event in, and gives the lines for it.
    mutating func record(_ event: DownloadEvent, of id: Download.ID, _ request: DownloadRequest) -> [Line] {
        var item = items[id] ?? DisplayedDownload(id: id.description, request: request)
        let lines = lines(for: event, of: item)
        item.apply(event)
        if items.updateValue(item, forKey: id) == nil { order.append(id) }
        switch event {
        case .started: totals.removeFailure(of: id)
        case .redirected, .responded, .resumed, .restarted, .waitingForNetwork, .networkChanged, .retrying,
            .connectionOpened, .connectionClosed, .fellBackToOneConnection, .sourceFailed, .verifying, .verified,
            .piecesVerified, .repairing, .fellBack:
            break
        case .skipped, .unchanged:
            close(id)
            totals.addFinished(0, fetched: 0)
        case .finished(let summary):
            close(id)
            totals.addFinished(summary.fileSize, fetched: summary.bytesFetched)
        case .failed(let error):
            close(id)
            // What a signal stopped has not failed.
            if error.code != .shutDown { totals.addFailure(ExitCode(error.code), of: id) }
        case .paused, .cancelled, .removed: close(id)
        }
        return lines
    }

    /// Takes over how a download stands when it is followed no more; of a very long history the last event may be missing.
    mutating func leave(_ state: DownloadState, of id: Download.ID, _ request: DownloadRequest) -> [Line] {
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

    /// Takes in that a download that failed is tried again, or is in the list no more.
    mutating func forget(_ id: Download.ID) {
        open.remove(id)
        paused.remove(id)
        failedEarlier.remove(id)
        totals.removeFailure(of: id)
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
        open.remove(id)
        guard items.removeValue(forKey: id) != nil else { return }
        order.removeAll { $0 == id }
    }

    /// The lines of `--json` for how far the running downloads are.
    var progressLines: [Line] {
        liveProgress.running.filter { $0.plannedPath != nil }.map { .output(JSONLines.progressLine(of: $0)) }
    }

    /// The line of a run that waits for downloads that were paused during it.
    func explanation(ofWaitingFor count: Int) -> String { text.explanation(ofWaitingFor: count) }

    /// The line after the last download.
    func summary(elapsed: Duration) -> [Line] {
        style == .json ? [] : text.summary(totals, elapsed: elapsed).map { [.error($0)] } ?? []
    }

    private func lines(for event: DownloadEvent, of item: DisplayedDownload) -> [Line] {
        // A signal has ended the run, which is told once, and no download.
        if case .failed(let error) = event, error.code == .shutDown { return [] }
        guard style == .json else { return text.line(for: event, of: item).map { [.error($0)] } ?? [] }
        let line = Line.output(JSONLines.line(for: event, of: item))
        switch event {
        case .failed, .cancelled: return [line] + (text.line(for: event, of: item).map { [.error($0)] } ?? [])
        default: return [line]
        }
    }
}

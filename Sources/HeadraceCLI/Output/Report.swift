import Headrace

/// What is printed for what happens, and what the live area shows.
struct Report: Sendable {
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
    private(set) var tally: Tally
    private let text: PlainText
    private var items: [Int: Item] = [:]

    init(style: Style, verbosity: GetOptions.Verbosity, count: Int) {
        self.style = style
        tally = Tally(count: count)
        text = PlainText(verbosity: verbosity, isLive: style == .live)
    }

    /// The downloads that run, by their number in the list.
    var running: [Int] { items.keys.sorted() }

    var snapshot: Snapshot { Snapshot(running: running.compactMap { items[$0] }, tally: tally) }

    mutating func add(_ item: Item, at index: Int) {
        items[index] = item
    }

    /// Takes an event in, and gives the lines for it.
    ///
    /// Does nothing for a download that has ended.
    mutating func record(_ event: DownloadEvent, of index: Int) -> [Line] {
        guard var item = items[index] else { return [] }
        let lines = lines(for: event, of: item)
        item.apply(event)
        items[index] = item
        switch event {
        case .started, .redirected, .responded, .resumed, .restarted, .retrying, .fellBack, .paused: return lines
        case .skipped: tally.addFinished(0)
        case .finished(let summary): tally.addFinished(summary.fileSize)
        case .failed(let error): tally.addFailure(ExitCode(error.code))
        case .cancelled, .removed: tally.addFailure(.other)
        }
        items[index] = nil
        return lines
    }

    /// Takes over how a download stands when its events end; of a very long history the last may be missing.
    mutating func close(_ state: DownloadState, of index: Int) -> [Line] {
        switch state {
        case .waiting, .running, .paused: []
        case .finished(let file): record(.skipped(file), of: index)
        case .failed(let error): record(.failed(error), of: index)
        case .cancelled: record(.cancelled, of: index)
        }
    }

    /// Takes in that a download that was not added has ended well.
    mutating func countFinished() {
        tally.addFinished(0)
    }

    mutating func update(_ progress: DownloadProgress, of index: Int) {
        guard let totalBytes = items[index]?.progress.totalBytes else {
            items[index]?.progress = progress
            return
        }
        items[index]?.progress = progress
        items[index]?.progress.totalBytes = progress.totalBytes ?? totalBytes
    }

    /// The lines of `--json` for how far the running downloads are.
    var progressLines: [Line] {
        snapshot.running.filter { $0.plannedPath != nil }.map { .output(JSONLines.progressLine(of: $0)) }
    }

    /// The line after the last download.
    func summary(elapsed: Duration) -> [Line] {
        style == .json ? [] : text.summary(tally, elapsed: elapsed).map { [.error($0)] } ?? []
    }

    private func lines(for event: DownloadEvent, of item: Item) -> [Line] {
        guard style == .json else { return text.line(for: event, of: item).map { [.error($0)] } ?? [] }
        let line = Line.output(JSONLines.line(for: event, of: item))
        switch event {
        case .failed, .cancelled: return [line] + (text.line(for: event, of: item).map { [.error($0)] } ?? [])
        default: return [line]
        }
    }
}

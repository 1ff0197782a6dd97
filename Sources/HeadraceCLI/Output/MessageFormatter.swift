import Headrace
import HeadracePlatform

/// Events as lines for a person, on standard error.
struct MessageFormatter: Sendable {
    let verbosity: GetOptions.Verbosity
    /// A start needs no line of its own where the download gets one that moves.
    let isLive: Bool
    /// What names the list in a command on it.
    var queueWords = ""

    /// The line for an event, or nil where it gets none.
    func line(for event: DownloadEvent, of item: DisplayedDownload) -> String? {
        switch event {
        case .failed(let error):
            return "headrace: \(item.name): \(error.advisedMessage.withoutFullStop) (\(item.url))".printable
        case .cancelled: return "headrace: \(item.name): cancelled (\(item.url))".printable
        default: return verbosity == .quiet ? nil : success(event, item)?.printable
        }
    }

    /// The line at the end of several downloads.
    func summary(_ totals: RunTotals, elapsed: Duration) -> String? {
        guard totals.count != 1, verbosity != .quiet else { return nil }
        guard totals.count > 0 else {
            return "nothing waits to be downloaded"
                + hint("retry", totals.failedEarlier, .failed, totals.failedEarlier == 1 ? "has failed" : "have failed")
                + hint("resume", totals.paused, .paused, totals.paused == 1 ? "is paused" : "are paused")
        }
        let failed = totals.failed
        let result = "\(totals.finished) of \(totals.count) finished\(failed > 0 ? ", \(failed) failed" : "")"
        // Of files that were there already, no speed is to be told.
        guard totals.finishedBytes > 0 else { return "\(result) in \(Format.elapsed(elapsed))" }
        return "\(result): \(Self.rate(totals.finishedBytes, fetched: totals.fetchedBytes, elapsed))"
    }

    /// The command for so many downloads, where there are any.
    private func hint(_ verb: String, _ count: Int, _ state: DownloadState.Kind, _ what: String) -> String {
        guard count > 0 else { return "" }
        return "; \(count) \(what): headrace queue \(verb) --state \(state.rawValue)\(queueWords)".printable
    }

    /// The line of a run that waits for downloads that were paused during it.
    func explanation(ofWaitingFor count: Int) -> String {
        let what = count == 1 ? "1 download is" : "\(count) downloads are"
        return
            "headrace: \(what) paused, and the run waits: headrace queue resume --state paused\(queueWords) continues"
            .printable
    }

    private func success(_ event: DownloadEvent, _ item: DisplayedDownload) -> String? {
        switch event {
        case .started where !isLive || verbosity == .verbose: "\(item.name): started (\(item.url))"
        case .redirected(let status, _, let to) where verbosity == .verbose:
            "\(item.name): redirected with status \(status) to \(to.withoutCredentials.absoluteString)"
        case .responded(let status, let totalBytes, _) where verbosity == .verbose:
            "\(item.name): answered with status \(status), \(totalBytes.map(Format.size) ?? "size unknown")"
        case .responded(_, let totalBytes, _):
            item.bytesKept.map {
                "\(item.name): resumes with \(Format.size($0))" + (totalBytes.map { " of \(Format.size($0))" } ?? "")
                    + " already downloaded"
            }
        case .resumed(let offset, let kept, let proof) where verbosity == .verbose:
            "\(item.name): resumes at \(Format.size(offset)) with \(Format.size(kept)) already downloaded. \(proof)"
        case .restarted(let reason, let bytes):
            "\(item.name): starts again, \(Format.size(bytes)) are of no use: \(reason.withoutFullStop)"
        case .waitingForNetwork(let blocker): "\(item.name): waits for \(blocker.remedy)"
        case .networkChanged where verbosity == .verbose: "\(item.name): connects again, since the network has changed"
        case .retrying(let error, let attempt, let delay):
            "\(item.name): retry \(attempt) in \(Format.elapsed(delay)): \(error.message.withoutFullStop)"
        case .connectionOpened(let range, let url, let count) where verbosity == .verbose:
            "\(item.name): connection \(count), to \(url.host() ?? ""), fetches "
                + "\(Format.size(range.upperBound - range.lowerBound)) from \(Format.size(range.lowerBound)) on"
        case .connectionClosed(let reason, let bytes) where verbosity == .verbose:
            "\(item.name): a connection is given up, \(Format.size(bytes)) are of no use: \(reason.withoutFullStop)"
        case .fellBackToOneConnection(let reason, let bytes) where verbosity == .verbose:
            "\(item.name): no further connections, \(Format.size(bytes)) are of no use: \(reason.withoutFullStop)"
        case .sourceFailed(let error, let next):
            "\(item.name): goes on from \(next.absoluteString): \(error.message.withoutFullStop)"
        case .verifying where verbosity == .verbose: "\(item.name): is read for its checksum"
        case .verified(let checksum) where verbosity == .verbose: "\(item.name): has the checksum \(checksum)"
        case .piecesVerified(let count) where verbosity == .verbose:
            "\(item.name): has the checksums of its \(count) pieces"
        case .repairing(0, let bytes): "\(item.name): is too long; the last \(Format.size(bytes)) are left away"
        case .repairing(let pieces, let bytes):
            "\(item.name): \(pieces == 1 ? "a piece is" : "\(pieces) pieces are") wrong or missing; "
                + "\(Format.size(bytes)) are fetched"
        case .fellBack(let what) where verbosity == .verbose: "\(item.name): \(what.withoutFullStop)"
        case .paused: "\(item.name): paused"
        case .skipped: "\(item.name): exists already and is left as it is"
        case .unchanged(let file):
            "\(file.lastPathComponent): is there, \(item.proof ?? "and has not changed on the server")"
        case .finished(let summary): finished(summary, item)
        default: nil
        }
    }

    private func finished(_ summary: DownloadSummary, _ item: DisplayedDownload) -> String {
        let name = summary.file.lastPathComponent
        let proof = item.proof.map { ", \($0)" } ?? ""
        let doubt = summary.isLengthVerified ? "" : "; the server did not say how long it is"
        return "\(item.name): finished\(name == item.name ? "" : " as \(name)"), "
            + Self.rate(summary.fileSize, fetched: summary.bytesFetched, summary.duration) + proof + doubt
    }

    /// The speed is that of the bytes which came now, of a file that was gone on with fewer than it has.
    private static func rate(_ bytes: Int64, fetched: Int64, _ duration: Duration) -> String {
        let part = fetched < bytes ? " (\(Format.size(fetched)) fetched)" : ""
        // What was of no use does not make it faster.
        let useful = Double(min(fetched, bytes))
        let speed = duration > .zero ? ", " + Format.speed(useful / (duration / .seconds(1))) : ""
        return "\(Format.size(bytes))\(part) in \(Format.elapsed(duration))\(speed)"
    }
}

extension NetworkBlocker {
    /// What a download waits for.
    var remedy: String {
        switch self {
        case .offline: "a network"
        case .expensive: "a network that costs nothing"
        case .constrained: "a network that is not to be spared"
        case .neitherWiFiNorWired: "Wi-Fi or a cable"
        }
    }
}

import Headrace
import HeadracePlatform

/// Formats events as lines for people, on standard error.
struct MessageFormatter: Sendable {
    let verbosity: GetOptions.Verbosity
    /// Whether downloads have progress lines, so that no message about their start is necessary.
    let isLive: Bool
    /// The `--registry` option to add to a suggested queue command; empty for the default queue.
    var queueWords = ""

    /// Returns the line for an event; `nil` if the event is not shown.
    func line(for event: DownloadEvent, of item: DisplayedDownload) -> String? {
        switch event {
        case .failed(let error):
            return "headrace: \(item.name): \(error.advisedMessage.withoutFullStop) (\(item.url))".printable
        case .cancelled: return "headrace: \(item.name): cancelled (\(item.url))".printable
        default: break
        }
        guard verbosity != .quiet, let message = message(for: event, of: item) else { return nil }
        // Without a response, only the event has the name of the file.
        let name = if case .unchanged(let file) = event { file.lastPathComponent } else { item.name }
        return "\(name): \(message)".printable
    }

    /// Returns the last line of a run; `nil` in quiet mode and for a run of a single download.
    func summary(_ totals: RunTotals, elapsed: Duration) -> String? {
        guard totals.count != 1, verbosity != .quiet else { return nil }
        guard totals.count > 0 else {
            let (failed, paused) = (totals.failedEarlier.count, totals.paused.count)
            return "no download is waiting"
                + hint("retry", failed, .failed, failed == 1 ? "has failed" : "have failed")
                + hint("resume", paused, .paused, paused == 1 ? "is paused" : "are paused")
        }
        let failed = totals.failed
        let result = "\(totals.finished) of \(totals.count) finished\(failed > 0 ? ", \(failed) failed" : "")"
        // Files that existed already have no speed.
        guard totals.finishedBytes > 0 else { return "\(result) in \(Format.elapsed(elapsed))" }
        return "\(result): \(Self.rate(totals.finishedBytes, fetched: totals.fetchedBytes, elapsed))"
    }

    /// Returns a hint with the command that retries or resumes `count` downloads; empty if there are none.
    private func hint(_ verb: String, _ count: Int, _ state: DownloadState.Kind, _ what: String) -> String {
        guard count > 0 else { return "" }
        return "; \(count) \(what): \(verb) with headrace queue \(verb) --state \(state.rawValue)\(queueWords)"
            .printable
    }

    /// Returns the message that the run waits for `count` downloads that were paused during the run.
    func explanation(ofWaitingFor count: Int) -> String {
        let what = count == 1 ? "1 download is" : "\(count) downloads are"
        return
            "headrace: waiting, because \(what) paused; resume with headrace queue resume --state paused\(queueWords)"
            .printable
    }

    private func message(for event: DownloadEvent, of item: DisplayedDownload) -> String? {
        switch event {
        case .started where !isLive || verbosity == .verbose: "started (\(item.url))"
        case .redirected(let status, _, let to) where verbosity == .verbose:
            "redirected with status \(status) to \(to.withoutCredentials.absoluteString)"
        case .responded(let status, let totalBytes, _) where verbosity == .verbose:
            "response status \(status), \(totalBytes.map(Format.size) ?? "size unknown")"
        case .responded(_, let totalBytes, _):
            item.bytesKept.map {
                "resuming with \(Format.size($0))" + (totalBytes.map { " of \(Format.size($0))" } ?? "")
                    + " already downloaded"
            }
        case .resumed(let offset, let kept, let proof) where verbosity == .verbose:
            "resuming at \(Format.size(offset)) with \(Format.size(kept)) already downloaded. \(proof)"
        case .restarted(let reason, let bytes):
            "starting over\(Self.discarding(bytes)): \("\(reason)".withoutFullStop)"
        case .waitingForNetwork(let blocker): "waiting for \(blocker.remedy)"
        case .networkChanged where verbosity == .verbose: "reconnecting, because the network has changed"
        case .retrying(let error, let attempt, let delay):
            "retry \(attempt) in \(Format.elapsed(delay)): \(error.message.withoutFullStop)"
        case .connectionOpened(let range, let url, let count) where verbosity == .verbose:
            "connection \(count), to \(url.host() ?? ""), downloads "
                + "\(Format.size(range.upperBound - range.lowerBound)) from offset \(Format.size(range.lowerBound))"
        case .connectionClosed(let reason, let bytes) where verbosity == .verbose:
            "closed a connection\(Self.discarding(bytes)): \("\(reason)".withoutFullStop)"
        case .fellBackToOneConnection(let reason, let bytes) where verbosity == .verbose:
            "using a single connection\(Self.discarding(bytes)): \("\(reason)".withoutFullStop)"
        case .limited(let bottleneck?) where verbosity == .verbose: "limited by \(bottleneck.phrase)"
        case .sourceFailed(let error, let next):
            "continuing from \(next.absoluteString): \(error.message.withoutFullStop)"
        case .verifying where verbosity == .verbose: "verifying the checksum"
        case .verified(let checksum) where verbosity == .verbose: "verified, \(checksum)"
        case .piecesVerified(let count) where verbosity == .verbose: "verified, \(count) pieces"
        case .repairing(0, let bytes): "too long; removing the last \(Format.size(bytes))"
        case .repairing(let pieces, let bytes):
            "\(pieces == 1 ? "1 piece is" : "\(pieces) pieces are") damaged or missing; "
                + "downloading \(Format.size(bytes))"
        case .notice(let notice) where verbosity == .verbose || notice.isEssential: notice.description.withoutFullStop
        case .paused: "paused"
        case .skipped: "already exists, skipped"
        case .unchanged: "already downloaded, \(item.proof ?? "not changed on the server")"
        case .finished(let summary): finished(summary, item)
        default: nil
        }
    }

    private static func discarding(_ bytes: Int64) -> String {
        bytes > 0 ? ", discarding \(Format.size(bytes))" : ""
    }

    private func finished(_ summary: DownloadSummary, _ item: DisplayedDownload) -> String {
        let name = summary.file.lastPathComponent
        let proof = item.proof.map { ", \($0)" } ?? ""
        let limits = item.bottlenecks.map(\.phrase).joined(separator: ", then by ")
        let limited = verbosity == .verbose && !limits.isEmpty ? ", limited by \(limits)" : ""
        let warning = summary.isLengthVerified ? "" : "; the server did not send its length, so it may be incomplete"
        return "finished\(name == item.name ? "" : " as \(name)"), "
            + Self.rate(summary.fileSize, fetched: summary.bytesFetched, summary.duration) + proof + limited + warning
    }

    /// Returns the size, the time and the speed; for a resumed file, the speed of the bytes downloaded in this run.
    private static func rate(_ bytes: Int64, fetched: Int64, _ duration: Duration) -> String {
        let part = fetched < bytes ? " (\(Format.size(fetched)) downloaded)" : ""
        // Discarded bytes do not count as speed.
        let useful = Double(min(fetched, bytes))
        let speed = duration > .zero ? ", " + Format.speed(useful / (duration / .seconds(1))) : ""
        return "\(Format.size(bytes))\(part) in \(Format.elapsed(duration))\(speed)"
    }
}

extension DownloadEvent.Bottleneck {
    var phrase: String {
        switch self {
        case .line: "the line"
        case .connectionRate: "the server's rate per connection"
        case .congestionWindow: "lost packets and the round trip to the server"
        case .disk: "the disk"
        case .rateLimit: "the rate limit"
        case .connectionLimit: "the limit on connections to the host"
        case .refusedConnections: "the server, which refuses more connections"
        }
    }
}

extension NetworkBlocker {
    /// The network that a download waits for, as a phrase for messages, such as "Wi-Fi or a wired network".
    var remedy: String {
        switch self {
        case .offline: "a network connection"
        case .expensive: "a network that is not metered"
        case .constrained: "a network that is not in low-data mode"
        case .neitherWiFiNorWired: "Wi-Fi or a wired network"
        }
    }
}

extension DownloadEvent.Notice {
    /// Whether the notice is shown without `--verbose` too: nothing else explains a wait, bytes that are received again,
    /// or a file that differs from the server's.
    fileprivate var isEssential: Bool {
        switch self {
        case .waitingForHost, .waitingForRetryLimit, .waitingForDescriptors, .bytesLost, .fileTruncated, .notSaved,
            .rangeIgnored, .otherLogin, .encoded, .transformed:
            true
        case .linkRenewed, .linkNotRenewed, .omitsIfRange, .omitsPrecondition, .unsupportedInBackground: false
        }
    }
}

import Headrace
import HeadracePlatform

/// Formats events as JSON lines for programs.
///
/// Each line about a download has `event`, `id` and `url`.
///
/// The documentation page "JSON lines" is the schema; an incompatible change needs a new version number.
///
/// Each download ends with exactly one of `finished`, `skipped`, `unchanged`, `failed`, `cancelled` and `removed`,
/// unless a signal ends the run.
enum JSONLines {
    /// The first line, with the version of the schema.
    static let head = (["event": "stream", "version": 1] as JSONObject).text

    /// Returns the line for a command that fails as a whole.
    static func error(_ message: String, _ code: DownloadError.Code?) -> String {
        (["event": "error"] + JSONObject.failure(code, message)).text
    }

    static func line(for event: DownloadEvent, of item: DisplayedDownload) -> String {
        let (name, members) = contents(of: event, item)
        return line(name, item, members)
    }

    static func progressLine(of item: DisplayedDownload) -> String {
        let progress = item.progress
        var members: JSONObject = [
            "bytesReceived": progress.bytesReceived, "totalBytes": progress.totalBytes,
            "bytesPerSecond": Format.wholeNumber(progress.bytesPerSecond),
            "secondsRemaining": progress.timeRemaining.map { $0 / .seconds(1) },
        ]
        if let bytes = progress.bytesVerified { members.append("bytesVerified", bytes) }
        return line("progress", item, members)
    }

    private static func line(_ event: String, _ item: DisplayedDownload, _ members: JSONObject) -> String {
        (["event": event, "id": item.id, "url": item.url] + members).text
    }

    /// Returns the name of an event, and the members that its line has besides `event`, `id` and `url`.
    private static func contents(of event: DownloadEvent, _ item: DisplayedDownload) -> (String, JSONObject) {
        switch event {
        case .started: ("started", [:])
        case .redirected(let status, let from, let to): ("redirected", redirect(status, from, to))
        case .responded(let status, let totalBytes, let file):
            ("responded", ["status": status, "totalBytes": totalBytes, "file": file.plainPath])
        case .resumed(let offset, let kept, let proof):
            ("resumed", ["offset": offset, "bytesKept": kept, "proof": "\(proof)"])
        case .waitingForNetwork(let blocker): ("waitingForNetwork", ["reason": blocker.rawValue])
        case .networkChanged: ("networkChanged", [:])
        case .restarted(let reason, let bytes): ("restarted", ["reason": "\(reason)", "bytesWasted": bytes])
        case .retrying(let error, let attempt, let delay):
            ("retrying", .reason(error.code, error.message) + ["attempt": attempt, "seconds": delay / .seconds(1)])
        case .connectionOpened(let range, let url, let count): ("connectionOpened", connection(range, url, count))
        case .connectionClosed(let reason, let bytes):
            ("connectionClosed", ["reason": "\(reason)", "bytesWasted": bytes])
        case .fellBackToOneConnection(let reason, let bytes):
            ("fellBackToOneConnection", ["reason": "\(reason)", "bytesWasted": bytes])
        case .limited(let bottleneck): ("limited", ["reason": bottleneck?.rawValue])
        case .requestEnded(let request): ("requestEnded", metrics(request))
        case .sourceFailed(let error, let next):
            (
                "sourceFailed",
                .reason(error.code, error.message)
                    + ["source": error.url?.absoluteString, "next": next.absoluteString]
            )
        case .verifying: ("verifying", [:])
        case .verified(let checksum): ("verified", ["checksum": "\(checksum)"])
        case .piecesVerified(let count): ("piecesVerified", ["pieces": count])
        case .repairing(let pieces, let bytes): ("repairing", ["pieces": pieces, "bytesWasted": bytes])
        case .notice(let notice): ("fellBack", ["message": "\(notice)"])
        case .skipped(let file): ("skipped", ["file": file.plainPath])
        case .unchanged(let file): ("unchanged", ["file": file.plainPath])
        case .finished(let summary): ("finished", result(summary, item))
        case .failed(let error):
            ("failed", .failure(error.code, error.advisedMessage, ["statusCode": error.statusCode]))
        case .paused: ("paused", [:])
        case .cancelled: ("cancelled", [:])
        case .removed: ("removed", [:])
        }
    }

    private static func redirect(_ status: Int, _ from: URL, _ to: URL) -> JSONObject {
        [
            "status": status, "from": from.withoutCredentials.absoluteString,
            "to": to.withoutCredentials.absoluteString,
        ]
    }

    private static func connection(_ range: Range<Int64>, _ url: URL, _ count: Int) -> JSONObject {
        ["offset": range.lowerBound, "end": range.upperBound, "from": url.absoluteString, "connections": count]
    }

    private static func metrics(_ request: RequestMetrics) -> JSONObject {
        [
            "status": request.status, "address": request.address, "bytes": request.bytesReceived,
            "seconds": request.total / .seconds(1),
        ]
    }

    private static func result(_ summary: DownloadSummary, _ item: DisplayedDownload) -> JSONObject {
        [
            "file": summary.file.plainPath, "fileSize": summary.fileSize, "bytesFetched": summary.bytesFetched,
            "seconds": summary.duration / .seconds(1), "isLengthVerified": summary.isLengthVerified,
            "checksum": item.checksum?.description,
        ]
    }
}

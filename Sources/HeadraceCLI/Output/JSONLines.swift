import Headrace
import HeadracePlatform

/// Formats events as JSON lines for programs.
///
/// Each line about a download has `event`, `id` and `url`.
///
/// The documentation page "JSON lines" is the schema; an incompatible change needs a new version number.
///
/// Each download ends with exactly one of `finished`, `skipped`, `unchanged`, `failed`, `cancelled` and `removed`.
enum JSONLines {
    /// The first line, with the version of the schema.
    static let head = (["event": .string("stream"), "version": .integer(1)] as JSONObject).text

    /// Returns the line for a command that fails as a whole.
    static func error(_ message: String, _ code: DownloadError.Code?) -> String {
        (["event": .string("error")] + JSONObject.failure(code, message)).text
    }

    static func line(for event: DownloadEvent, of item: DisplayedDownload) -> String {
        let (name, members) = contents(of: event, item)
        return line(name, item, members)
    }

    private static func line(_ event: String, _ item: DisplayedDownload, _ members: JSONObject) -> String {
        let head: JSONObject = ["event": .string(event), "id": .string(item.id), "url": .string(item.url)]
        return (head + members).text
    }

    /// Returns the name of an event, and the members that its line has besides `event`, `id` and `url`.
    private static func contents(of event: DownloadEvent, _ item: DisplayedDownload) -> (String, JSONObject) {
        switch event {
        case .started: ("started", [:])
        case .redirected(let status, let from, let to): ("redirected", redirect(status, from, to))
        case .responded(let status, let totalBytes, let file):
            (
                "responded",
                ["status": .integer(Int64(status)), "totalBytes": .optional(totalBytes), "file": path(file)]
            )
        case .resumed(let offset, let kept, let proof):
            ("resumed", ["offset": .integer(offset), "bytesKept": .integer(kept), "proof": .string("\(proof)")])
        case .waitingForNetwork(let blocker): ("waitingForNetwork", ["reason": .string(blocker.rawValue)])
        case .networkChanged: ("networkChanged", [:])
        case .restarted(let reason, let bytes): ("restarted", wasted(bytes, "\(reason)"))
        case .retrying(let error, let attempt, let delay): ("retrying", retry(error, attempt, delay))
        case .connectionOpened(let range, let url, let count): ("connectionOpened", connection(range, url, count))
        case .connectionClosed(let reason, let bytes): ("connectionClosed", wasted(bytes, "\(reason)"))
        case .fellBackToOneConnection(let reason, let bytes):
            ("fellBackToOneConnection", wasted(bytes, "\(reason)"))
        case .limited(let bottleneck): ("limited", ["reason": .optional(bottleneck?.rawValue)])
        case .requestEnded(let request):
            (
                "requestEnded",
                [
                    "status": .optional(request.status), "address": .optional(request.address),
                    "bytes": .integer(request.bytesReceived), "seconds": .number(request.total / .seconds(1)),
                ]
            )
        case .sourceFailed(let error, let next): ("sourceFailed", failure(error, next: next))
        case .verifying: ("verifying", [:])
        case .verified(let checksum): ("verified", ["checksum": .string("\(checksum)")])
        case .piecesVerified(let count): ("piecesVerified", ["pieces": .integer(Int64(count))])
        case .repairing(let pieces, let bytes):
            ("repairing", ["pieces": .integer(Int64(pieces)), "bytesWasted": .integer(bytes)])
        case .notice(let notice): ("fellBack", ["message": .string("\(notice)")])
        case .skipped(let file): ("skipped", ["file": path(file)])
        case .unchanged(let file): ("unchanged", ["file": path(file)])
        case .finished(let summary): ("finished", result(summary, item))
        case .failed(let error):
            ("failed", .failure(error.code, error.advisedMessage, ["statusCode": .optional(error.statusCode)]))
        case .paused: ("paused", [:])
        case .cancelled: ("cancelled", [:])
        case .removed: ("removed", [:])
        }
    }

    private static func redirect(_ status: Int, _ from: URL, _ to: URL) -> JSONObject {
        [
            "status": .integer(Int64(status)), "from": .string(from.withoutCredentials.absoluteString),
            "to": .string(to.withoutCredentials.absoluteString),
        ]
    }

    private static func wasted(_ bytes: Int64, _ reason: String) -> JSONObject {
        ["reason": .string(reason), "bytesWasted": .integer(bytes)]
    }

    private static func retry(_ error: DownloadError, _ attempt: Int, _ delay: Duration) -> JSONObject {
        [
            "code": .string("\(error.code)"), "message": .string(error.message),
            "attempt": .integer(Int64(attempt)), "seconds": .number(delay / .seconds(1)),
        ]
    }

    private static func connection(_ range: Range<Int64>, _ url: URL, _ count: Int) -> JSONObject {
        [
            "offset": .integer(range.lowerBound), "end": .integer(range.upperBound),
            "from": .string(url.absoluteString), "connections": .integer(Int64(count)),
        ]
    }

    private static func failure(_ error: DownloadError, next: URL) -> JSONObject {
        [
            "code": .string("\(error.code)"), "message": .string(error.message),
            "source": .optional(error.url?.absoluteString), "next": .string(next.absoluteString),
        ]
    }

    private static func result(_ summary: DownloadSummary, _ item: DisplayedDownload) -> JSONObject {
        [
            "file": path(summary.file), "fileSize": .integer(summary.fileSize),
            "bytesFetched": .integer(summary.bytesFetched), "seconds": .number(summary.duration / .seconds(1)),
            "isLengthVerified": .bool(summary.isLengthVerified), "checksum": .optional(item.checksum?.description),
        ]
    }

    static func progressLine(of item: DisplayedDownload) -> String {
        let progress = item.progress
        var members: JSONObject = [
            "bytesReceived": .integer(progress.bytesReceived), "totalBytes": .optional(progress.totalBytes),
            "bytesPerSecond": .integer(Format.wholeNumber(progress.bytesPerSecond)),
            "secondsRemaining": progress.timeRemaining.map { .number($0 / .seconds(1)) } ?? .null,
        ]
        if let bytes = progress.bytesVerified { members.append("bytesVerified", .integer(bytes)) }
        return line("progress", item, members)
    }

    private static func path(_ file: URL) -> JSONObject.Value { .string(file.plainPath) }
}

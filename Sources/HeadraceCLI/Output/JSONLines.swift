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
    static let head = JSONObject(["event": .string("stream"), "version": .integer(1)]).text

    /// Returns the line for a command that fails as a whole.
    static func error(_ message: String, _ code: DownloadError.Code?, _ status: ExitCode) -> String {
        JSONObject([
            "event": .string("error"), "code": .optional(code?.description), "message": .string(message),
            "exitStatus": .integer(Int64(status.code)),
        ]).text
    }

    static func line(for event: DownloadEvent, of item: DisplayedDownload) -> String {
        switch event {
        case .started: return object("started", item).text
        case .redirected(let status, let from, let to):
            return object(
                "redirected",
                item,
                [
                    "status": .integer(Int64(status)), "from": .string(from.withoutCredentials.absoluteString),
                    "to": .string(to.withoutCredentials.absoluteString),
                ]
            ).text
        case .responded(let status, let totalBytes, let file):
            return object(
                "responded",
                item,
                ["status": .integer(Int64(status)), "totalBytes": .optional(totalBytes), "file": path(file)]
            ).text
        case .resumed(let offset, let kept, let proof):
            return object(
                "resumed",
                item,
                ["offset": .integer(offset), "bytesKept": .integer(kept), "proof": .string("\(proof)")]
            ).text
        case .waitingForNetwork(let blocker):
            return object("waitingForNetwork", item, ["reason": .string(blocker.rawValue)]).text
        case .networkChanged: return object("networkChanged", item).text
        case .restarted(let reason, let bytes):
            return wasted("restarted", item, "\(reason)", bytes)
        case .retrying(let error, let attempt, let delay):
            return object(
                "retrying",
                item,
                [
                    "code": .string("\(error.code)"), "message": .string(error.message),
                    "attempt": .integer(Int64(attempt)), "seconds": .number(delay / .seconds(1)),
                ]
            ).text
        case .connectionOpened(let range, let url, let count):
            return object(
                "connectionOpened",
                item,
                [
                    "offset": .integer(range.lowerBound), "end": .integer(range.upperBound),
                    "from": .string(url.absoluteString), "connections": .integer(Int64(count)),
                ]
            ).text
        case .connectionClosed(let reason, let bytes):
            return wasted("connectionClosed", item, "\(reason)", bytes)
        case .fellBackToOneConnection(let reason, let bytes):
            return wasted("fellBackToOneConnection", item, "\(reason)", bytes)
        case .sourceFailed(let error, let next):
            return object(
                "sourceFailed",
                item,
                [
                    "code": .string("\(error.code)"), "message": .string(error.message),
                    "source": .optional(error.url?.absoluteString), "next": .string(next.absoluteString),
                ]
            ).text
        case .verifying: return object("verifying", item).text
        case .verified(let checksum): return object("verified", item, ["checksum": .string("\(checksum)")]).text
        case .piecesVerified(let count): return object("piecesVerified", item, ["pieces": .integer(Int64(count))]).text
        case .repairing(let pieces, let bytes):
            return object("repairing", item, ["pieces": .integer(Int64(pieces)), "bytesWasted": .integer(bytes)]).text
        case .notice(let notice): return object("fellBack", item, ["message": .string("\(notice)")]).text
        case .skipped(let file): return object("skipped", item, ["file": path(file)]).text
        case .unchanged(let file): return object("unchanged", item, ["file": path(file)]).text
        case .finished(let summary): return finished(summary, item)
        case .failed(let error):
            return object(
                "failed",
                item,
                [
                    "code": .string("\(error.code)"), "message": .string(error.advisedMessage),
                    "statusCode": .optional(error.statusCode.map { Int64($0) }),
                    "exitStatus": .integer(Int64(ExitCode(error.code).code)),
                ]
            ).text
        case .paused: return object("paused", item).text
        case .cancelled: return object("cancelled", item).text
        case .removed: return object("removed", item).text
        }
    }

    static func progressLine(of item: DisplayedDownload) -> String {
        let progress = item.progress
        var line = object(
            "progress",
            item,
            [
                "bytesReceived": .integer(progress.bytesReceived), "totalBytes": .optional(progress.totalBytes),
                "bytesPerSecond": .integer(Format.wholeNumber(progress.bytesPerSecond)),
                "secondsRemaining": progress.timeRemaining.map { .number($0 / .seconds(1)) } ?? .null,
            ]
        )
        if let bytes = progress.bytesVerified { line.append("bytesVerified", .integer(bytes)) }
        return line.text
    }

    private static func finished(_ summary: DownloadSummary, _ item: DisplayedDownload) -> String {
        object(
            "finished",
            item,
            [
                "file": path(summary.file), "fileSize": .integer(summary.fileSize),
                "bytesFetched": .integer(summary.bytesFetched), "seconds": .number(summary.duration / .seconds(1)),
                "isLengthVerified": .bool(summary.isLengthVerified),
                "checksum": .optional(item.checksum?.description),
            ]
        ).text
    }

    private static func wasted(_ event: String, _ item: DisplayedDownload, _ reason: String, _ bytes: Int64) -> String {
        object(event, item, ["reason": .string(reason), "bytesWasted": .integer(bytes)]).text
    }

    private static func object(
        _ event: String,
        _ item: DisplayedDownload,
        _ members: KeyValuePairs<String, JSONObject.Value> = [:]
    ) -> JSONObject {
        var object = JSONObject(["event": .string(event), "id": .string(item.id), "url": .string(item.url)])
        for (name, value) in members { object.append(name, value) }
        return object
    }

    private static func path(_ file: URL) -> JSONObject.Value { .string(file.plainPath) }
}

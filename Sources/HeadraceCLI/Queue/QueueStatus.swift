import Headrace

struct QueueStatus: Sendable, Equatable {
    let processID: Int32?
    let counts: [DownloadState.Kind: Int]
    let log: String?

    var lines: [String] {
        let parts = DownloadState.Kind.allCases.compactMap { kind in counts[kind].map { "\($0) \(kind.rawValue)" } }
        return [
            processID.map { "Process \($0) is running the queue." } ?? "No process is running the queue.",
            parts.isEmpty ? "The queue is empty." : parts.joined(separator: ", "),
        ] + (log.map { ["Log: \($0)".printable] } ?? [])
    }

    /// The paragraph of the help text about ``json``.
    static let jsonNotes = """
        --json: one object with the processID of the process that runs the queue and the path of its log, each null if
        there is none, and the number of downloads that are waiting, running, paused, finished, failed and cancelled.
        Later releases may add members.
        """

    var json: String {
        var object: JSONObject = ["processID": processID, "log": log]
        for kind in DownloadState.Kind.allCases { object.append(kind.rawValue, counts[kind] ?? 0) }
        return object.text
    }
}

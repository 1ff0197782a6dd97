import Headrace

/// What `queue status` tells.
struct QueueStatus: Sendable, Equatable {
    /// The process that runs the list; nil where none does.
    let processID: Int32?
    let counts: [DownloadState.Kind: Int]
    /// The path of the log, where there is one.
    let log: String?

    var lines: [String] {
        let some = DownloadState.Kind.allCases.compactMap { kind in counts[kind].map { "\($0) \(kind.rawValue)" } }
        return [
            processID.map { "Process \($0) runs the list." } ?? "No process runs the list.",
            some.isEmpty ? "The list is empty." : some.joined(separator: ", "),
        ] + (log.map { ["Log: \($0)".printable] } ?? [])
    }

    /// What the help text says of ``json``.
    static let jsonNotes = """
        --json: one object, with the processID of the process that runs the list, and the path of its log, or null; then
        how many downloads are waiting, running, paused, finished, failed and cancelled. Later releases may add members.
        """

    var json: String {
        var object = JSONObject([
            "processID": .optional(processID.map(Int64.init)), "log": .optional(log),
        ])
        for kind in DownloadState.Kind.allCases { object.append(kind.rawValue, .integer(Int64(counts[kind] ?? 0))) }
        return object.text
    }
}

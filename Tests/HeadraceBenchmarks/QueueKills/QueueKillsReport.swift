/// The report of the verb `queue-kills`.
struct QueueKillsReport: VerbReport {
    let options: QueueKillsOptions
    /// The bytes per second of one response.
    let rate: Int
    var kills = 0
    var queues = 0
    var seconds = 0.0
    var fileBytes = 0
    /// The number of bytes that the server sent.
    var sentBytes = 0
    var restarts: [ToolEvents.Restart] = []
    /// Events that must not happen, and the tool's output other than events.
    var complaints: [String] = []

    private var ratio: Double { fileBytes == 0 ? 0 : Double(sentBytes) / Double(fileBytes) }

    var violations: [String] {
        // An aborted run has no ratio.
        guard complaints.isEmpty, ratio > options.ratio else { return complaints }
        return ["\(Format.ratio(ratio)) the bytes of the files were sent; the limit is \(Format.ratio(options.ratio))"]
    }

    var text: String {
        let lines = [
            "\(kills) kills in \(Format.decimal(seconds, places: 0)) s, seed \(options.seed); \(queues) queues of "
                + "\(options.files) files, \(Format.mebibytes(fileBytes)) MiB, \(options.jobs) at once at "
                + "\(Format.decimal(Double(rate) / 1_000, places: 0)) kB/s each",
            "  sent: \(Format.mebibytes(sentBytes)) MiB, \(Format.ratio(ratio)) the files (goal: at most "
                + "\(Format.ratio(options.ratio)))",
            "  damaged queues, and wrong or unexpected files: \(complaints.count)",
        ]
        let reasons = Dictionary(grouping: restarts, by: \.reason).sorted { $0.key < $1.key }.map { reason, restarts in
            "  discarded: \(restarts.count) x, \(Format.mebibytes(restarts.reduce(0) { $0 + $1.bytesWasted })) MiB: \(reason)"
        }
        return (lines + reasons).joined(separator: "\n")
    }

    var members: [(String, JSON)] {
        [
            ("seed", .integer(Int(clamping: options.seed))), ("kills", .integer(kills)), ("queues", .integer(queues)),
            ("files", .integer(queues * options.files)), ("seconds", .number(seconds)), ("rate", .integer(rate)),
            ("fileBytes", .integer(fileBytes)), ("sentBytes", .integer(sentBytes)), ("ratio", .number(ratio)),
            ("restarts", .integer(restarts.count)),
            ("restartedBytes", .integer(restarts.reduce(0) { $0 + $1.bytesWasted })),
        ]
    }
}

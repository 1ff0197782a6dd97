/// The report of the verb `torture`: counts per server, and violations.
struct TortureReport: VerbReport {
    /// Restarts for one reason.
    struct Restarts {
        private(set) var count = 0
        private(set) var bytesWasted = 0

        mutating func add(_ bytes: Int) {
            count += 1
            bytesWasted += bytes
        }
    }

    struct Counts {
        var files = 0
        var kills = 0
        /// Kills before the first record, after which nothing can be resumed.
        var earlyKills = 0
        /// Runs in which the tool exited with an error.
        var failures = 0
        var wrongFiles = 0
        var leftovers = 0
        var resumes = 0
        /// Restarts after a kill before the first record, which are not an error.
        var earlyRestarts = Restarts()
        /// All other restarts, by reason.
        var restarts: [String: Restarts] = [:]
    }

    let options: TortureOptions
    var seconds = 0.0
    /// The bytes that the server sent, response by response.
    var deliveries: [HostileServer.Delivery] = []
    /// Everything that makes the run a failure, except excess bytes.
    private var complaints: [String] = []
    private var counts: [HostileServer.Behaviour: Counts] = [:]

    init(options: TortureOptions) {
        self.options = options
    }

    subscript(behaviour: HostileServer.Behaviour) -> Counts {
        get { counts[behaviour] ?? Counts() }
        set { counts[behaviour] = newValue }
    }

    var kills: Int { counts.values.reduce(0) { $0 + $1.kills } }

    var violations: [String] { complaints + excess }

    mutating func complain(_ complaint: String) {
        complaints.append(complaint)
    }

    /// The bytes that the good server may have sent: its files, and for each kill the bytes not yet recorded.
    private var allowedBytes: Int {
        let good = self[.good]
        let files = good.files * options.size
        return files + files / 20 + good.kills * options.bytesPerKill
    }

    /// Violations in the traffic of the good server, which are known at the end.
    private var excess: [String] {
        var complaints: [String] = []
        let sent = sentBytes(.good)
        if sent > allowedBytes {
            complaints.append("the good server sent \(sent) bytes; the limit is \(allowedBytes)")
        }
        // Independent of the restarts that the tool reports.
        let beginnings = deliveries.count { $0.behaviour == .good && $0.start == 0 }
        let mostBeginnings = self[.good].files + self[.good].earlyKills
        if beginnings > mostBeginnings {
            complaints.append("the good server started \(beginnings) files from zero; the limit is \(mostBeginnings)")
        }
        return complaints
    }

    private func sentBytes(_ behaviour: HostileServer.Behaviour) -> Int {
        deliveries.reduce(0) { $0 + ($1.behaviour == behaviour ? $1.end - $1.start : 0) }
    }

    private var behaviours: [HostileServer.Behaviour] { HostileServer.Behaviour.allCases }

    var text: String {
        var table = Table(columns: [
            "server", "kills", "no record", "files", "wrong", "left over", "errors", "resumes", "restarts",
            "sent/files",
            "lost/kill MiB",
        ])
        for behaviour in behaviours {
            let counts = self[behaviour]
            let restarts = counts.restarts.values.reduce(0) { $0 + $1.count }
            table.add(
                [behaviour.rawValue]
                    + [
                        counts.kills, counts.earlyKills, counts.files, counts.wrongFiles, counts.leftovers,
                        counts.failures,
                        counts.resumes, restarts,
                    ].map(String.init) + [sentRatio(behaviour).map(Format.ratio) ?? "-", lostPerKill(behaviour)]
            )
        }
        let reasons = behaviours.flatMap { behaviour in
            let counts = self[behaviour]
            let restarts = counts.restarts.sorted { $0.key < $1.key }
            let early =
                counts.earlyRestarts.count == 0 ? [] : [("killed before the first record", counts.earlyRestarts)]
            return (early + restarts).map { reason, restarts in
                "  \(behaviour.rawValue): \(restarts.count) x, \(Format.mebibytes(restarts.bytesWasted)) MiB: \(reason)"
            }
        }
        let good =
            "good: \(Format.mebibytes(sentBytes(.good))) MiB sent, \(Format.mebibytes(allowedBytes)) MiB allowed: 1.05 x the "
            + "files and \(Format.mebibytes(options.bytesPerKill)) MiB per kill, which is one second of bytes"
        let head =
            "\(kills) kills in \(Format.decimal(seconds, places: 0)) s, seed \(options.seed), files of "
            + "\(Format.size(options.size)), \(options.jobs) at once"
            + (options.connections.map { ", over \($0) connections each" } ?? "")
        return ([head, ""] + table.lines + ["", good, "discarded:"] + reasons).joined(separator: "\n")
    }

    var members: [(String, JSON)] {
        [
            ("seed", .integer(Int(clamping: options.seed))), ("size", .integer(options.size)),
            ("connections", options.connections.map { .integer($0) } ?? .null), ("jobs", .integer(options.jobs)),
            ("kills", .integer(kills)), ("seconds", .number(seconds)), ("allowedBytes", .integer(allowedBytes)),
            ("servers", .array(behaviours.map(json))),
        ]
    }

    private func json(of behaviour: HostileServer.Behaviour) -> JSON {
        let counts = self[behaviour]
        let restarts = counts.restarts.sorted { $0.key < $1.key }.map { reason, restarts in
            JSON.object([
                ("reason", .string(reason)), ("count", .integer(restarts.count)),
                ("bytesWasted", .integer(restarts.bytesWasted)),
            ])
        }
        return .object([
            ("server", .string(behaviour.rawValue)), ("kills", .integer(counts.kills)),
            ("earlyKills", .integer(counts.earlyKills)), ("earlyRestarts", .integer(counts.earlyRestarts.count)),
            ("files", .integer(counts.files)), ("wrongFiles", .integer(counts.wrongFiles)),
            ("leftovers", .integer(counts.leftovers)), ("errors", .integer(counts.failures)),
            ("resumes", .integer(counts.resumes)), ("sentBytes", .integer(sentBytes(behaviour))),
            ("fileBytes", .integer(counts.files * options.size)), ("restarts", .array(restarts)),
        ])
    }

    private func sentRatio(_ behaviour: HostileServer.Behaviour) -> Double? {
        let files = self[behaviour].files * options.size
        return files == 0 ? nil : Double(sentBytes(behaviour)) / Double(files)
    }

    private func lostPerKill(_ behaviour: HostileServer.Behaviour) -> String {
        let counts = self[behaviour]
        guard counts.kills > 0 else { return "-" }
        let lost = Double(sentBytes(behaviour) - counts.files * options.size) / Double(counts.kills) / 1_048_576
        return Format.decimal(lost, places: 2)
    }
}

/// What came of the torture: the counts of each server, and what must not have happened.
struct TortureReport {
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
        /// Runs that the tool ended with an error.
        var failures = 0
        var wrongFiles = 0
        var leftovers = 0
        var resumes = 0
        var sentBytes = 0
        var restarts: [String: Restarts] = [:]
    }

    let options: TortureOptions
    var seconds = 0.0
    /// Everything that makes the run a failure, but for the bytes.
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

    /// The complaint about the good server's bytes, which are known at the end.
    private var excess: [String] {
        let good = self[.good]
        let files = good.files * options.size
        let allowed = files + files / 20 + good.kills * options.bytesPerKill
        guard good.sentBytes > allowed else { return [] }
        return [
            "the good server sent \(Format.mebibytes(good.sentBytes)) MiB for \(Format.mebibytes(files)) MiB of files "
                + "and \(good.kills) kills; \(Format.mebibytes(allowed)) MiB would be right"
        ]
    }

    private var behaviours: [HostileServer.Behaviour] { HostileServer.Behaviour.allCases }

    var text: String {
        var table = Table(columns: [
            "server", "kills", "files", "wrong", "left over", "errors", "resumes", "restarts", "sent/files",
            "lost/kill MiB",
        ])
        for behaviour in behaviours {
            let counts = self[behaviour]
            let restarts = counts.restarts.values.reduce(0) { $0 + $1.count }
            table.add(
                [behaviour.rawValue]
                    + [
                        counts.kills, counts.files, counts.wrongFiles, counts.leftovers, counts.failures,
                        counts.resumes, restarts,
                    ].map(String.init) + [sentRatio(counts).map(Format.ratio) ?? "-", lostPerKill(counts)]
            )
        }
        let reasons = behaviours.flatMap { behaviour in
            self[behaviour].restarts.sorted { $0.key < $1.key }.map { reason, restarts in
                "  \(behaviour.rawValue): \(restarts.count) x, \(Format.mebibytes(restarts.bytesWasted)) MiB: \(reason)"
            }
        }
        let head =
            "\(kills) kills in \(Format.decimal(seconds, places: 0)) s, seed \(options.seed), files of "
            + "\(Format.size(options.size)), \(options.jobs) at once"
        return ([head, ""] + table.lines + ["", "restarts:"] + reasons).joined(separator: "\n")
    }

    var json: JSON {
        .object([
            ("seed", .integer(Int(clamping: options.seed))), ("size", .integer(options.size)),
            ("kills", .integer(kills)), ("seconds", .number(seconds)),
            ("servers", .array(behaviours.map(json))), ("violations", .array(violations.map { .string($0) })),
        ])
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
            ("files", .integer(counts.files)), ("wrongFiles", .integer(counts.wrongFiles)),
            ("leftovers", .integer(counts.leftovers)), ("errors", .integer(counts.failures)),
            ("resumes", .integer(counts.resumes)), ("sentBytes", .integer(counts.sentBytes)),
            ("fileBytes", .integer(counts.files * options.size)), ("restarts", .array(restarts)),
        ])
    }

    private func sentRatio(_ counts: Counts) -> Double? {
        counts.files == 0 ? nil : Double(counts.sentBytes) / Double(counts.files * options.size)
    }

    private func lostPerKill(_ counts: Counts) -> String {
        guard counts.kills > 0 else { return "-" }
        let lost = Double(counts.sentBytes - counts.files * options.size) / Double(counts.kills) / 1_048_576
        return Format.decimal(lost, places: 2)
    }
}

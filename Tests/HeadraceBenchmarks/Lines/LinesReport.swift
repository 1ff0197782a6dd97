/// The report of the verb `lines`.
struct LinesReport: VerbReport {
    /// The runs of the contenders in one scene on one line.
    struct Result {
        let line: Line
        let scene: LineScene
        let entries: [Entry]
        let workspace: Workspace
    }

    /// The runs of one contender.
    struct Entry {
        let contender: LineContender
        let command: Command
        var failure: String?
        var samples: [Measurement] = []

        /// The median time as a multiple of the line's; `nil` after a failure.
        func multiple(of seconds: Double) -> Double? {
            Metric.wall.median(of: samples).map { $0 / seconds }
        }
    }

    let runs: Int
    let contenders: [Contender]
    let missingPeers: [String]
    var server = ""
    var results: [Result] = []
    /// The bytes that each line has carried from the server.
    var statistics: [(line: Line, down: LineStatistics?)] = []

    var violations: [String] {
        results.flatMap { result in
            result.entries.compactMap { entry in
                entry.failure.map { "\(result.line.description), \(result.scene.name): \(entry.contender.name): \($0)" }
            }
        }
    }

    var text: String {
        let machine = Machine.atStart
        let load = Format.decimal(machine.load, places: 2)
        var lines = [
            "headrace-bench lines, \(machine.date)",
            "machine   \(machine.cores) x \(machine.cpu), \(machine.kernel), load \(load)",
            "server    \(server), cubic, the same cores",
            "method    median of \(runs) runs, in rotating order; every byte of every file checked",
            "figures   multiples of the time that the line alone needs; CPU seconds and peak MiB in the order of columns",
        ]
        for contender in contenders { lines.append(contender.name.padded(to: 10) + contender.version.prefix(72)) }
        if !missingPeers.isEmpty { lines.append("missing   \(missingPeers.joined(separator: ", ")) (not installed)") }
        for (line, down) in statistics {
            for work in LineScene.Work.allCases { lines += table(of: work, on: line) }
            if let down { lines.append("  " + Self.summary(of: down)) }
        }
        return lines.joined(separator: "\n")
    }

    /// Formats the scenes with the same files as a table with a column for each protocol.
    func table(of work: LineScene.Work, on line: Line) -> [String] {
        let results = results.filter { $0.line == line && $0.scene.work == work }
        guard let first = results.first else { return [] }
        var table = Table(columns: [""] + results.map(\.scene.scheme.rawValue) + ["CPU s", "peak MiB"])
        for name in first.entries.map(\.contender.name) {
            let entries = results.map { result in
                (result, result.entries.first { $0.contender.name == name })
            }
            func column(_ text: (Entry) -> String?) -> String {
                entries.map { $0.1.flatMap(text) ?? "-" }.joined(separator: " ")
            }
            let multiples = entries.map { result, entry in
                let multiple = entry.flatMap { $0.multiple(of: result.scene.seconds(on: line)) }
                return multiple.map { Format.decimal($0, places: 2) } ?? (entry?.failure == nil ? "-" : "failed")
            }
            let cpu = column { Metric.cpu.median(of: $0.samples).map { Format.decimal($0, places: 2) } }
            let memory = column {
                Metric.memory.median(of: $0.samples).map { Format.decimal($0 / 1_048_576, places: 0) }
            }
            table.add([name] + multiples + [cpu, memory])
        }
        let alone = results.map { Format.decimal($0.scene.seconds(on: line), places: 2) }.joined(separator: ", ")
        let title = "\(line.description): \(first.scene.payload(on: line).description); the line alone: \(alone) s"
        return ["", title] + table.lines
    }

    var members: [(String, JSON)] {
        [
            ("server", .string(server)),
            ("runs", .integer(runs)),
            ("versions", .object(contenders.map { ($0.name, .string($0.version)) })),
            ("missingPeers", .array(missingPeers.map { .string($0) })),
            ("lines", .array(statistics.map(json))),
            ("results", .array(results.map(json))),
        ]
    }

    private func json(_ line: Line, _ down: LineStatistics?) -> JSON {
        .object(
            [("line", .string(line.text))]
                + (down.map { down in
                    [
                        ("carried", .integer(down.carried)), ("lost", .integer(down.lost)),
                        ("dropped", .integer(down.dropped)), ("latest", .number(down.latest)),
                    ]
                } ?? [])
        )
    }

    private func json(_ result: Result) -> JSON {
        let seconds = result.scene.seconds(on: result.line)
        return .object([
            ("line", .string(result.line.text)),
            ("scene", .string(result.scene.name)),
            ("payload", .string(result.scene.payload(on: result.line).description)),
            ("bytes", .integer(result.scene.payload(on: result.line).totalBytes)),
            ("lineSeconds", .number(seconds)),
            ("results", .array(result.entries.map { json($0, seconds, result.workspace) })),
        ])
    }

    private func json(_ entry: Entry, _ seconds: Double, _ workspace: Workspace) -> JSON {
        func number(_ value: Double?) -> JSON { value.map { .number($0) } ?? .null }
        return .object([
            ("contender", .string(entry.contender.name)),
            ("isSubject", .bool(entry.contender.contender.isSubject)),
            ("isDefault", .bool(entry.contender.isDefault)),
            ("command", .string(entry.command.description(in: workspace))),
            ("failure", .optional(entry.failure)),
            ("multiple", number(entry.multiple(of: seconds))),
            ("wall", number(Metric.wall.median(of: entry.samples))),
            ("cpu", number(Metric.cpu.median(of: entry.samples))),
            ("memory", number(Metric.memory.median(of: entry.samples))),
            ("samples", .array(entry.samples.map { .number($0.wall) })),
        ])
    }

    private static func summary(of down: LineStatistics) -> String {
        "the line carried \(down.carried) packets from the server, lost \(down.lost) and dropped \(down.dropped); "
            + "the latest was \(Format.decimal(down.latest * 1000, places: 1)) ms late"
    }
}

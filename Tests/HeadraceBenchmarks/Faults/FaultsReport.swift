/// The report of the verb `faults`.
struct FaultsReport: VerbReport {
    private struct Counts {
        /// The number of file calls of a run without a fault.
        var calls = 0
        var faults: [FaultKind: Int] = [:]
        /// Faults after which the tool finished successfully.
        var survived = 0
        /// Runs that made fewer calls than the number of the faulty one.
        var unreached = 0
        var complaints = 0
    }

    var seconds = 0.0
    private(set) var violations: [String] = []
    private var counts: [String: Counts] = [:]

    func calls(of scenario: FaultScenario) -> Int { counts[scenario.name]?.calls ?? 0 }

    mutating func add(_ one: FaultCase) {
        var counts = counts[one.scenario.name] ?? Counts()
        if one.number == 0 {
            counts.calls = Int(one.reported) ?? 0
            if counts.calls == 0 { violations.append("\(one.scenario.name): no file call was seen") }
        } else if one.wasInjected {
            counts.faults[one.kind, default: 0] += 1
            if one.exit == 0 { counts.survived += 1 }
        } else {
            counts.unreached += 1
        }
        counts.complaints += one.complaints.count
        violations += one.complaints
        self.counts[one.scenario.name] = counts
    }

    private var rows: [(name: String, counts: Counts)] {
        FaultScenario.all.compactMap { scenario in counts[scenario.name].map { (scenario.name, $0) } }
    }

    private var faultCount: Int { counts.values.reduce(0) { $0 + $1.faults.values.reduce(0, +) } }

    var text: String {
        let kinds = FaultKind.allCases
        var table = Table(
            columns: ["download", "calls"] + kinds.map(\.rawValue) + ["survived", "not reached", "wrong"]
        )
        for (name, counts) in rows {
            let numbers = [counts.calls] + kinds.map { counts.faults[$0] ?? 0 }
            let rest = [counts.survived, counts.unreached, counts.complaints]
            table.add([name] + (numbers + rest).map(String.init))
        }
        let end = violations.isEmpty ? "no wrong file, and every next run succeeded" : "\(violations.count) WRONG"
        let summary = "\(faultCount) faults in \(Format.decimal(seconds, places: 0)) s: \(end)"
        return (table.lines + ["", summary]).joined(separator: "\n")
    }

    var members: [(String, JSON)] {
        [
            ("seconds", .number(seconds)), ("faults", .integer(faultCount)),
            (
                "downloads",
                .array(
                    rows.map { name, counts in
                        .object([
                            ("name", .string(name)), ("calls", .integer(counts.calls)),
                            ("faults", .integer(counts.faults.values.reduce(0, +))),
                            ("survived", .integer(counts.survived)), ("unreached", .integer(counts.unreached)),
                            ("wrong", .integer(counts.complaints)),
                        ])
                    }
                )
            ),
        ]
    }
}

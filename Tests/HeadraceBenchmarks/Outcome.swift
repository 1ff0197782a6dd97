/// What a verb found out, for a person and for a program.
protocol VerbReport {
    var text: String { get }
    /// Its members of the JSON object, beside those that every result has.
    var members: [(String, JSON)] { get }
    /// What must not have happened.
    var violations: [String] { get }
}

/// How a verb came out: its report, and what no figure means anything without.
struct Outcome {
    let report: any VerbReport
    /// The programs that took part, by their names, where the report does not tell them.
    let versions: [(String, String)]
    let isFailure: Bool

    /// A failure where the report has violations, if they count, or where a target was missed that counts.
    init(_ report: any VerbReport, versions: [(String, String)] = [], isStrict: Bool = true, isMissed: Bool = false) {
        self.report = report
        self.versions = versions
        isFailure = isStrict && !report.violations.isEmpty || isMissed
    }

    /// Prints the report, and returns the exit status.
    func conclude(_ verb: String, asJSON isJSON: Bool) -> Int32 {
        Console.print(isJSON ? json(verb).text() : report.text)
        for violation in report.violations { Console.error("headrace-bench: \(violation)") }
        return isFailure ? 1 : 0
    }

    private func json(_ verb: String) -> JSON {
        let machine = Machine.atStart
        let versions = versions.map { ($0.0, JSON.string($0.1)) }
        return .object(
            [
                ("tool", "headrace-bench"), ("verb", .string(verb)), ("date", .string(machine.date)),
                ("machine", machine.json),
            ] + (versions.isEmpty ? [] : [("versions", .object(versions))]) + report.members
                + [("violations", .array(report.violations.map { .string($0) }))]
        )
    }
}

/// The report of a verb that cannot run here, which is no failure.
struct SkippedReport: VerbReport {
    let reason: String

    var text: String { "skipped: \(reason)" }
    var members: [(String, JSON)] { [("skipped", .string(reason))] }
    var violations: [String] { [] }
}

/// The result of a verb, for people and for programs.
protocol VerbReport {
    var text: String { get }
    /// The members of the JSON object, in addition to those that every result has.
    var members: [(String, JSON)] { get }
    /// Events that must not happen; any of them makes the run a failure.
    var violations: [String] { get }
}

/// A report with the context that its figures need.
struct Outcome {
    let report: any VerbReport
    /// The versions of the programs in the comparison, by name, unless the report includes them.
    let versions: [(String, String)]
    let isFailure: Bool

    /// Creates an outcome, which is a failure if violations count and there are any, or if a target was missed.
    init(_ report: any VerbReport, versions: [(String, String)] = [], isStrict: Bool = true, isMissed: Bool = false) {
        self.report = report
        self.versions = versions
        isFailure = isStrict && !report.violations.isEmpty || isMissed
    }

    /// Prints the report and returns the exit status.
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

/// The report of a verb that cannot run on this machine, which is not a failure.
struct SkippedReport: VerbReport {
    let reason: String

    var text: String { "skipped: \(reason)" }
    var members: [(String, JSON)] { [("skipped", .string(reason))] }
    var violations: [String] { [] }
}

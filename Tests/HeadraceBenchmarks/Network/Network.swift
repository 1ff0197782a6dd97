import HeadracePlatform

/// The verb `network`: downloads while the network is lost, restored and changed.
enum Network {
    /// Takes about six seconds with two connections of this rate.
    private static let size = 96 << 20
    private static let rate = 8 << 20

    static func main(_ options: NetworkOptions) throws -> Outcome {
        let subject = try Comparison.subject(options.subject)
        if let missing = ["ip", "unshare", "nsenter", "sleep"].first(where: { FileSystem.find($0) == nil }) {
            return Outcome(SkippedReport(reason: "network needs \(missing), which is not installed"))
        }
        do {
            try NetworkPair.enter()
        } catch let error as BenchmarkError {
            return Outcome(SkippedReport(reason: "network needs a network namespace of its own: \(error.message)"))
        }
        Signals.block()
        let workspace = try Workspace(in: options.directory)
        defer { workspace.remove() }
        try workspace.requireSpace(5 * size)
        let source = workspace.site + "/file.bin"
        try SourceFile.make(source, size: size, seed: 1)
        let pair = try NetworkPair(serving: workspace.site, in: workspace)
        defer { pair.stop() }
        var report = NetworkReport(options: options)
        for change in NetworkCheck.Change.allCases {
            let check = NetworkCheck(
                change: change,
                source: source,
                pace: Pace(rate: rate),
                subject: subject,
                pair: pair,
                workspace: workspace
            )
            report.results.append(try check.run())
        }
        return Outcome(
            report,
            versions: [Version.ofSubject(subject, in: workspace)],
            isStrict: options.isStrict,
            isMissed: report.results.contains { $0.retries > 0 }
        )
    }
}

/// The report of the verb `network`.
private struct NetworkReport: VerbReport {
    let options: NetworkOptions
    var results: [NetworkCheck.Result] = []

    var violations: [String] {
        results.flatMap { result in
            var violations: [String] = []
            let name = result.change.rawValue
            if result.retries > 0 { violations.append("\(name): \(result.retries) retries were used") }
            if let hold = result.hold, hold > NetworkOptions.longestHold {
                violations.append("\(name): the wait was reported after \(Self.seconds(hold))")
            }
            if result.comeback > NetworkOptions.longestReturn {
                violations.append("\(name): the download resumed after \(Self.seconds(result.comeback))")
            }
            return violations
        }
    }

    var text: String {
        var table = Table(columns: ["change", "waits after", "goes on after", "retries", "in all"])
        for result in results {
            let hold = result.hold.map(Self.seconds) ?? "-"
            table.add([
                result.change.rawValue, hold, Self.seconds(result.comeback), "\(result.retries)",
                Self.seconds(result.seconds),
            ])
        }
        return table.lines.joined(separator: "\n")
    }

    var members: [(String, JSON)] {
        let results = results.map { result in
            JSON.object([
                ("change", .string(result.change.rawValue)), ("hold", result.hold.map { .number($0) } ?? .null),
                ("return", .number(result.comeback)), ("retries", .integer(result.retries)),
                ("seconds", .number(result.seconds)),
            ])
        }
        return [("results", .array(results))]
    }

    private static func seconds(_ seconds: Double) -> String { "\(Format.decimal(seconds, places: 3)) s" }
}

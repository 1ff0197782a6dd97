/// The report of the verb `rates`.
struct RatesReport: VerbReport {
    /// The largest acceptable error over five seconds.
    private static let mostError = 0.03
    /// The largest acceptable share of a processor for a limit up to ``modestRate``.
    private static let mostCPU = 0.02
    private static let modestRate = 2_000_000

    let options: RatesOptions
    let server: String
    var results: [RatesRun.Result] = []

    var violations: [String] {
        results.flatMap { result in
            var violations: [String] = []
            let name = "\(Self.rate(result.rate)) over \(result.connections)"
            if result.error > Self.mostError {
                violations.append(
                    "\(name): \(Self.percent(result.error)) off; the limit is \(Self.percent(Self.mostError))"
                )
            }
            if result.rate <= Self.modestRate, result.cpu > Self.mostCPU {
                violations.append(
                    "\(name): \(Self.percent(result.cpu)) of a processor; the limit is \(Self.percent(Self.mostCPU))"
                )
            }
            return violations
        }
    }

    var text: String {
        var table = Table(columns: ["limit", "connections", "slowest 5 s", "fastest 5 s", "mean", "CPU"])
        for result in results {
            let speeds = [result.slowest, result.fastest, result.mean].map { speed in
                let error = speed / Double(result.rate) - 1
                return (error >= 0 ? "+" : "") + Self.percent(error)
            }
            table.add([Self.rate(result.rate), "\(result.connections)"] + speeds + [Self.percent(result.cpu)])
        }
        return table.lines.joined(separator: "\n")
    }

    var members: [(String, JSON)] {
        [
            ("seconds", .integer(options.seconds)), ("window", .integer(RatesRun.window)), ("server", .string(server)),
            (
                "results",
                .array(
                    results.map { result in
                        .object([
                            ("bytesPerSecond", .integer(result.rate)), ("connections", .integer(result.connections)),
                            ("slowest", .number(result.slowest)), ("fastest", .number(result.fastest)),
                            ("mean", .number(result.mean)), ("error", .number(result.error)),
                            ("cpu", .number(result.cpu)),
                        ])
                    }
                )
            ),
        ]
    }

    static func rate(_ bytesPerSecond: Int) -> String {
        bytesPerSecond >= 1_000_000
            ? "\(Format.decimal(Double(bytesPerSecond) / 1_000_000, places: 1)) MB/s"
            : "\(Format.decimal(Double(bytesPerSecond) / 1_000, places: 1)) kB/s"
    }

    private static func percent(_ share: Double) -> String {
        Format.decimal(share * 100, places: 2) + " %"
    }
}

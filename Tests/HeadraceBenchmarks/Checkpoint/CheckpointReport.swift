/// The report of the verb `checkpoint`.
struct CheckpointReport: VerbReport {
    /// The longest acceptable loss per kill, in seconds of download.
    private static let mostSeconds = 1.2
    /// The largest acceptable share of a download's time spent on resume records.
    private static let mostCost = 0.01

    let options: CheckpointOptions
    var kills = CheckpointKills.Result()
    var pairs: [CheckpointCost.Pair] = []
    /// The time of the file calls for one record, in seconds.
    var recordTime = 0.0

    private var lostSeconds: [Double] { kills.losses.map { Double($0) / Double(options.rate) } }

    /// Returns how much longer the runs with records took, as sorted shares of the runs without.
    private func costs(_ metric: Metric) -> [Double] {
        pairs.map { metric.value(of: $0.with) / metric.value(of: $0.without) - 1 }.sorted()
    }

    var violations: [String] {
        var violations: [String] = []
        if let most = lostSeconds.max(), most > Self.mostSeconds {
            violations.append("a kill lost \(seconds(most)); the limit is \(seconds(Self.mostSeconds))")
        }
        let costs = costs(.wall)
        // If a quarter of the pairs are within the limit, the machine is too noisy to decide.
        if !costs.isEmpty, costs[costs.count / 4] > Self.mostCost {
            violations.append(
                "records cost \(percent(middle(costs))) of the time; the limit is \(percent(Self.mostCost))"
            )
        }
        return violations
    }

    var text: String {
        var lines: [String] = []
        if let most = lostSeconds.max() {
            lines += [
                "\(options.kills) kills of a download of \(Format.size(options.size)), seed \(options.seed); "
                    + "\(kills.losses.count) of them during a response",
                "  rate: \(rate(Double(options.rate))) requested, \(rate(middle(kills.rates))) measured",
                "  lost per kill: \(seconds(middle(lostSeconds))) (median), at most \(seconds(most)) "
                    + "(target: at most \(seconds(Self.mostSeconds)) of the pace)",
            ]
        }
        if !pairs.isEmpty {
            lines.append("\(pairs.count) pairs of \(Format.size(options.costSize)), with records and without")
            for metric in [Metric.wall, .cpu] {
                let costs = costs(metric)
                let medians = [metric.median(of: pairs.map(\.with)), metric.median(of: pairs.map(\.without))]
                let texts = medians.map { metric.text($0 ?? 0) }
                lines.append(
                    "  \(metric.rawValue): \(texts[0]) with, \(texts[1]) without; difference \(percent(middle(costs))) "
                        + "(\(percent(costs[0])) to \(percent(costs[costs.count - 1])))"
                )
            }
            lines.append("  (target: at most \(percent(Self.mostCost)) of the wall time)")
            lines.append(
                "  a record's file calls take \(Format.decimal(recordTime * 1_000, places: 3)) ms of each second"
            )
        }
        return lines.joined(separator: "\n")
    }

    var members: [(String, JSON)] {
        [
            ("seed", .integer(Int(clamping: options.seed))), ("size", .integer(options.size)),
            ("rate", .integer(options.rate)), ("kills", .integer(options.kills)),
            ("rates", .array(kills.rates.map { .integer(Int($0)) })),
            ("lostBytes", .array(kills.losses.map { .integer($0) })),
            ("mostLostSeconds", lostSeconds.max().map { .number($0) } ?? .null),
            ("costSize", .integer(options.costSize)),
            ("with", .array(pairs.map { json($0.with) })), ("without", .array(pairs.map { json($0.without) })),
            ("recordSeconds", .number(recordTime)), ("cost", pairs.isEmpty ? .null : .number(middle(costs(.wall)))),
        ]
    }

    private func json(_ measurement: Measurement) -> JSON {
        .object([("wall", .number(measurement.wall)), ("cpu", .number(measurement.cpu))])
    }

    private func middle(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
    }

    private func seconds(_ value: Double) -> String {
        Format.decimal(value, places: 2) + " s"
    }

    private func rate(_ value: Double) -> String {
        Format.mebibytes(Int(value)) + " MiB/s"
    }

    private func percent(_ share: Double) -> String {
        Format.decimal(share * 100, places: 2) + " %"
    }
}

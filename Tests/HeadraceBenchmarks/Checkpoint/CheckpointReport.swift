/// What came of the kills and of the race.
struct CheckpointReport {
    /// The most seconds of a download that a kill may cost: the record's interval, and its writing.
    private static let mostSeconds = 1.2
    /// The largest share of a download's time that its record may take.
    private static let mostCost = 0.01

    let options: CheckpointOptions
    /// Bytes that were fetched again, kill by kill.
    var losses: [Int] = []
    var pairs: [CheckpointCost.Pair] = []

    private var lostSeconds: [Double] { losses.map { Double($0) / Double(options.rate) }.sorted() }

    /// The middle of the ratios of pairs, less one.
    private var cost: Double? {
        let ratios = pairs.map(\.ratio).sorted()
        guard !ratios.isEmpty else { return nil }
        return (ratios[(ratios.count - 1) / 2] + ratios[ratios.count / 2]) / 2 - 1
    }

    var violations: [String] {
        var violations: [String] = []
        if let most = lostSeconds.last, most > Self.mostSeconds {
            violations.append("a kill lost \(seconds(most)); \(seconds(Self.mostSeconds)) is the most")
        }
        if let cost, cost > Self.mostCost {
            violations.append("records cost \(percent(cost)) of the time; \(percent(Self.mostCost)) is the most")
        }
        return violations
    }

    var text: String {
        var lines: [String] = []
        if let most = lostSeconds.last {
            let middle = lostSeconds[lostSeconds.count / 2]
            lines += [
                "\(options.kills) kills of a download of \(Format.size(options.size)) at \(Format.mebibytes(options.rate)) MiB/s, "
                    + "seed \(options.seed); \(losses.count) of them during an answer",
                "  lost a kill: \(seconds(middle)) in the middle, \(seconds(most)) at the most "
                    + "(target: \(seconds(Self.mostSeconds)) at the most)",
            ]
        }
        if let cost {
            let ratios = pairs.map(\.ratio)
            let walls = [pairs.map(\.with), pairs.map(\.without)].map { seconds($0.sorted()[$0.count / 2]) }
            lines += [
                "\(pairs.count) pairs of \(Format.size(options.costSize)) as fast as it goes",
                "  \(walls[0]) with records, \(walls[1]) without, medians; with is \(percent(cost)) longer, the middle of "
                    + "\(percent((ratios.min() ?? 1) - 1)) to \(percent((ratios.max() ?? 1) - 1)) "
                    + "(target: less than \(percent(Self.mostCost)))",
            ]
        }
        return lines.joined(separator: "\n")
    }

    var json: JSON {
        .object([
            ("seed", .integer(Int(clamping: options.seed))), ("size", .integer(options.size)),
            ("rate", .integer(options.rate)), ("kills", .integer(options.kills)),
            ("lostBytes", .array(losses.map { .integer($0) })),
            ("mostLostSeconds", lostSeconds.last.map { .number($0) } ?? .null),
            ("costSize", .integer(options.costSize)),
            (
                "pairs",
                .array(pairs.map { .object([("with", .number($0.with)), ("without", .number($0.without))]) })
            ),
            ("cost", cost.map { .number($0) } ?? .null),
            ("violations", .array(violations.map { .string($0) })),
        ])
    }

    private func seconds(_ value: Double) -> String {
        Format.decimal(value, places: 2) + " s"
    }

    private func percent(_ share: Double) -> String {
        Format.decimal(share * 100, places: 2) + " %"
    }
}

extension Report {
    /// The report for people.
    var text: String {
        let machine = Machine.atStart
        var lines = [
            "headrace-bench, \(machine.date)",
            "machine   \(machine.cores) x \(machine.cpu), \(machine.kernel), load \(Format.decimal(machine.load, places: 2))",
            "server    \(server), 127.0.0.1, the same cores",
            "files     \(directory)",
            "method    median of \(rounds) rounds after a warm-up, in rotating order; every byte of every file checked",
        ]
        for contender in contenders {
            lines.append(contender.name.padded(to: 10) + contender.version.prefix(72))
        }
        if !missingPeers.isEmpty { lines.append("missing   \(missingPeers.joined(separator: ", ")) (not installed)") }
        for result in scenes { lines += [""] + self.lines(for: result) }
        return lines.joined(separator: "\n")
    }

    private func lines(for result: SceneResult) -> [String] {
        let scene = result.scene
        let title = "\(scene.name): \(scene.payload.description), \(scene.summary)"
        if let skipped = result.skipped { return [title, "  skipped: \(skipped)"] }
        var table = Table(columns: ["", "wall s", "min-max", "x best", "CPU s", "x best", "peak MiB", "x best"])
        for entry in result.entries where !entry.samples.isEmpty { table.add(row(for: entry, in: result)) }
        var lines = [title] + table.lines
        for entry in result.entries {
            if let skipped = entry.skipped { lines.append("  \(entry.contender.name): skipped, \(skipped)") }
            if let failure = entry.failure { lines.append("  \(entry.contender.name): FAILED, \(failure)") }
        }
        lines += result.verdicts.map { "  " + $0.description }
        for case (let entry, let command?) in zip(result.entries, result.commands) {
            lines.append("  \(entry.contender.name.padded(to: 9))$ \(command)")
        }
        return lines
    }

    /// Formats a row; each ratio refers to the best peer of its column, so a row may refer to several peers.
    private func row(for entry: SceneResult.Entry, in result: SceneResult) -> [String] {
        func median(_ metric: Metric) -> Double { metric.median(of: entry.samples) ?? 0 }
        func ratio(_ metric: Metric) -> String {
            guard let best = result.best(metric), best > 0 else { return "-" }
            return Format.decimal(median(metric) / best, places: 2)
        }
        let walls = entry.samples.map(\.wall)
        let range = [walls.min() ?? 0, walls.max() ?? 0].map { Format.decimal($0, places: 2) }.joined(separator: "-")
        return [
            entry.contender.name,
            Format.decimal(median(.wall), places: 3), range, ratio(.wall),
            Format.decimal(median(.cpu), places: 3), ratio(.cpu),
            Format.mebibytes(Int(median(.memory))), ratio(.memory),
        ]
    }
}

extension Report {
    /// The report for programs, with all samples and not only the medians.
    var members: [(String, JSON)] {
        [
            ("server", .string(server)),
            ("directory", .string(directory)),
            ("rounds", .integer(rounds)),
            ("contenders", .array(contenders.map(json))),
            ("missingPeers", .array(missingPeers.map { .string($0) })),
            ("scenes", .array(scenes.map(json))),
        ]
    }

    private func json(_ contender: Contender) -> JSON {
        .object([
            ("name", .string(contender.name)),
            ("executable", .string(contender.executable)),
            ("version", .string(contender.version)),
            ("isSubject", .bool(contender.isSubject)),
        ])
    }

    private func json(_ result: SceneResult) -> JSON {
        let commands = result.commands + Array(repeating: nil, count: result.entries.count - result.commands.count)
        return .object([
            ("name", .string(result.scene.name)),
            ("summary", .string(result.scene.summary)),
            ("payload", .string(result.scene.payload.description)),
            ("bytes", .integer(result.scene.payload.totalBytes)),
            ("skipped", .optional(result.skipped)),
            ("results", .array(zip(result.entries, commands).map { json($0, command: $1, in: result) })),
            ("targets", .array(result.skipped == nil ? result.verdicts.map(json) : [])),
        ])
    }

    private func json(_ entry: SceneResult.Entry, command: String?, in result: SceneResult) -> JSON {
        let medians = Metric.allCases.map { metric in
            (metric.rawValue, metric.median(of: entry.samples).map { JSON.number($0) } ?? .null)
        }
        let ratios = Metric.allCases.map { metric -> (String, JSON) in
            guard let own = metric.median(of: entry.samples), let best = result.best(metric), best > 0 else {
                return (metric.rawValue, .null)
            }
            return (metric.rawValue, .number(own / best))
        }
        return .object([
            ("contender", .string(entry.contender.name)),
            ("command", .optional(command)),
            ("skipped", .optional(entry.skipped)),
            ("failure", .optional(entry.failure)),
            ("median", .object(medians)),
            ("ratioToBestPeer", .object(ratios)),
            ("samples", .array(entry.samples.map(json))),
        ])
    }

    private func json(_ measurement: Measurement) -> JSON {
        .object([
            ("wall", .number(measurement.wall)),
            ("cpu", .number(measurement.cpu)),
            ("memory", .integer(measurement.peakMemory)),
        ])
    }

    private func json(_ verdict: Target.Verdict) -> JSON {
        .object([
            ("target", .string(verdict.target.description)),
            ("measured", .optional(verdict.measured)),
            ("isMet", verdict.isMet.map { .bool($0) } ?? .null),
        ])
    }
}

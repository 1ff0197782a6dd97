/// The verb `checkpoint`: how much a resume record saves when the tool is killed, and its cost when it is not.
enum Checkpoint {
    static func main(_ options: CheckpointOptions) throws -> Outcome {
        let subject = try Comparison.subject(options.subject)
        Signals.block()
        let workspace = try Workspace(in: options.directory)
        defer { workspace.remove() }
        try workspace.requireSpace(options.size)
        var report = CheckpointReport(options: options)
        if options.kills > 0 {
            report.kills = try CheckpointKills(options: options, workspace: workspace, subject: subject).run()
        }
        if options.rounds > 0 {
            let cost = CheckpointCost(options: options, workspace: workspace, subject: subject)
            report.pairs = try cost.run()
            report.recordTime = try cost.recordTime()
        }
        return Outcome(report, versions: [Version.ofSubject(subject, in: workspace)], isStrict: options.isStrict)
    }
}

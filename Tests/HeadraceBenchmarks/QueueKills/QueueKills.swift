import HeadracePlatform

/// The verb `queue-kills`: kills the process of a queue again and again until the queue is done.
struct QueueKills {
    /// Far longer than an undisturbed run of the rest takes.
    private static let longestRun = 600.0

    let options: QueueKillsOptions
    let workspace: Workspace
    let subject: String
    let server: HostileServer

    static func main(_ options: QueueKillsOptions) throws -> Outcome {
        let subject = try Comparison.subject(options.subject)
        Signals.block()
        let workspace = try Workspace(in: options.directory)
        defer { workspace.remove() }
        let server = try HostileServer(seed: options.seed, rate: rate(for: options)) { options.size(of: $0) }
        try server.start()
        defer { server.stop() }
        let kills = QueueKills(options: options, workspace: workspace, subject: subject, server: server)
        let report = try kills.run()
        return Outcome(report, versions: [Version.ofSubject(subject, in: workspace)])
    }

    /// Returns the bytes per second of a response with which the last file finishes around the last kill.
    private static func rate(for options: QueueKillsOptions) -> Int {
        let bytes = (0..<options.files).reduce(0) { $0 + options.size(of: $1) }
        // The average life of a process, less the half second that a kill may lose.
        let seconds = Double(options.kills) * max(options.window / 2 - 0.5, options.window / 8)
        return max(1 << 13, Int(Double(bytes) / seconds) / options.jobs)
    }

    private func run() throws -> QueueKillsReport {
        let start = MonotonicTime.now
        var report = QueueKillsReport(options: options, rate: server.rate)
        var random = SplitMix(seed: options.seed)
        while report.kills < options.kills, report.complaints.isEmpty {
            var queue = try KilledQueue(report.queues, of: self)
            report.queues += 1
            report.fileBytes += queue.files.reduce(0) { $0 + options.size(of: $1) }
            while try live(&queue, &report, &random) {}
            report.complaints += try queue.check()
        }
        report.sentBytes = server.deliveries.reduce(0) { $0 + $1.end - $1.start }
        report.seconds = MonotonicTime.now - start
        return report
    }

    /// Runs the queue to its end or to the next kill; `false` if it must not be run again.
    private func live(
        _ queue: inout KilledQueue,
        _ report: inout QueueKillsReport,
        _ random: inout SplitMix
    ) throws -> Bool {
        let isLast = report.kills == options.kills
        let life = isLast ? Self.longestRun : Double.random(in: 0...options.window, using: &random)
        let exit = try queue.run().poll(for: life)
        let events = queue.events
        report.restarts += events.restarts
        report.complaints += events.remarks
        if let failure = exit?.failure { report.complaints.append("\(failure): \(events.failure ?? "")") }
        if exit == nil {
            if isLast { report.complaints.append("the queue did not end in \(Self.longestRun) s") }
            report.kills += 1
        }
        report.complaints += try queue.compare()
        return exit == nil && report.complaints.isEmpty
    }
}

import Headrace
import HeadracePlatform

/// The verb `queue`: the cost of a long queue of downloads, and of many downloads at once.
struct Queue {
    /// How many times longer the long queue is.
    private static let lengthening = 100
    private static let timeout = 300

    let options: QueueOptions
    let workspace: Workspace

    static func main(_ options: QueueOptions) throws -> Outcome {
        Signals.block()
        let workspace = try Workspace(in: options.directory)
        defer { workspace.remove() }
        let report = try Queue(options: options, workspace: workspace).run()
        return Outcome(report, versions: [("headrace", headraceVersion)], isStrict: options.isStrict)
    }

    private func run() throws -> QueueReport {
        var report = QueueReport(options: options)
        try measureAdding(&report)
        try measureVerbs(&report)
        try measureManyAtOnce(&report)
        return report
    }

    // MARK: A long queue

    private func measureAdding(_ report: inout QueueReport) throws {
        let count = "\(options.downloads)"
        let registry = workspace.scratch + "/registry"
        for (name, place) in [("in memory", []), ("with a registry", [registry])] {
            let figures = try child(["add", count, workspace.output] + place)
            report.add("add \(count) \(name)", try figures["seconds"], .seconds, goal: 3)
            report.add("  memory of each", try figures["bytes"], .bytes, goal: 2_000)
            report.add("  of that its request", try figures["requestBytes"], .bytes)
        }
        let figures = try child(["restore", count, registry])
        report.add("restore \(count)", try figures["seconds"], .seconds, goal: 2)
        report.add("  memory of each", try figures["bytes"], .bytes)
    }

    // MARK: Single operations

    private func measureVerbs(_ report: inout QueueReport) throws {
        let lengths = [max(1, options.downloads / Self.lengthening), options.downloads]
        for name in ["in memory", "with a registry"] {
            let figures = try lengths.map { length in
                let registry = name == "in memory" ? [] : ["\(workspace.scratch)/verbs-\(length)"]
                return try child(["verbs", "\(length)", workspace.output] + registry)
            }
            for verb in QueueVerbs.names {
                let costs = try figures.map { try $0[verb] }
                for (length, cost) in zip(lengths, costs) {
                    report.add("\(verb) of \(length) \(name)", cost, .microseconds)
                }
                // With a registry, adding waits for the disk, whose timing varies too much.
                let goal = name == "in memory" || verb != "add" ? 3.0 : nil
                // Below a microsecond, only the processor's caches make a difference.
                report.add("  ratio", costs[1] / max(costs[0], 1), .ratio, goal: goal)
            }
        }
    }

    // MARK: Many at once

    private func measureManyAtOnce(_ report: inout QueueReport) throws {
        for (name, pause, goal) in [("responses held", 0.0, 256.0), ("bodies slow as well", 2, nil)] {
            let output = "\(workspace.output)/\(name)"
            try FileSystem.makeDirectory(output)
            let server = try BarrierServer(count: options.atOnce, pause: pause)
            try server.start()
            defer { server.stop() }
            let figures = try child(["run", "\(options.atOnce)", output, server.url])
            report.add("\(options.atOnce) at once, \(name)", try figures["seconds"], .seconds)
            report.add("  descriptors beyond the connections", try figures["descriptors"], .count, goal: goal)
            report.add("  not finished", try figures["unfinished"], .count, goal: 0)
            report.add("  peak memory of each", try figures["bytes"], .bytes)
        }
    }

    /// Starts this tool again as a process that measures itself.
    private func child(_ arguments: [String]) throws -> QueueChild.Figures {
        let log = workspace.scratch + "/child.log"
        let command = Command(executable: FileSystem.ownExecutable, arguments: [QueueChild.verb] + arguments)
        let exit = try ChildProcess.spawn(command, home: workspace.home, log: log).wait(atMost: Self.timeout)
        let text = FileSystem.text(of: log)
        if let failure = exit.failure {
            throw BenchmarkError("\(arguments.joined(separator: " ")): \(failure): \(text)")
        }
        return QueueChild.Figures(text)
    }
}

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The verb `queue-kills`: a queue whose process is killed until it is done.
struct QueueKills {
    /// Far beyond what the rest takes that is left in peace.
    private static let longestRun = 600.0

    let options: QueueKillsOptions
    let workspace: Workspace
    let server: HostileServer

    static func main(_ arguments: [String]) throws -> Int32 {
        let options = try QueueKillsOptions(arguments)
        if options.isHelp {
            Console.print(QueueKillsOptions.help)
            return 0
        }
        Signals.block()
        let workspace = try Workspace(in: options.directory)
        defer { workspace.remove() }
        let server = try HostileServer(seed: options.seed, rate: rate(for: options)) { options.size(of: $0) }
        try server.start()
        defer { server.stop() }
        let report = try QueueKills(options: options, workspace: workspace, server: server).run()
        Console.print(options.isJSON ? report.json.text() : report.text)
        for violation in report.violations { Console.error("headrace-bench: \(violation)") }
        return report.violations.isEmpty ? 0 : 1
    }

    /// The bytes per second of one answer with which the last file comes at about the last kill.
    private static func rate(for options: QueueKillsOptions) -> Int {
        let bytes = (0..<options.files).reduce(0) { $0 + options.size(of: $1) }
        // Of each life, less what it loses, which is up to a second.
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

    /// Runs the queue to its end or to the next kill; false when it is not to be run again.
    private func live(
        _ queue: inout KilledQueue,
        _ report: inout QueueKillsReport,
        _ random: inout SplitMix
    ) throws -> Bool {
        let isLast = report.kills == options.kills
        let life = isLast ? Self.longestRun : Double.random(in: 0...options.window, using: &random)
        let process = try queue.start()
        let exit = try process.poll(for: life)
        let listing = QueueListing(log: queue.log)
        report.restarts += listing.restarts.map { (reason: $0.reason, bytes: $0.bytes) }
        report.complaints += listing.complaints + queue.compare(listing)
        if let failure = exit?.failure { report.complaints.append("\(failure): \(FileSystem.text(of: queue.log))") }
        if exit == nil {
            if isLast { report.complaints.append("the queue did not end in \(Self.longestRun) s") }
            report.kills += 1
        }
        return exit == nil && report.complaints.isEmpty
    }
}

/// One list, with its files and what is known of it.
struct KilledQueue {
    let files: Range<Int>
    let log: String
    private let registry: String
    private let output: String
    private let kills: QueueKills
    private var list: [QueueListing.Row] = []

    init(_ number: Int, of kills: QueueKills) throws {
        self.kills = kills
        files = number * kills.options.files..<(number + 1) * kills.options.files
        registry = "\(kills.workspace.scratch)/registry-\(number)"
        output = "\(kills.workspace.output)/\(number)"
        log = "\(kills.workspace.scratch)/queue.log"
        try FileSystem.makeDirectory(output)
        let urls = files.map { kills.server.url(.good, file: $0) }
        let exit = try spawn(["fill", registry, output] + urls).wait(atMost: 60)
        list = QueueListing(log: log).after ?? []
        guard exit.failure == nil, list.map(\.url) == urls else {
            throw BenchmarkError("the list could not be made: \(FileSystem.text(of: log))")
        }
    }

    func start() throws -> ChildProcess {
        try spawn(["drain", registry, "\(kills.options.jobs)"])
    }

    private func spawn(_ arguments: [String]) throws -> ChildProcess {
        let command = Command(executable: FileSystem.ownExecutable, arguments: [Verb.queueChild.name] + arguments)
        return try ChildProcess.spawn(command, home: kills.workspace.home, log: log)
    }

    /// What is wrong with the list as a process found and left it.
    mutating func compare(_ listing: QueueListing) -> [String] {
        var complaints: [String] = []
        // One that was killed while it told the list told a part of it.
        for rows in [listing.before, listing.after] {
            guard let rows, rows.count == list.count || listing.after != nil else { continue }
            if rows.map(\.id) != list.map(\.id) || rows.map(\.url) != list.map(\.url) {
                complaints.append("the list is not what it was: \(list.map(\.id)) became \(rows.map(\.id))")
                continue
            }
            for (old, new) in zip(list, rows) where old.state == "finished" && new.state != "finished" {
                complaints.append("\(new.url) was finished and is \(new.state)")
            }
            list = rows
        }
        return complaints
    }

    /// What is wrong with the end.
    func check() throws -> [String] {
        var complaints = list.filter { $0.state != "finished" }.map { "\($0.url) is \($0.state)" }
        for file in files {
            let size = kills.options.size(of: file)
            let wrong = try ContentCheck.complaint(about: "\(output)/\(file)", file: file, size: size, versions: 1...1)
            if let wrong { complaints.append("file \(file) \(wrong)") }
        }
        let others = Set(try FileSystem.names(in: output)).subtracting(files.map { "\($0)" })
        if !others.isEmpty { complaints.append("left over: \(others.sorted().joined(separator: ", "))") }
        return complaints
    }
}

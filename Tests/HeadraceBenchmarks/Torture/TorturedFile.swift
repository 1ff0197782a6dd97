import HeadracePlatform

/// One download that is started and killed in turn until it is finished.
struct TorturedFile {
    private struct Run {
        let process: ChildProcess
        let start: Double
        let end: Double
    }

    /// Far longer than any run takes: a tool that is still running then hangs.
    private static let longestRun = 120.0
    /// With a changing file the tool may run out of retries, so its failure is correct.
    private static let mostFailures = 20
    private static let name = "file.bin"

    let number: Int
    let behaviour: HostileServer.Behaviour
    private let directory: String
    private let log: String
    private let torture: Torture
    private var random: SplitMix
    private var current: Run?
    private var failures = 0
    /// Whether the last run left a record, so that the next one can resume.
    private var isRecorded = false
    private(set) var isDone = false

    init(number: Int, behaviour: HostileServer.Behaviour, directory: String, torture: Torture) {
        self.number = number
        self.behaviour = behaviour
        self.directory = directory
        self.torture = torture
        log = "\(torture.workspace.scratch)/\(number).log"
        random = SplitMix(seed: torture.options.seed &+ UInt64(number) &* 104_729)
    }

    private var path: String { directory + "/" + Self.name }

    /// Starts the tool, kills it or handles its end, whichever is due.
    mutating func step(_ report: inout TortureReport, mayKill: Bool) throws {
        guard let run = current else {
            current = try start()
            return
        }
        let now = MonotonicTime.now
        if let exit = run.process.poll() {
            try ended(exit, &report)
        } else if mayKill, now >= run.end {
            let exit = run.process.crash()
            // It may have ended just before the signal.
            guard exit.status & 0x7f == SIGKILL else { return try ended(exit, &report) }
            report[behaviour].kills += 1
            try wasKilled(&report)
        } else if now - run.start > Self.longestRun {
            _ = run.process.crash()
            note(&report)
            report.complain("\(title): the tool hangs")
            finish()
        }
    }

    /// Kills a running tool, for the clean-up.
    func abandon() {
        if let current { _ = current.process.crash() }
    }

    private mutating func start() throws -> Run {
        let connections = torture.options.connections.map { ["-x", "\($0)"] } ?? []
        let arguments =
            ["get", "-q", "--json", "--retries", "50", "--timeout", "10"] + connections
            + ["-d", directory, "-o", Self.name, torture.server.url(behaviour, file: number)]
        let command = Command(executable: torture.subject, arguments: arguments)
        let process = try ChildProcess.spawn(command, home: torture.workspace.home, log: log)
        let now = MonotonicTime.now
        let delay = Double.random(in: TortureOptions.killWindow, using: &random)
        return Run(process: process, start: now, end: now + delay)
    }

    private mutating func ended(_ exit: ChildProcess.Exit, _ report: inout TortureReport) throws {
        let failure = note(&report)
        guard let reason = exit.failure else { return try check(&report) }
        current = nil
        isRecorded = try !recordNames().isEmpty
        failures += 1
        report[behaviour].failures += 1
        let isRight = behaviour.isChanging && reason.hasPrefix("exit status") && failures <= Self.mostFailures
        guard !isRight else { return }
        report.complain("\(title): \(reason): \(failure ?? FileSystem.text(of: log))")
        finish()
    }

    private mutating func wasKilled(_ report: inout TortureReport) throws {
        note(&report)
        current = nil
        isRecorded = try !recordNames().isEmpty
        if !isRecorded, !FileSystem.exists(path) { report[behaviour].earlyKills += 1 }
        // With its final name the file is done. Without a record, another run would download a second one.
        if FileSystem.exists(path), !isRecorded { try check(&report) }
    }

    /// Adds the events of the run to the report; returns the tool's error message.
    @discardableResult
    private func note(_ report: inout TortureReport) -> String? {
        let events = ToolEvents(log: log)
        report[behaviour].resumes += events.resumes.count
        for (index, restart) in events.restarts.enumerated() {
            // Bytes that a killed run had not recorded yet may be lost, but no others.
            guard isRecorded || index > 0 else {
                report[behaviour].earlyRestarts.add(restart.bytesWasted)
                continue
            }
            report[behaviour].restarts[restart.reason, default: TortureReport.Restarts()].add(restart.bytesWasted)
            if !behaviour.isChanging {
                report.complain("\(title): \(restart.bytesWasted) bytes discarded: \(restart.reason)")
            }
        }
        return events.failure
    }

    /// Checks that the finished file is right and that there are no other files.
    private mutating func check(_ report: inout TortureReport) throws {
        let complaint = try ContentCheck.complaint(
            about: path,
            file: number,
            size: torture.options.size,
            versions: torture.server.versions(of: number)
        )
        report[behaviour].files += 1
        if let complaint {
            report[behaviour].wrongFiles += 1
            report.complain("\(title): \(complaint)")
        }
        let others = try FileSystem.names(in: directory).filter { $0 != Self.name }
        if !others.isEmpty {
            report[behaviour].leftovers += others.count
            report.complain("\(title): unexpected files: \(others.joined(separator: ", "))")
        }
        finish()
    }

    private mutating func finish() {
        current = nil
        isDone = true
        FileSystem.remove(directory)
        FileSystem.remove(log)
    }

    private func recordNames() throws -> [String] {
        try FileSystem.names(in: directory).filter { $0.hasSuffix(".record") }
    }

    private var title: String { "\(behaviour.rawValue) file \(number) (seed \(torture.options.seed))" }
}

import HeadracePlatform

/// One download that is started and killed in turns until it is finished.
struct TorturedFile {
    private struct Run {
        let process: ChildProcess
        let start: Double
        let end: Double
    }

    /// Far beyond what any run takes: a tool that is still there then hangs.
    private static let longestRun = 120.0
    /// A changing file may use up the tool's patience, whose failure is then right.
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
    /// Whether the last kill left a record, so that the bytes are known to the next run.
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

    /// Starts, kills or takes note of the end, whichever is due.
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
            // It may have been faster by a hair.
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

    /// Ends what runs, for the clean-up.
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
        // With its name, the file is done; without a record, another run could not know and would fetch a second one.
        if FileSystem.exists(path), !isRecorded { try check(&report) }
    }

    /// Takes over what the tool said; returns its complaint.
    @discardableResult
    private func note(_ report: inout TortureReport) -> String? {
        let events = ToolEvents(log: log)
        report[behaviour].resumes += events.resumes.count
        for (index, restart) in events.restarts.enumerated() {
            // What a killed run had not yet recorded is lost, and nothing else is.
            guard isRecorded || index > 0 else {
                report[behaviour].earlyRestarts.add(restart.bytesWasted)
                continue
            }
            report[behaviour].restarts[restart.reason, default: TortureReport.Restarts()].add(restart.bytesWasted)
            if !behaviour.isChanging {
                report.complain("\(title): \(restart.bytesWasted) bytes given up: \(restart.reason)")
            }
        }
        return events.failure
    }

    /// PollCoordinator whether the file, which is there, is right and alone.
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
            report.complain("\(title): left over: \(others.joined(separator: ", "))")
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

import HeadracePlatform

/// A download with a fault at one file call, and the run after it.
struct FaultCase {
    private enum Step {
        case prepare
        case fault
        case check
        case end
    }

    /// Far longer than any run takes: a tool that is still running then hangs.
    private static let longestRun = 60.0
    private static let name = "file.bin"
    private static let copyName = "file (1).bin"
    /// The version of the file that already has the final name.
    private static let oldVersion = 2
    /// The number of the write that fails in the run that prepares a partial file.
    private static let preparingWrite = 6

    let scenario: FaultScenario
    let kind: FaultKind
    /// The number of the call; 0 for no fault.
    let number: Int
    /// The call that failed, as the preloaded library reported it, or the number of calls if none did.
    private(set) var reported = ""
    private(set) var complaints: [String] = []
    private(set) var exit: Int32 = 0

    private let faults: Faults
    private let directory: String
    private let log: String
    private let faultLog: String
    private var step: Step
    private var current: (process: ChildProcess, start: Double)?

    init(_ scenario: FaultScenario, _ kind: FaultKind, at number: Int, of faults: Faults) throws {
        self.scenario = scenario
        self.kind = kind
        self.number = number
        self.faults = faults
        let title = "\(scenario.name)-\(kind.rawValue)-\(number)"
        directory = faults.workspace.output + "/" + title
        log = faults.workspace.scratch + "/" + title + ".log"
        faultLog = faults.workspace.scratch + "/" + title + ".fault"
        step = scenario.isResumed ? .prepare : .fault
        try FileSystem.makeDirectory(directory)
        if scenario.isReplacing {
            try VersionedContent(file: 0, version: Self.oldVersion).write(to: path, size: scenario.size)
        }
    }

    var isDone: Bool { step == .end }
    var wasInjected: Bool { number > 0 && Int(reported) == nil }
    private var path: String { directory + "/" + Self.name }

    /// Starts the next run, or evaluates one that has ended.
    mutating func advance() throws {
        guard let (process, start) = current else {
            current = (try startRun(), MonotonicTime.now)
            return
        }
        if let exit = process.poll() {
            current = nil
            try ended(exit)
        } else if MonotonicTime.now - start > Self.longestRun {
            _ = process.crash()
            current = nil
            complain("the tool hangs")
            finish()
        }
    }

    /// Ends the run, for the clean-up.
    func abandon() {
        if let current { _ = current.process.crash() }
    }

    private func startRun() throws -> ChildProcess {
        var arguments = ["get", "-q", "--json", "--retries", "1", "-d", directory, "-o", Self.name]
        arguments += scenario.arguments
        if scenario.hasChecksum { arguments += ["--checksum", "sha256=\(faults.checksum(scenario.size))"] }
        arguments.append(faults.url(scenario.size))
        var command = Command(executable: faults.subject, arguments: arguments)
        if step != .check {
            command.environment = [
                "LD_PRELOAD": faults.library, "HEADRACE_FAULTS_FOLDER": directory, "HEADRACE_FAULTS_LOG": faultLog,
                "HEADRACE_FAULTS_AT": "\(step == .prepare ? Self.preparingWrite : number)",
                "HEADRACE_FAULTS_ERRNO": "\(step == .prepare ? ENOSPC : kind.errno)",
            ]
        }
        if step == .prepare { command.environment["HEADRACE_FAULTS_CALL"] = "pwrite" }
        return try ChildProcess.spawn(command, home: faults.workspace.home, log: log)
    }

    private mutating func ended(_ exit: ChildProcess.Exit) throws {
        switch step {
        case .prepare:
            if exit.status == 0 { complain("the run that was to leave a partial file did not fail") }
            step = .fault
        case .fault:
            reported = FileSystem.text(of: faultLog)
            self.exit = exit.code
            try checkFault(exit)
            step = .check
        case .check:
            if let failure = exit.failure {
                complain("the next run: \(failure): \(ToolEvents(log: log).failure ?? FileSystem.text(of: log))")
            }
            var names = try FileSystem.names(in: directory)
            // The next run does not recognise a file whose validator could not be stored with it.
            if kind != .kill, reported == "fsetxattr", self.exit == 0 { names.removeAll { $0 == Self.copyName } }
            if names != [Self.name] { complain("the next run left \(names.joined(separator: ", "))") }
            try checkFiles(mayBeOld: false)
            finish()
        case .end: break
        }
    }

    /// Checks what the run with the fault left, and how it ended.
    private mutating func checkFault(_ exit: ChildProcess.Exit) throws {
        try checkFiles(mayBeOld: true)
        guard !(wasInjected && kind == .kill) else {
            if exit.status & 0x7f != SIGKILL { complain("not killed, but \(exit.failure ?? "finished")") }
            return
        }
        guard exit.failure != nil else {
            if let wrong = try complaint(about: path, mayBeOld: false) { complain("exit status 0, and \(wrong)") }
            return
        }
        let events = ToolEvents(log: log)
        let isSaid = events.failure != nil || !events.remarks.isEmpty
        if !wasInjected || kind == .interrupted || exit.status & 0x7f != 0 || exit.code == 2 || exit.code > 7 || !isSaid
        {
            complain("\(exit.failure ?? ""): \(events.failure ?? FileSystem.text(of: log))")
        }
    }

    /// Checks the bytes of all files except partial files.
    private mutating func checkFiles(mayBeOld: Bool) throws {
        for name in try FileSystem.names(in: directory) where !Self.isPartial(name) {
            if let wrong = try complaint(about: directory + "/" + name, mayBeOld: mayBeOld) {
                complain("after \(step == .check ? "the next run" : "the fault"), \(name) \(wrong)")
            }
        }
    }

    /// Whether a name belongs to a partial file or a resume record.
    private static func isPartial(_ name: String) -> Bool {
        name.hasPrefix(".") || [".part", ".record", ".new"].contains { name.hasSuffix($0) }
    }

    private func complaint(about path: String, mayBeOld: Bool) throws -> String? {
        let versions = 1...(mayBeOld && scenario.isReplacing ? Self.oldVersion : 1)
        return try ContentCheck.complaint(about: path, file: 0, size: scenario.size, versions: versions)
    }

    private mutating func complain(_ complaint: String) {
        let call = wasInjected ? " (\(reported))" : ""
        complaints.append("\(scenario.name), \(kind.rawValue) at call \(number)\(call): \(complaint)")
    }

    private mutating func finish() {
        step = .end
        FileSystem.remove(directory)
        FileSystem.remove(log)
        FileSystem.remove(faultLog)
    }
}

extension FaultKind {
    /// The error of the call; 0 kills the process.
    fileprivate var errno: Int32 {
        switch self {
        case .kill: 0
        case .inputOutput: EIO
        case .diskFull: ENOSPC
        case .interrupted: EINTR
        }
    }
}

extension VersionedContent {
    /// Writes the first `size` bytes to a new file.
    func write(to path: String, size: Int) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw BenchmarkError.system("cannot create \(path)") }
        defer { close(file) }
        var window = ContentWindow(capacity: size)
        guard window.withBytes(of: self, in: 0..<size, { FileSystem.writeAll($0, to: file) }) else {
            throw BenchmarkError.system("cannot write \(path)")
        }
    }
}

/// One queue with its files, and its last known state.
struct KilledQueue {
    private struct Row: Equatable {
        let id: String
        let url: String
        var state: String
    }

    let files: Range<Int>
    private let registry: String
    private let output: String
    private let log: String
    private let kills: QueueKills
    private var rows: [Row] = []

    /// Adds the downloads to a new queue.
    init(_ number: Int, of kills: QueueKills) throws {
        self.kills = kills
        files = number * kills.options.files..<(number + 1) * kills.options.files
        registry = "\(kills.workspace.scratch)/registry-\(number)"
        output = "\(kills.workspace.output)/\(number)"
        log = "\(kills.workspace.scratch)/queue.log"
        let urls = files.map { kills.server.url(.good, file: $0) }
        let exit = try start("add", ["-d", output] + urls).wait(atMost: 60)
        rows = try list()
        guard exit.failure == nil, rows.map(\.url) == urls else {
            throw BenchmarkError("the queue could not be created: \(FileSystem.text(of: log))")
        }
    }

    /// Starts a process that runs the queue.
    func run() throws -> ChildProcess {
        try start("run", ["-q", "--json", "-j", "\(kills.options.jobs)"])
    }

    /// The events of the last process.
    var events: ToolEvents { ToolEvents(log: log) }

    private func start(_ verb: String, _ arguments: [String]) throws -> ChildProcess {
        let command = Command(
            executable: kills.subject,
            arguments: ["queue", verb, "--registry", registry] + arguments
        )
        return try ChildProcess.spawn(command, home: kills.workspace.home, log: log)
    }

    /// Reads the queue with the tool's `list` command, which changes nothing on the disk.
    private func list() throws -> [Row] {
        let exit = try start("list", ["--json"]).wait(atMost: 60)
        let text = FileSystem.text(of: log, limit: 16 << 20)
        if let failure = exit.failure { throw BenchmarkError("the queue cannot be read: \(failure): \(text)") }
        return try text.split(separator: "\n").map { line in
            guard let id = ToolEvents.text("id", in: line), let url = ToolEvents.text("url", in: line),
                let state = ToolEvents.text("state", in: line)
            else { throw BenchmarkError("the queue has an invalid line: \(line)") }
            return Row(id: id, url: url, state: state)
        }
    }

    /// Reads the queue, and returns the unexpected changes since the last time.
    mutating func compare() throws -> [String] {
        let (old, new) = (rows, try list())
        guard new.map(\.id) == old.map(\.id), new.map(\.url) == old.map(\.url) else {
            return ["the queue is incomplete: \(old.map(\.id)) became \(new.map(\.id))"]
        }
        rows = new
        return zip(old, new).compactMap { old, new in
            let isLost = old.state == "finished" && new.state != "finished"
            return isLost ? "\(new.url) was finished and is \(new.state)" : nil
        }
    }

    /// Checks the result: every file finished and exact, and no other files.
    func check() throws -> [String] {
        var complaints = rows.filter { $0.state != "finished" }.map { "\($0.url) is \($0.state)" }
        for file in files {
            let size = kills.options.size(of: file)
            let wrong = try ContentCheck.complaint(about: "\(output)/\(file)", file: file, size: size, versions: 1...1)
            if let wrong { complaints.append("file \(file) \(wrong)") }
        }
        let others = Set(try FileSystem.names(in: output)).subtracting(files.map { "\($0)" })
        if !others.isEmpty { complaints.append("unexpected files: \(others.sorted().joined(separator: ", "))") }
        return complaints
    }
}

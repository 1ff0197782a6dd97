import HeadracePlatform

/// The two network namespaces that a line connects: this process is in the near one, the server in the far one.
struct LineEnds {
    let workspace: Workspace
    /// The process that keeps the far namespace alive.
    private let holder: ChildProcess

    /// Moves this process to a new namespace, and makes the far one; throws the reason why that is impossible.
    init(in workspace: Workspace) throws {
        self.workspace = workspace
        let permit = try CubicPermit()
        defer { permit.withdraw() }
        try NetworkPair.enter()
        try LineSystem.configureNamespace()
        holder = try Self.start(.namespace, [], in: workspace)
    }

    func close() {
        holder.stop()
    }

    /// Connects the namespaces with a line, until the process is stopped.
    func connect(_ line: Line) throws -> ChildProcess {
        try Self.start(.line, [line.text, "\(holder.id)"], in: workspace)
    }

    /// Returns the statistics of a line that was stopped, for what it carried from the server and to it.
    func statistics() -> (down: LineStatistics?, up: LineStatistics?) {
        let text = FileSystem.text(of: Self.log(.line, workspace))
        return (LineStatistics(direction: "down", in: text), LineStatistics(direction: "up", in: text))
    }

    /// Returns the command that runs another one at the far end.
    func far(_ command: Command) -> Command {
        Command(
            executable: FileSystem.ownExecutable,
            arguments: [LineSystem.Role.far.rawValue, "\(holder.id)", command.executable] + command.arguments,
            environment: command.environment
        )
    }

    /// Starts a process that measures the line from the far end.
    func serveProbes() throws -> ChildProcess {
        let command = Command(executable: FileSystem.ownExecutable, arguments: [LineSystem.Role.probes.rawValue])
        return try ChildProcess.spawn(
            far(command),
            home: workspace.home,
            log: Self.log(.probes, workspace)
        )
    }

    /// Starts one of this tool's own processes, and waits until it is ready.
    private static func start(
        _ role: LineSystem.Role,
        _ arguments: [String],
        in workspace: Workspace
    ) throws -> ChildProcess {
        let log = log(role, workspace)
        let process = try ChildProcess.spawn(
            Command(executable: FileSystem.ownExecutable, arguments: [role.rawValue] + arguments),
            home: workspace.home,
            log: log
        )
        for _ in 0..<2_000 {
            let text = FileSystem.text(of: log)
            if text.contains("ready\n") { return process }
            if let exit = process.poll() {
                let reason = text.isEmpty ? exit.failure ?? "ended" : String(text.prefix { $0 != "\n" })
                throw BenchmarkError(reason, status: exit.code == LineSystem.impossible ? LineSystem.impossible : 1)
            }
            do { try Signals.check() } catch {
                process.stop()
                throw error
            }
            usleep(5_000)
        }
        process.stop()
        throw BenchmarkError("\(role.rawValue) did not start")
    }

    private static func log(_ role: LineSystem.Role, _ workspace: Workspace) -> String {
        "\(workspace.scratch)/\(role.rawValue).log"
    }
}

import HeadracePlatform

/// The verb `faults`: a fault at each file call of a download in turn.
struct Faults {
    let options: FaultsOptions
    let workspace: Workspace
    let subject: String
    /// The library that is preloaded.
    let library: String
    private let servers: [Int: HostileServer]
    private let checksums: [Int: String]

    static func main(_ options: FaultsOptions) throws -> Outcome {
        #if os(Linux)
        let subject = try Comparison.subject(options.subject)
        let scenarios = FaultScenario.all.filter { options.only == nil || options.only == $0.name }
        guard !scenarios.isEmpty else { throw BenchmarkError.usage("--scenario is one of \(FaultScenario.names)") }
        Signals.block()
        let workspace = try Workspace(in: options.directory)
        defer { workspace.remove() }
        let sizes = Set(scenarios.map(\.size))
        var servers: [Int: HostileServer] = [:]
        defer { for server in servers.values { server.stop() } }
        for size in sizes {
            let server = try HostileServer(seed: 1, size: size, rate: 0)
            try server.start()
            servers[size] = server
        }
        let faults = Faults(
            options: options,
            workspace: workspace,
            subject: subject,
            library: try preloadedLibrary(),
            servers: servers,
            checksums: try checksums(of: scenarios, in: workspace)
        )
        let report = try faults.run(scenarios)
        return Outcome(report, versions: [Version.ofSubject(subject, in: workspace)])
        #else
        return Outcome(SkippedReport(reason: "faults preloads a library, which is written for Linux"))
        #endif
    }

    func url(_ size: Int) -> String { servers[size]?.url(.good, file: 0) ?? "" }

    func checksum(_ size: Int) -> String { checksums[size] ?? "" }

    private func run(_ scenarios: [FaultScenario]) throws -> FaultsReport {
        let start = MonotonicTime.now
        var report = FaultsReport()
        for scenario in scenarios {
            // A run without a fault determines the number of calls.
            try run(scenario, [(.kill, 0)], &report)
            let numbers = 1...max(1, report.calls(of: scenario))
            let all = numbers.flatMap { number in FaultKind.allCases.map { (kind: $0, number: number) } }
            // If `every` equals the number of kinds, each call gets another kind than the one before.
            let chosen = all.enumerated().filter { ($0.offset + $0.element.number - 1) % options.every == 0 }
            try run(scenario, chosen.map(\.element), &report)
        }
        report.seconds = MonotonicTime.now - start
        return report
    }

    /// Runs the cases, several at once.
    private func run(
        _ scenario: FaultScenario,
        _ cases: [(kind: FaultKind, number: Int)],
        _ report: inout FaultsReport
    ) throws {
        var waiting = cases[...]
        var running: [FaultCase] = []
        defer { for one in running { one.abandon() } }
        while !waiting.isEmpty || !running.isEmpty {
            while running.count < options.jobs, let next = waiting.popFirst() {
                running.append(try FaultCase(scenario, next.kind, at: next.number, of: self))
            }
            for index in running.indices.reversed() {
                try running[index].advance()
                if running[index].isDone { report.add(running.remove(at: index)) }
            }
            try Signals.check()
            usleep(500)
        }
    }

    /// Returns the path of the library, which the same build puts next to this executable.
    private static func preloadedLibrary() throws -> String {
        let own = FileSystem.ownExecutable
        let library = own.prefix(through: own.lastIndex(of: "/") ?? own.startIndex) + "libheadrace-faults.so"
        guard FileSystem.exists(String(library)) else {
            throw BenchmarkError("there is no \(library): run `swift build`")
        }
        return String(library)
    }

    private static func checksums(of scenarios: [FaultScenario], in workspace: Workspace) throws -> [Int: String] {
        let sizes = Set(scenarios.lazy.filter(\.hasChecksum).map(\.size))
        guard !sizes.isEmpty else { return [:] }
        guard let tool = FileSystem.find("sha256sum") else { throw BenchmarkError("sha256sum is not installed") }
        var checksums: [Int: String] = [:]
        for size in sizes {
            let (path, log) = (workspace.scratch + "/content", workspace.scratch + "/sha256sum.log")
            try VersionedContent(file: 0, version: 1).write(to: path, size: size)
            defer { FileSystem.remove(path) }
            let command = Command(executable: tool, arguments: [path])
            let exit = try ChildProcess.spawn(command, home: workspace.home, log: log).wait(atMost: 60)
            guard exit.failure == nil else { throw BenchmarkError("sha256sum: \(FileSystem.text(of: log))") }
            checksums[size] = String(FileSystem.text(of: log).prefix(64))
        }
        return checksums
    }
}

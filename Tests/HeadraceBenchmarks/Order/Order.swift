/// The verb `order`: checks the system calls of a download that must survive a power cut.
enum Order {
    private static let name = "file.bin"
    /// Far longer than the download takes.
    private static let longestRun = 120
    private static let calls = [
        "write", "pwrite64", "fdatasync", "fsync", "rename", "renameat", "renameat2", "link", "linkat", "unlink",
        "unlinkat",
    ]

    static func main(_ options: OrderOptions) throws -> Outcome {
        guard let strace = FileSystem.find("strace") else {
            return skipped("order needs strace, which is not installed")
        }
        let subject = try Comparison.subject(options.subject)
        Signals.block()
        let workspace = try Workspace(in: options.directory)
        defer { workspace.remove() }
        let server = try HostileServer(seed: 1, size: options.size, rate: options.rate)
        try server.start()
        defer { server.stop() }
        let path = workspace.output + "/" + name
        let trace = workspace.scratch + "/trace"
        let log = workspace.scratch + "/tool.log"
        let command = Command(
            executable: strace,
            // A record's claim is within its first 512 bytes.
            arguments: ["-f", "-y", "-s", "512", "-o", trace, "-e", "trace=" + self.calls.joined(separator: ",")]
                + [subject, "get", "-q", "--json", "--sync", "-d", workspace.output, "-o", name]
                + [server.url(.good, file: 0)]
        )
        let exit = try ChildProcess.spawn(command, home: workspace.home, log: log).wait(atMost: longestRun)
        if let failure = exit.failure {
            let said = FileSystem.text(of: log)
            if said.contains("ptrace") { return skipped("strace may not trace here: \(said)") }
            throw BenchmarkError("\(failure): \(ToolEvents(log: log).failure ?? said)")
        }
        if let wrong = try ContentCheck.complaint(about: path, file: 0, size: options.size, versions: 1...1) {
            throw BenchmarkError("the file \(wrong)")
        }
        let check = OrderCheck(
            SystemCallTrace(FileSystem.text(of: trace, limit: 1 << 26)),
            of: path,
            size: options.size
        )
        let report = OrderReport(check: check, size: options.size)
        return Outcome(report, versions: [Version.ofSubject(subject, in: workspace)])
    }

    private static func skipped(_ reason: String) -> Outcome {
        Outcome(SkippedReport(reason: reason))
    }
}

/// The report of the verb `order`.
private struct OrderReport: VerbReport {
    let check: OrderCheck
    /// The size of the file in bytes.
    let size: Int

    var violations: [String] { check.violations }

    var text: String {
        "\(Format.size(size)) with --sync: \(check.dataWrites) writes, \(check.dataSyncs) syncs, "
            + "\(check.records) records, \(check.claims) of them with a part of the file; "
            + (violations.isEmpty ? "all in order" : "NOT in order")
    }

    var members: [(String, JSON)] {
        [
            ("size", .integer(size)), ("dataWrites", .integer(check.dataWrites)),
            ("dataSyncs", .integer(check.dataSyncs)), ("records", .integer(check.records)),
            ("claims", .integer(check.claims)),
        ]
    }
}

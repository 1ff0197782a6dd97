/// The verb `order`: the system calls of a download that is to outlive a power cut.
enum Order {
    private static let name = "file.bin"
    /// Far beyond what the download takes.
    private static let longestRun = 120
    private static let calls = [
        "write", "pwrite64", "fdatasync", "fsync", "rename", "renameat", "renameat2", "link", "linkat", "unlink",
        "unlinkat",
    ]

    static func main(_ arguments: [String]) throws -> Int32 {
        let options = try OrderOptions(arguments)
        if options.isHelp {
            Console.print(OrderOptions.help)
            return 0
        }
        guard let strace = FileSystem.find("strace") else {
            return skip("order looks at system calls with strace, which is not installed", options)
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
            // A record's claim is within its first half thousand bytes.
            arguments: ["-f", "-y", "-s", "512", "-o", trace, "-e", "trace=" + self.calls.joined(separator: ",")]
                + [subject, "get", "-q", "--json", "--sync", "-d", workspace.output, "-o", name]
                + [server.url(.good, file: 0)]
        )
        let exit = try ChildProcess.spawn(command, home: workspace.home, log: log).wait(atMost: longestRun)
        if let failure = exit.failure {
            let said = FileSystem.text(of: log)
            if said.contains("ptrace") { return skip("strace may not trace here: \(said)", options) }
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
        report(check, options)
        return check.violations.isEmpty ? 0 : 1
    }

    private static func report(_ check: OrderCheck, _ options: OrderOptions) {
        let json = JSON.object([
            ("size", .integer(options.size)), ("dataWrites", .integer(check.dataWrites)),
            ("dataSyncs", .integer(check.dataSyncs)), ("records", .integer(check.records)),
            ("claims", .integer(check.claims)), ("violations", .array(check.violations.map { .string($0) })),
        ])
        let text =
            "\(Format.size(options.size)) with --sync: \(check.dataWrites) writes, \(check.dataSyncs) syncs, "
            + "\(check.records) records, \(check.claims) of them with a part of the file; "
            + (check.violations.isEmpty ? "all in order" : "NOT in order")
        Console.print(options.isJSON ? json.text() : text)
        for violation in check.violations { Console.error("headrace-bench: \(violation)") }
    }

    private static func skip(_ reason: String, _ options: OrderOptions) -> Int32 {
        Console.print(options.isJSON ? JSON.object([("skipped", .string(reason))]).text() : "skipped: \(reason)")
        return 0
    }
}

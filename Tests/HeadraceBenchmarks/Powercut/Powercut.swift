import HeadracePlatform

/// The verb `powercut`: downloads into a file system that stops at a random moment.
struct Powercut {
    private static let name = "file.bin"
    /// Far longer than any run takes.
    private static let longestRun = 120.0

    let options: PowercutOptions
    let workspace: Workspace
    let subject: String
    let server: HostileServer
    private let mounts: MountNamespace
    private let image: LoopImage
    /// Occupies a loop device, so that the image gets another device number at the next start, like a real disk.
    private let decoy: LoopImage

    static func main(_ options: PowercutOptions) throws -> Outcome {
        if let blocker { return Outcome(SkippedReport(reason: blocker)) }
        let subject = try Comparison.subject(options.subject)
        Signals.block()
        let workspace = try Workspace(in: options.directory)
        defer { workspace.remove() }
        try workspace.requireSpace(imageSize(options))
        let powercut = try Powercut(options: options, workspace: workspace, subject: subject)
        let report = try powercut.run()
        return Outcome(report, versions: [Version.ofSubject(subject, in: workspace)])
    }

    /// The reason why this machine cannot run the verb.
    private static var blocker: String? {
        #if os(Linux)
        if geteuid() != 0 { return "powercut mounts a file system, which needs root" }
        if !FileSystem.exists("/dev/loop-control") { return "powercut needs loop devices, and there are none" }
        let missing = ["mkfs.ext4", "mount", "umount"].first { FileSystem.find($0) == nil }
        return missing.map { "powercut needs \($0), which is not installed" }
        #else
        return "powercut needs Linux and its ext4"
        #endif
    }

    /// The size for a file, an unexpected second one, and the file system's own data.
    private static func imageSize(_ options: PowercutOptions) -> Int {
        options.size * 5 / 2 + (64 << 20)
    }

    private init(options: PowercutOptions, workspace: Workspace, subject: String) throws {
        self.options = options
        self.workspace = workspace
        self.subject = subject
        server = try HostileServer(seed: options.seed, size: options.size, rate: 0)
        mounts = try MountNamespace(in: workspace)
        image = try LoopImage(named: "disk", size: Self.imageSize(options), in: workspace)
        decoy = try LoopImage(named: "decoy", size: 8 << 20, in: workspace)
    }

    private func run() throws -> PowercutReport {
        let start = MonotonicTime.now
        try server.start()
        defer { server.stop() }
        defer {
            image.detach()
            decoy.detach()
        }
        var report = PowercutReport(options: options)
        try image.mount()
        for cycle in 0..<options.cycles {
            report.cycles += 1
            try PowercutCycle(number: cycle, powercut: self).run(&report)
        }
        report.seconds = MonotonicTime.now - start
        return report
    }

    // MARK: Steps of a cycle

    /// The directory of a cycle.
    func directory(_ cycle: Int) -> String { "\(image.mountPoint)/\(cycle)" }
    func path(_ cycle: Int) -> String { directory(cycle) + "/" + Self.name }
    var log: String { workspace.scratch + "/tool.log" }

    /// Starts the tool; without a pace if no cut follows.
    func startTool(_ cycle: Int, isPaced: Bool) throws -> ChildProcess {
        let connections = PowercutOptions.connections
        server.rate = isPaced ? PowercutOptions.rate / connections : 0
        let arguments =
            ["get", "-q", "--json", "--sync", "-x", "\(connections)", "-d", directory(cycle), "-o", Self.name]
            + [server.url(.good, file: cycle)]
        return try ChildProcess.spawn(
            Command(executable: subject, arguments: arguments),
            home: workspace.home,
            log: log
        )
    }

    /// Waits for the tool until a point in time; `nil` if it is still running then.
    func wait(for tool: ChildProcess, until end: Double? = nil) throws -> ChildProcess.Exit? {
        let limit = MonotonicTime.now + Self.longestRun
        do {
            while true {
                if let exit = tool.poll() { return exit }
                let now = MonotonicTime.now
                if let end, now >= end { return nil }
                guard now < limit else { throw BenchmarkError("the tool hangs") }
                try Signals.check()
                usleep(1_000)
            }
        } catch {
            _ = tool.crash()
            throw error
        }
    }

    /// Cuts the power and mounts the file system again, in most cycles with another device number.
    func cutPower(of tool: ChildProcess?, _ cycle: Int) throws {
        do { try image.cutPower() } catch {
            _ = tool?.crash()
            throw error
        }
        _ = tool?.crash()
        try image.unmount()
        if cycle.isMultiple(of: 2) { try decoy.mount() } else { try decoy.unmount() }
        try image.mount()
    }

    func boot(_ number: Int) throws {
        try mounts.reboot(number)
    }
}

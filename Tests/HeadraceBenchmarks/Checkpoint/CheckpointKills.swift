import HeadracePlatform

/// Kills paced downloads, and determines from the server's log how many bytes each kill lost.
struct CheckpointKills {
    private static let name = "file.bin"

    let options: CheckpointOptions
    let workspace: Workspace
    let subject: String
    private let server: HostileServer

    init(options: CheckpointOptions, workspace: Workspace, subject: String) throws {
        self.options = options
        self.workspace = workspace
        self.subject = subject
        server = try HostileServer(seed: options.seed, size: options.size, rate: options.rate)
    }

    struct Result: Sendable {
        /// The bytes sent again after each kill; kills before the run's request, which lose nothing, are excluded.
        var losses: [Int] = []
        /// The bytes per second of each response, which are below the requested rate on a busy machine.
        var rates: [Double] = []
    }

    func run() throws -> Result {
        try server.start()
        defer { server.stop() }
        var random = SplitMix(seed: options.seed)
        var kills = 0
        var file = 0
        while kills < options.kills {
            try download(file, &kills, &random)
            file += 1
        }
        let deliveries = server.deliveries
        return Result(
            losses: zip(deliveries, deliveries.dropFirst()).compactMap { earlier, later in
                earlier.file == later.file ? max(0, earlier.end - later.start) : nil
            },
            // The last response has no pace.
            rates: deliveries.dropLast().filter { $0.ended > $0.began }.map {
                Double($0.end - $0.start) / ($0.ended - $0.began)
            }
        )
    }

    /// Downloads one file, restarting the tool after each kill.
    private func download(_ file: Int, _ kills: inout Int, _ random: inout SplitMix) throws {
        let directory = "\(workspace.output)/\(file)"
        try FileSystem.makeDirectory(directory)
        defer { FileSystem.remove(directory) }
        while true {
            let isLast = kills == options.kills
            let log = workspace.scratch + "/tool.log"
            if isLast { server.rate = 0 }
            // With one connection, the re-sent bytes follow from the order of its responses.
            let arguments = ["get", "-q", "-x", "1", "--json", "-d", directory, "-o", Self.name]
            let command = Command(executable: subject, arguments: arguments + [server.url(.good, file: file)])
            let tool = try ChildProcess.spawn(command, home: workspace.home, log: log)
            let delay = isLast ? 600 : Double.random(in: CheckpointOptions.killWindow, using: &random)
            guard let exit = try tool.poll(for: delay) else {
                guard !isLast else { throw BenchmarkError("the tool hangs") }
                kills += 1
                continue
            }
            if let failure = exit.failure {
                throw BenchmarkError("\(failure): \(ToolEvents(log: log).failure ?? FileSystem.text(of: log))")
            }
            let path = directory + "/" + Self.name
            guard let wrong = try ContentCheck.complaint(about: path, file: file, size: options.size, versions: 1...1)
            else { return }
            throw BenchmarkError("the file after \(kills) kills (seed \(options.seed)) \(wrong)")
        }
    }
}

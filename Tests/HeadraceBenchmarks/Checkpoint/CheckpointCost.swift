import HeadracePlatform

/// Compares the tool with itself without resume records.
struct CheckpointCost {
    private static let name = "file.bin"
    private static let timeout = 600

    /// Two consecutive runs, one with and one without records.
    struct Pair: Sendable {
        let with: Measurement
        let without: Measurement
    }

    let options: CheckpointOptions
    let workspace: Workspace
    let subject: String

    func run() throws -> [Pair] {
        try workspace.requireSpace(2 * options.costSize)
        let server = try OriginServer.start(.automatic, isTLSWanted: false, in: workspace)
        defer { server.stop() }
        try SourceFile.make(workspace.site + "/" + Self.name, size: options.costSize, seed: 0)
        let url = server.url(for: Self.name, isEncrypted: false)
        let record = try warmUp(url)
        return try (0..<options.rounds).map { round in
            func measure(isRecorded: Bool) throws -> Measurement {
                try workspace.prepareForRun()
                // A directory in place of the file that is renamed over the record, so that no record can be written.
                let blocker = isRecorded ? nil : "\(workspace.output)/\(record).new"
                if let blocker { try FileSystem.makeDirectory(blocker) }
                let measurement = try Measurement.run(command(url), in: workspace, timeout: Self.timeout)
                try check(blocker: blocker)
                return measurement
            }
            // The order alternates, so that neither kind of run always comes first.
            let isFirst = round.isMultiple(of: 2)
            let first = try measure(isRecorded: isFirst)
            let second = try measure(isRecorded: !isFirst)
            let pair = isFirst ? Pair(with: first, without: second) : Pair(with: second, without: first)
            let walls = [pair.with, pair.without].map { Metric.wall.text($0.wall) }
            Console.error("round \(round + 1)/\(options.rounds): \(walls[0]) with records, \(walls[1]) without")
            return pair
        }
    }

    /// Fills the caches, and returns the file name of the tool's resume record.
    private func warmUp(_ url: String) throws -> String {
        try workspace.prepareForRun()
        let log = workspace.scratch + "/run.log"
        let tool = try ChildProcess.spawn(command(url), home: workspace.home, log: log)
        var record: String?
        while true {
            if let exit = tool.poll() {
                if let failure = exit.failure { throw BenchmarkError("\(failure): \(FileSystem.text(of: log))") }
                break
            }
            do {
                try Signals.check()
                record = try record ?? FileSystem.names(in: workspace.output).first { $0.hasSuffix(".part.record") }
            } catch {
                _ = tool.crash()
                throw error
            }
            usleep(10_000)
        }
        try check(blocker: nil)
        guard let record else {
            throw BenchmarkError("\(Format.size(options.costSize)) arrived before the first record: use more")
        }
        return record
    }

    /// Returns the median time of the file calls for one record, in seconds.
    ///
    /// Comparing runs cannot show this, because a record takes less time than the noise.
    func recordTime() throws -> Double {
        let path = workspace.scratch + "/record"
        let text = String(repeating: "r", count: 700)
        let times = try (0..<501).map { _ in
            let start = MonotonicTime.now
            try FileSystem.write(text, to: path + ".new")
            guard rename(path + ".new", path) == 0 else { throw BenchmarkError.system("cannot rename \(path)") }
            return MonotonicTime.now - start
        }
        return times.sorted()[times.count / 2]
    }

    private func command(_ url: String) -> Command {
        Command(executable: subject, arguments: ["get", "-q", "-d", workspace.output, "-o", Self.name, url])
    }

    private func check(blocker: String?) throws {
        let source = workspace.site + "/" + Self.name
        if let wrong = try SourceFile.difference(of: workspace.output + "/" + Self.name, from: source) {
            throw BenchmarkError("wrong file: \(wrong)")
        }
        if let blocker, !FileSystem.isDirectory(blocker) { throw BenchmarkError("the tool removed \(blocker)") }
    }
}

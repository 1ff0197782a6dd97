#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Races the tool against itself without records.
struct CheckpointCost {
    private static let name = "file.bin"
    private static let timeout = 600

    /// One pair of runs, in seconds.
    struct Pair: Sendable {
        var with = 0.0
        var without = 0.0

        var ratio: Double { with / without }
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
            var pair = Pair()
            // The order turns, so that neither always follows the other.
            for isRecorded in round.isMultiple(of: 2) ? [true, false] : [false, true] {
                try workspace.prepareForRun()
                // What the next record is written to before it takes the last one's place.
                let obstacle = "\(workspace.output)/\(record).new"
                if !isRecorded { try FileSystem.makeDirectory(obstacle) }
                let wall = try Measurement.run(command(url), in: workspace, timeout: Self.timeout).wall
                try check(obstacle: isRecorded ? nil : obstacle)
                if isRecorded { pair.with = wall } else { pair.without = wall }
            }
            Console.error(
                "round \(round + 1)/\(options.rounds): \(Metric.wall.text(pair.with)) with records, "
                    + "\(Metric.wall.text(pair.without)) without"
            )
            return pair
        }
    }

    /// Fills the caches, and returns the name of the record that the tool makes.
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
        try check(obstacle: nil)
        guard let record else {
            throw BenchmarkError("\(Format.size(options.costSize)) came so fast that no record was made: take more")
        }
        return record
    }

    private func command(_ url: String) -> Command {
        Command(executable: subject, arguments: ["get", "-q", "-d", workspace.output, "-o", Self.name, url])
    }

    private func check(obstacle: String?) throws {
        let source = workspace.site + "/" + Self.name
        if let wrong = try SourceFile.difference(of: workspace.output + "/" + Self.name, from: source) {
            throw BenchmarkError("wrong file: \(wrong)")
        }
        if let obstacle, !FileSystem.isDirectory(obstacle) { throw BenchmarkError("the tool removed \(obstacle)") }
    }
}

import HeadracePlatform

/// One measurement of a limit with a number of connections.
struct RatesRun {
    /// The length of the sliding window over which the limit is checked, in seconds.
    static let window = 5
    /// The time before the first window, in seconds.
    static let warmUp = 1
    private static let pause: UInt32 = 20_000

    /// The total size of the files at a point in time.
    private struct Sample {
        let time: Double
        let bytes: Int
    }

    struct Result: Sendable {
        let rate: Int
        let connections: Int
        /// The bytes per second of the slowest and of the fastest window, and of the whole measurement.
        let slowest: Double
        let fastest: Double
        let mean: Double
        /// The share of a processor that the tool used.
        let cpu: Double

        /// The largest deviation of a window from the limit.
        var error: Double { max(fastest / Double(rate) - 1, 1 - slowest / Double(rate)) }
    }

    let rate: Int
    let connections: Int
    let seconds: Int
    let subject: String
    let server: OriginServer
    let workspace: Workspace

    func run() throws -> Result {
        try workspace.prepareForRun()
        let urls = (0..<connections).map { server.url(for: "\($0)", isEncrypted: false) }
        // One connection per file.
        let options = ["get", "-q", "-x", "1", "-j", "\(connections)", "-d", workspace.output]
        let limit = ["--limit-rate", "\(rate)"]
        let log = workspace.scratch + "/run.log"
        let start = MonotonicTime.now
        let tool = try ChildProcess.spawn(
            Command(executable: subject, arguments: options + limit + urls),
            home: workspace.home,
            log: log
        )
        let samples: [Sample]
        do {
            samples = try sample(tool, log, from: start)
        } catch {
            tool.stop()
            throw error
        }
        kill(tool.id, SIGTERM)
        let exit = try tool.wait(atMost: 30)
        return result(samples, cpu: exit.cpu / (MonotonicTime.now - start))
    }

    private func sample(_ tool: ChildProcess, _ log: String, from start: Double) throws -> [Sample] {
        var samples: [Sample] = []
        while true {
            try Signals.check()
            let time = MonotonicTime.now - start
            guard time < Double(Self.warmUp + seconds) + 0.1 else { return samples }
            if time >= Double(Self.warmUp) {
                let names = try FileSystem.names(in: workspace.output).filter { $0.hasSuffix(".part") }
                samples.append(Sample(time: time, bytes: try names.reduce(0) { try $0 + size(of: $1) }))
            }
            if tool.poll() != nil { throw BenchmarkError("the tool ended too early: \(FileSystem.text(of: log))") }
            usleep(Self.pause)
        }
    }

    private func size(of name: String) throws -> Int {
        var status = stat()
        guard stat(workspace.output + "/" + name, &status) == 0 else {
            throw BenchmarkError.system("cannot check \(name)")
        }
        return Int(status.st_size)
    }

    private func result(_ samples: [Sample], cpu: Double) -> Result {
        var (slowest, fastest) = (Double.infinity, 0.0)
        var end = 0
        for first in samples {
            while end < samples.count, samples[end].time < first.time + Double(Self.window) { end += 1 }
            guard end < samples.count else { break }
            let speed = speed(first, samples[end])
            (slowest, fastest) = (min(slowest, speed), max(fastest, speed))
        }
        return Result(
            rate: rate,
            connections: connections,
            slowest: slowest,
            fastest: fastest,
            mean: speed(samples[0], samples[samples.count - 1]),
            cpu: cpu
        )
    }

    private func speed(_ first: Sample, _ last: Sample) -> Double {
        Double(last.bytes - first.bytes) / (last.time - first.time)
    }
}

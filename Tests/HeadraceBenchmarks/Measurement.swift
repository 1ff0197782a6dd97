/// The time and memory of one run of one contender.
struct Measurement: Sendable {
    /// The time from before the spawn to after reaping, in seconds.
    let wall: Double
    /// User plus system time, in seconds.
    let cpu: Double
    /// The peak resident size in bytes.
    let peakMemory: Int

    /// Runs a command to completion; if it fails, throws an error with the end of its output.
    static func run(_ command: Command, in workspace: Workspace, timeout: Int) throws -> Measurement {
        let log = workspace.scratch + "/run.log"
        let start = MonotonicTime.now
        let child = try ChildProcess.spawnMeasured(command, home: workspace.home, log: log)
        let exit = try child.wait(atMost: timeout)
        let wall = MonotonicTime.now - start
        if let failure = exit.failure {
            let said = FileSystem.text(of: log).split(separator: "\n").suffix(3).joined(separator: " | ")
            throw BenchmarkError(said.isEmpty ? failure : "\(failure): \(said)")
        }
        return Measurement(wall: wall, cpu: exit.cpu, peakMemory: exit.peakMemory)
    }
}

/// A figure of a measurement for medians and targets.
enum Metric: String, Sendable, CaseIterable {
    case wall
    case cpu
    case memory

    func value(of measurement: Measurement) -> Double {
        switch self {
        case .wall: measurement.wall
        case .cpu: measurement.cpu
        case .memory: Double(measurement.peakMemory)
        }
    }

    /// Returns the median of the runs, which one disturbed round in five does not move.
    func median(of samples: [Measurement]) -> Double? {
        let sorted = samples.map(value(of:)).sorted()
        guard !sorted.isEmpty else { return nil }
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }

    func text(_ value: Double) -> String {
        switch self {
        case .wall, .cpu: Format.decimal(value, places: 3) + " s"
        case .memory: Format.mebibytes(Int(value)) + " MiB"
        }
    }
}

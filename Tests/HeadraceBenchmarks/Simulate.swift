import HeadraceTestSupport

/// The verb `simulate`: runs whole managers on simulated machines, each determined by a seed.
enum Simulate {
    static func main(_ options: SimulateOptions) throws -> Outcome {
        var report = SimulateReport(options: options)
        let start = MonotonicTime.now
        for seed in options.seed..<options.seed + UInt64(options.seeds) {
            let run = Simulation.run(seed: seed)
            report.add(run, seed: seed)
            if options.printsTrace || !run.violations.isEmpty, !options.isJSON {
                Console.print("seed \(seed)")
                for line in run.trace { Console.print("  \(line)") }
            }
            if report.failedSeeds.count == options.failures { break }
        }
        report.seconds = MonotonicTime.now - start
        return Outcome(report)
    }
}

/// The options of the verb `simulate`.
struct SimulateOptions: VerbOptions {
    var seeds = 1000
    var seed: UInt64 = 1
    var failures = 10
    var printsTrace = false
    var isJSON = false

    static let verb = "simulate"

    static let about = """
        usage: headrace-bench simulate [options]

        Runs whole download managers on simulated machines: the servers, the disk, the clock and the order of all tasks
        are simulated, and a seed determines each run. The servers change files, refuse, interrupt and misrepresent
        them; mirrors have other versions, and checksums are wrong; the network goes away, the processes are killed, the
        power is cut, and other processes send commands. Checks that no finished
        file is wrong, that no limit is exceeded, that each command takes effect once, that no byte is received twice
        without a reason, and that all downloads finish once the faults have ended.
        """

    static let notes = "A failed run prints its trace. The same seed gives the same run."

    static var table: [OptionRow<Self>] {
        [
            .count("--seeds", "how many seeds to run (1000)", \.seeds),
            OptionRow("--seed", "S", "the first seed (1); the following ones are S + 1, S + 2 and so on") {
                $0.seed = UInt64(try OptionValue.count($1, "--seed", atLeast: 0))
            },
            .count("--failures", "stop after this number of failed seeds (10)", \.failures),
            .flag("--trace", "print the trace of each run", \.printsTrace),
            .json(\.isJSON),
        ]
    }
}

/// The report of the verb `simulate`.
struct SimulateReport: VerbReport {
    let options: SimulateOptions
    private var seeds = 0
    private var jobs = 0
    private var virtualSeconds = 0.0
    private(set) var failedSeeds: [UInt64] = []
    private(set) var violations: [String] = []
    var seconds = 0.0

    init(options: SimulateOptions) {
        self.options = options
    }

    mutating func add(_ run: Simulation.Outcome, seed: UInt64) {
        seeds += 1
        jobs += run.jobs
        virtualSeconds += run.time / .seconds(1)
        guard !run.violations.isEmpty else { return }
        failedSeeds.append(seed)
        violations += run.violations.map { "seed \(seed): \($0)" }
    }

    var text: String {
        "\(seeds) seeds, \(jobs) jobs and \(Int(virtualSeconds / 3600)) hours of virtual time in \(Int(seconds)) s; "
            + "\(failedSeeds.count) failed"
    }

    var members: [(String, JSON)] {
        [
            ("seeds", .number(Double(seeds))),
            ("jobs", .number(Double(jobs))),
            ("virtualSeconds", .number(virtualSeconds)),
            ("seconds", .number(seconds)),
            ("failedSeeds", .array(failedSeeds.map { .number(Double($0)) })),
        ]
    }
}

/// The downloads of a run in numbers.
struct Tally: Sendable, Equatable {
    let count: Int
    private(set) var finished = 0
    private(set) var finishedBytes: Int64 = 0
    private(set) var failures: [ExitCode] = []

    init(count: Int) {
        self.count = count
    }

    /// Downloads that have ended, well or not.
    var ended: Int { finished + failures.count }

    /// The status of the run.
    var status: ExitCode { ExitCode(of: failures) }

    mutating func addFinished(_ bytes: Int64) {
        finished += 1
        finishedBytes += bytes
    }

    mutating func addFailure(_ status: ExitCode) {
        failures.append(status)
    }
}

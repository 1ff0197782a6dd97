import Headrace

/// The downloads of a run in numbers.
struct RunTotals: Sendable, Equatable {
    /// Those that run or wait.
    var open: Int
    private(set) var finished = 0
    private(set) var finishedBytes: Int64 = 0
    /// The bytes that came for them.
    private(set) var fetchedBytes: Int64 = 0
    /// Those that had failed before the run, and are not tried again.
    var failedEarlier = 0
    /// Those that somebody paused.
    var paused = 0
    private var statuses: [Download.ID: ExitCode] = [:]

    init(open: Int = 0) {
        self.open = open
    }

    var failed: Int { statuses.count }

    /// Downloads that have ended, well or not.
    var ended: Int { finished + failed }

    /// All but those that somebody paused, cancelled or removed.
    var count: Int { open + ended }

    /// The status of the run.
    var status: ExitCode { ExitCode(of: statuses.values) }

    mutating func addFinished(_ bytes: Int64, fetched: Int64) {
        finished += 1
        finishedBytes += bytes
        fetchedBytes += fetched
    }

    mutating func addFailure(_ status: ExitCode, of id: Download.ID) {
        statuses[id] = status
    }

    /// Takes in that a failed download is tried again.
    mutating func removeFailure(of id: Download.ID) {
        statuses[id] = nil
    }
}

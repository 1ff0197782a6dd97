import Headrace

/// The numbers of downloads and bytes of a run, by outcome.
struct RunTotals: Sendable, Equatable {
    /// The downloads that are known to be waiting or running.
    var open: Set<Download.ID> = []
    var paused: Set<Download.ID> = []
    /// The downloads that failed before the run, which does not retry them.
    var failedEarlier: Set<Download.ID> = []
    private(set) var finished = 0
    private(set) var finishedBytes: Int64 = 0
    /// The number of bytes that this run downloaded for the finished files.
    private(set) var fetchedBytes: Int64 = 0
    /// The exit statuses of the failed downloads.
    var failures: [Download.ID: ExitCode] = [:]

    var failed: Int { failures.count }

    var ended: Int { finished + failed }

    /// The number of downloads that are waiting or running, or have finished or failed in this run.
    var count: Int { open.count + ended }

    var status: ExitCode { ExitCode(of: failures.values) }

    mutating func addFinished(_ bytes: Int64, fetched: Int64) {
        finished += 1
        finishedBytes += bytes
        fetchedBytes += fetched
    }
}

/// When to ask again after a failure, and when to give up.
///
/// Pure: exponential delays with full jitter, and two budgets.
struct RetryBackoff: Sendable, Hashable {
    /// The upper bound of the first delay, in milliseconds; each further one has twice the bound of the one before.
    private let firstCeiling: Int64
    private let lastCeiling: Int64
    private let maxFailures: Int
    private let maxTotalFailures: Int
    private let bytesPerFailure: Int64

    /// Failures since the last byte of progress.
    private(set) var failures = 0
    /// Those of them that are not counted against the budget.
    private var forgiven = 0
    private(set) var totalFailures = 0
    private var progressBytes: Int64 = 0

    /// Creates a schedule.
    /// - Parameters:
    ///   - policy: The bounds of the delays, and how many failures are retried.
    ///   - bytesPerFailure: The progress that earns one more retry.
    init(_ policy: RetryPolicy, bytesPerFailure: Int64 = 1 << 20) {
        firstCeiling = policy.baseDelay.wholeMilliseconds
        lastCeiling = policy.maxDelay.wholeMilliseconds
        maxFailures = policy.maxFailures
        maxTotalFailures = policy.maxTotalFailures
        self.bytesPerFailure = max(1, bytesPerFailure)
    }

    /// Counts bytes that are new and kept; any of them ends the row of failures.
    ///
    /// Those that were there before, and had to be given up, earn no further ones: `earned` is how many do.
    mutating func progressed(by bytes: Int64, earning earned: Int64) {
        guard bytes > 0 else { return }
        (failures, forgiven) = (0, 0)
        let (sum, overflow) = progressBytes.addingReportingOverflow(earned)
        progressBytes = overflow ? .max : sum
    }

    /// Counts a failure; returns how long to wait before the next attempt, or nil to give up.
    ///
    /// The wait is never shorter than what the server asked for. One that is forgiven costs nothing of the budgets, but where
    /// nothing is to be tried again.
    mutating func failed(
        retryAfter: Duration?,
        isForgiven: Bool,
        using random: inout some RandomNumberGenerator
    ) -> Duration? {
        let earned = Int(clamping: progressBytes / bytesPerFailure)
        let (allowed, overflow) = maxTotalFailures.addingReportingOverflow(earned)
        let isWithinBudgets = failures - forgiven < maxFailures && totalFailures < (overflow ? .max : allowed)
        guard isWithinBudgets || isForgiven && maxFailures > 0 else { return nil }
        let delay = Duration.milliseconds(Int64.random(in: 0...ceiling, using: &random))
        if isForgiven {
            (failures, forgiven) = (failures + 1, forgiven + 1)
        } else {
            failedAnyway()
        }
        return max(delay, retryAfter ?? .zero)
    }

    /// Counts a failure that is tried again whatever the budgets say.
    mutating func failedAnyway() {
        failures += 1
        totalFailures += 1
    }

    /// The upper bound of the next delay.
    private var ceiling: Int64 {
        // Doubling 62 times reaches any bound.
        let (product, overflow) = firstCeiling.multipliedReportingOverflow(by: 1 << Int64(min(failures, 62)))
        return overflow ? lastCeiling : min(product, lastCeiling)
    }
}

/// Decides when to retry after a failure, and when to stop retrying.
///
/// Performs no I/O. Delays are exponential with full jitter; one budget limits the failures since the last progress,
/// and a second budget limits all failures.
struct RetryBackoff: Sendable, Hashable {
    /// The number of new bytes that earns one more retry.
    private static let bytesPerFailure: Int64 = 1 << 20

    /// The upper bound of the first delay, in milliseconds; it doubles for each further delay.
    private let firstCeiling: Int64
    private let lastCeiling: Int64
    private let maxFailures: Int
    private let maxTotalFailures: Int

    /// The number of failures since the last progress.
    private(set) var failures = 0
    /// The number of failures since the last progress that do not count against the budgets.
    private var forgiven = 0
    private(set) var totalFailures = 0
    private var progressBytes: Int64 = 0

    /// Creates the state before the first failure.
    /// - Parameter policy: The bounds of the delays and the maximum number of failures.
    init(_ policy: RetryPolicy) {
        firstCeiling = policy.baseDelay.wholeMilliseconds
        lastCeiling = policy.maxDelay.wholeMilliseconds
        maxFailures = policy.maxFailures
        maxTotalFailures = policy.maxTotalFailures
    }

    /// Whether another failure would be retried.
    var mayRetry: Bool {
        let earned = Int(clamping: progressBytes / Self.bytesPerFailure)
        let (allowed, overflow) = maxTotalFailures.addingReportingOverflow(earned)
        return failures - forgiven < maxFailures && totalFailures < (overflow ? .max : allowed)
    }

    /// Counts received bytes, which reset the number of consecutive failures.
    ///
    /// Only the `earned` bytes, which were not downloaded before, earn further retries.
    mutating func progressed(by bytes: Int64, earning earned: Int64) {
        guard bytes > 0 else { return }
        (failures, forgiven) = (0, 0)
        let (sum, overflow) = progressBytes.addingReportingOverflow(earned)
        progressBytes = overflow ? .max : sum
    }

    /// Counts a failure; returns the delay before the next attempt, or `nil` to stop retrying.
    ///
    /// The delay is never shorter than `retryAfter`, which the server sent. A forgiven failure does not count against
    /// the budgets, but if retries are disabled, it stops the retrying like any other failure.
    mutating func failed(
        retryAfter: Duration?,
        isForgiven: Bool,
        using random: inout some RandomNumberGenerator
    ) -> Duration? {
        guard mayRetry || isForgiven && maxFailures > 0 else { return nil }
        let delay = Duration.milliseconds(Int64.random(in: 0...ceiling, using: &random))
        if isForgiven {
            (failures, forgiven) = (failures + 1, forgiven + 1)
        } else {
            failedIgnoringBudgets()
        }
        return max(delay, retryAfter ?? .zero)
    }

    /// Counts a failure that the caller retries regardless of the budgets.
    mutating func failedIgnoringBudgets() {
        failures += 1
        totalFailures += 1
    }

    /// The upper bound of the next delay, in milliseconds.
    private var ceiling: Int64 {
        // Doubling 62 times exceeds any bound.
        let (product, overflow) = firstCeiling.multipliedReportingOverflow(by: 1 << Int64(min(failures, 62)))
        return overflow ? lastCeiling : min(product, lastCeiling)
    }
}

/// The policy for retries: which failures are retried, how often, and after which delay.
///
///     configuration.retryPolicy.maxFailures = 10
///     configuration.retryPolicy.decide = { error, failures in
///         error.code == .tls && failures < 3 ? .retry(after: .seconds(5)) : .standard
///     }
///
/// Failures that may be temporary are retried: see <doc:Retries> for the table. The delay is random between zero and a
/// bound that doubles with each failure in a row, and never shorter than the server requests (`Retry-After`, RFC 9110,
/// section 10.2.3). A retry resumes with the received bytes.
public struct RetryPolicy: Sendable {
    /// The reaction to a failure of a request.
    public enum Decision: Sendable, Hashable {
        /// React as the other properties of the policy require.
        case standard
        /// Retry the same source after this delay, regardless of the failure and the number of failures.
        ///
        /// If the host has requested a longer delay (`Retry-After`), that delay applies, or another source is used.
        /// After ``DownloadError/Code/checksum`` or ``DownloadError/Code/contentCoding``, this is the same as
        /// ``standard``, since the same source would send the same wrong file.
        case retry(after: Duration)
        /// Fail the download at once with the error of the request, without retries and without other sources.
        case fail
    }

    /// The maximum number of failures in a row, without a byte of progress, that are retried; 0 for no retries.
    ///
    /// Each source of the file has its own count. A 429 or 503 from a host that is currently serving another download
    /// does not count as a failure unless the download has another source.
    ///
    /// On Linux, two more failures do not count; see ``DownloadConfiguration/stallTimeout``:
    /// - A transfer ends early because another transfer from its server has stalled, unless the previous attempt ended so
    ///   too.
    /// - The connection of a resumable response is lost after the library has not read from it for the stall timeout,
    ///   because of a slow disk or a rate limit.
    public var maxFailures = 5
    /// The maximum number of failures in a row that are retried if a host is unreachable; `nil` for ``maxFailures``.
    ///
    /// A host is unreachable if its name cannot be resolved or if it refuses the connection. With a low number, a
    /// download with a mistyped host name or a closed port fails soon. If the host has responded to any download of the
    /// manager, or if the download has bytes from any of its sources, ``maxFailures`` applies instead.
    public var maxUnreachableFailures: Int?
    /// The maximum number of failures in total that are retried, for each source of the file.
    ///
    /// Each MiB of progress earns one more retry, so a server that delivers one byte per attempt cannot keep a download
    /// alive forever.
    public var maxTotalFailures = 50
    /// The maximum delay before the first retry; this maximum doubles with each failure in a row.
    ///
    /// The first retry after a stall has no delay.
    public var baseDelay: Duration = .seconds(1)
    /// The upper limit of the delay; a server may request a longer one.
    public var maxDelay: Duration = .seconds(60)
    /// The maximum number of retries per minute to one host over all downloads; `nil` for no limit.
    ///
    /// Further retries are delayed, so that a recovering host does not receive all retries at once.
    public var maxRetriesPerHostAndMinute: Int? = 300
    /// Decides what follows a failed attempt, given the error and the number of failures in a row, counted from 1;
    /// `nil` for ``Decision/standard`` in all cases.
    ///
    /// The download still counts as running while the closure runs. The closure is not called for a stopped download,
    /// for an unreachable host after ``maxUnreachableFailures``, or for a request that must not be repeated. It is also
    /// not called if the network was lost or has just changed, if the process has too many open files, or if a link
    /// provider supplied a new URL.
    public var decide: (@Sendable (DownloadError, _ failures: Int) async -> Decision)?

    /// Creates a policy with the default values, which the closure can change.
    /// - Parameter configure: A closure that changes the properties of the policy.
    public init(_ configure: (inout RetryPolicy) -> Void = { _ in }) {
        configure(&self)
    }

    /// A policy without retries.
    public static let none = RetryPolicy { $0.maxFailures = 0 }

    func validate() throws(DownloadError) {
        guard maxFailures >= 0, maxUnreachableFailures ?? 0 >= 0, maxTotalFailures >= 0,
            maxRetriesPerHostAndMinute ?? 1 >= 1
        else {
            throw DownloadError(
                .invalidRequest,
                "The limits of a retry policy must be at least 0, and maxRetriesPerHostAndMinute at least 1."
            )
        }
        guard baseDelay >= .zero, maxDelay >= .zero else {
            throw DownloadError(.invalidRequest, "The delays of a retry policy must be at least zero.")
        }
    }
}

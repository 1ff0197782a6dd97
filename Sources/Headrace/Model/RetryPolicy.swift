/// Which failures are tried again, how often, and after how long.
///
/// What may pass is tried again: see <doc:Retries> for the table. Between two attempts a time passes that is drawn at random
/// between zero and a bound, which doubles with each failure in a row; where the server tells how long to wait
/// (`Retry-After`, RFC 9110, section 10.2.3), never less than that. A retry goes on with the bytes that are there.
public struct RetryPolicy: Sendable {
    /// What to do about a failure.
    public enum Decision: Sendable, Hashable {
        /// What the rest of the policy says.
        case standard
        /// Try the same source again after this time, whatever the failure was and however many there were.
        ///
        /// The same as ``standard`` after ``DownloadError/Code/checksum``: a wrong file is not retried.
        case retry(after: Duration)
        /// Fail with this error at once, without retries and without other sources.
        case fail
    }

    /// How many failures in a row, without a byte of progress between them, are tried again; 0 for none.
    ///
    /// That a host takes no more (429, 503) while it sends another download is tried again without being counted.
    public var maxFailures = 5
    /// How many failures in a row are retried at a host that has never responded, if its name is not found or it refuses the
    /// connection; `nil` for ``maxFailures``.
    ///
    /// A mistyped host name or a closed port then fails soon. A host that has responded to any download of the manager, or that an
    /// earlier run has received bytes from, has ``maxFailures``.
    public var maxUnreachableFailures: Int?
    /// How many failures are tried again in all, with one more for each MiB of progress, so that a byte an attempt does not go
    /// on for ever.
    public var maxTotalFailures = 50
    /// The longest wait before the first retry; it doubles with each failure in a row.
    ///
    /// The first retry after a stall does not wait.
    public var baseDelay: Duration = .seconds(1)
    /// The longest wait that the server does not ask for.
    public var maxDelay: Duration = .seconds(60)
    /// How many retries a minute go to one host, over all downloads; nil for as many as there are.
    ///
    /// Those beyond wait for their turn, so that a host that comes back is not met by all of them at once.
    public var maxRetriesPerHostAndMinute: Int? = 300
    /// Asked about each failure of a request, with the error and the number of failures in a row, from 1; nil leaves all to the
    /// rest of the policy.
    ///
    /// The download keeps its place meanwhile. It is not asked about a download that was stopped.
    public var decide: (@Sendable (DownloadError, _ failures: Int) async -> Decision)?

    /// Creates a policy and changes what the closure changes.
    /// - Parameter configure: Receives the defaults to change.
    public init(_ configure: (inout RetryPolicy) -> Void = { _ in }) {
        configure(&self)
    }

    /// No failure is tried again.
    public static let none = RetryPolicy { $0.maxFailures = 0 }

    func validate() throws(DownloadError) {
        guard maxFailures >= 0, maxUnreachableFailures ?? 0 >= 0, maxTotalFailures >= 0,
            maxRetriesPerHostAndMinute ?? 1 >= 1
        else {
            throw DownloadError(
                .invalidRequest,
                "A retry policy's counts cannot be below zero, and maxRetriesPerHostAndMinute not below 1."
            )
        }
        guard baseDelay >= .zero, maxDelay >= .zero else {
            throw DownloadError(.invalidRequest, "A retry policy's delays cannot be below zero.")
        }
    }
}

import HeadracePlatform

/// The state that all attempts of a download share until it finishes, fails or is stopped: the progress, the retry
/// budgets and everything known about the servers.
///
/// A download that waits for a retry releases its slot for other downloads, and continues with this state afterwards.
struct TransferState: Sendable {
    /// How the remaining bytes of a file may be requested.
    enum Parts: Sendable, Equatable {
        /// The bytes may be requested in several ranges at once.
        case several
        /// The bytes must be requested in one range at a time, each for the first missing bytes.
        case one
        /// The bytes must not be divided: they must be requested in one range that extends to the end of the file.
        case none

        mutating func lower() { self = self == .several ? .one : .none }
    }

    /// The next step if a complete file has the wrong checksum or size.
    enum AfterMismatch {
        case sameSource
        case otherSource
        case fail
    }

    private static let maxRenewals = 3
    /// The maximum number of repairs of bytes that changed on the disk; after that, the disk is considered faulty.
    private static let maxDiskRepairs = 2

    /// The time from which the time limit counts: the start of the first attempt, plus the time spent waiting for a
    /// slot.
    private(set) var start: Duration
    /// The time of the next attempt, while the download waits for it; otherwise `nil`.
    private var due: Duration?
    /// Whether the download was resumed before its next attempt was due; the attempt then ignores the delay that its
    /// host requires and the limit on retries per host.
    private(set) var isHastened = false
    /// The error after which the download waits for a retry; `nil` during an attempt, or if it waits without an error.
    var lastFailure: DownloadError?
    /// A failure that will be retried, but for which the host's limit on retries was not yet checked; `nil` if there
    /// is none.
    var unpacedFailure: DownloadError?
    var meter: ProgressMeter
    var resume: ResumeStrategy
    /// How the remaining bytes may be requested; always `.none` for methods other than GET.
    var parts: Parts { didSet { if !isDivisible { parts = .none } } }
    private let isDivisible: Bool
    var verification: Verification
    /// The final path, and the file URL for it that was published with the last accepted response.
    ///
    /// If the finished file has this path, the same URL is published for it.
    var reportedFile: (path: String, url: URL)?
    /// The final path according to the origin's response, if the response advertised mirrors; responses of
    /// mirrors do not change the path.
    var originPath: String?
    var sources: SourceList
    /// The number of body bytes received from the network, including unusable ones.
    private(set) var fetchedBytes: Int64 = 0
    /// The maximum number of bytes on the disk so far; only further bytes earn retries.
    ///
    /// Reset to zero when the source changes or received bytes are discarded, but not if the reason for discarding them
    /// is ``RestartReason/isUnverifiable``.
    private var maxHeldBytes: Int64 = 0
    /// The number of stalls of the current source since an attempt last received ``minHealthyBytes`` or more.
    private var stalls = 0
    private static let minHealthyBytes: Int64 = 1 << 20
    /// The number of stalls after which an untried source replaces the current one, even if that source might not match
    /// the received bytes.
    private static let maxStalls = 2
    /// Whether the last failure followed the stall of another transfer and was not counted.
    private var hasFollowedStall = false
    /// The number of received bytes at the start of the current attempt, or zero once ``restarted(for:)`` has reset it.
    private var attemptStart: Int64 = 0
    private var backoff: RetryBackoff
    /// The initial retry state, from which each new source starts.
    private let firstBackoff: RetryBackoff
    private let firstResume: ResumeStrategy
    /// The maximum number of failures in a row of a host that has never responded; `nil` for no such limit.
    let maxUnreachableFailures: Int?
    private var unusableResponses = 0
    /// Whether a complete file that failed verification was already downloaded again from the same source.
    private var hasRefetched = false
    private var diskRepairs = 0
    /// Whether a mismatch of a file whose end only the connection marked was taken for a lost connection.
    private var hasDoubtedEnd = false
    /// Whether a request that must not be repeated was sent.
    var hasSentSingle = false
    /// Whether the content coding of the response was already published.
    var hasReportedCoding = false
    /// The stamps of existing files that were read and do not match the request, so that they are not read again.
    var mismatchedFiles: Set<FileStamp> = []
    /// The number of new links requested since the last progress.
    private var renewals = 0

    init(
        _ request: borrowing DownloadRequest,
        _ configuration: borrowing DownloadConfiguration,
        at start: Duration
    ) {
        self.start = start
        meter = ProgressMeter(start: start)
        var firstResume = ResumeStrategy(request.resumePolicy, isVerifiedAtEnd: request.isVerifiedAtEnd)
        isDivisible = request.method == "GET"
        parts = isDivisible ? .several : .none
        // A condition has another meaning for other methods (RFC 9110, section 13.1).
        if !isDivisible { firstResume.stopSendingCondition() }
        self.firstResume = firstResume
        verification = Verification(request, checksServer: configuration.checksServerDigests)
        resume = firstResume
        sources = SourceList(request)
        firstBackoff = RetryBackoff(configuration.retryPolicy(for: request))
        backoff = firstBackoff
        maxUnreachableFailures = configuration.retryPolicy.maxUnreachableFailures
    }

    /// Adopts the metadata of the bytes that an earlier run received; `known` is `nil` if there are no bytes.
    mutating func opened(_ known: RepresentationMetadata?) {
        verification.resume(with: known?.checksum.flatMap { Checksum($0) })
        if known?.isUnverified == true { resume.accepted(.checksum) }
        if known?.isFromMirror == true, sources.isFirst { resume.sourceChanged() }
    }

    /// The number of failures since the last progress.
    var count: Int { backoff.failures }

    mutating func fetched(_ count: Int) { fetchedBytes += Int64(count) }

    /// Records the number of received bytes at the start of an attempt.
    mutating func began(holding held: Int64) { attemptStart = held }

    /// Records that an attempt has ended, successfully or not, with `held` bytes received in total.
    ///
    /// If the attempt received new bytes, the failures in a row and the requests for links are counted from zero again.
    /// Only bytes above ``maxHeldBytes`` earn further retries.
    mutating func progressed(to held: Int64) {
        let earlierMax = max(maxHeldBytes, attemptStart)
        backoff.progressed(by: held - attemptStart, earning: max(0, held - earlierMax))
        maxHeldBytes = max(earlierMax, held)
        if held > attemptStart { renewals = 0 }
        if held - attemptStart >= Self.minHealthyBytes { stalls = 0 }
    }

    /// Counts a failure and returns the delay before the next attempt with the same source; returns `nil` without
    /// counting a failure if the source must be abandoned.
    ///
    /// In both cases, a `stalled` error adds to the stalls of the source, unless ``DownloadError/followsStall`` is set.
    mutating func failed(
        _ error: DownloadError,
        holdingBytes: Bool,
        using random: inout some RandomNumberGenerator
    ) -> Duration? {
        if error.code == .stalled, !error.followsStall { stalls += 1 }
        let holdingBytes = retriesFirst(holdingBytes)
        guard error.isTransient, !sources.leavesAtOnce(error, holdingBytes: holdingBytes) else { return nil }
        let isBeyondHostLimit = error.exceedsHostLimit && !sources.hasNext
        // If the next request fails like this too, the server does not respond at all.
        hasFollowedStall = error.followsStall && !hasFollowedStall
        let isForgiven = isBeyondHostLimit || hasFollowedStall || error.followsPause
        let isFirst = backoff.failures == 0
        let delay = backoff.failed(retryAfter: error.retryAfter, isForgiven: isForgiven, using: &random)
        // Waiting again would not help: the stall timeout has passed, most likely on a dead connection.
        return error.code == .stalled && isFirst ? delay.map { _ in .zero } : delay
    }

    /// Counts a failure that is retried regardless of the retry budgets.
    mutating func failedIgnoringBudgets() { backoff.failedIgnoringBudgets() }

    /// Records that the received bytes were discarded; returns `false` if that happened too often.
    mutating func restarted(for reason: RestartReason) -> Bool {
        // Not reset for unverifiable bytes: otherwise a server could make the download fetch them again forever.
        if !reason.isUnverifiable { (maxHeldBytes, attemptStart) = (0, 0) }
        return resume.restarted(for: reason)
    }

    /// Abandons the source and returns the next one, which gets a new retry budget; throws if there is none, or if
    /// another source would not help.
    mutating func leaveSource(after error: DownloadError, holdingBytes: Bool) throws(DownloadError) -> URL {
        let next = try sources.next(after: error, holdingBytes: retriesFirst(holdingBytes))
        beginSource()
        return next
    }

    /// Whether a source with a transient error is retried before another one is tried, because only the same source is
    /// likely to continue the received bytes.
    private func retriesFirst(_ holdingBytes: Bool) -> Bool {
        holdingBytes && !resume.isVerifiedAtEnd && stalls < Self.maxStalls
    }

    /// Switches from the current source, whose host requires a wait, to an untried source or, if none is left, to a
    /// postponed one for which `isReady` returns `true`; returns that source, or `nil` if there is none.
    ///
    /// For a postponed source, the retries and restarts are not counted from zero, so that sources whose hosts require
    /// waits in turn are not requested forever.
    mutating func postponeSource(isReady: (URL) -> Bool) -> URL? {
        let isUntried = sources.hasUntried
        guard let next = sources.postpone(isReady: isReady) else { return nil }
        if isUntried { beginSource() } else { sourceChanged() }
        return next
    }

    private mutating func beginSource() {
        backoff = firstBackoff
        (maxHeldBytes, unusableResponses, hasDoubtedEnd) = (0, 0, false)
        let trustsChecksum = resume.isVerifiedAtEnd
        resume = firstResume
        if !trustsChecksum { resume.stopTrustingChecksum() }
        sourceChanged()
    }

    private mutating func sourceChanged() {
        stalls = 0
        unpacedFailure = nil
        resume.sourceChanged()
        allowParts()
    }

    /// Replaces the link of the current source.
    ///
    /// Ranges are requested again, since the new link may support them even if the expired link no longer did.
    mutating func renewSource(_ link: DownloadRequest.Link) {
        if link.url.host() != sources.current.host() { resume.sourceChanged() }
        sources.renew(link)
        allowParts()
    }

    /// Allows several ranges at once for a new source or link.
    ///
    /// Does nothing if the complete file failed verification and is now requested in one range: then it is requested in
    /// one range from all further sources too.
    private mutating func allowParts() { if !hasRefetched || parts != .none { parts = .several } }

    /// Counts a request for a new link; returns `false` after too many requests without progress.
    mutating func mayRenewLink() -> Bool {
        renewals += 1
        return renewals <= Self.maxRenewals
    }

    /// Records that the download waits for its next attempt until this time.
    mutating func wait(until time: Duration) { due = time }

    /// Records that the wait for the next attempt or for a slot has ended.
    mutating func endWait(at now: Duration) {
        lastFailure = nil
        guard let due = due.take() else { return }
        start += max(.zero, now - due)
        isHastened = due > now
    }

    /// Counts a response with an unusable body; returns `false` after too many, so that the request is not repeated.
    mutating func mayRequestAgain() -> Bool {
        unusableResponses += 1
        return unusableResponses <= ResumeStrategy.maxRestarts
    }

    /// Counts a repair of a complete file that lost bytes on the disk; returns `false` after too many repairs.
    ///
    /// After a repair, checksums are computed from the disk, not while bytes are received.
    mutating func mayRepairDisk() -> Bool {
        verification.discardDigest()
        parts = .one
        guard diskRepairs < Self.maxDiskRepairs else { return false }
        diskRepairs += 1
        return true
    }

    /// Whether to retry after a file failed verification whose end only the connection marked: it may be incomplete.
    ///
    /// Returns `true` at most once for each source, since the next response shows the end.
    mutating func mayDoubtEnd() -> Bool {
        guard !hasDoubtedEnd, backoff.mayRetry else { return false }
        hasDoubtedEnd = true
        return true
    }

    /// Decides whether a complete file that failed verification is downloaded again, and from which source.
    ///
    /// The same source is used again at most once, and only if it may still deliver the correct file. Each other source
    /// is used once. Repairs of disk failures are counted separately.
    /// - Parameters:
    ///   - composition: How many responses and sources the file came from.
    ///   - keepsBytes: Whether some bytes are known to be correct, so that only the other bytes are downloaded.
    ///   - isDiskFailure: Whether the wrong bytes changed on the disk.
    /// - Returns: The next step.
    mutating func mismatched(
        _ composition: PartialDownload.Composition,
        keepsBytes: Bool,
        isDiskFailure: Bool
    ) -> AfterMismatch {
        // A single stream cannot be assembled incorrectly; gaps between correct bytes are filled one part at a time.
        parts = keepsBytes ? .one : .none
        if isDiskFailure, diskRepairs < Self.maxDiskRepairs {
            diskRepairs += 1
            return .sameSource
        }
        // Each of the mixed sources or versions may be correct on its own.
        let isMixed = resume.isUnverified || composition == .severalSources
        if !isMixed || hasRefetched, sources.hasNext { return .otherSource }
        guard !hasRefetched, isMixed || keepsBytes || composition != .oneResponse else { return .fail }
        hasRefetched = true
        resume = firstResume
        if isMixed, !keepsBytes { resume.stopTrustingChecksum() }
        return .sameSource
    }
}

extension DownloadConfiguration {
    /// Returns the retry policy for a request.
    fileprivate func retryPolicy(for request: borrowing DownloadRequest) -> RetryPolicy {
        var policy = retryPolicy
        if let maxRetries = request.maxRetries { policy.maxFailures = maxRetries }
        if !request.mayRepeat { policy.maxFailures = 0 }
        return policy
    }
}

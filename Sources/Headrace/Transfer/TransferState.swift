import HeadracePlatform

/// What the attempts of one run have in common: progress, budgets, and what was learnt.
///
/// A download that waits to be tried again leaves its place to others, and takes this up when it is its turn.
struct TransferState: Sendable {
    /// How a file may be fetched, after what was met so far.
    enum Parts: Sendable, Equatable {
        /// Over several connections.
        case several
        /// What is missing one part after the other.
        case one
        /// From the start to the end.
        case none

        mutating func lower() {
            self = self == .several ? .one : .none
        }
    }

    /// The next step after a complete file that is wrong.
    enum AfterMismatch {
        case sameSource
        case otherSource
        case fail
    }

    private static let maxRenewals = 3
    /// How often bytes are fetched again that changed on the disk; more often it is the disk that has to go.
    private static let maxDiskRepairs = 2

    /// When the first of them began, later by the time in which the download waited for its turn since.
    private(set) var start: Duration
    /// When the next one is due, while the download waits for it.
    private var due: Duration?
    /// Whether the present one was asked for before it was due.
    private(set) var isHastened = false
    /// What the last of them ended with since the download's last turn began; nil where that was no failure.
    var lastFailure: DownloadError?
    /// The failure whose retry has not been told yet by its host's pace when to begin.
    var unpacedFailure: DownloadError?
    var meter: ProgressMeter
    var resume: ResumeStrategy
    var parts = Parts.several
    var verification: Verification
    /// The path and the URL of the file that the last answer was told to become.
    var reportedFile: (path: String, url: URL)?
    /// The final path as the origin's answer meant it; mirrors do not give the file another name.
    var originPath: String?
    var sources: SourceList
    /// Body bytes from the network, those that were of no use included.
    private(set) var fetchedBytes: Int64 = 0
    /// The most bytes of the source that were held at once, since it had to begin with a file that has changed.
    private var mostHeld: Int64 = 0
    private var backoff: RetryBackoff
    /// Those of a source which was not asked yet.
    private let firstBackoff: RetryBackoff
    private let firstResume: ResumeStrategy
    private var unusableResponses = 0
    /// Whether a complete file was wrong, and fetched again from the same source.
    private var hasRefetched = false
    private var diskRepairs = 0
    /// Whether it was told that the server has encoded the file.
    var hasReportedCoding = false
    /// Files that are there, and were read and found to be others than the one that is asked for.
    var disproven: Set<FileStamp> = []
    /// How many links were asked for since the last progress.
    private var renewals = 0

    init(_ request: borrowing DownloadRequest, _ environment: TransferEnvironment, at start: Duration) {
        self.start = start
        meter = ProgressMeter(start: start)
        firstResume = ResumeStrategy(request.resumePolicy, isVerifiedAtEnd: request.isVerifiedAtEnd)
        verification = Verification(request, checksServer: environment.configuration.checksServerDigests)
        resume = firstResume
        sources = SourceList(request)
        firstBackoff = RetryBackoff(environment.configuration.retryPolicy)
        backoff = firstBackoff
    }

    /// The number of failures since the last progress.
    var count: Int { backoff.failures }

    mutating func fetched(_ count: Int) {
        fetchedBytes += Int64(count)
    }

    /// Counts the bytes that an attempt has brought, by how many were held before it and are now.
    mutating func progressed(from before: Int64, to held: Int64) {
        let most = max(mostHeld, before)
        backoff.progressed(by: held - before, earning: max(0, held - most))
        mostHeld = max(most, held)
        if held > before { renewals = 0 }
    }

    /// How long to wait before the next attempt at the same source, or nil to give it up.
    mutating func failed(_ error: DownloadError, holdingBytes: Bool) -> Duration? {
        guard error.isTransient, !sources.leavesAtOnce(error, holdingBytes: holdingBytes) else { return nil }
        var random = SystemRandomNumberGenerator()
        let isForgiven = error.isOneTooMany && !sources.hasNext || error.followsStall
        let isFirst = backoff.failures == 0
        let delay = backoff.failed(retryAfter: error.retryAfter, isForgiven: isForgiven, using: &random)
        // A time-out was waited for already, and most likely for a dead connection.
        return error.code == .stalled && isFirst ? delay.map { _ in .zero } : delay
    }

    /// Counts a failure that somebody has decided to try again.
    mutating func failedAnyway() {
        backoff.failedAnyway()
    }

    /// Takes note that the held bytes are of no use; false where that was so too often.
    mutating func restarted(for reason: RestartReason) -> Bool {
        // What nothing proves, a server may have begun again for ever.
        if !reason.isUnverifiable { mostHeld = 0 }
        return resume.restarted(for: reason)
    }

    /// Gives up a source and returns the next one, with retries of its own; throws where there is none.
    mutating func leaveSource(after error: DownloadError, holdingBytes: Bool) throws(DownloadError) -> URL {
        let next = try sources.next(after: error, holdingBytes: holdingBytes)
        beginSource()
        return next
    }

    /// Leaves a source whose host asks to wait for one that was not tried; nil where there is none.
    mutating func postponeSource() -> URL? {
        guard let next = sources.postpone() else { return nil }
        beginSource()
        return next
    }

    private mutating func beginSource() {
        backoff = firstBackoff
        mostHeld = 0
        unpacedFailure = nil
        resume = firstResume
        resume.sourceChanged()
        // After a file that was put together wrongly, each source sends the whole alone.
        if !hasRefetched || parts != .none { parts = .several }
        unusableResponses = 0
    }

    /// Takes a new link, which may give parts where the old one, at its end, gave none.
    mutating func renewSource(_ link: DownloadRequest.Link) {
        if link.url.host() != sources.current.host() { resume.sourceChanged() }
        sources.renew(link)
        parts = .several
    }

    /// Counts a link that is asked for; false when none of the last ones has brought a byte.
    mutating func mayRenewLink() -> Bool {
        renewals += 1
        return renewals <= Self.maxRenewals
    }

    /// The download waits for its next attempt until that time.
    mutating func wait(until time: Duration) {
        due = time
    }

    /// It is the download's turn again.
    mutating func goOn(at now: Duration) {
        lastFailure = nil
        guard let due = due.take() else { return }
        start += max(.zero, now - due)
        isHastened = due > now
    }

    /// Counts an answer whose body could not be used; false when there have been too many.
    mutating func mayRequestAgain() -> Bool {
        unusableResponses += 1
        return unusableResponses <= ResumeStrategy.maxRestarts
    }

    /// Counts a repair of a complete file that has lost bytes on the disk; false if there were too many.
    ///
    /// The file is verified as it is on the disk afterwards, not as its bytes came.
    mutating func mayRepairDisk() -> Bool {
        verification.discardDigest()
        parts = .one
        guard diskRepairs < Self.maxDiskRepairs else { return false }
        diskRepairs += 1
        return true
    }

    /// Decides whether a complete file that is wrong is fetched again, and from which source.
    ///
    /// The same source is used again at most once in a run, and only if it may not be to blame; each other one is used once.
    /// - Parameters:
    ///   - composition: The responses that the file was put together from.
    ///   - keepsBytes: Whether some bytes are known to be right, so that only the others are fetched.
    ///   - isDiskFailure: Whether the wrong bytes have changed on the disk.
    /// - Returns: The next step.
    mutating func mismatched(
        _ composition: PartialDownload.Composition,
        keepsBytes: Bool,
        isDiskFailure: Bool
    ) -> AfterMismatch {
        // In one stream nothing can be put together wrongly; what is missing among what is right comes part by part.
        parts = keepsBytes ? .one : .none
        if isDiskFailure, diskRepairs < Self.maxDiskRepairs {
            diskRepairs += 1
            return .sameSource
        }
        // Each of the mixed sources or versions may be right alone.
        let isMixed = resume.isUnverified || composition == .severalSources
        if !isMixed || hasRefetched, sources.hasNext { return .otherSource }
        guard !hasRefetched, isMixed || keepsBytes || composition != .oneResponse else { return .fail }
        hasRefetched = true
        resume = firstResume
        if isMixed, !keepsBytes { resume.stopTrustingChecksum() }
        return .sameSource
    }
}

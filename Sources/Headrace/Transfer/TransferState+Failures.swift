import HeadracePlatform

/// Decides what follows a failed attempt.
///
/// Performs no I/O: the caller calls ``failed(_:_:)`` and performs the reaction that it returns. After `requestLink` it
/// calls ``renewed(_:after:_:)``, and after `decide` ``decided(_:after:_:using:)``, each of which returns the next
/// reaction. All other reactions are final.
extension TransferState {
    /// The circumstances of a failed attempt.
    struct FailureFacts: Sendable {
        /// Whether the partial file contains bytes.
        var holdsBytes = false
        /// Whether the error is a lack of file descriptors, and other transfers will release theirs.
        var lacksDescriptors = false
        /// Whether the network, rather than the server, may have failed: it is unavailable or has just changed.
        var isNetworkUnsettled = false
        var hasLinkProvider = false
        /// Whether the source's server has responded to any request of this manager; always `false` without
        /// `maxUnreachableFailures`.
        var hasHostResponded = false
    }

    enum FailureReaction: Sendable, Equatable {
        /// Send the next request at once.
        case again
        /// Publish the notice, if any, and release the slot for this time; the failure does not count.
        case pause(DownloadEvent.Notice?, Duration)
        /// Request a new link, then call ``TransferState/renewed(_:after:_:)``.
        case requestLink(DownloadError)
        /// Call the closure of the retry policy, then ``TransferState/decided(_:after:_:using:)``.
        case decide(DownloadError)
        /// The source was abandoned because of this error; request the next one at once.
        case changeSource(DownloadError, next: URL)
        /// Send the next request to the same source after this delay.
        case retry(DownloadError, after: Duration)
        case fail(DownloadError)
    }

    /// The delay before the next attempt while the network settles.
    private static let networkDelay = Duration.milliseconds(100)

    /// Handles the error of an attempt.
    mutating func failed(_ error: DownloadError, _ facts: FailureFacts) -> FailureReaction {
        if facts.lacksDescriptors { return .pause(.waitingForDescriptors(error), .zero) }
        // Not a failure of the source. Without a network, the scheduler makes the download wait.
        if facts.isNetworkUnsettled { return .pause(nil, Self.networkDelay) }
        if resume.verifiesEnd, error.mayDependOnHTTPVersion, resume.changeVersion() { return .again }
        let error = (resume.verifiesEnd ? error.atUnverifiedEnd : error).about(sources.current)
        // After an error of a mirror, no link is requested, since a new link can replace only the origin's.
        if facts.hasLinkProvider, sources.isOrigin, let status = error.statusCode,
            SourceList.endedStatuses.contains(status), mayRenewLink()
        {
            return .requestLink(error)
        }
        return evaluate(error, facts)
    }

    /// Handles the result of the link provider; `link` is `nil` if there is no provider any more.
    mutating func renewed(
        _ link: Result<DownloadRequest.Link, any Error>?,
        after error: DownloadError,
        _ facts: FailureFacts
    ) -> FailureReaction {
        switch link {
        case nil: return evaluate(error, facts)
        case .success(let link):
            renewSource(link)
            return .again
        case .failure(let cause):
            let what = "\(error.message) No new link could be obtained: \(cause.reason)"
            let error = DownloadError(error.code, what, statusCode: error.statusCode, cause: cause)
            return evaluate(error.about(sources.current), facts)
        }
    }

    /// Handles the decision of the retry policy.
    mutating func decided(
        _ decision: RetryPolicy.Decision,
        after error: DownloadError,
        _ facts: FailureFacts,
        using random: inout some RandomNumberGenerator
    ) -> FailureReaction {
        let delay: Duration?
        switch decision {
        case .fail: return .fail(error)
        // The same file would only be wrong again.
        case .retry(let wanted) where error.code != .checksum && error.code != .contentCoding:
            failedIgnoringBudgets()
            delay = max(.zero, wanted)
        case .retry, .standard: delay = failed(error, holdingBytes: facts.holdsBytes, using: &random)
        }
        guard let delay else { return changeSource(after: error, facts) }
        unpacedFailure = error
        return .retry(error, after: delay)
    }

    private mutating func evaluate(_ error: DownloadError, _ facts: FailureFacts) -> FailureReaction {
        if let maxUnreachableFailures, count >= maxUnreachableFailures, error.isHostUnreachable, !facts.holdsBytes,
            !facts.hasHostResponded
        {
            return changeSource(after: error, facts)
        }
        return .decide(error)
    }

    private mutating func changeSource(after error: DownloadError, _ facts: FailureFacts) -> FailureReaction {
        do {
            return .changeSource(error, next: try leaveSource(after: error, holdingBytes: facts.holdsBytes))
        } catch {
            return .fail(error)
        }
    }
}

extension Error {
    /// The message of the error, for a sentence about a link provider.
    var reason: String { (self as? DownloadError)?.message ?? "\(self)" }
}

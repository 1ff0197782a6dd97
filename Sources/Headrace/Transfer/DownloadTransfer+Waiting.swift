import HeadracePlatform

/// Decides how long a transfer waits before the next request, and whether it keeps its slot meanwhile.
extension DownloadTransfer {
    /// Counts a failure; returns the delay before the next request to the same source, or `nil` to abandon the source.
    ///
    /// Throws if the download must fail.
    func delay(
        after error: DownloadError,
        holdingBytes: Bool,
        _ attempts: inout TransferState
    ) async throws -> Duration? {
        let policy = environment.configuration.retryPolicy
        if let maxFailures = policy.maxUnreachableFailures, attempts.count >= maxFailures, error.isHostUnreachable,
            !holdingBytes,
            !environment.hosts.hasResponded(attempts.sources.current)
        {
            return nil
        }
        guard let decide = policy.decide else { return attempts.failed(error, holdingBytes: holdingBytes) }
        switch await decide(error, attempts.count + 1) {
        // The same file would only be wrong again.
        case .retry where error.code == .checksum: fallthrough
        case .standard: return attempts.failed(error, holdingBytes: holdingBytes)
        case .fail: throw error
        case .retry(let delay):
            guard stop.reason == nil else { throw error }
            attempts.failedIgnoringBudgets()
            return max(.zero, delay)
        }
    }

    /// Switches to another source while the current source's host requires a delay; if there is no other source, throws
    /// ``Retry`` to release the slot, the transfer's place among the running ones.
    func waitForHost(_ attempts: inout TransferState) throws {
        while let time = environment.hosts.notBefore(attempts.sources.current), !attempts.isHastened {
            let now = environment.clock.now()
            guard time > now else { return }
            let source = attempts.sources.current
            let notice = DownloadEvent.Notice.waitingForHost(time - now)
            guard let next = attempts.postponeSource() else {
                publish(.notice(notice))
                throw Retry(attempts: attempts, time: time)
            }
            publish(.sourceFailed(DownloadError(.httpStatus, "\(notice)").about(source), next: next.withoutCredentials))
        }
    }

    /// Applies the source host's limit on retries if the next request is a retry; throws ``Retry`` if the retry must
    /// wait.
    func waitForPace(_ attempts: inout TransferState) throws {
        guard let failure = attempts.unpacedFailure.take() else { return }
        let now = environment.clock.now()
        let begin = environment.hosts.beginRetry(attempts.sources.current, at: now)
        guard begin > now, !attempts.isHastened else { return }
        throw retry(attempts, after: failure, begin - now)
    }

    func retry(_ attempts: TransferState, after error: DownloadError, _ delay: Duration) -> Retry {
        publish(.retrying(error, attempt: attempts.count, after: delay))
        var attempts = attempts
        attempts.lastFailure = error
        return Retry(attempts: attempts, time: environment.clock.now() + delay)
    }

    /// Returns a retry that waits until other transfers release descriptors, if the error is a lack of descriptors.
    ///
    /// The error does not count as a failure of the source. Returns `nil` for other errors, or if no other transfer is
    /// running.
    func retryAfterOthers(_ attempts: TransferState, after error: DownloadError) -> Retry? {
        guard error.isOutOfDescriptors, environment.descriptors.ranOut() else { return nil }
        publish(.notice(.waitingForDescriptors(error)))
        return Retry(attempts: attempts, time: environment.clock.now())
    }
}

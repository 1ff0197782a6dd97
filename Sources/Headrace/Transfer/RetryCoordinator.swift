import HeadracePlatform

/// Prepares each attempt of a transfer and reacts to failed ones: switches sources, obtains new links, and determines
/// how long to wait.
///
/// ``TransferState`` decides; this type calls the hooks of the user and publishes the events.
struct RetryCoordinator: Sendable {
    /// The longest wait for a host that is preferred to a source that may have another version of the received bytes.
    private static let patience = Duration.seconds(30)

    let record: DownloadRecord
    let stop: StopSignal
    let environment: TransferEnvironment

    // MARK: Before an attempt

    /// Returns the time until which the next request must wait; `nil` if it need not wait.
    ///
    /// A request waits if its host has requested a delay and there is no other source to switch to, or if the limit on
    /// retries per host is reached.
    func waitEnd(_ state: inout TransferState, holdingBytes: Bool) -> Duration? {
        waitForHost(&state, holdingBytes) ?? waitForPace(&state)
    }

    /// Switches to another source while the current source's host requires a delay; if all hosts require one, returns
    /// the end of the shortest.
    ///
    /// Returns `nil` if the next request need not wait.
    private func waitForHost(_ state: inout TransferState, _ holdingBytes: Bool) -> Duration? {
        while !state.isHastened {
            let (now, source) = (environment.clock.now(), state.sources.current)
            let time = delayEnd(source)
            guard time > now else { return nil }
            guard let next = nextSource(&state, insteadOfWaitingUntil: time, at: now, holdingBytes) else {
                let time = waitEnd(until: time, state, at: now, holdingBytes)
                publish(.notice(.waitingForHost(time - now)))
                return time
            }
            let notice = DownloadEvent.Notice.waitingForHost(time - now)
            publish(.sourceFailed(DownloadError(.httpStatus, "\(notice)").about(source), next: next.withoutCredentials))
        }
        return nil
    }

    /// Switches from a source whose host requires a delay to another one, as ``TransferState/postponeSource(isReady:)``
    /// does; returns `nil` if there is none.
    private func nextSource(
        _ state: inout TransferState,
        insteadOfWaitingUntil end: Duration,
        at now: Duration,
        _ holdingBytes: Bool
    ) -> URL? {
        guard mayLeave(insteadOfWaitingFor: end - now, state, holdingBytes) else { return nil }
        return state.postponeSource { delayEnd($0) <= now }
    }

    /// Whether to use another source rather than wait for the current one.
    ///
    /// If the other source has another version of the file, the received bytes are lost. So this is allowed only if
    /// there are none, if a checksum will verify the file, or if the wait is longer than ``patience``.
    private func mayLeave(insteadOfWaitingFor delay: Duration, _ state: TransferState, _ holdingBytes: Bool) -> Bool {
        !holdingBytes || state.resume.isVerifiedAtEnd || delay > Self.patience
    }

    /// Returns the end of the delay that the host of a source requires; zero if it requires none.
    private func delayEnd(_ source: URL) -> Duration { environment.hosts.notBefore(source) ?? .zero }

    /// Returns the time at which the current source, or another one that may be used instead, can be requested.
    ///
    /// It is not before `now`, and not after `end`, at which the current source can be requested.
    private func waitEnd(
        until end: Duration,
        _ state: TransferState,
        at now: Duration,
        _ holdingBytes: Bool
    ) -> Duration {
        let others = state.sources.others.map { max(now, delayEnd($0)) }
        return others.filter { mayLeave(insteadOfWaitingFor: end - $0, state, holdingBytes) }.reduce(end, min)
    }

    /// Applies the source host's limit on retries if the next request is a retry; returns the time until which the
    /// request must wait, or `nil` if it need not wait.
    private func waitForPace(_ state: inout TransferState) -> Duration? {
        guard let failure = state.unpacedFailure.take() else { return nil }
        let now = environment.clock.now()
        let begin = environment.hosts.beginRetry(state.sources.current, at: now)
        guard begin > now, !state.isHastened else { return nil }
        state.lastFailure = failure
        publish(.notice(.waitingForRetryLimit(begin - now)))
        return begin
    }

    /// Requests a new link from the provider if the present link has expired.
    ///
    /// If the provider fails, the present link is used nevertheless, since the local clock may be wrong.
    func renewExpiredLink(_ state: inout TransferState) async throws {
        guard let end = state.sources.expires, linkProvider != nil,
            WallTime.duration(until: end) == .zero, state.mayRenewLink()
        else { return }
        switch try await requestLink() {
        case .success(let link)?:
            state.renewSource(link)
            publish(.notice(.linkRenewed))
        case .failure(let cause)?: publish(.notice(.linkNotRenewed(reason: cause.reason)))
        case nil: return
        }
    }

    /// The link provider of the request or, if there is none, of the configuration.
    ///
    /// The provider of the configuration is not used for a request that must not be repeated or has a secret body.
    private var linkProvider: DownloadRequest.LinkProvider? {
        if let own = record.requested({ $0.linkProvider }) { return own }
        guard let provide = environment.configuration.linkProvider else { return nil }
        let request = record.requested(\.self)
        guard request.mayRepeat, request.body?.isSecret != true else { return nil }
        return DownloadRequest.LinkProvider { try await provide(request) }
    }

    /// Returns the provider's new link or its error; `nil` if there is no provider.
    ///
    /// If there is an error but the download was stopped, throws `CancellationError` instead.
    private func requestLink() async throws(CancellationError) -> Result<DownloadRequest.Link, any Error>? {
        guard let provider = linkProvider else { return nil }
        do {
            let link = try await provider.link(on: environment.computing)
            try link.url.validate()
            return .success(link)
        } catch {
            guard stop.reason == nil, !Task.isCancelled else { throw CancellationError() }
            return .failure(error)
        }
    }

    // MARK: After a failed attempt

    /// Acts on a failed attempt, as ``TransferState`` decides; throws if the download must fail.
    func recover(
        from error: DownloadError,
        holdingBytes: Bool,
        _ state: inout TransferState
    ) async throws -> DownloadTransfer.Step {
        let facts = TransferState.FailureFacts(
            holdsBytes: holdingBytes,
            lacksDescriptors: environment.lacksDescriptors(after: error),
            isNetworkUnsettled: error.isNetworkFailure && environment.isNetworkUnsettled(for: record.request),
            hasLinkProvider: linkProvider != nil,
            hasHostResponded: environment.hasResponded(state.sources.current)
        )
        var reaction = state.failed(error, facts)
        while true {
            switch reaction {
            case .again: return .again
            case .pause(let notice, let delay):
                if let notice { publish(.notice(notice)) }
                return .retry(at: environment.clock.now() + delay)
            case .requestLink(let error):
                let link = try await requestLink()
                reaction = state.renewed(link, after: error, facts)
                if case .success(let link)? = link {
                    publish(.sourceFailed(error, next: link.url.withoutCredentials))
                }
            case .decide(let error):
                let decide = environment.configuration.retryPolicy.decide
                let decision = await decide?(error, state.count + 1) ?? .standard
                if case .retry = decision, stop.reason != nil { throw error }
                var random = environment.random
                reaction = state.decided(decision, after: error, facts, using: &random)
            case .changeSource(let error, let next):
                publish(.sourceFailed(error, next: next.withoutCredentials))
                return .again
            case .retry(let error, var delay):
                let now = environment.clock.now()
                // While this host requires a delay, a source on another host can be used.
                if delayEnd(state.sources.current) > now {
                    let end = now + delay
                    if let next = nextSource(&state, insteadOfWaitingUntil: end, at: now, holdingBytes) {
                        reaction = .changeSource(error, next: next)
                        continue
                    }
                    delay = waitEnd(until: end, state, at: now, holdingBytes) - now
                }
                publish(.retrying(error, attempt: state.count, after: delay))
                state.lastFailure = error
                return .retry(at: now + delay)
            case .fail(let error): throw error
            }
        }
    }

    private func publish(_ event: DownloadEvent) { record.status.publish(event) }
}

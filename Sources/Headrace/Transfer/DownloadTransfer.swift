import HeadracePlatform

/// Runs one download: sends requests, follows redirects, resumes, verifies the file and gives it its final name.
///
/// Runs on the blocking executor, since its file calls may block.
final class DownloadTransfer: Sendable {
    /// Thrown if the transfer was requested to stop.
    struct Stopped: Error {
        /// Whether a partial file, or a resume record without one, remains on the disk.
        var keptBytes: Bool
    }

    /// Thrown to release the transfer's slot and resume the transfer later.
    struct Retry: Error {
        var attempts: TransferState
        var time: Duration
    }

    let record: DownloadRecord
    let stop: StopSignal
    let environment: TransferEnvironment
    /// The state of earlier attempts, which this run continues with.
    let attempts: TransferState

    init(
        _ record: DownloadRecord,
        _ stop: StopSignal,
        after earlier: TransferState? = nil,
        in environment: TransferEnvironment
    ) {
        self.record = record
        self.stop = stop
        self.environment = environment
        let now = environment.clock.now()
        var attempts = earlier ?? record.requested { TransferState($0, environment, at: now) }
        attempts.endWait(at: now)
        self.attempts = attempts
    }

    var request: DownloadRequest { record.request }
    /// The request's expected size in bytes; another request for the same file may set it at any time.
    var expectedSize: Int64? { record.requested { $0.expectedSize } }
    var sizeLimit: SizeLimit { SizeLimit(maxBytes: environment.configuration.maxFileSize) }

    /// Downloads the file and returns it; throws ``Stopped``, ``Retry`` or a ``DownloadError``.
    func run() async throws -> FinishedFile {
        record.unseal()
        if record.lacksSecrets, let kept = record.withoutSecrets {
            throw DownloadError.credentialsMissing(kept.withheldNames)
        }
        let plan = try ConflictResolver(record, environment)
        var session = PartialDownload(record, environment)
        if let path = plan.names.knownPath, try plan.isSatisfied(by: path) {
            session.removeLeftovers()
            return skipped(path)
        }
        defer { session.close() }
        var attempts = self.attempts
        record.requested { attempts.verification.takeOver($0) }
        var named: String?
        switch try open(&session) {
        case .nothing: break
        case .bytes(let lost) where lost > 0: publish(.notice(.bytesLost(lost)))
        case .bytes: break
        case .complete(let path): named = path
        case .discarded(let reason, let bytes): publish(.restarted(reason: reason, bytesWasted: bytes))
        }
        attempts.verification.resume(with: session.representation?.checksum.flatMap { Checksum($0) })
        if session.representation?.isUnverified == true { attempts.resume.accepted(.checksum) }
        if session.representation?.isFromMirror == true, attempts.sources.isFirst { attempts.resume.sourceChanged() }
        attempts.meter.correct(to: session.held.count)
        do {
            if let named, let file = try await result(named, session, &attempts) { return file }
            let path = plan.plannedPath
            if session.held.isEmpty {
                if let proven = try await verifiedFile(named: path, &attempts) { return unchanged(proven, session) }
                if try await takeOver(path, &session, &attempts) { return unchanged(path, session) }
            }
            attempts.meter.correct(to: session.held.count)
            return try await attempt(&session, &attempts, plan)
        } catch {
            record.unseal()
            attempts.meter.correct(to: session.held.count)
            publish(attempts.meter.progress(at: environment.clock.now()))
            let reason = stop.reason
            // The bytes of a cancelled download are deleted once the saved queue no longer contains it.
            if session.held.isEmpty {
                session.remove()
            } else if reason != .cancelled {
                session.keep(leaving: reason != .networkChanged && !(error is Retry))
                // Published now, because the next run finds nothing left to report.
                if session.held.isEmpty { publish(.notice(.notSynced(session.syncFailure))) }
            }
            let keepsBytes = !session.held.isEmpty
            guard reason != nil || error is CancellationError else { throw error }
            if reason == .networkChanged {
                publish(.networkChanged)
                throw Retry(attempts: attempts, time: environment.clock.now())
            }
            throw Stopped(keptBytes: keepsBytes || session.hasStaleRecord)
        }
    }

    private func open(_ session: inout PartialDownload) throws(DownloadError) -> PartialDownload.RecoveredState {
        guard let background = environment.background else { return try session.open() }
        return try background.betweenFiles { () throws(DownloadError) in try session.open() }
    }

    /// Sends requests until the file is complete or an attempt fails.
    private func attempt(
        _ session: inout PartialDownload,
        _ attempts: inout TransferState,
        _ plan: ConflictResolver
    ) async throws -> FinishedFile {
        while true {
            try waitForHost(&attempts)
            try waitForPace(&attempts)
            try await renewExpiredLink(&attempts)
            let held = session.held.count
            do {
                if let file = try await exchange(&session, &attempts, plan) { return file }
                attempts.progressed(from: held, to: session.held.count)
            } catch let error as DownloadError {
                attempts.progressed(from: held, to: session.held.count)
                guard stop.reason == nil else { throw error }
                if let retry = retryAfterOthers(attempts, after: error) { throw retry }
                // Not a failure of the source. Without a network, the scheduler makes the download wait.
                if error.isNetworkFailure, environment.isNetworkUnsettled(for: request) {
                    throw Retry(attempts: attempts, time: environment.clock.now() + .milliseconds(100))
                }
                if attempts.resume.verifiesEnd, error.mayDependOnHTTPVersion, attempts.resume.changeVersion() {
                    continue
                }
                let error = attempts.resume.verifiesEnd ? error.atUnverifiedEnd : error
                let source = attempts.sources.current
                guard let error = try await renewLink(&attempts, after: error.about(source))?.about(source) else {
                    continue
                }
                let holdsBytes = !session.held.isEmpty
                guard let delay = try await delay(after: error, holdingBytes: holdsBytes, &attempts) else {
                    let next = try attempts.leaveSource(after: error, holdingBytes: holdsBytes)
                    publish(.sourceFailed(error, next: next.withoutCredentials))
                    continue
                }
                attempts.unpacedFailure = error
                throw retry(attempts, after: error, delay)
            }
        }
    }

    /// Sends one request, follows its redirects and handles the response; returns `nil` if another request must be sent
    /// at once.
    private func exchange(
        _ session: inout PartialDownload,
        _ attempts: inout TransferState,
        _ plan: ConflictResolver
    ) async throws -> FinishedFile? {
        let (known, expectedSize) = (session.representation, expectedSize)
        if let expectedSize { try sizeLimit.check(expectedSize) }
        // Checked before each request, since a new source starts without the state of the previous one.
        if let reason = restartReason(session, attempts) { attempts.resume.mustRestart(reason) }
        if let total = known?.totalBytes, total > 0, total == session.heldBytes, attempts.resume.pendingRestart == nil {
            try sizeLimit.check(total)
            let path = session.finalPath ?? plan.plannedPath
            return try await complete(&session, &attempts, path, nil)
        }
        if let background = environment.background { return try await background.fetch(for: self, &session, &attempts) }
        var rangeRequest = attempts.resume.nextRequest(session.held, of: known, inParts: attempts.parts != .none)
        rangeRequest.expectedSize = expectedSize
        if session.held.isEmpty {
            rangeRequest.condition = existingFile(attempts, named: plan.plannedPath)?.version.condition
        }
        let source = attempts.sources.current
        let isAdvertised = attempts.sources.isAdvertised(source)
        var chain = record.requested {
            RedirectChain($0, at: source, isAdvertised: isAdvertised, environment.configuration)
        }
        while true {
            var requested = chain.request(with: rangeRequest.fields, environment.configuration)
            requested.avoidsHTTP2 = attempts.resume.avoidsHTTP2
            requested.bufferBytes = environment.rates.bufferBytes(for: record)
            let start = environment.clock.now()
            let step = try await environment.transport.perform(requested) { head, body in
                if environment.configuration.retryPolicy.maxUnreachableFailures != nil {
                    environment.hosts.responded(head.url)
                }
                if let target = try chain.policy.target(of: head, after: chain.count) {
                    await body.drain(of: head)
                    return Step.redirected(target, head)
                }
                let response = Response(head: head, chain: chain, latency: environment.clock.now() - start)
                return .done(try await receive(response, &body, rangeRequest, &session, &attempts, plan))
            }
            switch step {
            case .done(let file): return file
            case .redirected(let target, let head):
                publish(
                    .redirected(
                        status: head.status,
                        from: head.url.withoutCredentials,
                        to: target.withoutCredentials
                    )
                )
                chain.follow(target)
                if let delay = RetryAfter(of: head)?.delay {
                    let wait = min(delay, RetryAfter.redirectMaximum)
                    try await environment.clock.sleep(environment.clock.now() + wait)
                }
            }
        }
    }

    /// A response head and how it was obtained.
    struct Response: Sendable {
        let head: ResponseHead
        /// The redirects from the requested URL to the one that responded.
        let chain: RedirectChain
        /// The time from sending the request to receiving the head.
        let latency: Duration
    }

    private enum Step: Sendable {
        case done(FinishedFile?)
        case redirected(URL, ResponseHead)
    }

    /// Evaluates a response and handles its body; returns `nil` if another request must be sent at once.
    private func receive(
        _ response: Response,
        _ body: inout ResponseBody,
        _ rangeRequest: RangeRequest,
        _ session: inout PartialDownload,
        _ attempts: inout TransferState,
        _ plan: ConflictResolver
    ) async throws -> FinishedFile? {
        let head = response.head
        let named = attempts.originPath.flatMap { attempts.sources.isOrigin ? nil : $0 } ?? plan.path(for: head)
        let verdict = ResponseVerdict.evaluate(head, for: rangeRequest)
        if rangeRequest.verifiesEnd, try !canVerifyEnd(verdict, &attempts) { return nil }
        switch verdict {
        case .accept(let accepted):
            // Resumed bytes keep the name from their first response.
            let path = accepted.proof == nil ? named : session.finalPath ?? named
            if try plan.isSatisfied(by: path) { return skipped(path, session) }
            // The planned path was checked before the request, and there was no file.
            let wasChecked = path == plan.plannedPath && rangeRequest.condition == nil && attempts.resume.sendsCondition
            if session.held.isEmpty, !wasChecked, let kept = existingFile(of: accepted, head, at: path, attempts) {
                await body.drain(of: head)
                return unchanged(kept.path, session)
            }
            // Any other path has not been checked yet.
            if session.held.isEmpty, path != plan.plannedPath, let size = accepted.totalBytes,
                let proven = try await verifiedFile(named: path, &attempts, size: size)
            {
                await body.drain(of: head)
                return unchanged(proven, session)
            }
            try claim(path, session)
            try sizeLimit.check(accepted.minFileSize)
            attempts.resume.accepted(accepted.proof)
            session.requester = requester(head, attempts)
            if accepted.offset < session.heldBytes || accepted.proof == nil && !session.held.isEmpty {
                try restart(&session, &attempts, attempts.resume.pendingRestart ?? .rangeIgnored)
            } else if accepted.offset > 0, accepted.overlapBytes == 0 {
                reportResumed(accepted, session)
            }
            do {
                return try await fetch(response, &body, accepted, &session, &attempts, path)
            } catch let reason as RestartReason {
                try requestAgain(&attempts, reason)
                return nil
            }
        case .restartFromThisBody(let reason, let accepted):
            if try plan.isSatisfied(by: named) { return skipped(named, session) }
            try claim(named, session)
            try sizeLimit.check(accepted.minFileSize)
            try restart(&session, &attempts, reason)
            session.requester = requester(head, attempts)
            return try await fetch(response, &body, accepted, &session, &attempts, named)
        case .restart(let reason):
            try requestAgain(&attempts, reason)
            return nil
        case .retryWithoutIfRange:
            publish(.notice(.omitsIfRange))
            attempts.resume.stopSendingIfRange()
            return nil
        case .unchanged:
            await body.drain(of: head)
            return unchanged(since: rangeRequest.condition, head, named: plan.plannedPath, session, &attempts)
        case .retryWithoutPrecondition:
            publish(.notice(.omitsPrecondition))
            attempts.resume.stopSendingCondition()
            return nil
        case .complete:
            return try await complete(&session, &attempts, session.finalPath ?? named, nil)
        case .retry(let refusal, let delay):
            var error = refusal.error(retryAfter: delay, isTransient: true)
            if head.isHostRefusal {
                let now = environment.clock.now()
                error.exceedsHostLimit = environment.hosts.refused(record.id, head.url, retryAfter: delay, at: now)
            }
            await body.drain(of: head)
            throw error
        case .fail(let refusal):
            // A part with the entity tag of the received version gives its size, which is stored for later requests.
            if case .wrongSize(let size, _) = refusal, head.status != 200,
                (try? rangeRequest.prove(RepresentationMetadata(of: head, totalBytes: size))) == .entityTag
            {
                session.representation?.totalBytes = size
            }
            await body.drain(of: head)
            throw refusal.error()
        }
    }

    /// Records that the received bytes are unusable, and keeps them until the transfer accepts a replacement; throws if
    /// that happened too often.
    private func requestAgain(_ attempts: inout TransferState, _ reason: RestartReason) throws(DownloadError) {
        attempts.resume.mustRestart(reason)
        // A request for the whole file cannot fail for such a reason again; its other failures are counted elsewhere.
        guard reason.isUnverifiable || attempts.mayRequestAgain() else { throw unusable(reason) }
    }

    /// Discards the received bytes, because the body of the present response replaces them.
    private func restart(
        _ session: inout PartialDownload,
        _ attempts: inout TransferState,
        _ reason: RestartReason
    ) throws(DownloadError) {
        guard attempts.restarted(for: reason) else { throw unusable(reason) }
        publish(.restarted(reason: reason, bytesWasted: session.held.count))
        try session.discard()
        attempts.meter.correct(to: 0)
    }

    private func unusable(_ reason: RestartReason) -> DownloadError {
        DownloadError(
            .resourceChanged,
            "The download was restarted too often. The last reason: \(reason)"
        )
    }

    func publish(_ event: DownloadEvent) {
        record.status.publish(event)
    }

    func publish(_ progress: DownloadProgress) {
        record.status.publish(progress)
    }
}

import HeadracePlatform

/// One run of a download: sends requests, resumes, verifies the file and gives it its final name.
///
/// A value that owns the partial file, the state over all attempts and the destination, so that each step is a method
/// that needs no further parameters. Runs on the blocking executor, since its file calls may block.
struct DownloadTransfer: Sendable {
    /// The result of one step.
    enum Step: Sendable {
        case finished(FinishedFile)
        /// The next request must be sent at once.
        case again
        /// The next request must be sent at this time, and the slot is released until then.
        case retry(at: Duration)
    }

    let record: DownloadRecord
    let stop: StopSignal
    let environment: TransferEnvironment
    let destination: ConflictResolver
    var partial: PartialDownload
    var state: TransferState
    private var measured: TransferMeasurement
    /// The number of bytes that earlier runs received.
    private let earlierBytes: Int64
    /// Publishes what limits the speed; `nil` before the first body of at least 1 MiB.
    var monitor: BottleneckMonitor?
    /// Called with the length of the body when the first response head arrives; `nil` if no caller needs it.
    var onHead: (@Sendable (DownloadID, Int64?, _ isMultiplexed: Bool) async -> Void)?
    /// Whether the first request may share a connection with other downloads.
    var mayShareConnection = false

    init(
        _ record: DownloadRecord,
        _ stop: StopSignal,
        after earlier: TransferState? = nil,
        in environment: TransferEnvironment
    ) {
        self.record = record
        self.stop = stop
        self.environment = environment
        destination = ConflictResolver(record, environment)
        partial = PartialDownload(record, environment)
        let now = environment.clock.now()
        state =
            earlier
            ?? record.requested { TransferState($0, environment.configuration, at: now) }
        state.endWait(at: now)
        measured = TransferMeasurement(start: now)
        earlierBytes = state.fetchedBytes
    }

    var request: DownloadRequest { record.request }
    /// The request's expected size in bytes; another request for the same file may set it at any time.
    var expectedSize: Int64? { record.requested { $0.expectedSize } }
    var sizeLimit: SizeLimit { SizeLimit(maxBytes: environment.configuration.maxFileSize) }
    var existingFiles: ExistingFiles { ExistingFiles(record, environment) }

    /// Downloads the file until it has its final name, or the run ends without it.
    mutating func run() async -> TransferOutcome {
        record.unseal()
        let final: String?
        do throws(DownloadError) {
            if record.lacksSecrets, let kept = record.withoutSecrets { throw .credentialsMissing(kept.withheldNames) }
            try destination.prepareDirectory(for: record)
            if let path = destination.names.knownPath, try destination.isSatisfied(by: path) {
                partial.removeLeftovers()
                return .finished(existingFiles.skip(path))
            }
            final = try openPartial()
        } catch {
            partial.close()
            return failed(error)
        }
        defer { partial.close() }
        do {
            switch try await download(orConfirm: final) {
            case .finished(let file): return .finished(file)
            case .retry(let time): return interrupted(retryAt: time) ?? retry(at: time)
            case .again: return interrupted(retryAt: nil) ?? retry(at: environment.clock.now())
            }
        } catch {
            if let outcome = interrupted(retryAt: nil, isCancelled: error is CancellationError) { return outcome }
            guard let error = error as? DownloadError else {
                return .failed(DownloadError(.connectionLost, "The transfer failed: \(error).", cause: error))
            }
            return failed(error)
        }
    }

    /// Opens the partial file of an earlier run, and adopts its state; returns the path of the file if it is already
    /// complete.
    private mutating func openPartial() throws(DownloadError) -> String? {
        record.requested { state.verification.takeOver($0) }
        let recovered: PartialDownload.RecoveredState
        if let background = environment.background {
            recovered = try background.betweenFiles { () throws(DownloadError) in try partial.open() }
        } else {
            recovered = try partial.open()
        }
        state.opened(partial.representation)
        correctMeter()
        switch recovered {
        case .bytes(let lost) where lost > 0: publish(.notice(.bytesLost(lost)))
        case .nothing, .bytes: break
        case .complete(let path): return path
        case .discarded(let reason, let bytes): publish(.restarted(reason: reason, bytesWasted: bytes))
        }
        return nil
    }

    /// Saves the received bytes after an unfinished run; returns the outcome if the run was stopped, else `nil`.
    private mutating func interrupted(retryAt time: Duration?, isCancelled: Bool = false) -> TransferOutcome? {
        record.unseal()
        correctMeter()
        publish(state.meter.progress(at: environment.clock.now()))
        let reason = stop.reason
        // The bytes of a cancelled download are deleted once the saved queue no longer contains it.
        if partial.held.isEmpty {
            partial.remove()
        } else if reason != .cancelled {
            partial.keep(leaving: reason != .networkChanged && time == nil)
            // Published now, because the next run finds nothing left to report.
            if partial.held.isEmpty, let file = partial.file, file.syncFailure != nil {
                publish(.notice(.notSynced(file.syncError)))
            }
        }
        guard reason != nil || isCancelled else { return nil }
        switch reason {
        case .networkChanged:
            publish(.networkChanged)
            return retry(at: environment.clock.now())
        case .timedOut(let limit): return .failed(timedOut(after: limit))
        default: return .stopped(keptBytes: !partial.held.isEmpty || partial.hasStaleRecord)
        }
    }

    private func failed(_ error: DownloadError) -> TransferOutcome {
        guard lacksDescriptors(after: error) else { return .failed(error) }
        publish(.notice(.waitingForDescriptors(error)))
        return retry(at: environment.clock.now())
    }

    /// Returns a retry at this time, or at the time limit if that is earlier, so that the next run can report the
    /// timeout.
    private func retry(at time: Duration) -> TransferOutcome {
        var state = state
        let limit = environment.configuration.timeLimit.map { state.start + $0 }
        let time = min(time, limit ?? time)
        state.wait(until: time)
        return .retry(state, at: time)
    }

    func timedOut(after limit: Duration, hostWait: Duration? = nil) -> DownloadError {
        .timedOut(request.url, after: limit, hostWait: hostWait, isResumable: record.isResumable != false)
    }

    /// Whether the error is a lack of file descriptors, and other transfers will release theirs.
    private func lacksDescriptors(after error: DownloadError) -> Bool {
        error.isOutOfDescriptors && environment.descriptors.ranOut()
    }

    // MARK: Attempts

    /// Sends requests until the file is complete or the run must pause.
    private mutating func download(orConfirm final: String?) async throws -> Step {
        if let final, let file = try await confirmed(final) { return .finished(file) }
        let path = destination.plannedPath
        if partial.held.isEmpty {
            if let file = try await existingFiles.verified(named: path, &state) { return unchanged(file) }
            if try await copyPieces(of: path) { return unchanged(path) }
            correctMeter()
        }
        while true {
            if let time = waitForHost() ?? waitForPace() { return .retry(at: time) }
            try await renewExpiredLink()
            let held = partial.held.count
            let step: Step
            do {
                step = try await exchange()
                state.progressed(from: held, to: partial.held.count)
            } catch let error as DownloadError {
                state.progressed(from: held, to: partial.held.count)
                measured.failed(error)
                guard stop.reason == nil else { throw error }
                step = try await recover(from: error)
            }
            guard case .again = step else { return step }
        }
    }

    /// Finishes with a file that was complete when an earlier process ended; returns `nil` if it is not the requested
    /// file.
    ///
    /// Removes the resume record in both cases.
    private mutating func confirmed(_ path: String) async throws -> FinishedFile? {
        // Until then the resume record stays, so that another run can find the file.
        let isResult = try await existingFiles.isRequested(path, &state)
        if isResult, let status = try? environment.files.status(path) {
            try await environment.willRename(record.id, path, FileStamp(status))
        }
        partial.recordFile.remove()
        return isResult ? existingFiles.skip(path) : nil
    }

    /// Acts on a failed attempt, as ``TransferState`` decides; throws if the download must fail.
    private mutating func recover(from error: DownloadError) async throws -> Step {
        let facts = TransferState.FailureFacts(
            holdsBytes: !partial.held.isEmpty,
            lacksDescriptors: lacksDescriptors(after: error),
            isNetworkUnsettled: error.isNetworkFailure && environment.isNetworkUnsettled(for: request),
            hasLinkProvider: record.requested { $0.linkProvider != nil },
            hasHostResponded: environment.hosts.hasResponded(state.sources.current)
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
            case .retry(let error, let delay): return retry(after: error, delay)
            case .fail(let error): throw error
            }
        }
    }

    private mutating func retry(after error: DownloadError, _ delay: Duration) -> Step {
        publish(.retrying(error, attempt: state.count, after: delay))
        state.lastFailure = error
        return .retry(at: environment.clock.now() + delay)
    }

    /// Switches to another source while the current source's host requires a delay; if there is no other source,
    /// returns the end of the delay.
    private mutating func waitForHost() -> Duration? {
        while let time = environment.hosts.notBefore(state.sources.current), !state.isHastened {
            let now = environment.clock.now()
            guard time > now else { return nil }
            let source = state.sources.current
            let notice = DownloadEvent.Notice.waitingForHost(time - now)
            guard let next = state.postponeSource() else {
                publish(.notice(notice))
                return time
            }
            publish(.sourceFailed(DownloadError(.httpStatus, "\(notice)").about(source), next: next.withoutCredentials))
        }
        return nil
    }

    /// Applies the source host's limit on retries if the next request is a retry; returns the time until which it must
    /// wait.
    private mutating func waitForPace() -> Duration? {
        guard let failure = state.unpacedFailure.take() else { return nil }
        let now = environment.clock.now()
        let begin = environment.hosts.beginRetry(state.sources.current, at: now)
        guard begin > now, !state.isHastened, case .retry(let time) = retry(after: failure, begin - now) else {
            return nil
        }
        return time
    }

    /// Requests a new link from the provider if the present link has expired.
    ///
    /// If the provider fails, the present link is used nevertheless, since the local clock may be wrong.
    private mutating func renewExpiredLink() async throws {
        guard let end = state.sources.expires, record.requested({ $0.linkProvider != nil }),
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

    /// Returns the provider's new link or its error; `nil` if the request has no provider.
    private func requestLink() async throws(CancellationError) -> Result<DownloadRequest.Link, any Error>? {
        guard let provider = record.requested({ $0.linkProvider }) else { return nil }
        do {
            let link = try await provider.link(on: environment.computing)
            try link.url.validate()
            return .success(link)
        } catch {
            guard stop.reason == nil, !Task.isCancelled else { throw CancellationError() }
            return .failure(error)
        }
    }

    // MARK: Measurements

    /// The measurement of this run so far.
    var measurement: TransferMeasurement {
        var measurement = measured
        measurement.bytes = state.fetchedBytes - earlierBytes
        return measurement
    }

    /// Records a response head; reports it if it is the first one of this run and the manager needs it.
    mutating func measure(_ response: RequestSender.Response) async {
        let head = response.head
        guard measured.latency == nil else { return }
        // Without the wait for a connection, which says nothing about the server.
        measured.start = environment.clock.now() - response.latency
        measured.latency = response.latency
        measured.isMultiplexed = head.isMultiplexed
        guard head.carriesFile, let onHead else { return }
        let size: Int64? = if case .length(let length)? = try? BodyFraming(of: head) { length } else { nil }
        await onHead(record.id, size, head.isMultiplexed)
    }

    // MARK: Reports

    /// Finishes with the unchanged existing file, and removes the partial file of an earlier run.
    func unchanged(_ path: String) -> Step {
        partial.remove()
        return .finished(existingFiles.present(path, as: DownloadEvent.unchanged))
    }

    /// Finishes with the existing file, and removes the partial file.
    func skipped(_ path: String) -> Step {
        partial.remove()
        return .finished(existingFiles.skip(path))
    }

    /// Adjusts the progress to the bytes that are on the disk.
    mutating func correctMeter() {
        state.meter.correct(to: partial.held.count)
    }

    func publish(_ event: DownloadEvent) {
        record.status.publish(event)
    }

    func publish(_ progress: DownloadProgress) {
        record.status.publish(progress)
    }
}

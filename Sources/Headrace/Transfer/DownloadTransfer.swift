import HeadracePlatform

/// One run of a download: sends requests, resumes, verifies the file and gives it its final name.
///
/// A value that owns the partial file, the state over all attempts and the destination. Its steps, such as
/// ``ResponseHandler``, ``BodyReceiver`` and ``FileCompletion``, get it as `inout`, so that there is only one copy.
/// Runs on the blocking executor, since its file calls may block.
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
    /// The expectations that an existing file was compared with, or is to be compared with.
    private var checked = FileExpectations()
    private var measured: TransferMeasurement
    /// The value of ``TransferState/fetchedBytes`` at the start of this run, for the measurement of this run.
    private let earlierBytes: Int64
    /// Publishes what limits the speed; `nil` until the first body of a file of at least 1 MiB, or of unknown size,
    /// arrives.
    var monitor: BottleneckMonitor?
    /// Called with the body length (`nil` if unknown) if the first response head of the run carries the file.
    var onHead: (@Sendable (DownloadID, Int64?, _ isMultiplexed: Bool) async -> Void)?
    /// Whether a request may share a connection with other downloads, as long as no bytes were received.
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
    /// The expected number of received bytes, `nil` if unknown; another request for the same file may set it at any
    /// time.
    var expectedSize: Int64? { record.requested { $0.receivedSize } }
    var sizeLimit: SizeLimit { SizeLimit(maxBytes: environment.configuration.maxFileSize) }
    var existingFiles: ExistingFiles { ExistingFiles(record, environment) }
    private var retries: RetryCoordinator { RetryCoordinator(record: record, stop: stop, environment: environment) }

    /// Downloads the file, verifies it and gives it its final name; returns how the run ended.
    mutating func run() async -> TransferOutcome {
        record.unseal()
        let final: String?
        let existing: String?
        do throws(DownloadError) {
            if record.lacksSecrets, let kept = record.withoutSecrets { throw .credentialsMissing(kept.withheldNames) }
            try destination.prepareDirectory(for: record)
            existing = try destination.names.knownPath.flatMap { path throws(DownloadError) in
                try destination.isSatisfied(by: path) ? path : nil
            }
            final = existing == nil ? try openPartial() : nil
        } catch {
            partial.close()
            return failed(error)
        }
        defer { partial.close() }
        do {
            if let existing {
                try await existingFiles.requireMatch(existing, &state)
                partial.removeLeftovers()
                return .finished(existingFiles.skip(existing))
            }
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

    /// Opens the partial file of an earlier run and adopts its bytes, or discards unusable ones; returns the final path
    /// if the file already has its final name, else `nil`.
    mutating func openPartial() throws(DownloadError) -> String? {
        checked = takeExpectations()
        let recovered: PartialRecovery.Outcome
        if let background = environment.background {
            recovered = try background.betweenFiles { () throws(DownloadError) in try partial.open() }
        } else {
            recovered = try partial.open()
        }
        state.opened(partial.representation)
        correctMeter()
        switch recovered {
        case .nothing: break
        case .bytes(let lost, let isSame):
            if !isSame { state.verification.discardDigest() }
            if lost > 0 { publish(.notice(.bytesLost(lost))) }
        case .complete(let path): return path
        case .discarded(let reason, let bytes): publish(.restarted(reason: reason, bytesWasted: bytes))
        }
        return nil
    }

    /// Adopts and returns the expectations of the request, which other requests for the same file may have extended.
    mutating func takeExpectations() -> FileExpectations {
        record.requested { request in
            state.verification.takeOver(request)
            return request.expectations
        }
    }

    /// Saves the received bytes after an unfinished run, unless the download was cancelled; returns the outcome of the
    /// run if it was stopped or `isCancelled` is `true`, otherwise `nil`.
    private mutating func interrupted(retryAt time: Duration?, isCancelled: Bool = false) -> TransferOutcome? {
        record.unseal()
        correctMeter()
        publish(state.meter.progress(at: environment.clock.now()))
        let reason = stop.reason
        // The bytes of a cancelled download are deleted once the saved queue no longer contains it.
        if partial.held.isEmpty {
            partial.remove()
        } else if reason != .cancelled {
            partial.keep(after: reason, retryAt: time)
        }
        guard reason != nil || isCancelled else { return nil }
        let restarts = [.networkChanged, .demoted, .relinked].contains(reason)
        if state.hasSentSingle, restarts { return .failed(notRepeatable) }
        switch reason {
        case .networkChanged:
            publish(.networkChanged)
            return retry(at: environment.clock.now())
        case .timedOut(let limit): return .failed(timedOut(after: limit))
        default: return .stopped(keptBytes: !partial.held.isEmpty || partial.hasStaleRecord)
        }
    }

    private func failed(_ error: DownloadError) -> TransferOutcome {
        guard environment.lacksDescriptors(after: error) else { return .failed(error) }
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

    /// The error for an interrupted request that must not be sent again, because it may have had its effect.
    private var notRepeatable: DownloadError {
        let method = record.requested(\.method)
        return DownloadError(
            .connectionLost,
            "The \(method) request was interrupted and may have had its effect, so it is not repeated."
        )
    }

    // MARK: Attempts

    /// Finishes with the file at `final` or another existing file if it is the requested one; otherwise sends requests
    /// until the file is complete or the run must pause.
    private mutating func download(orConfirm final: String?) async throws -> Step {
        if let final, let file = try await confirmed(final) { return .finished(file) }
        let path = destination.plannedPath
        if partial.held.isEmpty {
            if let file = try await existingFiles.verified(named: path, &state) { return unchanged(file) }
            let progress = state.meter.progress(at: environment.clock.now())
            if try await existingFiles.copyPieces(of: path, into: &partial, progress) { return unchanged(path) }
            correctMeter()
        }
        while true {
            guard !state.hasSentSingle else { throw notRepeatable }
            if let time = retries.waitEnd(&state, holdingBytes: !partial.held.isEmpty) { return .retry(at: time) }
            try await retries.renewExpiredLink(&state)
            state.began(holding: partial.held.count)
            let step: Step
            do {
                step = try await exchange()
                state.progressed(to: partial.held.count)
            } catch let error as DownloadError {
                state.progressed(to: partial.held.count)
                measured.failed(error)
                guard stop.reason == nil, !state.hasSentSingle else { throw error.about(state.sources.current) }
                step = try await retries.recover(from: error, holdingBytes: !partial.held.isEmpty, &state)
            }
            guard case .again = step else { return step }
        }
    }

    /// Finishes with a file that was complete when an earlier process ended, or returns `nil` if it is not known to be
    /// the requested one; removes the resume record in both cases.
    private mutating func confirmed(_ path: String) async throws -> FinishedFile? {
        // Until the file is confirmed, the resume record stays, so that another run can find the file.
        var isResult: Bool
        repeat {
            checked = takeExpectations()
            isResult = try await existingFiles.isRequested(path, &state)
        } while isResult && !record.seal(after: checked)
        if isResult, let status = try? environment.files.status(path) {
            try await environment.willRename?(record.id, path, FileStamp(status))
        }
        partial.recordFile.remove()
        return isResult ? existingFiles.skip(path) : nil
    }

    // MARK: Requests

    /// Finishes the file if no bytes are missing; otherwise sends one request and handles the response.
    ///
    /// With a background session, the system sends the request.
    private mutating func exchange() async throws -> Step {
        let (known, expectedSize) = (partial.representation, expectedSize)
        if let expectedSize { try sizeLimit.check(expectedSize) }
        // Checked before each request, since a new source starts without the state of the previous one.
        if let reason = partial.restartReason(expectedSize, state.verification) { state.resume.mustRestart(reason) }
        if let total = known?.totalBytes, total > 0, total == partial.heldBytes, state.resume.pendingRestart == nil {
            try sizeLimit.check(total)
            return try await complete(partial.finalPath ?? destination.plannedPath)
        }
        if let background = environment.background { return try await background.fetch(for: &self) }
        let isSingle = record.requested { !$0.mayRepeat }
        var request = state.resume.nextRequest(partial.held, of: known, inParts: state.parts != .none)
        request.expectedSize = expectedSize
        let source = state.sources.current
        if partial.held.isEmpty, state.resume.sendsCondition {
            request.condition = existingFiles.conditional(destination.plannedPath, from: source)?.version.condition
        }
        var sender = RequestSender(request, along: chain(to: source), for: record, environment)
        sender.avoidsHTTP2 = state.resume.avoidsHTTP2
        sender.prefersHTTP1 = prefersHTTP1 || isSingle
        sender.reportsRedirects = true
        sender.mayShareConnection = mayShareConnection && partial.held.isEmpty && !isSingle
        if isSingle { state.hasSentSingle = true }
        return try await sender.send { response, body in
            await measure(response)
            // Determined here, because the handler would copy the transfer for each response.
            let named = state.sources.isOrigin ? nil : state.originPath
            let path = named ?? destination.path(for: response.head)
            return try await ResponseHandler(response: response, named: path).handle(&body, in: &self)
        }
    }

    /// Whether to prefer HTTP/1.1: the body is likely to be large, or no other transfer could share an HTTP/2
    /// connection.
    private var prefersHTTP1: Bool {
        // To verify the end of a body, the strategy chooses the version.
        guard !state.resume.verifiesEnd else { return false }
        return environment.descriptors.isSingleTransfer || partial.heldBytes >= Self.minLargeBytes
            || expectedSize ?? 0 >= Self.minLargeBytes
    }

    /// The size from which a body is transferred faster over an HTTP/1.1 connection of its own.
    private static var minLargeBytes: Int64 { 2 * SegmentPlanner.minShareBytes }

    /// Records that the received bytes are unusable, and keeps them until the transfer accepts a replacement; throws if
    /// that happened too often.
    mutating func requestAgain(for reason: RestartReason) throws(DownloadError) -> Step {
        state.resume.mustRestart(reason)
        // After unverifiable bytes, the next request is for the whole file, and cannot fail for this reason again.
        guard reason.isUnverifiable || state.mayRequestAgain() else {
            throw .tooOften("A response was unusable", reason)
        }
        return .again
    }

    /// Discards the received bytes, because the present body replaces them; throws if that happened too often.
    mutating func restart(for reason: RestartReason) throws(DownloadError) {
        guard state.restarted(for: reason) else { throw .tooOften("The download was restarted", reason) }
        publish(.restarted(reason: reason, bytesWasted: partial.held.count))
        try partial.discard(for: reason)
        correctMeter()
    }

    /// Adopts the expected checksum from an accepted response and, if the origin sent it, the mirrors in the response
    /// (RFC 6249).
    ///
    /// Mirrors are used only if a checksum verifies the file. For an https response, mirrors over http are used only if
    /// the configuration allows it.
    mutating func expect(_ head: ResponseHead, for path: String) throws(DownloadError) {
        let isOrigin = state.sources.isOrigin
        try state.verification.begin(head, ofOrigin: isOrigin, beside: partial.held)
        let verification = state.verification
        partial.keepPieces(verification.expected != nil && verification.pieces == nil)
        partial.keepChecksum(verification.isFromServer ? verification.expected : nil)
        if state.resume.isUnverified, verification.isNeeded { partial.markUnverified() }
        guard isOrigin else { return }
        // Without a cryptographic hash, a mirror could send any file: a file with a given check value is easy to make.
        guard verification.expected?.algorithm.isHash == true else { return state.sources.forgetAdvertised() }
        let mirrors = MirrorLink.urls(of: head, allowsInsecure: environment.configuration.allowsInsecureRedirects)
        guard !mirrors.isEmpty, record.requested({ $0.method == "GET" && !$0.decodesContent }) else { return }
        state.originPath = path
        state.verification.bind()
        state.sources.join(mirrors)
    }

    // MARK: Measurements

    /// The measurement of this run so far.
    var measurement: TransferMeasurement {
        var measurement = measured
        measurement.bytes = state.fetchedBytes - earlierBytes
        return measurement
    }

    /// Records the latency of the first response of this run, and calls ``onHead``; ignores later responses.
    private mutating func measure(_ response: RequestSender.Response) async {
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

    // MARK: Results

    /// Reserves the final name if this download may replace a file; throws `fileExists` if another one has reserved it.
    func reserve(_ path: String) throws(DownloadError) {
        guard !existingFiles.reserveName(path) else { return }
        let advice = partial.held.isEmpty ? "" : " The download is kept as \(partial.path)."
        throw DownloadError(
            .fileExists,
            "\(path) is the file of another download in this queue; this download would replace it as if it were a new "
                + "version. Use a separate folder for each.\(advice)"
        )
    }

    /// Verifies the complete file and gives it its final name; see ``FileCompletion``.
    mutating func complete(_ path: String, _ framing: BodyFraming? = nil) async throws -> Step {
        try await FileCompletion(path: path, framing: framing).complete(&self)
    }

    /// Finishes with the existing file because it is the requested version, and removes the partial file.
    ///
    /// If another request has added expectations meanwhile, the next run compares the file with them.
    mutating func unchanged(_ path: String) -> Step {
        guard record.seal(after: checked) else { return .retry(at: environment.clock.now()) }
        partial.removeAll()
        return .finished(existingFiles.present(path, as: DownloadEvent.unchanged))
    }

    /// Finishes with the existing file because of the conflict policy `skip`, and removes the partial file.
    ///
    /// Throws `fileExists` if the file does not match the request's checksums.
    mutating func skipped(_ path: String) async throws -> Step {
        try await existingFiles.requireMatch(path, &state)
        partial.removeAll()
        return .finished(existingFiles.skip(path))
    }

    /// Adjusts the progress to the bytes that are on the disk.
    mutating func correctMeter() { state.meter.correct(to: partial.held.count) }

    func reportResumed(_ accepted: BodyPlacement) {
        guard let proof = accepted.proof else { return }
        publish(.resumed(from: accepted.offset, bytesKept: partial.held.count, proof: proof))
    }

    func publish(_ event: DownloadEvent) { record.status.publish(event) }

    func publish(_ progress: DownloadProgress) { record.status.publish(progress) }
}

extension DownloadError {
    fileprivate static func tooOften(_ what: String, _ reason: RestartReason) -> DownloadError {
        DownloadError(.resourceChanged, "\(what) too often. The last reason: \(reason)")
    }
}

import HeadracePlatform

/// Sends requests and evaluates their responses.
extension DownloadTransfer {
    typealias Response = RequestSender.Response

    /// Sends one request, or finishes the file if no bytes are missing.
    mutating func exchange() async throws -> Step {
        let (known, expectedSize) = (partial.representation, expectedSize)
        if let expectedSize { try sizeLimit.check(expectedSize) }
        // Checked before each request, since a new source starts without the state of the previous one.
        if let reason = restartReason(expectedSize) { state.resume.mustRestart(reason) }
        if let total = known?.totalBytes, total > 0, total == partial.heldBytes, state.resume.pendingRestart == nil {
            try sizeLimit.check(total)
            return try await complete(partial.finalPath ?? destination.plannedPath)
        }
        if let background = environment.background { return try await background.fetch(for: &self) }
        var request = state.resume.nextRequest(partial.held, of: known, inParts: state.parts != .none)
        request.expectedSize = expectedSize
        let source = state.sources.current
        if partial.held.isEmpty, state.resume.sendsCondition {
            request.condition = existingFiles.conditional(destination.plannedPath, from: source)?.version.condition
        }
        let isAdvertised = state.sources.isAdvertised(source)
        let chain = record.requested {
            RedirectChain($0, at: source, isAdvertised: isAdvertised, environment.configuration)
        }
        var sender = RequestSender(request, along: chain, for: record, environment)
        sender.avoidsHTTP2 = state.resume.avoidsHTTP2
        sender.prefersHTTP1 = prefersHTTP1
        sender.reportsRedirects = true
        sender.mayShareConnection = mayShareConnection && partial.held.isEmpty
        return try await sender.send { response, body in try await receive(response, &body) }
    }

    /// Whether the body is likely to be large, or has no other transfer to share an HTTP/2 connection with.
    private var prefersHTTP1: Bool {
        // To verify the end of a body, the strategy chooses the version.
        guard !state.resume.verifiesEnd else { return false }
        return environment.descriptors.isSingleTransfer || partial.heldBytes >= Self.minLargeBytes
            || expectedSize ?? 0 >= Self.minLargeBytes
    }

    /// The size from which a body is transferred faster over an HTTP/1.1 connection of its own.
    private static var minLargeBytes: Int64 { 2 * SegmentPlanner.minShareBytes }

    /// Returns the reason why the received bytes must be downloaded again, whatever the server responds; `nil` if they
    /// may be resumed.
    ///
    /// The reasons are: the bytes are unverified and nothing will verify the complete file, another requester
    /// downloaded the bytes, or they exceed or contradict the expected size.
    private func restartReason(_ expectedSize: Int64?) -> RestartReason? {
        if let known = partial.representation, !state.verification.isNeeded {
            if known.isUnverified == true { return .unverified }
            let requester = partial.requesterFingerprint
            if known.requesterFingerprint ?? requester != requester {
                // If the file is complete, no further response can verify it.
                guard case .strong? = EntityValidator(of: known), known.totalBytes != partial.heldBytes else {
                    return .differentRequester
                }
            }
        }
        guard let expectedSize, partial.isOfOtherSize(than: expectedSize) else { return nil }
        return .wrongSize(expected: expectedSize)
    }

    /// Evaluates a response and handles its body.
    private mutating func receive(_ response: Response, _ body: inout ResponseBody) async throws -> Step {
        let head = response.head
        await measure(response)
        let named = state.originPath.flatMap { state.sources.isOrigin ? nil : $0 } ?? destination.path(for: head)
        let verdict = ResponseVerdict.evaluate(head, for: response.request)
        if response.request.verifiesEnd, try !canVerifyEnd(verdict) { return .again }
        switch verdict {
        case .accept(let accepted): return try await accept(accepted, response, &body, named)
        case .restartFromThisBody(let reason, let accepted):
            if try destination.isSatisfied(by: named) { return skipped(named) }
            try reserve(named)
            try sizeLimit.check(accepted.minFileSize)
            try restart(for: reason)
            partial.requester = existingFiles.requester(head, at: state.sources.current)
            return try await fetch(response, &body, accepted, for: named)
        case .restart(let reason): return try requestAgain(for: reason)
        case .retryWithoutIfRange:
            publish(.notice(.omitsIfRange))
            state.resume.stopSendingIfRange()
            return .again
        case .unchanged:
            await body.drain(of: head)
            return notModified(response)
        case .retryWithoutPrecondition:
            publish(.notice(.omitsPrecondition))
            state.resume.stopSendingCondition()
            return .again
        case .complete: return try await complete(partial.finalPath ?? named)
        case .retry, .fail:
            let error = rejected(response, verdict)
            await body.drain(of: head)
            throw error
        }
    }

    /// Writes an accepted body, unless an existing file makes it unnecessary.
    private mutating func accept(
        _ accepted: BodyPlacement,
        _ response: Response,
        _ body: inout ResponseBody,
        _ named: String
    ) async throws -> Step {
        // Resumed bytes keep the name from their first response.
        let path = accepted.proof == nil ? named : partial.finalPath ?? named
        if try destination.isSatisfied(by: path) { return skipped(path) }
        if partial.held.isEmpty, let existing = try await existingFile(insteadOf: accepted, response, path) {
            await body.drain(of: response.head)
            return unchanged(existing)
        }
        try reserve(path)
        try sizeLimit.check(accepted.minFileSize)
        state.resume.accepted(accepted.proof)
        partial.requester = existingFiles.requester(response.head, at: state.sources.current)
        if accepted.offset < partial.heldBytes || accepted.proof == nil && !partial.held.isEmpty {
            try restart(for: state.resume.pendingRestart ?? .rangeIgnored)
        } else if accepted.offset > 0, accepted.overlapBytes == 0 {
            reportResumed(accepted)
        }
        return try await fetch(response, &body, accepted, for: path)
    }

    /// Returns the path of an existing file that is the same as an accepted body; `nil` if there is none.
    private mutating func existingFile(
        insteadOf accepted: BodyPlacement,
        _ response: Response,
        _ path: String
    ) async throws -> String? {
        // The planned path was checked before the request, and there was no file.
        let (isPlanned, source) = (path == destination.plannedPath, state.sources.current)
        if accepted.offset == 0, !isPlanned || response.request.condition != nil || !state.resume.sendsCondition {
            var representation = accepted.representation
            representation.totalBytes = accepted.totalBytes
            let requester = existingFiles.requester(response.head, at: source)
            let kept = existingFiles.current(path, representation, from: source, for: requester)
            if let kept { return kept.path }
        }
        guard !isPlanned, let size = accepted.totalBytes else { return nil }
        return try await existingFiles.verified(named: path, size: size, &state)
    }

    /// Reserves the final name for this download; throws `fileExists` if another download has reserved it.
    func reserve(_ path: String) throws(DownloadError) {
        guard !existingFiles.reserveName(path) else { return }
        let advice = partial.held.isEmpty ? "" : " The download is kept as \(partial.path)."
        throw DownloadError(
            .fileExists,
            "\(path) is the file of another download in this queue; this download would replace it as if it were a new "
                + "version. Use a separate folder for each.\(advice)"
        )
    }

    /// Finishes with the existing file that a 304 response confirms; if the response confirms no file, makes the next
    /// request unconditional.
    private mutating func notModified(_ response: Response) -> Step {
        let (path, source) = (destination.plannedPath, state.sources.current)
        let kept = existingFiles.all(named: path, from: source).filter {
            $0.version.condition == response.request.condition
        }
        let requester = existingFiles.requester(response.head, at: source)
        if let current = kept.last(where: { existingFiles.isCurrent($0, for: requester) }) {
            return unchanged(current.path)
        }
        // If there is none, another process has changed or removed it since the request.
        if !kept.isEmpty { publish(.notice(.otherLogin)) }
        state.resume.stopSendingCondition()
        return .again
    }

    /// Returns the error for a response that the verdict `retry` or `fail` rejects.
    private mutating func rejected(_ response: Response, _ verdict: ResponseVerdict) -> DownloadError {
        let head = response.head
        switch verdict {
        case .retry(let rejection, let delay):
            var error = rejection.error(retryAfter: delay, isTransient: true)
            guard head.isHostRefusal else { return error }
            let now = environment.clock.now()
            error.exceedsHostLimit = environment.hosts.refused(record.id, head.url, retryAfter: delay, at: now)
            return error
        case .fail(let rejection):
            // A part with the entity tag of the received version gives its size, which is stored for later requests.
            if case .wrongSize(let size, _) = rejection, head.status != 200,
                (try? response.request.prove(RepresentationMetadata(of: head, totalBytes: size))) == .entityTag
            {
                partial.ledger.change { contents, _ in contents.representation?.totalBytes = size }
            }
            return rejection.error()
        default: preconditionFailure("The verdict \(verdict) rejects no response")
        }
    }

    /// Returns whether a response can verify that the received bytes, whose HTTP/2 body had no length, are the whole
    /// file.
    ///
    /// If not, switches the next request to the other version of HTTP; throws if both versions have been tried.
    private mutating func canVerifyEnd(_ verdict: ResponseVerdict) throws(DownloadError) -> Bool {
        switch verdict {
        case .accept(let body) where body.endsWithStream, .restartFromThisBody(_, let body) where body.endsWithStream:
            guard state.resume.changeVersion() else { throw .unverifiedEnd }
            return false
        case .restart:
            state.resume.needsWholeForEnd()
            return true
        default: return true
        }
    }

    /// Records that the received bytes are unusable, and keeps them until the transfer accepts a replacement; throws if
    /// that happened too often.
    mutating func requestAgain(for reason: RestartReason) throws(DownloadError) -> Step {
        state.resume.mustRestart(reason)
        // A request for the whole file cannot fail for such a reason again; its other failures are counted elsewhere.
        guard reason.isUnverifiable || state.mayRequestAgain() else { throw .restartedTooOften(reason) }
        return .again
    }

    /// Discards the received bytes, because the body of the present response replaces them.
    private mutating func restart(for reason: RestartReason) throws(DownloadError) {
        guard state.restarted(for: reason) else { throw .restartedTooOften(reason) }
        publish(.restarted(reason: reason, bytesWasted: partial.held.count))
        try partial.discard()
        correctMeter()
    }

    func reportResumed(_ accepted: BodyPlacement) {
        guard let proof = accepted.proof else { return }
        publish(.resumed(from: accepted.offset, bytesKept: partial.held.count, proof: proof))
    }
}

extension DownloadError {
    fileprivate static func restartedTooOften(_ reason: RestartReason) -> DownloadError {
        DownloadError(.resourceChanged, "The download was restarted too often. The last reason: \(reason)")
    }
}

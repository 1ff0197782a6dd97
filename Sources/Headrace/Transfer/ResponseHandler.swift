import HeadracePlatform

/// Acts on a response to the request of a transfer, as its ``ResponseVerdict`` demands.
struct ResponseHandler {
    typealias Step = DownloadTransfer.Step

    let response: RequestSender.Response
    /// The final path according to this response or, if a mirror sent it and the origin's response advertised mirrors,
    /// according to the origin's response.
    let named: String

    private var head: ResponseHead { response.head }

    /// Evaluates the response and handles its body.
    func handle(_ body: inout ResponseBody, in transfer: inout DownloadTransfer) async throws -> Step {
        let verdict = ResponseVerdict.evaluate(head, for: response.request)
        let (hosts, now) = (transfer.environment.hosts, transfer.environment.clock.now())
        if head.status < 400 { hosts.served(transfer.record.id, head.url, after: response.latency, at: now) }
        if response.request.verifiesEnd, try !canVerifyEnd(verdict, &transfer.state.resume) { return .again }
        switch verdict {
        case .accept(let accepted): return try await accept(accepted, &body, in: &transfer)
        case .restartFromThisBody(let reason, let accepted):
            if try transfer.destination.isSatisfied(by: named) { return try await transfer.skipped(named) }
            try transfer.reserve(named)
            try transfer.sizeLimit.check(accepted.minFileSize)
            try transfer.restart(for: reason)
            return try await fetch(&body, accepted, for: named, in: &transfer)
        case .restart(let reason): return try transfer.requestAgain(for: reason)
        case .retryWithoutIfRange:
            transfer.publish(.notice(.omitsIfRange))
            transfer.state.resume.stopSendingIfRange()
            return .again
        case .unchanged:
            await body.drain(of: head)
            return notModified(&transfer)
        case .retryWithoutPrecondition:
            transfer.publish(.notice(.omitsPrecondition))
            transfer.state.resume.stopSendingCondition()
            return .again
        case .complete: return try await transfer.complete(transfer.partial.finalPath ?? named)
        case .retry(let rejection, let delay):
            var error = rejection.error(retryAfter: delay, isTransient: true)
            if head.isHostRefusal {
                error.exceedsHostLimit = hosts.refused(transfer.record.id, head.url, retryAfter: delay, at: now)
            }
            await body.drain(of: head)
            throw error
        case .fail(let rejection):
            recordSize(from: rejection, in: transfer.partial.ledger)
            await body.drain(of: head)
            throw rejection.error()
        }
    }

    /// Writes an accepted body, unless an existing file makes it unnecessary.
    private func accept(
        _ accepted: BodyPlacement,
        _ body: inout ResponseBody,
        in transfer: inout DownloadTransfer
    ) async throws -> Step {
        // Resumed bytes keep the name from their first response.
        let path = accepted.proof == nil ? named : transfer.partial.finalPath ?? named
        let isSatisfied = Result { () throws(DownloadError) in try transfer.destination.isSatisfied(by: path) }
        if case .success(true) = isSatisfied { return try await transfer.skipped(path) }
        // The policy `fail` does not refuse a file that is up to date.
        if transfer.partial.held.isEmpty,
            let existing = try await existingFile(insteadOf: accepted, path, &transfer)
        {
            await body.drain(of: head)
            return transfer.unchanged(existing)
        }
        _ = try isSatisfied.get()
        try transfer.reserve(path)
        try transfer.sizeLimit.check(accepted.minFileSize)
        transfer.state.resume.accepted(accepted.proof)
        if accepted.offset < transfer.partial.heldBytes || accepted.proof == nil && !transfer.partial.held.isEmpty {
            try transfer.restart(for: transfer.state.resume.pendingRestart ?? .rangeIgnored)
        } else if accepted.offset > 0, accepted.overlapBytes == 0 {
            transfer.reportResumed(accepted)
            if head.ignoresRange(in: accepted) { transfer.publish(.notice(.rangeIgnored(accepted.skippedBytes))) }
        }
        return try await fetch(&body, accepted, for: path, in: &transfer)
    }

    private func fetch(
        _ body: inout ResponseBody,
        _ accepted: BodyPlacement,
        for path: String,
        in transfer: inout DownloadTransfer
    ) async throws -> Step {
        transfer.partial.requester = transfer.existingFiles.requester(head, at: transfer.state.sources.current)
        return try await BodyReceiver(response, accepted, for: path).receive(body, in: &transfer)
    }

    /// Returns the path of an existing file that is the same as an accepted body; `nil` if there is none.
    private func existingFile(
        insteadOf accepted: BodyPlacement,
        _ path: String,
        _ transfer: inout DownloadTransfer
    ) async throws -> String? {
        let (existingFiles, source) = (transfer.existingFiles, transfer.state.sources.current)
        // The planned path was checked before the request, and there was no file.
        let isPlanned = path == transfer.destination.plannedPath
        if accepted.offset == 0,
            !isPlanned || response.request.condition != nil || !transfer.state.resume.sendsCondition
        {
            var representation = accepted.representation
            representation.totalBytes = representation.isDecoded == true ? nil : accepted.totalBytes
            let requester = existingFiles.requester(head, at: source)
            let kept = existingFiles.current(path, representation, from: source, for: requester)
            if let kept { return kept.path }
        }
        guard !isPlanned, accepted.representation.isDecoded != true, let size = accepted.totalBytes else { return nil }
        return try await existingFiles.verified(named: path, size: size, &transfer.state)
    }

    /// Finishes with the existing file that a 304 response confirms; if the response confirms no file, makes the next
    /// request unconditional.
    private func notModified(_ transfer: inout DownloadTransfer) -> Step {
        let (existingFiles, source) = (transfer.existingFiles, transfer.state.sources.current)
        let kept = existingFiles.all(named: transfer.destination.plannedPath, from: source).filter {
            $0.version.condition == response.request.condition
        }
        let requester = existingFiles.requester(head, at: source)
        if let current = kept.last(where: { existingFiles.isCurrent($0, for: requester) }) {
            return transfer.unchanged(current.path)
        }
        // If no file is left, another process has changed or removed the file since the request.
        if !kept.isEmpty { transfer.publish(.notice(.otherLogin)) }
        transfer.state.resume.stopSendingCondition()
        return .again
    }

    /// Records the file size that a rejected partial response contains, so that later requests can use the size.
    ///
    /// The response must have the entity tag of the received version.
    private func recordSize(from rejection: ResponseRejection, in ledger: FileLedger) {
        guard case .wrongSize(let size, _) = rejection, head.status != 200,
            (try? response.request.prove(RepresentationMetadata(of: head, totalBytes: size))) == .entityTag
        else { return }
        ledger.recordSize(size)
    }

    /// Returns whether the transfer can act on a response to a request that verifies the end of the received bytes.
    ///
    /// Such a request follows an HTTP/2 body without a length, which may be incomplete.
    ///
    /// If only the end of a stream marks the end of the new body too, switches the next request to the other version of
    /// HTTP and returns `false`; throws if both versions have been tried. If the response to a range request is
    /// unusable, makes the next request one for the whole file.
    private func canVerifyEnd(
        _ verdict: ResponseVerdict,
        _ resume: inout ResumeStrategy
    ) throws(DownloadError) -> Bool {
        switch verdict {
        case .accept(let body) where body.endsWithStream, .restartFromThisBody(_, let body) where body.endsWithStream:
            guard resume.changeVersion() else { throw .unverifiedEnd }
            return false
        case .restart:
            resume.needsWholeForEnd()
            return true
        default: return true
        }
    }
}

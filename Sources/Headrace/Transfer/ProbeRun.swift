import HeadracePlatform

/// Requests a file to find out what a download would receive, without reading the body.
///
/// It is not a transfer, because it has no place in the queue and writes nothing to the disk.
struct ProbeRun: Sendable {
    /// A response whose body would be the file.
    private struct Response: Sendable {
        let head: ResponseHead
        let totalBytes: Int64?
    }

    private enum Step: Sendable {
        case done(Response)
        case redirected(URL, after: Duration?)
    }

    let request: DownloadRequest
    let environment: TransferEnvironment
    /// The executor for file calls.
    let executor: BlockingExecutor

    /// Requests the sources in order, with the retries of the configuration, until one responds with the file.
    func run() async throws -> DownloadProbe {
        try await waitForNetwork()
        var sources = SourceList(request)
        var backoff = RetryBackoff(environment.configuration.retryPolicy)
        while true {
            do {
                return try await probe(of: response(from: sources.current), sources.current)
            } catch let error as DownloadError {
                let error = error.about(sources.current)
                if let delay = try await delay(after: error, &backoff, sources) {
                    try await environment.clock.sleep(environment.clock.now() + delay)
                } else {
                    _ = try sources.next(after: error)
                    backoff = RetryBackoff(environment.configuration.retryPolicy)
                }
            }
        }
    }

    /// Waits until the network path admits the request, as a download would.
    private func waitForNetwork() async throws {
        let requirement = NetworkRequirement(request)
        guard environment.gate.blocker(for: requirement) != nil else { return }
        for await _ in environment.network.paths where environment.gate.blocker(for: requirement) == nil { return }
        try Task.checkCancellation()
    }

    /// Counts a failure; returns the delay before the next request to the same source, or `nil` to abandon the source.
    private func delay(
        after error: DownloadError,
        _ backoff: inout RetryBackoff,
        _ sources: SourceList
    ) async throws -> Duration? {
        let policy = environment.configuration.retryPolicy
        if let maxFailures = policy.maxUnreachableFailures, backoff.failures >= maxFailures, error.isHostUnreachable,
            !environment.hosts.hasResponded(sources.current)
        {
            return nil
        }
        switch await policy.decide?(error, backoff.failures + 1) ?? .standard {
        case .fail: throw error
        case .retry(let delay) where error.code != .checksum:
            backoff.failedIgnoringBudgets()
            return max(.zero, delay)
        case .standard, .retry: break
        }
        guard error.isTransient, !sources.leavesAtOnce(error) else { return nil }
        var random = SystemRandomNumberGenerator()
        return backoff.failed(retryAfter: error.retryAfter, isForgiven: false, using: &random)
    }

    /// Requests the file from one source, and follows redirects.
    private func response(from source: URL) async throws -> Response {
        let configuration = environment.configuration
        var chain = RedirectChain(request, at: source, configuration)
        while true {
            let step = try await environment.transport.perform(chain.request(with: [], configuration)) { head, body in
                environment.hosts.responded(head.url)
                guard let target = try chain.policy.target(of: head, after: chain.count) else {
                    return Step.done(Response(head: head, totalBytes: try size(from: head)))
                }
                await body.drain(of: head)
                return .redirected(target, after: RetryAfter(of: head)?.delay)
            }
            switch step {
            case .done(let response): return response
            case .redirected(let target, let delay):
                chain.follow(target)
                guard let delay else { continue }
                try await environment.clock.sleep(environment.clock.now() + min(delay, RetryAfter.redirectMaximum))
            }
        }
    }

    /// Returns the size of the file, if the server sent it; throws if a download could not use the response.
    private func size(from head: ResponseHead) throws(DownloadError) -> Int64? {
        var whole = RangeRequest.whole
        whole.expectedSize = request.expectedSize
        switch ResponseVerdict.evaluate(head, for: whole) {
        case .accept(let body), .restartFromThisBody(_, let body):
            try SizeLimit(maxBytes: environment.configuration.maxFileSize).check(body.minFileSize)
            return body.totalBytes
        case .retry(let rejection, let delay): throw rejection.error(retryAfter: delay, isTransient: true)
        case .fail(let rejection): throw rejection.error()
        case .restart(let reason): throw DownloadError(.protocolViolation, reason.description)
        // A request without a range and without a condition has none of these responses.
        case .complete, .unchanged, .retryWithoutIfRange, .retryWithoutPrecondition:
            throw DownloadError(.protocolViolation, "The response does not match the request.")
        }
    }

    private func probe(of response: Response, _ source: URL) async -> DownloadProbe {
        let (head, names) = (response.head, DestinationPaths(request))
        let path = names.path(for: head)
        let (kind, freePath) = await executor.run { [files = environment.files] in
            let kind = (try? files.status(path))?.kind
            var others = NumberedNames(path, names, mayRename: kind != nil)
            var other = others.next()
            while let taken = other, !files.isMissing(taken) { other = others.next() }
            return (kind, other)
        }
        let metadata = RepresentationMetadata(of: head, totalBytes: response.totalBytes)
        return DownloadProbe(
            source: source.withoutCredentials,
            url: head.url.withoutCredentials,
            status: head.status,
            file: URL(filePath: path, directoryHint: .notDirectory),
            outcome: DownloadProbe.Outcome(
                of: request,
                on: kind,
                freeName: freePath.map { URL(filePath: $0, directoryHint: .notDirectory) }
            ),
            totalBytes: response.totalBytes,
            acceptsRanges: head.acceptsRanges,
            isResumable: head.isResumable,
            entityTag: metadata.entityTag,
            lastModified: metadata.lastModified.flatMap(HTTPDate.init(parsing:))
                .map { Date(timeIntervalSince1970: TimeInterval($0.seconds)) },
            mediaType: metadata.mediaType,
            checksum: DigestFields(of: head).representation.strongest
        )
    }
}

extension DownloadProbe.Outcome {
    /// Determines the effect of a download on an existing file.
    /// - Parameters:
    ///   - request: The request, whose policies decide.
    ///   - kind: The kind of the existing file; `nil` if there is none.
    ///   - freeName: The free name for the new file; `nil` if there is none.
    init(of request: DownloadRequest, on kind: FileStatus.Kind?, freeName: URL?) {
        self =
            switch (kind, request.refetchPolicy, request.conflictPolicy) {
            case (nil, _, _): .creates
            case (.directory, _, _): .fails
            case (_, .ifChanged, _), (_, .unlessCurrent, .overwrite): .replacesIfChanged
            case (_, _, .fail): .fails
            case (_, _, .skip): .skips
            case (_, .always, .overwrite): .replaces
            case (_, .always, .rename): freeName.map { .savesBeside($0) } ?? .fails
            case (_, .unlessCurrent, .rename): freeName.map { .savesBesideIfChanged($0) } ?? .fails
            }
    }
}

import HeadracePlatform

/// Requests a file to find out what a download would receive, or to read a small body into memory.
///
/// It is not a transfer, because it is not in the queue and writes nothing to the disk.
struct ProbeRun: Sendable {
    let request: DownloadRequest
    let environment: TransferEnvironment
    /// The executor for file calls.
    let executor: BlockingExecutor

    /// Returns what a download would receive; throws like ``run(untilEndOf:_:)``.
    func probe(untilEndOf events: AsyncStream<QueueEvent>) async throws -> DownloadProbe {
        let (head, size, source) = try await run(untilEndOf: events) { head, size, source, _ in (head, size, source) }
        return await probe(of: head, size, source)
    }

    /// Returns the body; throws `fileTooLarge` if it has more than `maxBytes` bytes, `connectionLost` if it has another
    /// size than announced, and like ``run(untilEndOf:_:)``.
    func data(maxBytes: Int, untilEndOf events: AsyncStream<QueueEvent>) async throws -> Data {
        let limit = SizeLimit(maxBytes: Int64(maxBytes))
        return try await run(untilEndOf: events) { _, size, _, body in
            try limit.check(size ?? 0)
            var data = Data()
            while let chunk = try await body.next() {
                try limit.check(Int64(data.count + chunk.count))
                chunk.withBytes { data.append(contentsOf: $0) }
                body.recycle(chunk)
            }
            if let size, data.count != size {
                throw DownloadError(.connectionLost, "The server announced \(size) bytes and sent \(data.count).")
            }
            return data
        }
    }

    /// Passes the response with the file to `receive`: its head, the size of the file, the source and the body.
    ///
    /// Throws `timedOut` at the time limit of a download, and `shutDown` once `events` finishes.
    private func run<Result: Sendable>(
        untilEndOf events: AsyncStream<QueueEvent>,
        _ receive: @escaping @Sendable (ResponseHead, Int64?, URL, inout ResponseBody) async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask { try await run(receive) }
            group.addTask {
                for await _ in events {}
                try Task.checkCancellation()
                throw DownloadError.shutDown(request.url)
            }
            if let limit = environment.configuration.timeLimit {
                group.addTask { [clock = environment.clock] in
                    try await clock.sleep(clock.now() + limit)
                    let message = "No response with the file arrived within \(limit.inSeconds). Allow more time."
                    throw DownloadError(.timedOut, message, url: request.url)
                }
            }
            defer { group.cancelAll() }
            guard let result = try await group.next() ?? nil else { throw CancellationError() }
            return result
        }
    }

    /// Requests the sources in order, with the retries that the request and the configuration allow, until one responds
    /// with the file.
    ///
    /// Throws the error of the last request instead of waiting for a delay that the server requests and that is longer
    /// than ``RetryPolicy/maxDelay``, or for one that ends after the time limit.
    private func run<Result: Sendable>(
        _ receive: @Sendable (ResponseHead, Int64?, URL, inout ResponseBody) async throws -> Result
    ) async throws -> Result {
        let (clock, configuration) = (environment.clock, environment.configuration)
        let end = configuration.timeLimit.map { clock.now() + $0 }
        try await waitForNetwork()
        var state = TransferState(request, configuration, at: clock.now())
        while true {
            let source = state.sources.current
            do {
                return try await request(source, receive)
            } catch let error as DownloadError {
                switch await reaction(to: error, &state) {
                case .retry(let error, let delay):
                    let (due, requested) = (clock.now() + delay, error.retryAfter ?? .zero)
                    if let end, due >= end { throw error.naming(requested) }
                    if requested > configuration.retryPolicy.maxDelay { throw error.naming(requested) }
                    try await clock.sleep(due)
                case .fail(let error): throw error
                case .changeSource, .again, .pause, .requestLink, .decide: continue
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

    /// Decides what follows a failed request, as for a download that holds no bytes.
    private func reaction(to error: DownloadError, _ state: inout TransferState) async -> TransferState.FailureReaction
    {
        let facts = TransferState.FailureFacts(hasHostResponded: environment.hasResponded(state.sources.current))
        let reaction = state.failed(error, facts)
        guard case .decide(let error) = reaction else { return reaction }
        let decision = await environment.configuration.retryPolicy.decide?(error, state.count + 1) ?? .standard
        var random = environment.random
        return state.decided(decision, after: error, facts, using: &random)
    }

    /// Requests the file from one source, follows redirects, and passes the response to `receive`.
    private func request<Result: Sendable>(
        _ source: URL,
        _ receive: @Sendable (ResponseHead, Int64?, URL, inout ResponseBody) async throws -> Result
    ) async throws -> Result {
        let chain = RedirectChain(request, at: source, environment.configuration)
        // The record belongs to no queue, so that its events have no observer.
        let record = DownloadRecord(id: .random(), request: request)
        var sender = RequestSender(.whole, along: chain, for: record, environment)
        sender.reportsRedirects = true
        // The limits of the queue do not apply: a credential provider may call this while the download that waits for
        // it holds the last connection to the host.
        sender.hasConnection = true
        return try await sender.send { response, body in
            try await receive(response.head, try size(from: response.head), source, &body)
        }
    }

    /// Returns the size of the file, `nil` if the server did not send it; throws if a download could not use the
    /// response.
    private func size(from head: ResponseHead) throws(DownloadError) -> Int64? {
        var whole = RangeRequest.whole
        whole.expectedSize = request.receivedSize
        switch ResponseVerdict.evaluate(head, for: whole) {
        case .accept(let body), .restartFromThisBody(_, let body):
            try SizeLimit(maxBytes: environment.configuration.maxFileSize).check(body.minFileSize)
            return body.totalBytes
        case .retry(let rejection, let delay): throw rejection.error(retryAfter: delay, isTransient: true)
        case .fail(let rejection): throw rejection.error()
        case .restart(let reason): throw DownloadError(.protocolViolation, reason.description)
        // These verdicts require a range or a precondition, and this request has neither.
        case .complete, .unchanged, .retryWithoutIfRange, .retryWithoutPrecondition:
            throw DownloadError(.protocolViolation, "The response does not match the request.")
        }
    }

    private func probe(of head: ResponseHead, _ totalBytes: Int64?, _ source: URL) async -> DownloadProbe {
        let names = DestinationPaths(request)
        let path = names.path(for: head)
        let resolver = ConflictResolver(DownloadRecord(id: .random(), request: request), environment)
        let (kind, isBlocked, freePath) = await executor.run { [files = environment.files] in
            let kind = (try? files.status(path))?.kind
            let isBlocked = (try? resolver.isSatisfied(by: path)) == nil
            var others = NumberedNames(path, names, mayRename: kind != nil)
            var other = others.next()
            while let taken = other, !files.isMissing(taken) { other = others.next() }
            return (kind, isBlocked, other)
        }
        let metadata = RepresentationMetadata(of: head, totalBytes: totalBytes)
        return DownloadProbe(
            source: source.withoutCredentials,
            url: head.url.withoutCredentials,
            status: head.status,
            file: URL(filePath: path, directoryHint: .notDirectory),
            outcome: DownloadProbe.Outcome(
                of: request,
                on: kind,
                isBlocked: isBlocked,
                freeName: freePath.map { URL(filePath: $0, directoryHint: .notDirectory) }
            ),
            totalBytes: totalBytes,
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

extension DownloadError {
    /// Returns this error with the delay that the server requested in its message.
    fileprivate func naming(_ delay: Duration) -> DownloadError {
        var error = self
        if delay > .zero { error.message += " It asks to wait \(delay.inSeconds) before the next request." }
        return error
    }
}

extension DownloadProbe.Outcome {
    /// Determines the effect of a download on an existing file.
    /// - Parameters:
    ///   - request: The request, whose policies decide.
    ///   - kind: The kind of the existing file; `nil` if there is none.
    ///   - isBlocked: Whether the file prevents the download; see ``ConflictResolver/isSatisfied(by:)``.
    ///   - freeName: The free name for the new file; `nil` if there is none.
    init(of request: DownloadRequest, on kind: FileStatus.Kind?, isBlocked: Bool, freeName: URL?) {
        self =
            switch (kind, request.refetchPolicy, request.conflictPolicy) {
            case (nil, _, _): .creates
            case _ where isBlocked: .fails
            case (_, .ifChanged, _), (_, .unlessCurrent, .overwrite): .replacesIfChanged
            case (_, _, .fail): .fails
            case (_, _, .skip): .skips
            case (_, .always, .overwrite): .replaces
            case (_, .always, .rename): freeName.map { .savesBeside($0) } ?? .fails
            case (_, .unlessCurrent, .rename): freeName.map { .savesBesideIfChanged($0) } ?? .fails
            }
    }
}

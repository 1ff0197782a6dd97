import HeadracePlatform

/// Sends a request to one source and follows its redirects.
///
/// Used by the download's first connection and by each further one.
struct RequestSender: Sendable {
    /// A response head and how it was obtained; a class, because all steps of the transfer pass it on.
    final class Response: Sendable {
        let head: ResponseHead
        /// The range request that the server responded to.
        let request: RangeRequest
        /// The redirects from the requested URL to the one that responded.
        let chain: RedirectChain
        /// The time from sending the request to receiving the head.
        let latency: Duration

        fileprivate init(_ head: ResponseHead, to request: RangeRequest, along chain: RedirectChain, latency: Duration)
        {
            (self.head, self.request, self.chain, self.latency) = (head, request, chain, latency)
        }
    }

    private enum Step<Result: Sendable>: Sendable {
        case done(Result)
        case redirected(URL, ResponseHead)
        /// The request must be sent again on a connection of its own; see ``ResponseHead/needsOwnConnection``.
        case needsOwnConnection
    }

    private let record: DownloadRecord
    private let environment: TransferEnvironment
    private var chain: RedirectChain
    /// The checksum that the first redirect announced for the file; `nil` if there was none.
    private var linkedDigest: Checksum?
    /// The range and the conditions of the request.
    var request: RangeRequest
    /// Whether requests are sent over HTTP/1.1, even if the server then rejects them.
    var avoidsHTTP2 = false
    /// Whether the request may share an HTTP/2 connection with others, if its response is small.
    var mayShareConnection = false
    /// Whether requests are sent over HTTP/1.1, unless the server supports only HTTP/2.
    var prefersHTTP1 = false
    /// Whether redirects are published, and followed only after the delay that they request.
    var reportsRedirects = false
    /// Whether the sender must not reserve a connection to the host itself.
    ///
    /// `true` for a segment, for which the caller has reserved a connection, and for a probe, which does not count
    /// against the limits per host.
    var hasConnection = false

    init(
        _ request: RangeRequest,
        along chain: RedirectChain,
        for record: DownloadRecord,
        _ environment: TransferEnvironment
    ) {
        self.request = request
        self.chain = chain
        self.record = record
        self.environment = environment
    }

    /// Sends the request, and passes the first response that is no redirect to `receive`.
    ///
    /// The next call begins at the URL that responded to this one.
    mutating func send<Result: Sendable>(
        _ receive: (Response, inout ResponseBody) async throws -> Result
    ) async throws -> Result {
        // Reset after a redirect, because the next server may let requests share connections.
        var needsOwnConnection = false
        while true {
            upgrade()
            var sent = chain.request(with: request.fields)
            if environment.configuration.collectsMetrics {
                sent.metrics = { [weak record] in record?.status.publish(.requestEnded($0)) }
            }
            let (decodes, requiresPublic) = record.requested { ($0.decodesContent, $0.requiresPublicAddress) }
            let decodable = decodes ? ContentCoding.decodable : nil
            sent.acceptEncoding = decodable.map { ContentCoding.accepted(decodable: $0) }
            if chain.sendsBody { sent.body = try body() }
            sent.avoidsHTTP2 = avoidsHTTP2
            sent.prefersHTTP1 = prefersHTTP1
            sent.bufferBytes = environment.rates.bufferBytes(for: record)
            sent.requiresPublicAddress = requiresPublic
            sent.mayShareConnection =
                mayShareConnection && !avoidsHTTP2 && !prefersHTTP1 && sent.bufferBytes == nil
                && !requiresPublic
            sent.needsOwnConnection = needsOwnConnection
            let mayShare = sent.mayShareConnection && !needsOwnConnection
            let (hosts, clock, id, url) = (environment.hosts, environment.clock, record.id, sent.url)
            if !hasConnection { try await hosts.reserveFirst(id, url, mayShare: mayShare, clock: clock) }
            defer { if !hasConnection { hosts.end(id, url, at: clock.now()) } }
            let start = clock.now()
            let step: Step<Result> = try await environment.transport.perform(sent) { head, body in
                let isShared = head.sharesConnection
                if !hasConnection, isShared || mayShare && !head.needsOwnConnection {
                    hosts.received(id, url, isShared: isShared, at: clock.now())
                }
                guard !head.needsOwnConnection else { return .needsOwnConnection }
                if environment.configuration.retryPolicy.maxUnreachableFailures != nil {
                    hosts.responded(head.url)
                }
                environment.hsts.store(head)
                let upgraded = environment.hsts.upgraded
                if let target = try chain.policy.target(of: head, after: chain.count, upgraded: upgraded) {
                    await body.drain(of: head)
                    return .redirected(target, head)
                }
                let latency = clock.now() - start
                var head = head
                head.linkedDigest = linkedDigest
                head.decodable = decodable
                let response = Response(head, to: request, along: chain, latency: latency)
                return .done(try await receive(response, &body))
            }
            switch step {
            case .done(let result): return result
            case .needsOwnConnection: needsOwnConnection = true
            case .redirected(let target, let head):
                // The redirect may request a delay, during which the connection is idle.
                if !hasConnection { hosts.end(id, url, at: clock.now()) }
                try await follow(target, head)
                needsOwnConnection = false
            }
        }
    }

    /// Returns the content of the request; blocks to read it from a file.
    private func body() throws(DownloadError) -> [UInt8]? {
        switch record.requested({ $0.body }) {
        case .data(let data, _): return Array(data)
        case .file(let file):
            let limit = DownloadRequest.Body.maxFileBytes
            let what = "The body \(file.filePath) could not be read"
            let bytes = try DownloadError.storage(what) { () throws(SystemError) in
                try environment.files.read(file.resolvingSymlinksInPath().filePath, limit + 1)
            }
            guard bytes.count <= limit else {
                throw DownloadError(.invalidRequest, "The body \(file.filePath) is larger than \(limit) bytes.")
            }
            return bytes
        case nil: return nil
        }
    }

    /// Replaces an http URL of a host that requires https (RFC 6797, section 8.3), which is reported like a redirect.
    private mutating func upgrade() {
        let from = chain.url
        guard let target = environment.hsts.upgraded(from) else { return }
        chain.upgrade(to: target)
        if reportsRedirects { record.status.publish(.redirected(status: 307, from: from, to: target)) }
    }

    private mutating func follow(_ target: URL, _ head: ResponseHead) async throws {
        if chain.count == 0 { linkedDigest = DigestFields.linked(by: head) }
        try chain.follow(target, status: head.status)
        guard reportsRedirects else { return }
        let (from, to) = (head.url.withoutCredentials, target.withoutCredentials)
        record.status.publish(.redirected(status: head.status, from: from, to: to))
        guard let delay = RetryAfter(of: head)?.delay else { return }
        try await environment.clock.sleep(environment.clock.now() + min(delay, RetryAfter.redirectMaximum))
    }
}

import HeadracePlatform

/// Adds the proxy, cookies and credential for the URL to each request, and authenticates when a server requires it.
///
/// If the request has its own `Authorization` field, no credential is added. A 401 response to it is final, with one
/// exception: if the field is a Basic login and the server requires Digest, the request is repeated with that login.
struct SessionTransport: Transport {
    /// The maximum number of times that a request is repeated after a 401.
    private static let maxLogins = 4

    let base: any Transport
    let proxies: ProxySettings
    /// The credentials; `nil` if there is neither a provider nor a netrc file.
    let credentials: CredentialStore?
    let cookies: CookieJar?
    let digests = DigestStore()
    /// The error for requests with `requiresPublicAddress`, if a setting of the configuration rules them out; otherwise
    /// `nil`.
    private let publicAddressConflict: DownloadError?

    init(
        _ base: any Transport,
        _ configuration: DownloadConfiguration,
        environment: [String: String]
    ) throws(DownloadError) {
        self.base = base
        proxies = try ProxySettings(configuration, environment: environment)
        credentials = CredentialStore(configuration.credentials, configuration.netrc)
        cookies = configuration.cookies
        publicAddressConflict = configuration.publicAddressConflict
    }

    func dropIdleConnections() { base.dropIdleConnections() }

    func shutdown() async { await base.shutdown() }

    func perform<Result: Sendable>(
        _ request: TransportRequest,
        _ receive: (ResponseHead, inout ResponseBody) async throws -> Result
    ) async throws -> Result {
        var request = request
        if request.requiresPublicAddress {
            if let publicAddressConflict { throw publicAddressConflict }
        } else {
            request.proxy = proxies.proxy(for: request.url)
        }
        let own = request.fields.first(where: \.isAuthorization)
        let store = own == nil ? credentials : nil
        let known = store?.known(for: request.url)
        var login = own.map { Credential($0) } ?? known?.credential
        // Stays `true` even if `digests` has dropped the origin's challenge.
        let requiresDigest = known?.requiresDigest ?? false
        var refused: Set<Credential> = []
        // The session for the repeated request; `nil` if this request has not been repeated for a Digest challenge.
        var session: DigestSessions.Session?
        var attempts = 0
        while true {
            let requested = try prepared(request, login, session, requiresDigest: requiresDigest)
            let step: Step<Result> = try await base.perform(requested) { head, body in
                cookies?.store(head)
                var head = head
                head.receivedAt = HTTPDate(seconds: WallTime.seconds())
                head.login = own == nil ? login : nil
                if head.status == 407, let proxy = request.proxy { throw DownloadError.proxyLogin(proxy) }
                if head.status == 401, attempts < Self.maxLogins {
                    let challenges = Challenge.all(of: head)
                    let digest = DigestChallenge.strongest(of: challenges)
                    var next: Credential?
                    // The login itself is not rejected if its nonce was stale, or if the request was not sent in
                    // response to a challenge of its own.
                    if let login, login.isLogin, let digest, digest.isStale || session == nil {
                        next = login
                    } else if let store {
                        if let login { refused.insert(login) }
                        next = try await response(head, to: request, challenges, sent: login, refused, store)
                    }
                    // An attacker who intercepts connections could otherwise obtain the password by offering Basic.
                    if next?.isLogin == true, digest == nil, requiresDigest || digests.isKnown(head.url) { next = nil }
                    if let next {
                        if next.isLogin, let digest {
                            session = digests.challenged(head.url, by: digest)
                            store?.requireDigest(head.url)
                        }
                        await body.drain(of: head)
                        return .again(next)
                    }
                }
                if head.status == 401 { head.refusedLogin = requested.fields.loginScheme }
                return .done(try await receive(head, &body))
            }
            switch step {
            case .done(let result): return result
            case .again(let next): login = next
            }
            attempts += 1
        }
    }

    private enum Step<Result: Sendable>: Sendable {
        case done(Result)
        case again(Credential)
    }

    private func prepared(
        _ request: TransportRequest,
        _ login: Credential?,
        _ session: DigestSessions.Session?,
        requiresDigest: Bool
    ) throws(DownloadError) -> TransportRequest {
        var request = request
        if let login {
            if let digest = try digests.field(of: login, for: request, in: session) {
                request.fields.removeAll(where: \.isAuthorization)
                request.fields.append(digest)
            } else if !requiresDigest || !login.isLogin, !request.fields.contains(where: \.isAuthorization) {
                request.fields.append(login.field)
            }
        }
        cookies?.add(to: &request)
        return request
    }

    /// Obtains the credential with which to repeat the request after a 401; returns `nil` if the 401 is final, and
    /// throws `httpStatus` if the provider fails.
    private func response(
        _ head: ResponseHead,
        to sentRequest: TransportRequest,
        _ challenges: [Challenge],
        sent: Credential?,
        _ refused: Set<Credential>,
        _ store: CredentialStore
    ) async throws -> Credential? {
        let known = challenges.compactMap { challenge in challenge.supportedScheme.map { ($0, challenge.realm) } }
        // If the library supports none of the server's schemes, the 401 is the final response.
        guard !known.isEmpty || challenges.isEmpty else { return nil }
        let request = CredentialRequest(
            url: head.url,
            schemes: known.map(\.0),
            realm: known.first?.1,
            refused: sent,
            isRedirected: sentRequest.isRedirected
        )
        do {
            return try await store.credential(for: request, refused: refused)
        } catch  where !Task.isCancelled {
            let reason = (error as? DownloadError)?.message ?? "\(error)"
            throw DownloadError(
                .httpStatus,
                "The server responded with status 401. No credential could be obtained: \(reason)",
                statusCode: 401,
                cause: error
            )
        }
    }
}

extension ResponseBody {
    /// The maximum size, in bytes, of an unneeded body that is read so that its connection can be reused.
    private static let maxDrainedBytes: Int64 = 64 * 1024

    /// Reads a short unneeded body for up to a second, so that its connection can be reused.
    ///
    /// Ignores failures.
    mutating func drain(of head: ResponseHead) async {
        // A 304 has no body, whatever its fields say.
        let length = head.status == 304 ? 0 : try? BodyFraming(of: head).length
        guard let length, length <= Self.maxDrainedBytes else { return }
        await withTaskGroup { group in
            group.addTask { [self] in
                // Uses real time instead of the download's clock, because this limits a wait for the network.
                if (try? await Task.sleep(for: .seconds(1))) != nil { cancel() }
            }
            while let chunk = try? await next() { recycle(chunk) }
            group.cancelAll()
        }
    }
}

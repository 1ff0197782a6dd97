import HeadracePlatform

/// The credentials of a download manager, in memory only, and the tasks that wait for the credential provider.
final class CredentialStore: Sendable {
    typealias Provider = @Sendable (CredentialRequest) async throws -> Credential?

    /// The result of a credential lookup.
    private enum LookupResult {
        case next(CredentialCache.Next)
        /// The result of a provider request that another task made for the same origin.
        case response(Result<Credential?, any Error>)
        /// There is no result for this request, and the lookup is repeated.
        ///
        /// This is the case if the other task's request differs in `isRedirected`, or if one of the two tasks was
        /// cancelled.
        case interrupted
    }

    private struct Waiter {
        var origin: Origin
        /// Whether another server has chosen the URL; if so, the provider may return no credential.
        var isRedirected: Bool
        var continuation: CheckedContinuation<LookupResult, Never>
    }

    private struct State {
        var cache = CredentialCache()
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0
    }

    private let state = Locked(State())
    private let provider: Provider?
    private let netrc: Netrc?

    /// Creates a store; returns `nil` if there is neither a provider nor a netrc file.
    init?(_ provider: Provider?, _ netrc: Netrc?) {
        guard provider != nil || netrc != nil else { return nil }
        self.provider = provider
        self.netrc = netrc
    }

    /// Returns the credential to send preemptively to a URL's origin; `nil` if none is known.
    func known(for url: URL) -> CredentialCache.Known? {
        state.withLock { $0.cache.known(for: Origin(url)) }
            ?? own(for: url, isRequested: false).map { CredentialCache.Known(credential: $0) }
    }

    /// Records that a URL's origin has sent a Digest challenge for its known credential.
    func requireDigest(_ url: URL) { state.withLock { $0.cache.requireDigest(Origin(url)) } }

    /// Returns a credential with which to repeat a request that received a 401; `nil` if there is none outside
    /// `refused`, the credentials that were already sent with the request.
    ///
    /// If the provider is already being called for the origin, waits for the result of that call and shares it. Throws
    /// the provider's error, or `CancellationError`.
    func credential(for request: CredentialRequest, refused: Set<Credential>) async throws -> Credential? {
        let origin = Origin(request.url)
        let takesPassword = request.schemes.isEmpty || request.schemes.contains { $0 != .bearer }
        let own = takesPassword ? own(for: request.url, isRequested: true) : nil
        while true {
            try Task.checkCancellation()
            switch await find(for: origin, request, refused, own) {
            case .next(.use(let credential)): return credential
            case .next(.request): return try await requestCredential(request, for: origin, refused)
            case .response(let result): return try result.get(unless: refused)
            case .next(.wait), .interrupted: break
            }
        }
    }

    /// Returns the login for a URL from the netrc file; `nil` if there is none.
    ///
    /// Returns the file's default login only if the server has requested a login with a 401 (`isRequested`).
    private func own(for url: URL, isRequested: Bool) -> Credential? {
        guard let login = netrc?.login(for: url), isRequested || !login.isDefault else { return nil }
        return .login(user: login.user, password: login.password)
    }

    /// Looks up a credential in the cache; if a provider request for the origin is in progress, waits for its result.
    private func find(
        for origin: Origin,
        _ request: CredentialRequest,
        _ refused: Set<Credential>,
        _ own: Credential?
    ) async -> LookupResult {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let lookup: LookupResult? = state.withLock { state in
                    let next = state.cache.challenged(origin, refused: refused, candidate: own)
                    guard next == .wait else { return .next(next) }
                    guard !Task.isCancelled else { return .interrupted }
                    state.waiters[id] = Waiter(
                        origin: origin,
                        isRedirected: request.isRedirected,
                        continuation: continuation
                    )
                    return nil
                }
                if let lookup { continuation.resume(returning: lookup) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(returning: .interrupted)
        }
    }

    private func requestCredential(
        _ request: CredentialRequest,
        for origin: Origin,
        _ refused: Set<Credential>
    ) async throws -> Credential? {
        let result: Result<Credential?, any Error>
        do {
            let response = try await withTaskExecutorPreference(globalConcurrentExecutor) {
                try await provider?(request)
            }
            try response?.field.validate()
            result = .success(response)
        } catch {
            result = .failure(error)
        }
        // If this download was cancelled, one of the waiting downloads calls the provider again.
        let lookup = Task.isCancelled ? LookupResult.interrupted : .response(result)
        let waiters = state.withLock { state in
            state.cache.resolved(origin, try? result.get(unless: refused))
            let waiters = state.waiters.filter { $0.value.origin == origin }
            for id in waiters.keys { state.waiters[id] = nil }
            return Array(waiters.values)
        }
        for waiter in waiters {
            let isSame = waiter.isRedirected == request.isRedirected
            waiter.continuation.resume(returning: isSame ? lookup : .interrupted)
        }
        return try result.get(unless: refused)
    }
}

extension Result where Success == Credential? {
    /// Returns the credential, or `nil` if it is in `refused`; throws the provider's error.
    fileprivate func get(unless refused: Set<Credential>) throws(Failure) -> Credential? {
        try get().flatMap { refused.contains($0) ? nil : $0 }
    }
}

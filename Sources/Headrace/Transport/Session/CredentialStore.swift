import HeadracePlatform

/// The logins of a manager, in memory alone, and those who wait for one that is asked for.
final class CredentialStore: Sendable {
    typealias Provider = @Sendable (CredentialRequest) async throws -> Credential?

    /// What one who needs a credential finds.
    private enum Finding {
        case next(CredentialCache.Next)
        /// The answer to somebody else who asked.
        case response(Result<Credential?, any Error>)
        /// The one who asked is done or has gone, or the one who waits has.
        case change
    }

    private struct Waiter {
        var origin: Origin
        var continuation: CheckedContinuation<Finding, Never>
    }

    private struct State {
        var book = CredentialCache()
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0
    }

    private let state = Locked(State())
    private let provider: Provider?
    private let netrc: Netrc?

    /// Nil where nobody knows any.
    init?(_ provider: Provider?, _ netrc: Netrc?) {
        guard provider != nil || netrc != nil else { return nil }
        self.provider = provider
        self.netrc = netrc
    }

    /// What to send to a URL's origin before it asks.
    func known(for url: URL) -> Credential? {
        state.withLock { $0.book.known(for: Origin(url)) } ?? own(for: url, isRequested: false)
    }

    /// A credential for a request that was answered with 401; nil where there is none but those that were refused.
    ///
    /// Those who come while one is asked for wait, and have the same answer.
    func credential(for request: CredentialRequest, refused: Set<Credential>) async throws -> Credential? {
        let origin = Origin(request.url)
        let takesPassword = request.schemes.isEmpty || request.schemes.contains(.basic)
        let own = takesPassword ? own(for: request.url, isRequested: true) : nil
        while true {
            try Task.checkCancellation()
            switch await find(for: origin, refused, own) {
            case .next(.use(let credential)): return credential
            case .next(.request): return try await requestCredential(request, for: origin, refused)
            case .response(let result): return try result.get(unless: refused)
            case .next(.wait), .change: break
            }
        }
    }

    /// The login in the file; the one for all hosts only where it is asked for.
    private func own(for url: URL, isRequested: Bool) -> Credential? {
        guard let netrc, let login = url.host(percentEncoded: false).flatMap(netrc.login),
            isRequested || !login.isDefault
        else { return nil }
        return .basic(user: login.user, password: login.password)
    }

    /// Looks into the cache; where somebody asks, not before there is an answer.
    private func find(for origin: Origin, _ refused: Set<Credential>, _ own: Credential?) async -> Finding {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let finding: Finding? = state.withLock { state in
                    let next = state.book.challenged(origin, refused: refused, candidate: own)
                    guard next == .wait else { return .next(next) }
                    guard !Task.isCancelled else { return .change }
                    state.waiters[id] = Waiter(origin: origin, continuation: continuation)
                    return nil
                }
                if let finding { continuation.resume(returning: finding) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(returning: .change)
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
        // Where it is this download that ends, another one asks.
        let finding = Task.isCancelled ? Finding.change : .response(result)
        let waiters = state.withLock { state in
            state.book.resolved(origin, try? result.get(unless: refused))
            let waiters = state.waiters.filter { $0.value.origin == origin }
            for id in waiters.keys { state.waiters[id] = nil }
            return Array(waiters.values)
        }
        for waiter in waiters { waiter.continuation.resume(returning: finding) }
        return try result.get(unless: refused)
    }
}

extension Result where Success == Credential? {
    /// The credential; nil for one that was refused.
    fileprivate func get(unless refused: Set<Credential>) throws(Failure) -> Credential? {
        try get().flatMap { refused.contains($0) ? nil : $0 }
    }
}

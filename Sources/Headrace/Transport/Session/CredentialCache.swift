/// The known credentials of the origins used last, and whether the user's credential provider is being called for
/// an origin.
///
/// At most one such provider request per origin is in progress; other transfers wait for its result. This type performs
/// no I/O.
struct CredentialCache: Sendable {
    /// The next step for a request that the server rejected with status 401.
    enum Next: Sendable, Equatable {
        /// Repeat the request with this credential.
        case use(Credential)
        /// Request a credential from the provider, and report the result with ``resolved(_:_:)``.
        case request
        /// Wait for the result of the provider request in progress.
        case wait
    }

    /// The latest credential for an origin, which the origin has not rejected.
    struct Known: Sendable, Hashable {
        let credential: Credential
        /// Whether the origin has sent a Digest challenge for the credential, which must then be sent by Digest alone.
        var requiresDigest = false
    }

    private var credentials = RecentEntries<Origin, Known>()
    /// The origins for which a provider request is in progress.
    private var requesting: Set<Origin> = []

    /// Returns the credential to send preemptively to an origin, if any.
    mutating func known(for origin: Origin) -> Known? { credentials[origin] }

    /// Records that an origin has sent a Digest challenge for its known credential.
    mutating func requireDigest(_ origin: Origin) { credentials[origin]?.requiresDigest = true }

    /// Handles a 401 response from an origin, and returns the next step.
    ///
    /// `refused` contains the credentials that were already sent with this request. They count as rejected for this
    /// request only, because they may be valid for another part of the server. But if the known credential is one of
    /// them, it is no longer sent preemptively.
    ///
    /// `candidate` is a credential that is available without a provider request; `nil` if there is none.
    mutating func challenged(_ origin: Origin, refused: Set<Credential>, candidate: Credential?) -> Next {
        if let known = credentials[origin]?.credential {
            // Another request may have obtained a new credential meanwhile.
            guard refused.contains(known) else { return .use(known) }
            credentials[origin] = nil
        }
        if let candidate, !refused.contains(candidate) {
            credentials[origin] = Known(credential: candidate)
            return .use(candidate)
        }
        return requesting.insert(origin).inserted ? .request : .wait
    }

    /// Records the result of a provider request; `credential` is `nil` if the provider returned no usable one.
    mutating func resolved(_ origin: Origin, _ credential: Credential?) {
        requesting.remove(origin)
        if let credential { credentials[origin] = Known(credential: credential) }
    }
}

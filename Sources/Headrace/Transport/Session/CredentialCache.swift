/// The known credential of each origin, and whether the user's credential provider is being called for it.
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

    private struct Entry {
        var known: Credential?
        var isRequesting = false
    }

    private var entries: [Origin: Entry] = [:]

    /// Returns the credential to send preemptively to an origin: the latest one that was not rejected, if any.
    func known(for origin: Origin) -> Credential? { entries[origin]?.known }

    /// Handles a 401 response from an origin, and returns the next step.
    ///
    /// `refused` contains the credentials that were already sent with this request. They count as rejected for this
    /// request only, because they may be valid for another part of the server. `candidate` is a credential that is
    /// available without a provider request.
    mutating func challenged(_ origin: Origin, refused: Set<Credential>, candidate: Credential?) -> Next {
        var entry = entries[origin] ?? Entry()
        defer { entries[origin] = entry }
        if let known = entry.known {
            // Another request may have obtained a new credential meanwhile.
            guard refused.contains(known) else { return .use(known) }
            entry.known = nil
        }
        if let candidate, !refused.contains(candidate) {
            entry.known = candidate
            return .use(candidate)
        }
        guard !entry.isRequesting else { return .wait }
        entry.isRequesting = true
        return .request
    }

    /// Records the result of a provider request; `credential` is `nil` if the provider returned no usable one.
    mutating func resolved(_ origin: Origin, _ credential: Credential?) {
        entries[origin]?.isRequesting = false
        if let credential { entries[origin]?.known = credential }
    }
}

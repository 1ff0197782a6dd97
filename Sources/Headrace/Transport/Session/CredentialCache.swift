/// What is known of the logins to each origin, and who is asked for one; pure.
///
/// At most one request for a credential of an origin is under way; the others wait for its answer.
struct CredentialCache: Sendable {
    /// What a refused request does next.
    enum Next: Sendable, Equatable {
        /// Send this one.
        case use(Credential)
        /// Ask for one, and tell with ``resolved(_:_:)``.
        case request
        /// Somebody asks already.
        case wait
    }

    private struct Place {
        var known: Credential?
        var isRequesting = false
    }

    private var places: [Origin: Place] = [:]

    /// What is sent to an origin without being asked for: the last one that was not refused.
    func known(for origin: Origin) -> Credential? { places[origin]?.known }

    /// An origin has answered 401 to a request that was sent with these credentials, one after the other.
    ///
    /// They are refused for that request alone: a login may be good for one part of a server and not for another. A
    /// candidate is one that need not be asked for.
    mutating func challenged(_ origin: Origin, refused: Set<Credential>, candidate: Credential?) -> Next {
        var place = places[origin] ?? Place()
        defer { places[origin] = place }
        if let known = place.known {
            // Another request may have found one meanwhile.
            guard refused.contains(known) else { return .use(known) }
            place.known = nil
        }
        if let candidate, !refused.contains(candidate) {
            place.known = candidate
            return .use(candidate)
        }
        guard !place.isRequesting else { return .wait }
        place.isRequesting = true
        return .request
    }

    /// The answer to the one who asked; nil for none that is of use to it.
    mutating func resolved(_ origin: Origin, _ credential: Credential?) {
        places[origin]?.isRequesting = false
        if let credential { places[origin]?.known = credential }
    }
}

/// What is known of the logins to each origin, and who is asked for one; pure.
///
/// At most one request for a credential of an origin is under way; the others wait for its answer.
struct CredentialBook: Sendable {
    /// What a refused request does next.
    enum Next: Sendable, Equatable {
        /// Send this one.
        case use(Credential)
        /// Ask for one, and tell with ``answered(_:_:)``.
        case ask
        /// Somebody asks already.
        case wait
    }

    private struct Place {
        var known: Credential?
        var refused: Set<Credential> = []
        var isAsking = false
    }

    private var places: [Origin: Place] = [:]

    /// What is sent to an origin without being asked for: the last good one, else the candidate unless it was refused.
    func known(for origin: Origin, else candidate: Credential?) -> Credential? {
        places[origin]?.known ?? candidate.flatMap { isRefused($0, by: origin) ? nil : $0 }
    }

    private func isRefused(_ credential: Credential, by origin: Origin) -> Bool {
        places[origin]?.refused.contains(credential) == true
    }

    /// An origin has answered 401 to a request with this credential, or without one.
    ///
    /// A candidate is one that need not be asked for.
    mutating func challenged(_ origin: Origin, sent: Credential?, candidate: Credential?) -> Next {
        var place = places[origin] ?? Place()
        defer { places[origin] = place }
        if let sent {
            place.refused.insert(sent)
            if place.known == sent { place.known = nil }
        }
        // Another request may have found one meanwhile.
        if let known = place.known { return .use(known) }
        if let candidate, !place.refused.contains(candidate) {
            place.known = candidate
            return .use(candidate)
        }
        guard !place.isAsking else { return .wait }
        place.isAsking = true
        return .ask
    }

    /// The answer to the one who asked; false for one that is none, or was refused before.
    mutating func answered(_ origin: Origin, _ credential: Credential?) -> Bool {
        places[origin]?.isAsking = false
        guard let credential, !isRefused(credential, by: origin) else { return false }
        places[origin]?.known = credential
        return true
    }
}

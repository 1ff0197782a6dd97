/// The Digest sessions of the origins used last (RFC 7616, section 3.3); performs no I/O.
///
/// Once an origin has sent a challenge, later requests reuse it with a higher count, and receive no 401 of their own.
struct DigestSessions: Sendable {
    /// The latest challenge of an origin, and the client nonce of all requests that use it.
    struct Session: Sendable, Hashable {
        let challenge: DigestChallenge
        /// The number of requests that have used the challenge, including the one for which the session was returned.
        var count: UInt32
        let clientNonce: String
    }

    private var sessions = RecentEntries<Origin, Session>()

    /// Whether an origin has sent a challenge, so that its logins are sent by Digest alone from then on.
    func isKnown(_ origin: Origin) -> Bool { sessions.contains(origin) }

    /// Records a challenge, which later requests will use, and returns the session for the repeated request.
    ///
    /// If the origin repeats its latest challenge, the session continues with its count and client nonce.
    mutating func challenged(_ origin: Origin, by challenge: DigestChallenge, clientNonce: String) -> Session {
        let challenge = challenge.withoutStaleness
        var session = Session(challenge: challenge, count: 0, clientNonce: clientNonce)
        if let present = sessions[origin], present.challenge == challenge { session = present }
        session.count &+= 1
        sessions[origin] = session
        return session
    }

    /// Counts a request to an origin, and returns its session; `nil` if the origin has sent no challenge.
    mutating func next(for origin: Origin) -> Session? {
        // The server decides whether a count of zero, after four billion requests, is acceptable.
        sessions[origin]?.count &+= 1
        return sessions[origin]
    }
}

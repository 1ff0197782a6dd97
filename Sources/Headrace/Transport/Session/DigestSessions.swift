/// The Digest challenges of origins, and how many requests have answered each; performs no I/O.
///
/// Later requests answer the same challenge with a higher count, so that they need no 401 of their own (RFC 7616, section 3.3).
struct DigestSessions: Sendable {
    /// What the next request to an origin answers.
    struct Answer: Sendable, Hashable {
        let challenge: DigestChallenge
        var count: UInt32
        let clientNonce: String
    }

    private var answers: [Origin: Answer] = [:]

    /// Whether an origin has sent a challenge, so that its logins are sent by Digest alone from then on.
    func isKnown(_ origin: Origin) -> Bool { answers[origin] != nil }

    /// Records a challenge, unless it repeats the present one, so that later requests answer it too.
    ///
    /// Returns what the repeated request answers.
    mutating func challenged(_ origin: Origin, by challenge: DigestChallenge, clientNonce: String) -> Answer {
        let challenge = challenge.withoutStaleness
        var answer = Answer(challenge: challenge, count: 0, clientNonce: clientNonce)
        if let present = answers[origin], present.challenge == challenge { answer = present }
        answer.count &+= 1
        answers[origin] = answer
        return answer
    }

    /// Counts a request to an origin, and returns what it answers; `nil` if the origin has sent no challenge.
    mutating func next(for origin: Origin) -> Answer? {
        // The server decides whether a count of zero, after four billion requests, is acceptable.
        answers[origin]?.count &+= 1
        return answers[origin]
    }
}

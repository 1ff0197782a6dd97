import HeadracePlatform

/// Answers the Digest challenges of origins for all transfers of a manager.
final class DigestStore: Sendable {
    private let sessions = Locked(DigestSessions())

    /// Whether the origin of a URL has sent a Digest challenge.
    func isKnown(_ url: URL) -> Bool { sessions.withLock { $0.isKnown(Origin(url)) } }

    /// Makes the next requests to a URL's origin answer this challenge; returns what the repeated request answers.
    func challenged(_ url: URL, by challenge: DigestChallenge) -> DigestSessions.Answer {
        let clientNonce = RandomSource.system.next().hexadecimal
        return sessions.withLock { $0.challenged(Origin(url), by: challenge, clientNonce: clientNonce) }
    }

    /// Returns the field that logs a request in; `nil` if the credential has no password, or the origin has sent no challenge.
    ///
    /// A repeated request answers the challenge that it received, `answer`, because another request to the origin may
    /// have received another one meanwhile.
    ///
    /// Throws `invalidRequest` if the user name cannot be sent, and `digestUnavailable` without the hash function.
    func field(
        of credential: Credential,
        for request: TransportRequest,
        answering answer: DigestSessions.Answer?
    ) throws(DownloadError) -> HeaderField? {
        guard credential.isLogin, let login = credential.field.basicLogin else { return nil }
        guard let answer = answer ?? sessions.withLock({ $0.next(for: Origin(request.url)) }) else { return nil }
        let answered = DigestChallenge.Request(
            method: request.method,
            target: request.url.target,
            count: answer.count,
            clientNonce: answer.clientNonce
        )
        let field = try answer.challenge.field(
            user: login.user,
            password: login.password,
            for: answered,
            hash: Digester.hexadecimal(_:of:)
        )
        try field.validate()
        return field
    }
}

extension Digester {
    /// Returns the hexadecimal digits of the hash of a text.
    static func hexadecimal(_ algorithm: Checksum.Algorithm, of text: String) throws(DownloadError) -> String {
        let digester = try Digester(algorithm)
        Array(text.utf8).withUnsafeBytes { digester.update($0) }
        return try digester.finalize().hexadecimal
    }
}

import HeadracePlatform

/// Creates the Digest logins of all transfers of a manager, for origins that have sent Digest challenges.
final class DigestStore: Sendable {
    private let sessions = Locked(DigestSessions())

    /// Whether the origin of a URL has sent a Digest challenge.
    func isKnown(_ url: URL) -> Bool { sessions.withLock { $0.isKnown(Origin(url)) } }

    /// Makes the next requests to a URL's origin use this challenge; returns the session for the repeated request.
    func challenged(_ url: URL, by challenge: DigestChallenge) -> DigestSessions.Session {
        let clientNonce = RandomSource.system.next().hexadecimal
        return sessions.withLock { $0.challenged(Origin(url), by: challenge, clientNonce: clientNonce) }
    }

    /// Returns the `Authorization` field of a Digest login; `nil` if the credential is not a user name with a password,
    /// or if the origin has sent no challenge.
    ///
    /// A repeated request uses the challenge that it received, which `session` contains. If `session` is `nil`, the
    /// latest challenge of the origin is used.
    ///
    /// Throws `invalidRequest` if the user name cannot be sent, and `digestUnavailable` without the hash function.
    func field(
        of credential: Credential,
        for request: TransportRequest,
        in session: DigestSessions.Session?
    ) throws(DownloadError) -> HeaderField? {
        // The login is decoded last, because most origins never send a challenge.
        guard credential.isLogin, let session = session ?? sessions.withLock({ $0.next(for: Origin(request.url)) }),
            let login = credential.field.basicLogin
        else { return nil }
        let field = try session.challenge.field(
            user: login.user,
            password: login.password,
            for: DigestChallenge.Request(
                method: request.method,
                target: request.url.target,
                count: session.count,
                clientNonce: session.clientNonce
            ),
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

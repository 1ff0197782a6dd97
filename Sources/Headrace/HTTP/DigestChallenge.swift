import HeadracePlatform

/// A challenge that requests a login by Digest, and the response to it (RFC 7616).
struct DigestChallenge: Sendable, Hashable {
    /// The hash function: `sha256` or `md5`.
    let algorithm: Checksum.Algorithm
    /// The hash function as the server names it; `nil` if the server names none, which means MD5.
    private let algorithmName: String?
    /// Whether the key also depends on the nonces (`-sess`).
    private let isSession: Bool
    /// Whether the server knows `qop=auth`; if not, it expects the response of RFC 2069.
    private let hasProtection: Bool
    private let realm: String
    let nonce: String
    private let opaque: String?
    /// Whether the server reads user and password as UTF-8, and knows `username*`.
    private let isUTF8: Bool
    /// Whether the server rejected only the age of the nonce, and not the login.
    private(set) var isStale: Bool

    /// Reads a challenge; `nil` if it is not Digest, is incomplete, or requires another hash function or `auth-int`.
    init?(_ challenge: Challenge) {
        let parameters = challenge.parameters
        guard challenge.scheme == AuthenticationScheme.digest.rawValue, let realm = parameters["realm"],
            let nonce = parameters["nonce"]
        else { return nil }
        algorithmName = parameters["algorithm"]
        switch algorithmName?.lowercased() {
        case nil, "md5": (algorithm, isSession) = (.md5, false)
        case "md5-sess": (algorithm, isSession) = (.md5, true)
        case "sha-256": (algorithm, isSession) = (.sha256, false)
        case "sha-256-sess": (algorithm, isSession) = (.sha256, true)
        default: return nil
        }
        let protections = parameters["qop"]?.members.map { $0.lowercased() }
        guard protections?.contains("auth") != false else { return nil }
        hasProtection = protections != nil
        self.realm = realm
        self.nonce = nonce
        opaque = parameters["opaque"]
        isUTF8 = parameters["charset"]?.lowercased() == "utf-8"
        isStale = parameters["stale"]?.lowercased() == "true"
    }

    /// A copy without `stale=true`.
    ///
    /// A server adds `stale=true` when it repeats a challenge. Without it, the repeated challenge equals the first one.
    var withoutStaleness: DigestChallenge {
        var copy = self
        copy.isStale = false
        return copy
    }

    /// Returns the first supported challenge with SHA-256, or else the first with MD5; `nil` if there is none.
    static func strongest(of challenges: [Challenge]) -> DigestChallenge? {
        let found = challenges.compactMap(DigestChallenge.init)
        return found.first { $0.algorithm == .sha256 } ?? found.first
    }

    /// The values of a request that its response to a challenge covers.
    struct Request: Sendable, Hashable {
        /// The method, such as `GET`.
        var method: String
        /// The path with the query, as they are sent.
        var target: String
        /// The number of requests with the challenge's nonce, including this one.
        var count: UInt32
        var clientNonce: String
    }

    /// Returns the `Authorization` field of a request (RFC 7616, section 3.4).
    ///
    /// The user is sent, and the password hashed, as the caller wrote them: in UTF-8, without normalization.
    /// - Parameters:
    ///   - user: The user name.
    ///   - password: The password.
    ///   - request: The request.
    ///   - hash: Returns the hash of a text in hexadecimal digits.
    /// - Returns: The field.
    /// - Throws: The error of `hash`.
    func field(
        user: String,
        password: String,
        for request: Request,
        hash: (Checksum.Algorithm, String) throws(DownloadError) -> String
    ) throws(DownloadError) -> HeaderField {
        var key = try hash(algorithm, "\(user):\(realm):\(password)")
        if isSession { key = try hash(algorithm, "\(key):\(nonce):\(request.clientNonce)") }
        let count = request.count.hexadecimal
        let middle = hasProtection ? "\(nonce):\(count):\(request.clientNonce):auth" : nonce
        let end = try hash(algorithm, "\(request.method):\(request.target)")
        let isASCII = user.utf8.allSatisfy { $0 < 0x80 }
        var parameters = [
            isASCII || !isUTF8 ? "username=\(user.quoted)" : "username*=UTF-8''\(user.percentEncoded)",
            "realm=\(realm.quoted)", "uri=\(request.target.quoted)",
        ]
        if let algorithmName { parameters.append("algorithm=\(algorithmName)") }
        parameters.append("nonce=\(nonce.quoted)")
        if hasProtection { parameters.append("nc=\(count)") }
        if hasProtection || isSession { parameters.append("cnonce=\(request.clientNonce.quoted)") }
        if hasProtection { parameters.append("qop=auth") }
        parameters.append("response=\(try hash(algorithm, "\(key):\(middle):\(end)").quoted)")
        if let opaque { parameters.append("opaque=\(opaque.quoted)") }
        let value = "Digest \(parameters.joined(separator: ", "))"
        return HeaderField(name: HeaderField.authorization, value: value, isSecret: true)
    }
}

extension Challenge {
    /// The scheme, if the library supports it with these parameters; otherwise `nil`.
    var supportedScheme: AuthenticationScheme? {
        let scheme = AuthenticationScheme(rawValue: scheme)
        return scheme == .digest && DigestChallenge(self) == nil ? nil : scheme
    }
}

extension String {
    /// The text as a quoted string (RFC 9110, section 5.6.4).
    ///
    /// Works on bytes, because a quote can combine with the next scalar into one character.
    fileprivate var quoted: String {
        let escaped = utf8.flatMap { "\\\"".utf8.contains($0) ? [UInt8(ascii: "\\"), $0] : [$0] }
        return "\"\(String(decoding: escaped, as: UTF8.self))\""
    }

    /// The text as the value of an extended parameter (RFC 8187, section 3.2).
    fileprivate var percentEncoded: String {
        utf8.map { byte in
            byte.isLetterOrDigit || "-._~".utf8.contains(byte)
                ? String(decoding: [byte], as: UTF8.self) : "%\(byte.hexadecimal.uppercased())"
        }.joined()
    }
}

extension HeaderField {
    /// Fields that a caller cannot set, since the library's own values are what its checks rely on.
    private static let reserved: Set<String> = [
        "accept-encoding", "connection", "content-length", "host", "if-range", "range", "te", "transfer-encoding",
    ]

    /// How a word in a name ends if the value is a secret, as in `X-Auth-Token`, `Proxy-Authorization` or `X-ApiKey`.
    ///
    /// A rule instead of a list of names: each service has its own field, and one that is missing here would be sent to strangers.
    private static let secretEndings = [
        "authorization", "authentication", "cookie", "token", "secret", "password", "passwd", "credential",
        "credentials",
        "apikey", "accesskey", "authkey", "jwt",
    ]

    /// The last words of names whose values are secrets, as in `X-Api-Key` or `X-JFrog-Art-Api`.
    private static let secretLastWords: Set<String> = ["key", "auth", "api"]

    /// Keys that name something and open nothing.
    private static let harmlessKeys: Set<String> = ["idempotency-key", "sec-websocket-key", "surrogate-key"]

    /// Further fields that must not follow a redirect to another origin (RFC 9110, section 15.4).
    private static let bound: Set<String> = ["origin", "referer"]

    static let authorization = "Authorization"

    /// Whether it is the field that a login goes in.
    var isAuthorization: Bool { name.lowercased() == "authorization" }

    /// True for a field whose value is never written to a disk.
    ///
    /// `Referer` and `Origin` are no credentials, and many a server answers only to them.
    package var isCredential: Bool { isSecret || Self.namesSecret(name) }

    private static func namesSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        let words = name.split { $0 == "-" || $0 == "_" || $0 == "." }
        guard let last = words.last, !harmlessKeys.contains(name) else { return false }
        return secretLastWords.contains(String(last))
            || words.contains { word in secretEndings.contains(where: word.hasSuffix) }
    }

    /// True for fields that carry or name credentials and so stay with the origin they were given for.
    var isBoundToOrigin: Bool { isCredential || Self.bound.contains(name.lowercased()) }

    /// Throws unless the field can be sent as it is and is the caller's to set.
    func validate() throws(DownloadError) {
        guard !name.isEmpty, name.utf8.allSatisfy(Self.isTokenCharacter) else {
            throw DownloadError(.invalidRequest, "The header name \"\(name.printable)\" is not a token of HTTP.")
        }
        guard !value.utf8.contains(where: { $0 == 0 || $0 == 10 || $0 == 13 }) else {
            throw DownloadError(.invalidRequest, "The value of the header \(name) has a line break or NUL in it.")
        }
        guard !Self.reserved.contains(name.lowercased()) else {
            throw DownloadError(.invalidRequest, "The header \(name) is set by the download itself; leave it out.")
        }
    }

    /// A character of a token (RFC 9110, section 5.6.2).
    static func isTokenCharacter(_ byte: UInt8) -> Bool {
        // The hyphen is in most names, and need not be searched for.
        byte.isLetterOrDigit || byte == UInt8(ascii: "-") || "!#$%&'*+.^_`|~".utf8.contains(byte)
    }
}

extension [HeaderField] {
    /// The scheme of the login in lower case; nil where there is none.
    var loginScheme: String? {
        first(where: \.isAuthorization).map { $0.value.prefix { $0 != " " }.lowercased() }
    }
}

import HeadracePlatform

extension HeaderField {
    /// Parses `Name: value`; returns `nil` if there is no colon, or if the name is empty or contains a blank.
    package init?(parsing text: String) {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon != text.startIndex,
            !text.utf8[..<colon].contains(where: \.isBlank)
        else { return nil }
        self.init(name: String(text[..<colon]), value: String(Substring(text.utf8[colon...].dropFirst()).trimmed))
    }

    /// Names of the fields that a caller cannot set, because the library determines their values.
    private static let reserved: Set<String> = [
        "accept-encoding", "connection", "content-length", "host", "if-range", "range", "te", "transfer-encoding",
    ]

    /// Endings of words in a field name that mark the value as a secret, as in `X-Auth-Token` or `X-ApiKey`.
    ///
    /// A rule rather than a list of names: services invent their own fields, and secrets in unlisted ones would leak.
    private static let secretEndings = [
        "authorization", "authentication", "cookie", "token", "secret", "password", "passwd", "credential",
        "credentials",
        "apikey", "accesskey", "authkey", "jwt",
    ]

    /// Last words of field names that mark the value as a secret, as in `X-Api-Key` or `X-JFrog-Art-Api`.
    private static let secretLastWords: Set<String> = ["key", "auth", "api"]

    /// Names of fields that end in `key` although the value is not a secret.
    private static let harmlessKeys: Set<String> = ["idempotency-key", "sec-websocket-key", "surrogate-key"]

    /// Names of fields that hold no secret but must not be sent to another origin (RFC 9110, section 15.4).
    private static let bound: Set<String> = ["origin", "referer"]

    static let authorization = "Authorization"

    var isAuthorization: Bool { name.lowercased() == "authorization" }

    /// The user and the password if the value is a Basic login (RFC 7617); otherwise `nil`.
    var basicLogin: (user: String, password: String)? {
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "basic", let login = Data(base64Encoded: String(parts[1])),
            let colon = login.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        return (String(utf8OrLatin1: Array(login[..<colon])), String(utf8OrLatin1: Array(login[(colon + 1)...])))
    }

    /// Whether the value is a secret, which is never written to disk.
    ///
    /// `Referer` and `Origin` are not credentials; they are saved, because many servers require them.
    package var isCredential: Bool { isSecret || Self.namesSecret(name) }

    private static func namesSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        let words = name.split { $0 == "-" || $0 == "_" || $0 == "." }
        guard let last = words.last, !harmlessKeys.contains(name) else { return false }
        return secretLastWords.contains(String(last))
            || words.contains { word in secretEndings.contains(where: word.hasSuffix) }
    }

    /// Whether the value may identify the requester: it is a credential, or the field is `Origin` or `Referer`.
    ///
    /// Such values are never shown.
    var identifiesRequester: Bool { isCredential || Self.bound.contains(name.lowercased()) }

    /// Whether the field must be sent only to the origin it was set for.
    package var isBoundToOrigin: Bool { !isSentToAllOrigins && identifiesRequester }

    /// Throws `invalidRequest` if the field is malformed or reserved.
    func validate() throws(DownloadError) {
        guard !name.isEmpty, name.utf8.allSatisfy(Self.isTokenCharacter) else {
            throw DownloadError(.invalidRequest, "The header name \"\(name.printable)\" is not a valid HTTP token.")
        }
        guard !value.utf8.contains(where: { $0 == 0 || $0 == 10 || $0 == 13 }) else {
            throw DownloadError(.invalidRequest, "The value of the header \(name) contains a line break or NUL.")
        }
        guard !Self.reserved.contains(name.lowercased()) else {
            throw DownloadError(.invalidRequest, "The header \(name) is set by the download itself; omit it.")
        }
    }

    /// Whether the byte is allowed in a token (RFC 9110, section 5.6.2).
    static func isTokenCharacter(_ byte: UInt8) -> Bool { tokenCharacters[Int(byte)] }

    /// Whether all bytes are allowed in a token.
    static func areTokenCharacters(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let allowed = tokenCharacters
        return bytes.allSatisfy { allowed[Int($0)] }
    }

    private static let tokenCharacters = (0...UInt8.max).map {
        $0.isLetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains($0)
    }
}

extension [HeaderField] {
    /// The scheme of the first `Authorization` field in lower case; `nil` if there is no such field.
    var loginScheme: String? {
        first(where: \.isAuthorization).map { $0.value.prefix { $0 != " " }.lowercased() }
    }
}

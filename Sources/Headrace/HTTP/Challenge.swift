/// A challenge in `WWW-Authenticate`: one way to log in (RFC 9110, section 11.6.1).
struct Challenge: Sendable, Hashable {
    /// The maximum total size, in bytes, of the `WWW-Authenticate` fields read from one response.
    static let maxBytes = 16 << 10
    /// The maximum number of challenges read from one response.
    static let maxCount = 16

    /// The scheme name in lower case.
    let scheme: String
    /// The parameters by lower-case name; if a name is repeated, its first value.
    let parameters: [String: String]

    /// The name that the server gives to the protected area, shortened and safe to display.
    var realm: String? { parameters["realm"].map { String($0.prefix(200)).printable } }

    /// Reads the challenges of a response, within ``maxBytes`` and ``maxCount``.
    static func all(of head: ResponseHead) -> [Challenge] {
        Array(head.values("www-authenticate", maxBytes: maxBytes).flatMap(all(in:)).prefix(maxCount))
    }

    /// Reads the challenges of one field, up to the first text that is not a challenge.
    static func all(in text: String) -> [Challenge] {
        var challenges: [Challenge] = []
        var text = FieldScanner(text)
        while challenges.count < maxCount, let challenge = text.challenge() { challenges.append(challenge) }
        return challenges
    }
}

extension FieldScanner {
    private static let maxParameters = 32

    fileprivate mutating func challenge() -> Challenge? {
        skipBlanks(and: ",")
        let scheme = token()
        guard !scheme.isEmpty, isAtEnd || next.map({ " \t,".utf8.contains($0) }) == true else { return nil }
        skipBlanks()
        skipToken68()
        return Challenge(scheme: scheme.lowercased(), parameters: parameters())
    }

    mutating func token() -> Substring { take(while: HeaderField.isTokenCharacter) }

    /// Skips a `token68` value, as in `Negotiate YII=`, if a comma or the end follows it.
    private mutating func skipToken68() {
        var ahead = self
        let isLetter: (UInt8) -> Bool = { HeaderField.isTokenCharacter($0) || $0 == UInt8(ascii: "/") }
        guard !ahead.take(while: isLetter).isEmpty else { return }
        _ = ahead.take { $0 == UInt8(ascii: "=") }
        ahead.skipBlanks()
        if ahead.isAtEnd || ahead.next == UInt8(ascii: ",") { self = ahead }
    }

    /// Reads the parameters of one challenge, up to the first name without a value, which is the next scheme.
    private mutating func parameters() -> [String: String] {
        var parameters: [String: String] = [:]
        while true {
            var ahead = self
            ahead.skipBlanks(and: ",")
            let name = ahead.token().lowercased()
            ahead.skipBlanks()
            guard !name.isEmpty, ahead.skip("=") else { return parameters }
            ahead.skipBlanks()
            let value = ahead.skip("\"") ? ahead.quoted() : String(ahead.token())
            if parameters.count < Self.maxParameters, parameters[name] == nil { parameters[name] = value }
            self = ahead
        }
    }
}

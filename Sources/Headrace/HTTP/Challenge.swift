/// A challenge of `WWW-Authenticate`: a way to log in (RFC 9110, section 11.6.1).
struct Challenge: Sendable, Hashable {
    /// The most bytes of fields that are read of one answer.
    static let maxBytes = 16 << 10
    /// The most challenges of one answer.
    static let maxCount = 16

    /// The name of the scheme, in lower case.
    let scheme: String
    /// Names in lower case with their values; of two that are the same the first one.
    let parameters: [String: String]

    /// What the server calls the part of it that the login is for, fit to be shown.
    var realm: String? { parameters["realm"].map { String($0.prefix(200)).printable } }

    /// Reads the challenges of an answer, as far as the bounds go.
    static func all(of head: ResponseHead) -> [Challenge] {
        Array(head.values("www-authenticate", maxBytes: maxBytes).flatMap(all(in:)).prefix(maxCount))
    }

    /// Reads one field, up to what is no challenge.
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

    private mutating func token() -> Substring { take(while: HeaderField.isTokenCharacter) }

    /// Goes past a value without a name, as in `Negotiate YII=`, if that is all up to the next comma.
    private mutating func skipToken68() {
        var ahead = self
        let isLetter: (UInt8) -> Bool = { HeaderField.isTokenCharacter($0) || $0 == UInt8(ascii: "/") }
        guard !ahead.take(while: isLetter).isEmpty else { return }
        _ = ahead.take { $0 == UInt8(ascii: "=") }
        ahead.skipBlanks()
        if ahead.isAtEnd || ahead.next == UInt8(ascii: ",") { self = ahead }
    }

    /// The parameters up to the next scheme, which is a name without a value.
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

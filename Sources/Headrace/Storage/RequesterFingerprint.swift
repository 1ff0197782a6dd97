/// A salted hash of the credentials with which a finished file was requested; saved with the file.
///
/// Each file has a random salt. Therefore, files of the same requester have different hashes, and an attacker who
/// guesses a token has to hash each guess again for each file.
struct RequesterFingerprint: Sendable, Hashable {
    /// The number of hexadecimal digits of the salt, and also of the hash.
    static let length = 16

    let salt: String
    let hash: String

    /// The digits of the salt, followed by those of the hash.
    var text: String { salt + hash }

    init(salt: String, hash: String) {
        (self.salt, self.hash) = (salt, hash)
    }

    /// Parses a value of ``text``; returns `nil` if it is malformed.
    init?(parsing text: String) {
        let digits = text.utf8
        guard digits.count == 2 * Self.length, UInt64(hexadecimal: digits.prefix(Self.length)) != nil,
            UInt64(hexadecimal: digits.suffix(Self.length)) != nil
        else { return nil }
        salt = String(text.prefix(Self.length))
        hash = String(text.suffix(Self.length))
    }
}

/// The salted hash of the requester that a finished file was downloaded for, as it is saved with the file.
///
/// The salt is random for each file, so that equal requesters cannot be seen from the hashes of their files, and a guessed token
/// has to be hashed anew for each file.
struct RequesterFingerprint: Sendable, Hashable {
    /// The digits of the salt, and of the hash.
    static let length = 16

    let salt: String
    let hash: String

    /// The digits of the salt before those of the hash.
    var text: String { salt + hash }

    init(salt: String, hash: String) {
        (self.salt, self.hash) = (salt, hash)
    }

    /// Reads what ``text`` returned.
    init?(parsing text: String) {
        let digits = text.utf8
        guard digits.count == 2 * Self.length, UInt64(hexadecimal: digits.prefix(Self.length)) != nil,
            UInt64(hexadecimal: digits.suffix(Self.length)) != nil
        else { return nil }
        salt = String(text.prefix(Self.length))
        hash = String(text.suffix(Self.length))
    }
}

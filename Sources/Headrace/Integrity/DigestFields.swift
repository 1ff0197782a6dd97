/// The checksums in the header fields of a response.
///
/// They detect transmission errors; without TLS, an attacker who can modify the response can modify them too.
struct DigestFields: Sendable, Hashable {
    /// The maximum size of a field in bytes; a longer field is ignored.
    static let maxBytes = 4096

    /// Checksums of the whole representation, even for a partial response; one per hash function, the strongest first.
    ///
    /// From `Repr-Digest` (RFC 9530, section 3) and the older `Digest` (RFC 3230, section 4.3.2, and RFC 5843).
    let representation: [Checksum]
    /// Checksums of the content of this response alone; one per hash function, the strongest first.
    ///
    /// From `Content-Digest` (RFC 9530, section 2) and, if the content is the whole file, `Content-MD5` (RFC 1864): for
    /// a part, servers disagree on what `Content-MD5` covers (RFC 7231, appendix B).
    let content: [Checksum]

    /// Reads the checksum fields of a response; ignores values that are malformed, unknown or contradictory.
    init(of head: borrowing ResponseHead) {
        func read(_ name: String, _ parse: (String) -> [Checksum]) -> [Checksum] {
            Self.text(of: name, head).map(parse) ?? []
        }
        representation = Self.unambiguous(read("repr-digest", Self.structured) + read("digest", Self.digest))
        let md5 = head.isPartial ? [] : read("content-md5") { Self.checksum("md5", base64: $0[...]) }
        content = Self.unambiguous(read("content-digest", Self.structured) + md5)
    }

    /// Returns the joined lines of a field (RFC 9110, section 5.3), or `nil` if it is missing or too long.
    private static func text(of name: String, _ head: ResponseHead) -> String? {
        let values = head.values(name)
        guard !values.isEmpty, values.reduce(0, { $0 + $1.utf8.count }) <= maxBytes else { return nil }
        return values.joined(separator: ", ")
    }

    /// Parses the SHA-256 and SHA-512 checksums; the registry marks all others as deprecated (RFC 9530, section 5).
    private static func structured(_ text: String) -> [Checksum] {
        guard let sequences = StructuredDictionary(parsing: text)?.byteSequences else { return [] }
        return [("sha-256", Checksum.Algorithm.sha256), ("sha-512", .sha512)].compactMap { key, algorithm in
            sequences[key].flatMap { Checksum(algorithm, bytes: $0) }
        }
    }

    /// Parses a `Digest` field, such as `SHA-256=BASE64,MD5=BASE64`; the name `SHA` means SHA-1.
    private static func digest(_ text: String) -> [Checksum] {
        text.members.flatMap { member -> [Checksum] in
            let parts = member.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return parts.count == 2 ? checksum(parts[0], base64: parts[1]) : []
        }
    }

    private static func checksum(_ name: some StringProtocol, base64 text: Substring) -> [Checksum] {
        guard let algorithm = name.lowercased() == "sha" ? .sha1 : Checksum.Algorithm(name: name),
            let checksum = [UInt8](base64: text).flatMap({ Checksum(algorithm, bytes: $0) })
        else { return [] }
        return [checksum]
    }

    /// Returns one checksum per hash function, the strongest first; omits functions with contradictory checksums.
    private static func unambiguous(_ checksums: [Checksum]) -> [Checksum] {
        let distinct = Set(checksums)
        return distinct.filter { one in !distinct.contains { $0.algorithm == one.algorithm && $0 != one } }
            .sorted { $0.algorithm > $1.algorithm }
    }
}

/// The checksums in the header fields of a response.
///
/// They detect transmission errors; without TLS, an attacker who can modify the response can modify them too.
struct DigestFields: Sendable, Hashable {
    /// The maximum size of a field in bytes; a longer field is ignored.
    static let maxBytes = 4096
    private static let amazonFields = [Checksum.Algorithm.crc32, .crc32c, .crc64nvme, .sha1, .sha256]
        .map { (name: "x-amz-checksum-\($0)", algorithm: $0) }
    /// The keys of all fields with checksums; most responses have none of them.
    private static let keys =
        (["repr-digest", "digest", "x-goog-hash", "x-checksum-sha256", "content-digest", "content-md5"]
        + amazonFields.map(\.name)).map(ResponseHead.key)

    /// Checksums of the whole representation, even for a partial response; one per hash function, the strongest first.
    ///
    /// From `Repr-Digest` (RFC 9530, section 3), the older `Digest` (RFC 3230, section 4.3.2, and RFC 5843),
    /// `X-Goog-Hash` (Google Cloud Storage), `X-Checksum-SHA256` (Artifactory) and the `X-Linked-ETag` of the first
    /// redirect (Hugging Face).
    let representation: [Checksum]
    /// Checksums of the content of this response alone; one per hash function, the strongest first.
    ///
    /// From `Content-Digest` (RFC 9530, section 2) and, if the content is the whole file, `X-Amz-Checksum-…` (Amazon
    /// S3) and `Content-MD5` (RFC 1864). In partial responses, servers disagree on what the last two cover (RFC 7231,
    /// appendix B).
    let content: [Checksum]

    /// Reads the checksum fields of a response; ignores values that are malformed, unknown or contradictory.
    init(of head: borrowing ResponseHead) {
        // Not on the right of `||`, which cannot capture a borrowed value on Apple platforms.
        let mayHaveField = head.mayHaveField(Self.keys)
        guard head.linkedDigest != nil || mayHaveField else {
            (representation, content) = ([], [])
            return
        }
        func read(_ name: String, _ parse: (String) -> [Checksum]) -> [Checksum] {
            Self.text(of: name, head).map(parse) ?? []
        }
        // Some fields describe the stored file, but the server or a proxy may have encoded it because the request
        // accepts content codings.
        let isStored = head.decodable == nil ? true : head.contentCodings.isEmpty
        let stored =
            isStored
            ? read("x-checksum-sha256") { Self.hexadecimal($0[...]) } + (head.linkedDigest.map { [$0] } ?? []) : []
        let vendors = (head.isStoredCoding ? read("x-goog-hash", Self.google) : []) + stored
        representation = Self.unambiguous(
            read("repr-digest", Self.structured) + read("digest", Self.digest) + vendors
        )
        var whole: [Checksum] = []
        if !head.isPartial, isStored {
            whole = read("content-md5") { Self.checksum(.md5, base64: $0[...]) }
            if !head.members("x-amz-checksum-type").contains("composite") {
                for (name, algorithm) in Self.amazonFields {
                    // The checksum of a list of checksums ends with a hyphen and their number, and is ignored.
                    whole += read(name) { Self.checksum(algorithm, base64: $0[...]) }
                }
            }
        }
        content = Self.unambiguous(read("content-digest", Self.structured) + whole)
    }

    /// Returns the joined lines of a field (RFC 9110, section 5.3), or `nil` if it is missing or too long.
    private static func text(of name: String, _ head: ResponseHead) -> String? {
        let values = head.values(name)
        guard !values.isEmpty, values.reduce(0, { $0 + $1.utf8.count }) <= maxBytes else { return nil }
        return values.joined(separator: ", ")
    }

    /// Parses a dictionary of byte sequences (RFC 9651, section 3.2), such as `sha-256=:BASE64:`.
    ///
    /// Returns the SHA-256 and SHA-512 checksums; the registry marks all others as deprecated (RFC 9530, section 5).
    /// Parameters are skipped. Any error invalidates the whole field, and so does a value of another type.
    private static func structured(_ text: String) -> [Checksum] {
        var checksums: [Checksum.Algorithm: Checksum] = [:]
        var text = FieldScanner(text)
        repeat {
            text.skipBlanks()
            let key = text.token()
            guard !key.isEmpty, text.skip("=:") else { return [] }
            let value = text.take { $0 != UInt8(ascii: ":") }
            guard text.skip(":"), let bytes = [UInt8](base64: value) else { return [] }
            // The last value of a repeated key counts.
            switch key {
            case "sha-256": checksums[.sha256] = Checksum(.sha256, bytes: bytes)
            case "sha-512": checksums[.sha512] = Checksum(.sha512, bytes: bytes)
            default: break
            }
            text.skipBlanks()
            if text.skip(";") {
                // The parameters; a comma in a quoted string is not the end.
                while let byte = text.next, byte != UInt8(ascii: ",") {
                    if text.take() == UInt8(ascii: "\"") { _ = text.quoted() }
                }
            }
        } while text.skip(",")
        return text.isAtEnd ? Array(checksums.values) : []
    }

    /// Parses a `Digest` field, such as `SHA-256=BASE64,MD5=BASE64`; the name `SHA` means SHA-1.
    private static func digest(_ text: String) -> [Checksum] {
        checksums(text) { $0.lowercased() == "sha" ? .sha1 : Checksum.Algorithm(name: $0) }
    }

    /// Parses an `X-Goog-Hash` field, such as `crc32c=BASE64,md5=BASE64`.
    private static func google(_ text: String) -> [Checksum] {
        checksums(text) { name in
            switch name.lowercased() {
            case "crc32c": .crc32c
            case "md5": .md5
            default: nil
            }
        }
    }

    /// Parses members such as `NAME=BASE64`; skips those for whose name `algorithm` returns `nil`.
    private static func checksums(
        _ text: String,
        _ algorithm: (Substring) -> Checksum.Algorithm?
    ) -> [Checksum] {
        text.members.flatMap { member -> [Checksum] in
            let parts = member.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return parts.count == 2 ? checksum(algorithm(parts[0]), base64: parts[1]) : []
        }
    }

    private static func checksum(_ algorithm: Checksum.Algorithm?, base64 text: Substring) -> [Checksum] {
        // A checksum of checksums ends with a hyphen and a number, which base64 for URLs would accept as digits.
        guard let algorithm, !text.utf8.contains(UInt8(ascii: "-")),
            let checksum = [UInt8](base64: text).flatMap({ Checksum(algorithm, bytes: $0) })
        else { return [] }
        return [checksum]
    }

    /// Parses the hexadecimal digits of a SHA-256, possibly in quotation marks.
    private static func hexadecimal(_ text: Substring) -> [Checksum] {
        let digits = text.utf8.first == UInt8(ascii: "\"") ? text.dropFirst().dropLast() : text
        return [UInt8](hexadecimal: digits).flatMap { Checksum(.sha256, bytes: $0) }.map { [$0] } ?? []
    }

    /// Returns one checksum per hash function, the strongest first; omits functions with contradictory checksums.
    private static func unambiguous(_ checksums: [Checksum]) -> [Checksum] {
        let distinct = Set(checksums)
        return distinct.filter { one in !distinct.contains { $0.algorithm == one.algorithm && $0 != one } }
            .sorted { $0.algorithm > $1.algorithm }
    }
}

extension DigestFields {
    /// Returns the SHA-256 of the target file that a redirect of Hugging Face announces; `nil` if there is none.
    ///
    /// Hugging Face stores small files in Git itself; their field has a shorter Git hash, which is ignored.
    static func linked(by redirect: borrowing ResponseHead) -> Checksum? {
        guard !redirect.values("x-linked-size").isEmpty, let text = text(of: "x-linked-etag", redirect) else {
            return nil
        }
        return hexadecimal(text[...]).first
    }
}

extension ResponseHead {
    /// Whether the body has the content coding in which Google Cloud Storage stores the file and computes its hashes;
    /// `true` if the response does not name that coding.
    fileprivate var isStoredCoding: Bool {
        let stored = members("x-goog-stored-content-encoding")
        return stored.isEmpty || stored.filter { $0 != "identity" } == contentCodings
    }
}

import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct DigestFieldsTests {
    private static let sha256 = ChecksumFixture.base64(.sha256)
    private static let sha512 = ChecksumFixture.base64(.sha512)
    private static let md5 = ChecksumFixture.base64(.md5)
    private static let sha1 = ChecksumFixture.base64(.sha1)
    private static let zeros = String(repeating: "A", count: 43) + "="

    private func digests(_ fields: KeyValuePairs<String, String>, status: Int = 200) -> DigestFields {
        DigestFields(of: HeadFixture.head(status, fields))
    }

    private func checksums(_ algorithms: [Checksum.Algorithm]) -> [Checksum] {
        algorithms.compactMap(ChecksumFixture.checksum)
    }

    @Test(
        arguments: [
            ("sha-256=:\(sha256):", [.sha256]), ("sha-256=:\(sha256):, sha-512=:\(sha512):", [.sha512, .sha256]),
            ("sha-512=:\(sha512):,sha-256=:\(sha256):;a;b=?1;c=\"x,y\\\"z\"", [.sha512, .sha256]),
            ("md5=:\(md5):, sha=:\(sha1):, sha-256=:\(sha256):", [.sha256]), ("unixsum=:AAA=:", []),
            ("sha-256=:\(sha256):;a=\"x, sha-256=:\(zeros):\", x=:AA==:", [.sha256]),
            ("x=::, sha-256=:\(sha256):", [.sha256]),
            ("sha-256=:\(sha256):, sha-256=:\(zeros):, sha-256=:\(sha256):", [.sha256]),
            ("sha-256=:\(sha256):, sha-256", []), ("sha-256=:\(sha256):, sha-256=1", []), ("", []), (" ", []),
            ("  sha-256=:\(sha256):  ", [.sha256]), ("sha-256=:\(sha256):\t,\tx=:AA==:", [.sha256]),
            ("sha-256=:\(sha256.dropLast()):", [.sha256]),
            // A field that is malformed anywhere is ignored as a whole.
            ("sha-256=:\(sha256):,", []), ("sha-256=:\(sha256):, ,x=:AA==:", []), ("sha-256=\(sha256)", []),
            ("sha-256=:\(sha256):, x=1", []), ("x, sha-256=:\(sha256):", []), ("=:AA==:, sha-256=:\(sha256):", []),
            ("sha-256=:\(sha256)", []),
            ("SHA-256=:\(sha256):", []), ("sha-256=:\(sha256): x", []), ("sha-256 =:\(sha256):", []),
            ("sha-256=:\(sha256):, x=\"", []), ("sha-256=:\(sha256):, x=(1", []), ("sha-256=:\(sha256):;a, x=-", []),
            ("sha-256=:!!!!:", []), ("sha-256=:AAAA:", []), ("sha-256=::", []),
            ("x=:!:, sha-256=:\(sha256):", []), ("x=:AA=A:, sha-256=:\(sha256):", []),
            ("sha-512=:\(sha256):, sha-256=:\(sha256):", [.sha256]),
        ] as [(String, [Checksum.Algorithm])]
    )
    func `Repr-Digest and Content-Digest are dictionaries of byte sequences`(
        _ text: String,
        _ algorithms: [Checksum.Algorithm]
    ) {
        #expect(digests(["Repr-Digest": text]).representation == checksums(algorithms))
        #expect(digests(["Content-Digest": text]).content == checksums(algorithms))
        #expect(digests(["Repr-Digest": text]).content == [] && digests(["Content-Digest": text]).representation == [])
    }

    @Test(
        arguments: [
            ("SHA-256=\(sha256)", [.sha256]), ("sha-256=\(sha256),MD5=\(md5)", [.sha256, .md5]),
            (" SHA=\(sha1) , unixsum=30637,, SHA-512=\(sha512)", [.sha512, .sha1]), ("SHA-256=:\(sha256):", []),
            ("sha-256", []), ("=", []), ("sha-256=AAAA", []), ("SHA-256=\(ChecksumFixture.hexadecimal(.sha256))", []),
            ("SHA-256=\(sha256), SHA-256=\(zeros), MD5=\(md5)", [.md5]),
            ("SHA-256=\(sha256), sha-256=\(sha256)", [.sha256]),
        ] as [(String, [Checksum.Algorithm])]
    )
    func `Digest is a list of base64 values`(_ text: String, _ algorithms: [Checksum.Algorithm]) {
        #expect(digests(["Digest": text]).representation == checksums(algorithms))
        #expect(digests(["Digest": text], status: 206).representation == checksums(algorithms))
        #expect(digests(["Digest": text]).content == [])
    }

    @Test func `X-Goog-Hash has the hashes of the file as it is stored`() {
        let (crc, md5) = (ChecksumFixture.base64(.crc32c), Self.md5)
        let expected = checksums([.md5, .crc32c])
        for status in [200, 206] {
            #expect(digests(["X-Goog-Hash": "crc32c=\(crc),md5=\(md5)"], status: status).representation == expected)
        }
        #expect(digests(["x-goog-hash": "crc32c=\(crc)", "X-Goog-Hash": "md5=\(md5)"]).representation == expected)
        #expect(digests(["X-Goog-Hash": "sha1=\(Self.sha1), crc32c=AA"]).representation == [])
        // The file is stored compressed, and decompressed for the response.
        let stored = "X-Goog-Stored-Content-Encoding"
        #expect(digests(["X-Goog-Hash": "md5=\(md5)", stored: "gzip"]).representation == [])
        #expect(digests(["X-Goog-Hash": "md5=\(md5)", stored: "identity"]).representation == checksums([.md5]))
        let coded = digests(["X-Goog-Hash": "md5=\(md5)", stored: "gzip", "Content-Encoding": "gzip"])
        #expect(coded.representation == checksums([.md5]))
    }

    @Test(arguments: [Checksum.Algorithm.crc32, .crc32c, .crc64nvme, .sha1, .sha256])
    func `X-Amz-Checksum counts for a whole file, but not the checksum of a list of checksums`(
        _ algorithm: Checksum.Algorithm
    ) {
        let (name, value) = ("X-Amz-Checksum-\(algorithm.rawValue.uppercased())", ChecksumFixture.base64(algorithm))
        #expect(digests([name: value]).content == checksums([algorithm]))
        #expect(digests([name: value, "x-amz-checksum-type": "FULL_OBJECT"]).content == checksums([algorithm]))
        #expect(digests([name: value, "x-amz-checksum-type": "COMPOSITE"]).content == [])
        #expect(digests([name: value + "-3"]).content == [])
        #expect(digests([name: value], status: 206).content == [])
        #expect(digests([name: value]).representation == [])
    }

    @Test func `X-Checksum-SHA256 has hexadecimal digits`() {
        let digits = ChecksumFixture.hexadecimal(.sha256)
        #expect(digests(["X-Checksum-SHA256": digits]).representation == checksums([.sha256]))
        #expect(digests(["X-Checksum-SHA256": digits.dropLast() + ""]).representation == [])
        #expect(digests(["X-Checksum-SHA256": Self.sha256]).representation == [])
    }

    @Test func `X-Linked-ETag of a redirect has the SHA-256 of the linked file`() {
        let digits = ChecksumFixture.hexadecimal(.sha256)
        func linked(_ tag: String, _ size: String? = "18") -> Checksum? {
            var head = HeadFixture.head(302, ["X-Linked-ETag": tag])
            if let size { head.fields.append(HeaderField(name: "X-Linked-Size", value: size)) }
            return DigestFields.linked(by: head)
        }
        #expect(linked("\"\(digits)\"") == ChecksumFixture.checksum(.sha256))
        #expect(linked(digits) == ChecksumFixture.checksum(.sha256))
        #expect(linked("\"\(digits)\"", nil) == nil)
        // The hash of Git of a file that is not stored apart.
        #expect(linked("\"\(digits.prefix(40))\"") == nil)
    }

    @Test(
        arguments: [(md5, 200, [.md5]), (md5, 206, []), ("x", 200, []), (sha1, 200, []), ("", 200, [])]
            as [(String, Int, [Checksum.Algorithm])]
    )
    func `Content-MD5 is used for complete responses only`(
        _ text: String,
        _ status: Int,
        _ algorithms: [Checksum.Algorithm]
    ) {
        #expect(digests(["Content-MD5": text], status: status).content == checksums(algorithms))
        #expect(digests(["Content-MD5": text, "Content-Range": "bytes 0-4/9"], status: status).content == [])
    }

    @Test func `the lines of a field are combined`() {
        let fields: KeyValuePairs = [
            "repr-digest": "sha-256=:\(Self.sha256):", "REPR-DIGEST": "sha-512=:\(Self.sha512):",
            "Digest": "MD5=\(Self.md5)",
        ]
        #expect(digests(fields).representation == checksums([.sha512, .sha256, .md5]))
    }

    @Test func `contradictory old and new fields yield no checksum`() {
        let fields: KeyValuePairs = ["Repr-Digest": "sha-256=:\(Self.sha256):", "Digest": "SHA-256=\(Self.zeros)"]
        #expect(digests(fields).representation == [])
    }

    @Test func `a field that is too long is ignored`() {
        let padding = String(repeating: "x=::, ", count: 700)
        #expect(digests(["Repr-Digest": padding + "sha-256=:\(Self.sha256):"]).representation == [])
        #expect(digests(["Repr-Digest": padding.prefix(3000) + "sha-256=:\(Self.sha256):"]).representation != [])
    }
}

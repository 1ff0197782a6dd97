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
            (
                "a, b=1, c=-1.5, d=\"s\", e=tok/en:*, f=?0, g=(1 \"two\";p :AA==:);q=1, h=@12, i=%\"x\", sha-256=:\(sha256):",
                [.sha256]
            ),
            ("sha-256=:\(sha256):, sha-256=:\(zeros):, sha-256=:\(sha256):", [.sha256]),
            ("sha-256=:\(sha256):, sha-256", []), ("sha-256=:\(sha256):, sha-256=1", []), ("", []), (" ", []),
            ("  sha-256=:\(sha256):  ", [.sha256]), ("sha-256=:\(sha256):\t,\tx", [.sha256]),
            ("sha-256=:\(sha256.dropLast()):", [.sha256]),
            // A field that is malformed anywhere is ignored as a whole.
            ("sha-256=:\(sha256):,", []), ("sha-256=:\(sha256):, ,x", []), ("sha-256=\(sha256)", []),
            ("sha-256=:\(sha256)", []),
            ("SHA-256=:\(sha256):", []), ("sha-256=:\(sha256): x", []), ("sha-256 =:\(sha256):", []),
            ("sha-256=:\(sha256):, x=\"", []), ("sha-256=:\(sha256):, x=(1", []),
            ("sha-256=:\(sha256):, x=(1\"2\")", []),
            ("sha-256=:\(sha256):;B", []), ("sha-256=:\(sha256):, x=\"\u{e9}\"", []), ("sha-256=:\(sha256):, x=-", []),
            ("sha-256=:!!!!:", []), ("sha-256=:AAAA:", []), ("sha-256=::", []),
            ("sha-256=:X_8=:, sha-256=:\(sha256):", []),
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
        let padding = String(repeating: "x, ", count: 1400)
        #expect(digests(["Repr-Digest": padding + "sha-256=:\(Self.sha256):"]).representation == [])
        #expect(digests(["Repr-Digest": padding.prefix(3000) + "sha-256=:\(Self.sha256):"]).representation != [])
    }
}

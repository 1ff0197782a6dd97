import HeadraceTestSupport
import Testing

@testable import Headrace

/// The test vectors of RFC 1321 (appendix A.5), RFC 3174 (section 7.3) and FIPS 180-4's examples.
@Suite(.timeLimit(.minutes(4)))
struct DigesterTests {
    private static let long = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
    private static let longer =
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrst"
        + "nopqrstu"

    private static let vectors: [(Checksum.Algorithm, String, String)] = [
        (.md5, "", "d41d8cd98f00b204e9800998ecf8427e"),
        (.md5, "a", "0cc175b9c0f1b6a831c399e269772661"),
        (.md5, "abc", "900150983cd24fb0d6963f7d28e17f72"),
        (.md5, "message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        (.sha1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (.sha1, long, "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
        (.sha256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (.sha256, long, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
        (
            .sha384, "abc",
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"
        ),
        (
            .sha384, longer,
            "09330c33f71147e83d192fc782cd1b4753111b173b3b05d22fa08086e3b0f712fcc7c71a557e2db966c3e9fa91746039"
        ),
        (
            .sha512, "abc",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd"
                + "454d4423643ce80e2a9ac94fa54ca49f"
        ),
        (
            .sha512, longer,
            "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018501d289e4900f7e4331b99dec4b5433a"
                + "c7d329eeb6dd26545e96e55b874be909"
        ),
    ]

    @Test(arguments: vectors)
    func `the published test vectors match`(_ algorithm: Checksum.Algorithm, _ text: String, _ hex: String) throws {
        #expect(try Checksum(algorithm, of: Array(text.utf8)).hexadecimal == hex)
    }

    @Test(arguments: [
        (Checksum.Algorithm.crc32, "dc25bfbc"), (.crc32c, "436fe240"), (.crc64nvme, "38b0ef50419e0b4c"),
        (.sha1, "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
        (.sha256, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ])
    func `a million times the letter a matches, however it is split`(
        _ algorithm: Checksum.Algorithm,
        _ hex: String
    ) throws {
        let bytes = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)
        var random = SeededRandom(seed: 1)
        let digester = try Digester(algorithm)
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 0...70_000, using: &random))
            piece.withUnsafeBytes { digester.update($0) }
            rest = rest.dropFirst(piece.count)
        }
        #expect(try digester.finalize().hexadecimal == hex)
    }

    @Test(arguments: Checksum.Algorithm.allCases)
    func `the example of RFC 9530 matches its checksums`(_ algorithm: Checksum.Algorithm) throws {
        let found = try Checksum(algorithm, of: Array(#"{"hello": "world"}"#.utf8))
        #expect(found == ChecksumFixture.checksum(algorithm))
    }
}

extension Checksum {
    /// The checksum of these bytes.
    init(_ algorithm: Algorithm, of bytes: [UInt8]) throws {
        let digester = try Digester(algorithm)
        bytes.withUnsafeBytes { digester.update($0) }
        self = try digester.finalize()
    }

    /// The SHA-256 of a body.
    init(of body: Response.Body) throws {
        let bytes: [UInt8] =
            switch body {
            case .bytes(let bytes): bytes
            case .pattern(let pattern, let range): pattern.bytes(in: range)
            }
        self = try Checksum(.sha256, of: bytes)
    }
}

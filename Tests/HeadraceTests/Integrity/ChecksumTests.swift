import Testing

@testable import Headrace

/// The checksums of `{"hello": "world"}`, the example of RFC 9530.
enum ChecksumFixture {
    static let hexadecimal: [Checksum.Algorithm: String] = [
        .crc32: "86a3ae22",
        .crc32c: "43794720",
        .crc64nvme: "e83f8819df478517",
        .md5: "49dfdd54b01cbcd2d2ab5e9e5ee6b9b9",
        .sha1: "d3b09abe30cfe2edff4ee9e0a141c93bf5b3af87",
        .sha256: "5f8f04f6a3a892aaabbddb6cf273894493773960d4a325b105fee46eef4304f1",
        .sha384: "275f1bc3652dbf1a8dae2ac57a01da2c0f4a5d0ee677ccd10e82bcd5154ec23ae7ea47bd39702e99d33daf771ca26e1a",
        .sha512: "5990cf6959ffed7807680cbca66a23024196a11c765050a1178d40dacbd7f9368f9be01bc008015a7ac8898965bbb04d"
            + "37279a95d54bbd1c049931d65ef2707b",
    ]
    static let base64: [Checksum.Algorithm: String] = [
        .crc32: "hqOuIg==",
        .crc32c: "Q3lHIA==",
        .crc64nvme: "6D+IGd9HhRc=",
        .md5: "Sd/dVLAcvNLSq16eXua5uQ==",
        .sha1: "07CavjDP4u3/TungoUHJO/Wzr4c=",
        .sha256: "X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=",
        .sha384: "J18bw2UtvxqNrirFegHaLA9KXQ7md8zRDoK81RVOwjrn6ke9OXAumdM9r3ccom4a",
        .sha512: "WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==",
    ]

    static func hexadecimal(_ algorithm: Checksum.Algorithm) -> String { hexadecimal[algorithm] ?? "" }
    static func base64(_ algorithm: Checksum.Algorithm) -> String { base64[algorithm] ?? "" }

    static func checksum(_ algorithm: Checksum.Algorithm) -> Checksum? {
        Checksum("\(algorithm):\(hexadecimal(algorithm))")
    }
}

@Suite(.timeLimit(.minutes(4)))
struct ChecksumTests {
    @Test(arguments: Checksum.Algorithm.allCases)
    func `every form is parsed as the same checksum`(_ algorithm: Checksum.Algorithm) throws {
        let hexadecimal = ChecksumFixture.hexadecimal(algorithm)
        let base64 = ChecksumFixture.base64(algorithm)
        let checksum = try Checksum(parsing: "\(algorithm):\(hexadecimal)")
        #expect(checksum.algorithm == algorithm)
        #expect(checksum.hexadecimal == hexadecimal)
        #expect(checksum.bytes.count == algorithm.byteCount)
        #expect(checksum.description == "\(algorithm):\(hexadecimal)")
        let name = algorithm.rawValue.uppercased()
        let dashed = name.replacing("SHA", with: "Sha-")
        for text in [
            "\(algorithm)=\(hexadecimal)", "\(name):\(hexadecimal.uppercased())", "\(dashed)=\(hexadecimal)",
            "\(algorithm)-\(base64)", "\(name)-\(base64)", "\(dashed)-\(base64)?ct=text/plain",
            "\(algorithm)-\(base64.replacing("=", with: ""))",
            "\(algorithm)-\(base64.replacing("/", with: "_").replacing("+", with: "-"))",
        ] { #expect(try Checksum(parsing: text) == checksum, "\(text)") }
    }

    @Test(arguments: [
        "", "sha256", "crc16:0000", "sha224:00", "sha3-256:00", "blake2b:00", " sha256:00", "sha256 :00",
        "5f8f04f6",
        "sha2:00", "\u{0}", "sha\u{301}256:00", "sha256\u{301}:00",
    ])
    func `an unknown algorithm is rejected`(_ text: String) {
        let error = #expect(throws: DownloadError.self) { try Checksum(parsing: text) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("md5, sha1, sha256, sha384, sha512") == true)
        #expect(Checksum(text) == nil)
    }

    @Test(arguments: [
        ("md5:", "32 hexadecimal digits"), ("md5=49dfdd54b01cbcd2d2ab5e9e5ee6b9b", "32 hexadecimal digits"),
        ("md5=49dfdd54b01cbcd2d2ab5e9e5ee6b9b9b9", "32 hexadecimal digits"),
        ("md5=49dfdd54b01cbcd2d2ab5e9e5ee6b9bg", "32 hexadecimal digits"),
        ("md5:49dfdd54b01cbcd2d2ab5e9e5ee6b9b\u{FF19}", "32 hexadecimal digits"),
        ("md5: 49dfdd54b01cbcd2d2ab5e9e5ee6b9b9", "32 hexadecimal digits"),
        ("sha256:49dfdd54b01cbcd2d2ab5e9e5ee6b9b9", "64 hexadecimal digits"), ("md5-", "16 bytes in base64"),
        ("md5-Sd/dVLAcvNLSq16eXua5", "16 bytes in base64"), ("md5-Sd/dVLAcvNLSq16eXua5u", "16 bytes in base64"),
        ("md5-Sd/dVLAcvNLSq16eXua5uQ=", "16 bytes in base64"), ("md5-Sd/dVLAcvNLSq16eXua5uQ===", "16 bytes in base64"),
        ("md5-Sd/dVLAcvNLSq16e=Xua5uQ=", "16 bytes in base64"),
        ("md5-Sd/dVLAcvNLSq16eXua5uQ==\n", "16 bytes in base64"),
        ("md5-49dfdd54b01cbcd2d2ab5e9e5ee6b9b9", "16 bytes in base64"),
    ])
    func `a digest of the wrong length is rejected`(_ text: String, _ expected: String) {
        let error = #expect(throws: DownloadError.self) { try Checksum(parsing: text) }
        #expect(error?.code == .invalidRequest && error?.message.contains(expected) == true)
    }

    @Test func `an error message quotes a limited part of the text`() {
        for text in [String(repeating: "x", count: 1 << 20), "sha1:" + String(repeating: "x", count: 1 << 20)] {
            let error = #expect(throws: DownloadError.self) { try Checksum(parsing: text) }
            #expect((error?.message.utf8.count ?? .max) < 300)
        }
    }

    @Test func `bytes make a checksum if their count is right`() {
        #expect(
            Checksum(.sha1, bytes: [UInt8](repeating: 1, count: 20))?.hexadecimal == String(repeating: "01", count: 20)
        )
        #expect(Checksum(.sha1, bytes: [UInt8](repeating: 1, count: 21)) == nil)
        #expect(Checksum.Algorithm.allCases.sorted() == Checksum.Algorithm.allCases)
    }
}

@Suite(.timeLimit(.minutes(4)))
struct ChecksumListTests {
    private static let a256 = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
    private static let b256 = "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d"
    private static let a5 = "0cc175b9c0f1b6a831c399e269772661"

    private func list(_ text: String) throws -> ChecksumList { try ChecksumList(parsing: text.utf8) }

    /// Output of the tools themselves.
    @Test(arguments: [
        ("\(a256)  plain\n", "plain"), ("\(a256) *plain\n", "plain"), ("\(a256) plain", "plain"),
        ("\(a256.uppercased())  plain\r\n", "plain"), ("  \(a256)  plain\n", "plain"), ("\(a256)\t*plain\n", "plain"),
        ("\(a256)  two words \n", "two words "), ("\(a256)   leading\n", " leading"), ("\(a256) **\n", "*"),
        ("\\\(a256)  new\\nline\\\\x\\r\n", "new\nline\\x\r"), ("\(a256)  not\\nescaped\n", "not\\nescaped"),
        ("SHA256 (plain) = \(a256)\n", "plain"), ("\\SHA256 (new\\nline\\\\x) = \(a256)\n", "new\nline\\x"),
        ("SHA256 (a (1) = b) = \(a256)\n", "a (1) = b"), ("SHA2-256(plain)= \(a256)\n", "plain"),
        ("SHA256(plain)= \(a256)\n", "plain"), ("sha-256 (plain) = \(a256)", "plain"),
        ("\u{FEFF}\(a256)  plain\n", "plain"), ("\(a256)  ./dir/gr\u{fc}n\n", "./dir/gr\u{fc}n"),
        ("\(a256)\n", nil), ("\(a256)", nil), ("\(a256) \n", nil),
    ])
    func `a line is parsed as the command-line tools parse it`(_ line: String, _ name: String?) throws {
        let list = try list(line)
        #expect(list.entries.map(\.fileName) == [name])
        #expect(list.entries.map(\.checksum) == [try Checksum(parsing: "sha256:\(Self.a256)")])
        #expect(list.malformedLineCount == 0)
    }

    @Test(arguments: [
        "", "\n\n", "# nothing", "hello", "\(a256)x  plain", "\(a256.dropLast())  plain", "\(a256)plain", "\(a256)x",
        "\\\(a256)  bad\\x", "\\\(a256)  bad\\", "\(a256)  nul\u{0}", "\(a256)  ", "\(a256) *",
        "SHA256 (plain) \(a256)",
        "SHA256 (plain) = \(a5)", "SHA256 () = \(a256)", "SHA3-256 (plain) = \(a256)", "SHA256 plain = \(a256)",
        ")SHA256( = \(a256)", "\u{0}", "SHA256 (plain) = ",
    ])
    func `a list without checksums is rejected`(_ text: String) {
        let error = #expect(throws: DownloadError.self) { try list(text) }
        #expect(error?.code == .unexpectedContent)
    }

    @Test func `other lines around the checksums are skipped and counted`() throws {
        let text = """
            -----BEGIN PGP SIGNED MESSAGE-----
            Hash: SHA256

            # a comment
            \(Self.a256) *disk.iso
            BLAKE2b (disk.iso) = \(Self.b256)
            \(Self.b256) *other.iso
            -----BEGIN PGP SIGNATURE-----
            -----END PGP SIGNATURE-----
            """
        let list = try list(text)
        #expect(list.entries.map(\.fileName) == ["disk.iso", "other.iso"])
        #expect(list.malformedLineCount == 5)
        #expect(list.checksum(forFileNamed: "disk.iso")?.hexadecimal == Self.a256)
    }

    @Test func `a file's strongest checksum is found by its name`() throws {
        let both = try list("\(Self.a5)  x\n\(Self.a256)  x\n\(Self.b256)  dir/x\n\(Self.b256)\n")
        #expect(both.checksum(forFileNamed: "x")?.hexadecimal == Self.a256)
        #expect(both.checksum(forFileNamed: "dir/x")?.hexadecimal == Self.b256)
        #expect(both.checksum(forFileNamed: "y")?.hexadecimal == Self.b256)
        #expect(try list("\(Self.a256)  ./dir/x\n").checksum(forFileNamed: "x")?.hexadecimal == Self.a256)
        let below = try list("\(Self.a256)  ./x\n\(Self.b256)  y/x\n")
        #expect(below.checksum(forFileNamed: "x")?.hexadecimal == Self.a256)
        #expect(try list("\(Self.a256)  dir/x\n").checksum(forFileNamed: "./dir/x")?.hexadecimal == Self.a256)
        #expect(try list("\(Self.a256)  x\n").checksum(forFileNamed: "y") == nil)
        #expect(try list("\(Self.a256)  x\n").checksum(forFileNamed: "") == nil)
    }

    /// Regression: a line for the list's own folder matched a file of that name in any folder.
    @Test(arguments: ["/tmp/b/x", "b//x", "../t/b/x", "./b/./x", "a/../b/x"])
    func `the line that shares the longest path suffix with the file applies`(_ path: String) throws {
        let both = try list("\(Self.a256)  ./x\n\(Self.b256)  ./b/x\n")
        #expect(both.checksum(forFileNamed: path)?.hexadecimal == Self.b256)
        #expect(both.checksum(forFileNamed: "/tmp/c/x")?.hexadecimal == Self.a256)
        let elsewhere = try list("\(Self.a256)  c/x\n\(Self.b256)  d/x\n")
        #expect(elsewhere.checksum(forFileNamed: path) == nil)
    }

    /// The names are equal as strings: composed and decomposed, or with a mark that combines with the preceding
    /// character.
    @Test func `names with different bytes belong to different files`() throws {
        let (composed, decomposed) = ("gr\u{fc}n", "gru\u{308}n")
        let both = try list("\(Self.a256)  \(composed)\n\(Self.b256)  ./\(decomposed)\n")
        #expect(both.checksum(forFileNamed: composed)?.hexadecimal == Self.a256)
        #expect(both.checksum(forFileNamed: decomposed)?.hexadecimal == Self.b256)
        let below = try list("\(Self.a256)  d/\(composed)\n\(Self.b256)  d/\(decomposed)\n")
        #expect(below.checksum(forFileNamed: composed)?.hexadecimal == Self.a256)
        #expect(below.checksum(forFileNamed: decomposed)?.hexadecimal == Self.b256)
        for line in ["d/\u{301}x", "./\u{301}x"] {
            #expect(try list("\(Self.a256)  \(line)\n").checksum(forFileNamed: "\u{301}x")?.hexadecimal == Self.a256)
        }
    }

    @Test func `contradictory lines yield no checksum`() throws {
        #expect(try list("\(Self.a256)  x\n\(Self.b256) *x\n").checksum(forFileNamed: "x") == nil)
        #expect(try list("\(Self.a256)  x\n\(Self.a256) *x\n").checksum(forFileNamed: "x") != nil)
        #expect(try list("\(Self.a256)  a/x\n\(Self.b256)  b/x\n").checksum(forFileNamed: "x") == nil)
        #expect(try list("\(Self.a256)\n\(Self.b256)\n").checksum(forFileNamed: "x") == nil)
    }

    @Test func `a list that is too long is rejected unread`() {
        #expect(throws: DownloadError.self) { try ChecksumList(parsing: [UInt8](repeating: 10, count: 5 << 20)) }
    }
}

import Headrace
import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct ExpectationsTests {
    private static let (one, two) = (String(repeating: "0a", count: 16), String(repeating: "0b", count: 20))

    private func files(_ line: [String], list: String? = nil, document: String? = nil) throws -> [Expectations.File] {
        let sums = try list.map { try ChecksumList(parsing: $0.utf8) }
        let text = document.map { "<metalink xmlns='urn:ietf:params:xml:ns:metalink'>\($0)</metalink>" }
        let documents = try text.map { try Metalink(parsing: Array($0.utf8)).files } ?? []
        let given = list == nil ? [] : ["--checksum-file", "SUMS"]
        return try Expectations(try GetOptions(ParsedArguments(given + line)), sums, documents).files
    }

    private static let document = """
        <file name='m'><hash type='md5'>\(one)</hash><pieces length='3' type='md5'><hash>\(one)</hash></pieces></file>
        <file name='p'><pieces length='3' type='md5'><hash>\(one)</hash></pieces></file><file name='none'/>
        """

    @Test
    func `without a file, all listed files are verified, once and in order`() throws {
        let list = "\(Self.one)  b\n\(Self.two)  b\n\(Self.one)  dir/a\n\(Self.one)\n"
        let files = try files([], list: list)
        #expect(files.map(\.path) == ["b", "dir/a"])
        #expect(files.map { $0.checksum?.algorithm } == [.sha1, .md5])
    }

    @Test
    func `names that are equal as text but differ in bytes are two files`() throws {
        let names = ["gr\u{fc}n", "gru\u{308}n"]
        let list = "\(Self.one)  \(names[0])\n\(Self.two)  \(names[1])\n"
        let files = try files([], list: list)
        #expect(files.map { Array($0.path.utf8) } == names.map { Array($0.utf8) })
        #expect(files.map { $0.checksum?.hexadecimal } == [Self.one, Self.two])
        let document = "<file name='\(names[1])'><hash type='md5'>\(Self.one)</hash></file>"
        let beside = try self.files([], list: "\(Self.two)  \(names[0])\n", document: document)
        #expect(beside.map { $0.checksum?.hexadecimal } == [Self.two, Self.one])
    }

    @Test
    func `a given file is found by its name`() throws {
        let files = try files(["/x/b"], list: "\(Self.one)  b\n\(Self.two)  a\n", document: Self.document)
        #expect(files.map(\.path) == ["/x/b"])
        #expect(files[0].checksum?.hexadecimal == Self.one && files[0].pieces == nil)
    }

    @Test(arguments: ["dir/b", "./dir/b", "././dir/b"])
    func `a line with exactly the given path is preferred to lines with its name`(_ path: String) throws {
        for list in ["\(Self.one)  dir/b\n\(Self.two)  other/b\n", "\(Self.two)  b\n\(Self.one) *./dir/b\n"] {
            let files = try files([path], list: list)
            #expect(files.map(\.path) == [path] && files[0].checksum?.hexadecimal == Self.one)
        }
    }

    @Test
    func `a checksum file applies to a path in addition to a document`() throws {
        let files = try files(["va/m"], list: "\(Self.two)  va/m\n\(Self.one)  vb/m\n", document: Self.document)
        #expect(files[0].checksum?.hexadecimal == Self.two && files[0].pieces?.length == 3)
        // Without a given file, the document's file is in the current directory.
        let all = try self.files([], list: "\(Self.two)  va/m\n", document: String(Self.document.prefix { $0 != "\n" }))
        #expect(all.map(\.path) == ["va/m", "m"])
        #expect(all.map { $0.checksum?.hexadecimal } == [Self.two, Self.one])
    }

    @Test
    func `a document has checksums of the whole and of the pieces`() throws {
        let files = try files(["m", "p"], document: Self.document)
        #expect(files.map { $0.checksum?.algorithm } == [.md5, nil])
        #expect(files.map { $0.pieces?.length } == [3, 3])
        #expect(
            try self.files(["m"], list: "\(Self.two)  m\n", document: Self.document)[0].checksum?.algorithm == .sha1
        )
    }

    @Test(
        arguments: [
            (["x"], nil, document, "--metalink: no file named x is described"),
            (["none"], nil, document, "--metalink: none has no checksum"),
            (["m"], "\(two.prefix(32))  m\n", document, "m: two different md5 checksums were given"),
            (["d/x"], "\(one)  d/y\n", nil, "--checksum-file: SUMS has no checksum, or conflicting ones, for d/x"),
            ([], one, nil, "no file given, and the checksum file lists none"),
            (["x"], "\(one)  y\n", nil, "--checksum-file: SUMS has no checksum, or conflicting ones, for x"),
            (
                [], "\(one)  y\n\(two)  z\n\(one.reversed().map(String.init).joined())  y\n", nil,
                "--checksum-file: SUMS has no checksum, or conflicting ones, for y"
            ),
        ] as [([String], String?, String?, String)]
    )
    func `a file without a checksum is rejected`(_ line: [String], list: String?, document: String?, message: String) {
        #expect(throws: UsageError(message)) { try files(line, list: list, document: document) }
    }
}

extension Expectations.File {
    /// The checksum that is compared.
    fileprivate var checksum: Checksum? { verification.checksums.strongest }
    fileprivate var pieces: PieceHashes? { verification.pieceHashes }
}

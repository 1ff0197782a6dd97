import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Verification of existing files against several expected properties.
@Suite(.timeLimit(.minutes(4)))
struct FileVerificationTests {
    private static let contents = Array("abcdefgh".utf8)

    private static func sum(_ bytes: [UInt8], _ algorithm: Checksum.Algorithm = .sha256) throws -> Checksum {
        try Checksum(algorithm, of: bytes)
    }

    /// The hashes of pieces of three bytes of the right contents.
    private static func pieces(fileSize: Int64? = 8) throws -> PieceHashes {
        let pieces = [contents[..<3], contents[3..<6], contents[6...]]
        return try #require(
            PieceHashes(length: 3, checksums: try pieces.map { try sum(Array($0)) }, fileSize: fileSize)
        )
    }

    private func outcome(_ verification: FileVerification, of bytes: [UInt8]) async throws -> FileVerification.Outcome {
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "x")
            try Data(bytes).write(to: file)
            return try await verification.verify(file)
        }
    }

    @Test func `a right file is verified by the strongest expected property`() async throws {
        let (sha, md5) = (try Self.sum(Self.contents), try Self.sum(Self.contents, .md5))
        let pieces = try Self.pieces()
        for (verification, proof) in [
            (FileVerification(checksums: [md5, sha]), .checksum(sha)),
            (FileVerification(checksums: [sha], pieceHashes: pieces, expectedSize: 8), .checksum(sha)),
            (FileVerification(pieceHashes: pieces), .pieces(3)),
            (FileVerification(pieceHashes: pieces, expectedSize: 8), .pieces(3)),
            (FileVerification(expectedSize: 8), .size(8)),
        ] as [(FileVerification, FileVerification.Proof)] {
            let outcome = try await outcome(verification, of: Self.contents)
            #expect(outcome == .verified(proof))
        }
    }

    @Test func `a wrong file is reported with its first difference and its damaged ranges`() async throws {
        let (right, pieces) = (try Self.sum(Self.contents), try Self.pieces())
        let damaged = Array("abcXefgh".utf8)
        let (wrong, short) = (try Self.sum(damaged), Array(Self.contents.dropLast()))
        for (verification, bytes, reason, ranges) in [
            (FileVerification(checksums: [right]), damaged, .checksum(found: wrong, expected: right), nil),
            (
                FileVerification(checksums: [right], pieceHashes: pieces), damaged,
                .checksum(found: wrong, expected: right), [3..<6]
            ),
            (FileVerification(pieceHashes: pieces), damaged, .pieces, [3..<6]),
            (FileVerification(expectedSize: 8), short, .size(found: 7, expected: 8), nil),
            (
                FileVerification(checksums: [right], pieceHashes: pieces, expectedSize: 8), short,
                .size(found: 7, expected: 8), [6..<8]
            ),
            // The pieces contradict the checksum and the size.
            (
                FileVerification(checksums: [wrong], pieceHashes: pieces), Self.contents,
                .checksum(found: right, expected: wrong), []
            ),
            // Regression: a file of another size was right if its pieces matched.
            (
                FileVerification(pieceHashes: try Self.pieces(fileSize: nil), expectedSize: 9), Self.contents,
                .size(found: 8, expected: 9), []
            ),
        ] as [(FileVerification, [UInt8], FileVerification.Difference.Reason, [Range<Int64>]?)] {
            let outcome = try await outcome(verification, of: bytes)
            #expect(outcome == .different(FileVerification.Difference(reason: reason, damagedRanges: ranges)))
        }
    }

    @Test func `an entry of a Metalink document is a verification`() throws {
        var file = Metalink.File(name: "x")
        (file.size, file.checksums, file.pieces) = (8, [try Self.sum(Self.contents)], try Self.pieces())
        let verification = FileVerification(file)
        #expect(verification.expectedSize == 8)
        #expect(verification.checksums == file.checksums)
        #expect(verification.pieceHashes == file.pieces)
    }

    @Test func `a verification without expectations or with contradictory ones is invalid`() async throws {
        let (one, other) = (try Self.sum([1]), try Self.sum([2]))
        for verification in [FileVerification(), FileVerification(checksums: [one, other])] {
            let error = await #expect(throws: DownloadError.self) { try await outcome(verification, of: [1]) }
            #expect(error?.code == .invalidRequest)
        }
    }

    @Test func `a missing file and a directory are errors`() async throws {
        try await withTemporaryDirectory { folder in
            for file in [folder, folder.appending(path: "none")] {
                let error = await #expect(throws: DownloadError.self) {
                    try await FileVerification(expectedSize: 1).verify(file)
                }
                #expect(error?.code == .fileSystem)
            }
        }
    }

    /// Regression: the local file with the same path was read.
    @Test(arguments: ["https://h/etc/passwd", "file://h/etc/passwd"])
    func `a URL of another host is rejected`(_ url: String) async throws {
        let error = await #expect(throws: DownloadError.self) {
            try await FileVerification(expectedSize: 1).verify(try #require(URL(string: url)))
        }
        #expect(error?.code == .invalidRequest)
    }

    @Test func `the progress is reported, and a cancelled verification throws`() async throws {
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "x")
            let bytes = [UInt8](repeating: 1, count: 3 << 19)
            try Data(bytes).write(to: file)
            let verification = FileVerification(checksums: [try Self.sum(bytes)])
            let seen = Locked<[Int64]>([])
            _ = try await verification.verify(file) { bytes, size in
                if size == 3 << 19 { seen.withLock { $0.append(bytes) } }
            }
            #expect(seen.withLock { $0 } == [1 << 19, 2 << 19, 3 << 19])
            await withTaskGroup(of: Void.self) { group in
                group.cancelAll()
                group.addTask {
                    await #expect(throws: CancellationError.self) { try await verification.verify(file) }
                }
            }
        }
    }
}

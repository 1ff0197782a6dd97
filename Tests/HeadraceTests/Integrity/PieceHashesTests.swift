import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct PieceHashesTests {
    private func checksums(_ numbers: some Sequence<UInt8>) -> [Checksum] {
        numbers.compactMap { Checksum(.md5, bytes: repeatElement($0, count: 16)) }
    }

    @Test func `pieces have a length and one hash algorithm`() throws {
        let other = try #require(ChecksumFixture.checksum(.sha1))
        #expect(PieceHashes(length: 1, checksums: []) == nil)
        #expect(PieceHashes(length: 0, checksums: checksums([1])) == nil)
        #expect(PieceHashes(length: 1, checksums: checksums([1]) + [other]) == nil)
        #expect(PieceHashes(length: 1, checksums: checksums([1, 2]))?.algorithm == .md5)
        #expect(PieceHashes(length: 2, checksums: checksums([1, 2]), fileSize: 2) == nil)
        #expect(PieceHashes(length: 2, checksums: checksums([1, 2]), fileSize: 3)?.fit(fileSize: 4) == false)
    }

    @Test(arguments: [
        (10, 1, 1, true), (10, 1, 10, true), (10, 1, 11, false), (10, 1, 0, false), (10, 3, 20, false),
        (10, 3, 21, true), (10, 3, 30, true), (10, 3, 31, false), (Int64.max, 3, .max, false),
    ])
    func `a number of pieces fits only certain file sizes`(
        _ length: Int64,
        _ count: Int,
        _ size: Int64,
        _ fits: Bool
    ) throws {
        let pieces = try #require(PieceHashes(length: length, checksums: checksums((0..<count).map { UInt8($0) })))
        #expect(pieces.fit(fileSize: size) == fits)
    }

    @Test(
        arguments: [
            ("abcabcab", []), ("abcabcaX", [6..<8]), ("XbcabcaX", [0..<3, 6..<8]), ("abcabc", [6..<7]), ("", [0..<7]),
            ("abcabcabc", [6..<9]), ("abcabcabcabc", [6..<12]),
        ] as [(String, [Range<Int64>])]
    )
    func `an existing file is verified piece by piece`(_ text: String, wrong: [Range<Int64>]) async throws {
        let sums = try ["abc", "abc", "ab"].map { try Checksum(.md5, of: Array($0.utf8)) }
        let pieces = try #require(PieceHashes(length: 3, checksums: sums))
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "x")
            try Data(text.utf8).write(to: file)
            #expect(try await pieces.wrongRanges(ofFileAt: file) == wrong)
            await #expect(throws: DownloadError.self) {
                try await pieces.wrongRanges(ofFileAt: folder.appending(path: "gone"))
            }
        }
    }

    @Test(
        arguments: [
            ("abcabcab", []), ("abcabcabX", [8..<9]), ("abcabcabXXXX", [8..<12]), ("abcabcaX", [6..<8]),
            ("abcabc", [6..<8]), ("", [0..<8]),
        ] as [(String, [Range<Int64>])]
    )
    func `with the file size, bytes after the end are reported as wrong`(
        _ text: String,
        wrong: [Range<Int64>]
    ) async throws {
        let sums = try ["abc", "abc", "ab"].map { try Checksum(.md5, of: Array($0.utf8)) }
        let pieces = try #require(PieceHashes(length: 3, checksums: sums, fileSize: 8))
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "x")
            try Data(text.utf8).write(to: file)
            #expect(try await pieces.wrongRanges(ofFileAt: file) == wrong)
        }
    }

    @Test(arguments: [nil, 5] as [Int64?])
    func `an empty file matches the checksum of no bytes, unless the size is known`(_ size: Int64?) async throws {
        let pieces = try #require(PieceHashes(length: 5, checksums: [Checksum(.md5, of: [])], fileSize: size))
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "x")
            try Data().write(to: file)
            #expect(try await pieces.wrongRanges(ofFileAt: file) == (size == nil ? [] : [0..<5]))
        }
    }

    @Test func `pieces cover the file exactly, and those that differ are wrong`() throws {
        var random = SeededRandom(seed: 9)
        for _ in 0..<200 {
            let count = Int.random(in: 1...20, using: &random)
            let length = Int64.random(in: 1...1000, using: &random)
            let size = Int64(count - 1) * length + Int64.random(in: 1...length, using: &random)
            let expected = checksums((0..<count).map { UInt8($0) })
            let pieces = try #require(PieceHashes(length: length, checksums: expected))
            let ranges = pieces.ranges(fileSize: size)
            #expect(ByteRangeSet(ranges).ranges == [0..<size])
            #expect(ranges.count == count && ranges.allSatisfy { !$0.isEmpty })
            let isBad = (0..<count).map { _ in Bool.random(using: &random) }
            let found = zip(isBad, expected).map { $0 ? checksums([255])[0] : $1 }
            let bad = pieces.badRanges(found: found, fileSize: size)
            for (range, isBad) in zip(ranges, isBad) {
                #expect(bad.contains(range) == isBad)
                #expect(isBad || bad.intersection(ByteRangeSet([range])).isEmpty)
            }
        }
    }
}

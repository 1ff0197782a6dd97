import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The digests of a file's pieces, computed as they arrive.
@Suite(.timeLimit(.minutes(4)))
struct ReceivedPiecesTests {
    private static let length = ReceivedPieces.leastLength

    @Test(arguments: [length + 1, 2 * length, 1_300_000, 1 << 30, (1 << 30) + 1, 1 << 40, .max])
    func `pieces cover a file of any size exactly and are limited in number`(_ fileSize: Int64) throws {
        let pieces = try #require(ReceivedPieces(fileSize: fileSize))
        #expect((2...ReceivedPieces.maxCount).contains(pieces.digests.count))
        #expect(pieces.length >= Self.length)
        var end: Int64 = 0
        for range in pieces.digests.indices.map(pieces.range) {
            #expect(range.lowerBound == end && !range.isEmpty)
            end = range.upperBound
        }
        #expect(end == fileSize)
        #expect(pieces.known.isEmpty)
    }

    @Test(arguments: [0, 1, length])
    func `a file of one piece has no piece digests`(_ fileSize: Int64) {
        #expect(ReceivedPieces(fileSize: fileSize) == nil)
    }

    /// Chunks of any size, some of them at another position.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a piece has a digest if one connection received all of it in order`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let bytes = Pattern(seed: seed).bytes(in: 0..<1_000_000)
        var pieces = try #require(ReceivedPieces(fileSize: Int64(bytes.count)))
        var digester = PieceDigester(pieces)
        var (expected, position, begun) = (Set<Int>(), 0, 0)
        for _ in 0..<40 {
            if Int.random(in: 0..<8, using: &random) == 0 {
                position =
                    [0, Int(Self.length), Int.random(in: 0..<bytes.count, using: &random)]
                    .randomElement(using: &random) ?? 0
                begun = position
            }
            let end = min(bytes.count, position + Int.random(in: 1...200_000, using: &random))
            let whole = bytes[position..<end].withUnsafeBytes { digester.update($0, at: Int64(position)) }
            pieces.keep(whole)
            for index in pieces.digests.indices where pieces.range(index).lowerBound >= Int64(begun) {
                let piece = pieces.range(index)
                if (Int64(position)..<Int64(end)).contains(piece.upperBound - 1) { expected.insert(index) }
            }
            if end == bytes.count { (position, begun) = (0, 0) } else { position = end }
        }
        #expect(Set(pieces.known.map(\.index)) == expected)
        for (index, value) in pieces.known {
            let piece = pieces.range(index)
            let part = Array(bytes[Int(piece.lowerBound)..<Int(piece.upperBound)])
            let checksum = try Checksum(ReceivedPieces.algorithm, of: part)
            #expect(value == ReceivedPieces.digest(checksum))
        }
    }

    @Test func `a piece with discarded bytes loses its digest`() throws {
        var pieces = try #require(ReceivedPieces(fileSize: 4 * Self.length))
        pieces.keep([(0, 1), (1, 2), (3, 4)])
        pieces.forget(allBut: ByteRangeSet([0..<2 * Self.length - 1, 3 * Self.length..<4 * Self.length]))
        #expect(pieces.digests == [1, 0, 0, 4])
    }

    @Test func `a resume record saves the digests, and digests of another file size are ignored`() throws {
        let url = try #require(URL(string: "http://h/a"))
        let fileSize = 3 * Self.length
        func record(_ total: Int64, _ pieces: ReceivedPieces?) throws -> ControlRecord {
            var record = ControlRecord(
                url: url,
                fileName: "a",
                representation: RepresentationMetadata(),
                totalBytes: total,
                bootID: "boot",
                file: .init(device: 1, inode: 2)
            )
            record.pieces = pieces
            return try ControlRecord(decoding: try #require(record.encoded()))
        }
        var pieces = try #require(ReceivedPieces(fileSize: fileSize))
        pieces.keep([(0, .max), (2, 1)])
        #expect(try record(fileSize, pieces).pieces == pieces)
        #expect(try record(fileSize, nil).pieces == nil)
        // A record of another release or a damaged one may contain this.
        #expect(try record(2 * fileSize, pieces).pieces == nil)
        #expect(try record(1, pieces).pieces == nil)
    }

    @Test func `the digests of the largest file fit in a resume record`() throws {
        var pieces = try #require(ReceivedPieces(fileSize: .max))
        pieces.keep(pieces.digests.indices.map { ($0, .max) })
        var record = ControlRecord(
            url: try #require(URL(string: "http://h/a")),
            fileName: "a",
            representation: RepresentationMetadata(),
            totalBytes: .max,
            bootID: "boot",
            file: .init(device: 1, inode: 2)
        )
        record.pieces = pieces
        #expect(try #require(record.encoded()).count < 32 << 10)
    }
}

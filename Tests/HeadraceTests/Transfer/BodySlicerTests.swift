import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct BodySlicerTests {
    private func body(offset: Int64, skip: Int64 = 0, overlap: Int64 = 0, length: Int64?) -> BodyPlacement {
        BodyPlacement(
            offset: offset,
            skippedBytes: skip,
            overlapBytes: overlap,
            length: length,
            framing: .unverified,
            representation: RepresentationMetadata(),
            proof: nil
        )
    }

    @Test func `a body without a length is written to its end`() {
        var slicer = BodySlicer(body(offset: 0, length: nil))
        #expect(slicer.slice(10) == BodySlicer.Piece(compared: 0..<0, comparedOffset: 0, written: 0..<10))
        #expect(!slicer.isDone)
    }

    @Test func `an empty body is complete before its first byte`() {
        #expect(BodySlicer(body(offset: 0, length: 0)).isDone)
        #expect(!BodySlicer(body(offset: 9, overlap: 1, length: 0)).isDone)
    }

    /// However the body is split into chunks, each byte is written to its one position.
    @Test(arguments: 0..<200 as Range<UInt64>)
    func `R05 R35 L04 chunks of any size give the same bytes`(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let (skip, overlap) = (Int64.random(in: 0...20, using: &random), Int64.random(in: 0...20, using: &random))
        let length = Int64.random(in: 0...20, using: &random)
        let sent = Int.random(in: 0...80, using: &random)
        var slicer = BodySlicer(body(offset: 100, skip: skip, overlap: overlap, length: length))
        var (compared, written, start): ([Int], [Int], Int) = ([], [], 0)
        while start < sent, !slicer.isDone {
            let count = Int.random(in: 1...min(30, sent - start), using: &random)
            let piece = slicer.slice(count)
            if !piece.compared.isEmpty { #expect(piece.comparedOffset == 100 - overlap + Int64(compared.count)) }
            compared += piece.compared.map { $0 + start }
            written += piece.written.map { $0 + start }
            start += count
        }
        let first = Int(skip)
        #expect(compared == Array(0..<sent).dropFirst(first).prefix(Int(overlap)).map(\.self))
        #expect(written == Array(0..<sent).dropFirst(first + Int(overlap)).prefix(Int(length)).map(\.self))
        #expect(slicer.hasCompared == (compared.count == Int(overlap)))
        #expect(slicer.isDone == (compared.count == Int(overlap) && written.count == Int(length)))
    }
}

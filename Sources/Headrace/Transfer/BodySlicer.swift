/// Divides the pieces of a body into what is dropped, what is compared with held bytes, and what is written.
///
/// Pure. They follow each other in this order, and what comes after them is dropped too.
struct BodySlicer: Sendable {
    /// What of one piece to compare and to write.
    struct Piece: Sendable, Hashable {
        var compared: Range<Int>
        /// Where in the file the compared bytes are.
        var comparedOffset: Int64
        var written: Range<Int>
    }

    private let offset: Int64
    private var skip: Int64
    private var overlap: Int64
    private var rest: Int64

    init(_ body: BodyPlacement) {
        offset = body.offset
        skip = body.skippedBytes
        overlap = body.overlapBytes
        rest = body.length ?? .max
    }

    /// True once no further byte is of use.
    var isDone: Bool { rest == 0 && overlap == 0 }

    /// True while all that comes is to be written.
    var isWriting: Bool { skip == 0 && overlap == 0 && rest > 0 }

    /// True once all that came again was handed out to be compared.
    var hasCompared: Bool { overlap == 0 }

    mutating func slice(_ count: Int) -> Piece {
        let start = Self.take(count, from: &skip)
        let comparedOffset = offset - overlap
        let middle = start + Self.take(count - start, from: &overlap)
        let end = middle + Self.take(count - middle, from: &rest)
        return Piece(compared: start..<middle, comparedOffset: comparedOffset, written: middle..<end)
    }

    private static func take(_ count: Int, from budget: inout Int64) -> Int {
        let taken = min(Int64(count), budget)
        budget -= taken
        return Int(taken)
    }
}

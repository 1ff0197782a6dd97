/// Divides the chunks of a body into bytes to skip, to compare with received bytes, and to write.
///
/// Performs no I/O. A body starts with the bytes to skip, then come the bytes to compare and the bytes to write. Any
/// bytes after the ones to write are skipped too.
struct BodySlicer: Sendable {
    /// The bytes of one chunk to compare and to write.
    struct Piece: Sendable, Hashable {
        var compared: Range<Int>
        /// The position of the compared bytes in the file.
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

    /// Whether no further bytes of the body are needed.
    var isDone: Bool { rest == 0 && overlap == 0 }

    /// Whether no bytes to skip or compare remain, but bytes to write do.
    var isWriting: Bool { skip == 0 && overlap == 0 && rest > 0 }

    /// Whether ``slice(_:)`` has returned all bytes to compare.
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

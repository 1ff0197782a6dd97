/// Digests of a file's pieces as they came, by which bytes are found that changed on the disk.
///
/// Pure. Kept of the pieces that one connection brought as a whole. They find accidents, and prove nothing of the file.
struct ReceivedPieces: Sendable, Hashable {
    /// The number of a piece, and the digest of it.
    typealias Digest = (index: Int, value: UInt64)

    static let algorithm = Checksum.Algorithm.sha1
    /// The most pieces of a file, whatever its size.
    static let maxCount = 1024
    /// The least that is worth to be fetched alone.
    static let leastLength: Int64 = 256 << 10

    let fileSize: Int64
    /// The bytes of each piece but the last.
    let length: Int64
    /// One for each piece; zero where there is none.
    private(set) var digests: [UInt64]

    /// Begins without digests; nil where there would be a single piece.
    init?(fileSize: Int64) {
        guard fileSize > Self.leastLength else { return nil }
        self.fileSize = fileSize
        length = max(Self.leastLength, (fileSize - 1) / Int64(Self.maxCount) + 1)
        digests = Array(repeating: 0, count: Int((fileSize - 1) / length + 1))
    }

    /// Takes what a record has; nil where this would not have written it.
    init?(fileSize: Int64, digests: [UInt64]) {
        self.init(fileSize: fileSize)
        guard digests.count == self.digests.count else { return nil }
        self.digests = digests
    }

    /// The pieces of which there is a digest.
    var known: [Digest] {
        digests.indices.filter { digests[$0] != 0 }.map { ($0, digests[$0]) }
    }

    /// The bytes of a piece.
    func range(_ index: Int) -> Range<Int64> {
        let start = Int64(index) * length
        return start..<start + min(length, fileSize - start)
    }

    mutating func keep(_ new: [Digest]) {
        for digest in new { digests[digest.index] = digest.value }
    }

    /// Forgets the pieces that are not all there any more.
    mutating func forget(allBut held: ByteRangeSet) {
        for index in digests.indices where digests[index] != 0 && !held.contains(range(index)) { digests[index] = 0 }
    }

    /// What is kept of a piece's checksum: enough of it to tell two from each other by accident, and never zero.
    static func digest(_ checksum: Checksum) -> UInt64 {
        max(1, checksum.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }
}

/// The digest of the piece that a connection is bringing.
struct PieceDigester: Sendable {
    private let pieces: ReceivedPieces
    /// Nil where the present piece did not begin with its first byte.
    private var digester: Digester?
    /// The place of the next byte.
    private var position: Int64 = 0

    init(_ pieces: ReceivedPieces) {
        self.pieces = pieces
    }

    /// Bytes have come for a place in the file; returns the pieces that are whole with them.
    mutating func update(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> [ReceivedPieces.Digest] {
        if offset != position { digester = nil }
        position = offset
        var (rest, whole) = (bytes, [ReceivedPieces.Digest]())
        while !rest.isEmpty, position < pieces.fileSize {
            let index = Int(position / pieces.length)
            let piece = pieces.range(index)
            // Where the system does not compute it, none is kept.
            if position == piece.lowerBound { digester = try? Digester(ReceivedPieces.algorithm) }
            let count = Int(min(piece.upperBound - position, Int64(rest.count)))
            digester?.update(UnsafeRawBufferPointer(rebasing: rest[..<count]))
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            position += Int64(count)
            guard position == piece.upperBound, let checksum = try? digester.take()?.finalize() else { continue }
            whole.append((index, ReceivedPieces.digest(checksum)))
        }
        return whole
    }
}

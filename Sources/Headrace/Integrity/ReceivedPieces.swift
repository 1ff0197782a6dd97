/// Digests of pieces of a file, computed as the bytes arrive; they later reveal bytes that have changed on disk.
///
/// Only pieces received as a whole by one connection have a digest. Digests detect accidental changes only.
struct ReceivedPieces: Sendable, Hashable {
    /// The index of a piece and its digest.
    typealias Digest = (index: Int, value: UInt64)

    static let algorithm = Checksum.Algorithm.sha1
    /// The maximum number of pieces, whatever the size of the file.
    static let maxCount = 1024
    /// The minimum length of a piece in bytes: shorter pieces are not worth a request of their own.
    static let leastLength: Int64 = 256 << 10

    let fileSize: Int64
    /// The length in bytes of each piece except the last.
    let length: Int64
    /// The digest of each piece, by index; 0 if the piece has none.
    private(set) var digests: [UInt64]

    /// Creates an instance without digests; returns `nil` if the file would have a single piece.
    init?(fileSize: Int64) {
        guard fileSize > Self.leastLength else { return nil }
        self.fileSize = fileSize
        length = max(Self.leastLength, (fileSize - 1) / Int64(Self.maxCount) + 1)
        digests = Array(repeating: 0, count: Int((fileSize - 1) / length + 1))
    }

    /// Restores the digests from a resume record; returns `nil` if their number does not match the file size, or if the
    /// file would have a single piece.
    init?(fileSize: Int64, digests: [UInt64]) {
        self.init(fileSize: fileSize)
        guard digests.count == self.digests.count else { return nil }
        self.digests = digests
    }

    /// The pieces that have a digest.
    var known: [Digest] {
        digests.indices.filter { digests[$0] != 0 }.map { ($0, digests[$0]) }
    }

    /// Returns the byte range of the piece at an index.
    func range(_ index: Int) -> Range<Int64> {
        let start = Int64(index) * length
        return start..<start + min(length, fileSize - start)
    }

    mutating func keep(_ new: [Digest]) {
        for digest in new { digests[digest.index] = digest.value }
    }

    /// Discards the digests of pieces that are not completely within the received ranges.
    mutating func forget(allBut held: ByteRangeSet) {
        for index in digests.indices where digests[index] != 0 && !held.contains(range(index)) { digests[index] = 0 }
    }

    /// Returns the digest to store: the first 64 bits of a checksum, which are enough to detect accidental changes.
    ///
    /// Never returns 0, because 0 means that the piece has no digest.
    static func digest(_ checksum: Checksum) -> UInt64 {
        max(1, checksum.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }
}

/// Computes the digests of pieces from the bytes that one connection receives.
struct PieceDigester: Sendable {
    private let pieces: ReceivedPieces
    /// Computes the digest of the current piece; `nil` if the piece was not received from its first byte, or if the
    /// system does not support the hash function.
    private var digester: Digester?
    /// The position in the file after the last added byte; bytes at another position do not continue the current piece.
    private var position: Int64 = 0

    init(_ pieces: ReceivedPieces) {
        self.pieces = pieces
    }

    /// Adds bytes at a position in the file, and returns the digests of the pieces that these bytes complete.
    mutating func update(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> [ReceivedPieces.Digest] {
        if offset != position { digester = nil }
        position = offset
        var (rest, whole) = (bytes, [ReceivedPieces.Digest]())
        while !rest.isEmpty, position < pieces.fileSize {
            let index = Int(position / pieces.length)
            let piece = pieces.range(index)
            // If the system does not support the hash function, no digest is stored.
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

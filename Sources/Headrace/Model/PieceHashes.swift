/// The checksums of a file's pieces, as a ``Metalink`` document has them (RFC 5854, section 4.1.3).
///
/// Where the whole is wrong, they tell which bytes are, so that only those are fetched again.
public struct PieceHashes: Sendable, Hashable {
    /// The bytes of each piece but the last.
    public let length: Int64
    /// The hash function of all pieces.
    public let algorithm: Checksum.Algorithm
    /// The bytes of all checksums, one after the other: a large file has thousands, which as arrays take four times as much.
    let digests: [UInt8]
    /// The bytes of the whole file, where they are known; with them, what is behind its end is told from a wrong last piece.
    public let fileSize: Int64?

    /// Creates the checksums of pieces; nil where there are none, of several functions, with a length below 1, or more or
    /// fewer than a file of this size has.
    /// - Parameters:
    ///   - length: The bytes of each piece but the last.
    ///   - checksums: The checksum of each piece, in order.
    ///   - fileSize: The bytes of the whole file, where they are known.
    public init?(length: Int64, checksums: [Checksum], fileSize: Int64? = nil) {
        guard let algorithm = checksums.first?.algorithm, checksums.allSatisfy({ $0.algorithm == algorithm }) else {
            return nil
        }
        self.init(length: length, algorithm, digests: checksums.flatMap(\.bytes), fileSize: fileSize)
    }

    /// Takes the bytes of all checksums, one after the other; nil where those are not whole, and as above.
    init?(length: Int64, _ algorithm: Checksum.Algorithm, digests: [UInt8], fileSize: Int64?) {
        guard length > 0, !digests.isEmpty, digests.count.isMultiple(of: algorithm.byteCount) else { return nil }
        self.length = length
        self.algorithm = algorithm
        self.digests = digests
        self.fileSize = fileSize
        if let fileSize, !fit(fileSize: fileSize) { return nil }
    }

    /// How many pieces there are, at least one.
    public var count: Int { digests.count / algorithm.byteCount }

    /// The checksum of each piece, in order; all of one hash function.
    public var checksums: [Checksum] {
        stride(from: 0, to: digests.count, by: algorithm.byteCount).compactMap { start in
            Checksum(algorithm, bytes: digests[start..<start + algorithm.byteCount])
        }
    }

    /// Whether a file of this size has so many pieces, and is as long as it should be where that is known.
    func fit(fileSize: Int64) -> Bool {
        guard self.fileSize ?? fileSize == fileSize else { return false }
        let whole = Int64(count - 1).multipliedReportingOverflow(by: length)
        return !whole.overflow && fileSize > whole.partialValue && fileSize - whole.partialValue <= length
    }

    /// The bytes of all pieces; where nobody knows those of the last one, of a whole one.
    var mostBytes: Int64 {
        let most = Int64(count).multipliedReportingOverflow(by: length)
        return fileSize ?? (most.overflow ? .max : most.partialValue)
    }

    /// The bytes that a file with these pieces has at the least.
    var leastBytes: Int64 {
        let least = Int64(count - 1).multipliedReportingOverflow(by: length)
        return fileSize ?? (least.overflow ? .max : min(least.partialValue, .max - 1) + 1)
    }

    /// The bytes of each piece that begins in a file of this size, as far as they are in it.
    func ranges(fileSize: Int64) -> [Range<Int64>] {
        (0..<count).prefix { fileSize > 0 && Int64($0) <= (fileSize - 1) / length }.map { index in
            let start = Int64(index) * length
            return start..<start + min(length, fileSize - start)
        }
    }

    /// Which pieces are not what they should be; `found` has their checksums, from the first piece on.
    func wrongPieces(found: [Checksum]) -> [Int] {
        let size = algorithm.byteCount
        return found.indices.prefix(count).filter { found[$0].bytes[...] != digests[$0 * size..<($0 + 1) * size] }
    }

    /// The bytes of the pieces of a file that they fit which are not what they should be; `found` has each piece's checksum.
    func badRanges(found: [Checksum], fileSize: Int64) -> ByteRangeSet {
        let ranges = ranges(fileSize: fileSize)
        return ByteRangeSet(wrongPieces(found: found).map { ranges[$0] })
    }
}

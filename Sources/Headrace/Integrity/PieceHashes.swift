/// The checksums of a file's pieces, as a ``Metalink`` document has them (RFC 5854, section 4.1.3).
///
/// Where the whole is wrong, they tell which bytes are, so that only those are fetched again.
public struct PieceHashes: Sendable, Hashable {
    /// The bytes of each piece but the last.
    public let length: Int64
    /// The checksum of each piece, in order; all of one hash function.
    public let checksums: [Checksum]
    /// The bytes of the whole file, where they are known; with them, what is behind its end is told from a wrong last piece.
    public let fileSize: Int64?

    /// Creates the checksums of pieces; nil where there are none, of several functions, with a length below 1, or more or
    /// fewer than a file of this size has.
    /// - Parameters:
    ///   - length: The bytes of each piece but the last.
    ///   - checksums: The checksum of each piece, in order.
    ///   - fileSize: The bytes of the whole file, where they are known.
    public init?(length: Int64, checksums: [Checksum], fileSize: Int64? = nil) {
        guard length > 0, let first = checksums.first,
            checksums.allSatisfy({ $0.algorithm == first.algorithm })
        else { return nil }
        self.length = length
        self.checksums = checksums
        self.fileSize = fileSize
        if let fileSize, !fit(fileSize: fileSize) { return nil }
    }

    /// The hash function of all pieces.
    public var algorithm: Checksum.Algorithm { checksums[0].algorithm }

    /// Whether a file of this size has so many pieces, and is as long as it should be where that is known.
    func fit(fileSize: Int64) -> Bool {
        guard self.fileSize ?? fileSize == fileSize else { return false }
        let whole = Int64(checksums.count - 1).multipliedReportingOverflow(by: length)
        return !whole.overflow && fileSize > whole.partialValue && fileSize - whole.partialValue <= length
    }

    /// The bytes of all pieces; where nobody knows those of the last one, of a whole one.
    var mostBytes: Int64 {
        let most = Int64(checksums.count).multipliedReportingOverflow(by: length)
        return fileSize ?? (most.overflow ? .max : most.partialValue)
    }

    /// The bytes that a file with these pieces has at the least.
    var leastBytes: Int64 {
        let least = Int64(checksums.count - 1).multipliedReportingOverflow(by: length)
        return fileSize ?? (least.overflow ? .max : min(least.partialValue, .max - 1) + 1)
    }

    /// The bytes of each piece that begins in a file of this size, as far as they are in it.
    func ranges(fileSize: Int64) -> [Range<Int64>] {
        checksums.indices.prefix { fileSize > 0 && Int64($0) <= (fileSize - 1) / length }.map { index in
            let start = Int64(index) * length
            return start..<start + min(length, fileSize - start)
        }
    }

    /// The bytes of the pieces of a file that they fit which are not what they should be; `found` has each piece's checksum.
    func badRanges(found: [Checksum], fileSize: Int64) -> ByteRangeSet {
        let ranges = ranges(fileSize: fileSize)
        return ByteRangeSet(ranges.indices.filter { found[$0] != checksums[$0] }.map { ranges[$0] })
    }
}

/// The checksums of a file's pieces, as a ``Metalink`` document has them (RFC 5854, section 4.1.3).
///
/// Where the whole is wrong, they tell which bytes are, so that only those are fetched again.
public struct PieceHashes: Sendable, Hashable {
    /// The bytes of each piece but the last.
    public let length: Int64
    /// The checksum of each piece, in order; all of one hash function.
    public let checksums: [Checksum]

    /// Creates the checksums of pieces; nil where there are none, of several functions, or with a length below 1.
    /// - Parameters:
    ///   - length: The bytes of each piece but the last.
    ///   - checksums: The checksum of each piece, in order.
    public init?(length: Int64, checksums: [Checksum]) {
        guard length > 0, let first = checksums.first,
            checksums.allSatisfy({ $0.algorithm == first.algorithm })
        else { return nil }
        self.length = length
        self.checksums = checksums
    }

    /// The hash function of all pieces.
    public var algorithm: Checksum.Algorithm { checksums[0].algorithm }

    /// Whether a file of this size has so many pieces.
    func fit(fileSize: Int64) -> Bool {
        let whole = Int64(checksums.count - 1).multipliedReportingOverflow(by: length)
        return !whole.overflow && fileSize > whole.partialValue && fileSize - whole.partialValue <= length
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

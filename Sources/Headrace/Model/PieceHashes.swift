/// The checksums of the pieces of a file, as in a ``Metalink`` document (RFC 5854, section 4.1.3).
///
/// If the file is wrong, the checksums identify the wrong pieces, and only these pieces are downloaded again.
public struct PieceHashes: Sendable, Hashable {
    /// The size in bytes of each piece except the last, which may be smaller.
    public let length: Int64
    /// The hash function of all pieces.
    public let algorithm: Checksum.Algorithm
    /// The concatenated bytes of all checksums; separate ``Checksum`` values would take four times the memory.
    let digests: [UInt8]
    /// The size of the whole file in bytes, if known; it distinguishes surplus bytes from a wrong last piece.
    public let fileSize: Int64?

    /// Creates piece hashes from the checksums of the pieces.
    ///
    /// Returns `nil` if there are no checksums, if their hash functions differ, if the length is below 1, or if the
    /// number of pieces does not match the file size.
    /// - Parameters:
    ///   - length: The size in bytes of each piece except the last.
    ///   - checksums: The checksum of each piece, in order.
    ///   - fileSize: The size of the whole file in bytes, if known.
    public init?(length: Int64, checksums: [Checksum], fileSize: Int64? = nil) {
        guard let algorithm = checksums.first?.algorithm, checksums.allSatisfy({ $0.algorithm == algorithm }) else {
            return nil
        }
        self.init(length: length, algorithm, digests: checksums.flatMap(\.bytes), fileSize: fileSize)
    }

    /// Creates piece hashes from the concatenated bytes of the checksums.
    ///
    /// Returns `nil` if there are no bytes, if the last checksum is incomplete, if the length is below 1, or if the
    /// number of pieces does not match the file size.
    init?(length: Int64, _ algorithm: Checksum.Algorithm, digests: [UInt8], fileSize: Int64?) {
        guard length > 0, !digests.isEmpty, digests.count.isMultiple(of: algorithm.byteCount) else { return nil }
        self.length = length
        self.algorithm = algorithm
        self.digests = digests
        self.fileSize = fileSize
        if let fileSize, !fit(fileSize: fileSize) { return nil }
    }

    /// The number of pieces, at least one.
    public var count: Int { digests.count / algorithm.byteCount }

    /// The checksum of each piece, in order; all of the same hash function.
    public var checksums: [Checksum] {
        stride(from: 0, to: digests.count, by: algorithm.byteCount).compactMap { start in
            Checksum(algorithm, bytes: digests[start..<start + algorithm.byteCount])
        }
    }

    /// Whether a file of this size in bytes has ``count`` pieces; `false` if ``fileSize`` is known and differs.
    func fit(fileSize: Int64) -> Bool {
        guard self.fileSize ?? fileSize == fileSize else { return false }
        let whole = Int64(count - 1).multipliedReportingOverflow(by: length)
        return !whole.overflow && fileSize > whole.partialValue && fileSize - whole.partialValue <= length
    }

    /// The maximum size of the file in bytes: ``fileSize`` or, if unknown, the size with a last piece of full length.
    var maxBytes: Int64 {
        let most = Int64(count).multipliedReportingOverflow(by: length)
        return fileSize ?? (most.overflow ? .max : most.partialValue)
    }

    /// The minimum size of the file in bytes: ``fileSize`` or, if unknown, the size with a last piece of one byte.
    var minBytes: Int64 {
        let least = Int64(count - 1).multipliedReportingOverflow(by: length)
        return fileSize ?? (least.overflow ? .max : min(least.partialValue, .max - 1) + 1)
    }

    /// Returns the byte ranges of the pieces that begin within a file of this size; no range extends beyond the file.
    func ranges(fileSize: Int64) -> [Range<Int64>] {
        (0..<count).prefix { fileSize > 0 && Int64($0) <= (fileSize - 1) / length }.map { index in
            let start = Int64(index) * length
            return start..<start + min(length, fileSize - start)
        }
    }

    /// Returns the indices of the wrong pieces.
    ///
    /// `found` contains the computed checksums of the pieces, in order. If there are fewer of them than pieces, the
    /// remaining pieces are not checked.
    func wrongPieces(found: [Checksum]) -> [Int] {
        let size = algorithm.byteCount
        return found.indices.prefix(count).filter { found[$0].bytes[...] != digests[$0 * size..<($0 + 1) * size] }
    }

    /// Returns the byte ranges of the wrong pieces of a file of this size, in bytes.
    ///
    /// `found` contains the computed checksums of the pieces that ``ranges(fileSize:)`` returns for the same size.
    func badRanges(found: [Checksum], fileSize: Int64) -> ByteRangeSet {
        let ranges = ranges(fileSize: fileSize)
        return ByteRangeSet(wrongPieces(found: found).map { ranges[$0] })
    }
}

public import HeadracePlatform

/// Verifies an existing file against a checksum, a size, or the checksums of its pieces.
///
///     let list = try ChecksumList(parsing: bytes)
///     let verification = FileVerification(checksums: list.checksum(forFileNamed: "image.iso").map { [$0] } ?? [])
///     switch try await verification.verify(file) {
///     case .verified(let proof): print(proof)
///     case .different(let difference): print(difference, difference.damagedRanges ?? [])
///     }
///
/// The size is compared first, then the strongest checksum. The pieces are read only if there is no checksum, or to
/// find the damaged ranges of a wrong file.
public struct FileVerification: Sendable, Hashable {
    /// The result of verifying a file.
    public enum Outcome: Sendable, Hashable {
        /// The file is right.
        case verified(Proof)
        /// The file is wrong.
        case different(Difference)
    }

    /// The property that verified a file; the description is a phrase such as `3 pieces`.
    public enum Proof: Sendable, Hashable, CustomStringConvertible {
        /// The whole file has this checksum, as expected.
        case checksum(Checksum)
        /// All pieces have the expected checksums; the value is the number of pieces.
        case pieces(Int)
        /// The file has this size in bytes, as expected; there were no checksums to compare.
        case size(Int64)

        /// The proof as a phrase for the user.
        public var description: String {
            switch self {
            case .checksum(let checksum): "\(checksum)"
            case .pieces(let count): "\(count) pieces"
            case .size(let bytes): "\(bytes) bytes"
            }
        }
    }

    /// The difference between a file and its expected properties; the description is a phrase for the user.
    public struct Difference: Sendable, Hashable, CustomStringConvertible {
        /// The property that differs.
        public enum Reason: Sendable, Hashable {
            /// The size in bytes differs.
            case size(found: Int64, expected: Int64)
            /// The checksum of the whole file differs.
            case checksum(found: Checksum, expected: Checksum)
            /// At least one piece differs or is missing, or the file is longer than its pieces.
            case pieces
        }

        /// The first property that differs.
        public let reason: Reason
        /// The ranges of bytes that are wrong, missing or surplus, in order; `nil` without piece hashes.
        ///
        /// Empty if all pieces match although the checksum or the size does not.
        public let damagedRanges: [Range<Int64>]?

        /// The reason as a phrase for the user.
        public var description: String {
            switch reason {
            case .size(let found, let expected): "the size is \(found) bytes, expected \(expected)"
            case .checksum(let found, let expected): "the checksum is \(found), expected \(expected.hexadecimal)"
            case .pieces: "some pieces do not match their checksums"
            }
        }
    }

    /// The expected checksums; the strongest one is compared.
    public var checksums: [Checksum]
    /// The expected checksums of the pieces.
    public var pieceHashes: PieceHashes?
    /// The expected size in bytes.
    public var expectedSize: Int64?

    /// Creates a verification.
    /// - Parameters:
    ///   - checksums: The expected checksums.
    ///   - pieceHashes: The expected checksums of the pieces.
    ///   - expectedSize: The expected size in bytes.
    public init(checksums: [Checksum] = [], pieceHashes: PieceHashes? = nil, expectedSize: Int64? = nil) {
        self.checksums = checksums
        self.pieceHashes = pieceHashes
        self.expectedSize = expectedSize
    }

    /// Creates the verification of a file that a Metalink document describes.
    /// - Parameter file: The file's entry in the document.
    public init(_ file: Metalink.File) {
        self.init(checksums: file.checksums, pieceHashes: file.pieces, expectedSize: file.size)
    }

    /// Reads a file and compares it with the expected properties.
    ///
    /// Reads on a separate thread. If the task is cancelled, throws `CancellationError` before reading another 512 KiB.
    /// - Parameters:
    ///   - file: A file URL; symbolic links are followed.
    ///   - onProgress: Called on that thread with the number of bytes read and the size of the file; must not block. If
    ///     a file with a wrong checksum has piece hashes, it is read twice, and the number starts again at zero.
    /// - Returns: The property that verified the file, or the difference.
    /// - Throws: `invalidRequest` if nothing is expected or two checksums contradict each other, `digestUnavailable` if
    ///   the system lacks the hash function, `permission` or `fileSystem` if the file cannot be read, is not a regular
    ///   file, or was changed while it was read.
    public func verify(
        _ file: URL,
        onProgress: @escaping @Sendable (_ bytes: Int64, _ size: Int64) -> Void = { _, _ in }
    ) async throws -> Outcome {
        if let algorithm = checksums.contradiction {
            throw DownloadError(.invalidRequest, "Two different \(algorithm) checksums were given.")
        }
        guard !checksums.isEmpty || pieceHashes != nil || expectedSize != nil else {
            throw DownloadError(
                .invalidRequest,
                "No checksum, piece hashes or size to verify the file against were given."
            )
        }
        return try await withOpenFile(file) { file throws in
            let (reason, proof) = try await compare(file, onProgress)
            if let proof { return .verified(proof) }
            let damaged = try await pieceHashes?.wrongRanges(of: file, onProgress)
            if let reason { return .different(Difference(reason: reason, damagedRanges: damaged)) }
            if let pieceHashes, damaged?.isEmpty == true { return .verified(.pieces(pieceHashes.count)) }
            return .different(Difference(reason: .pieces, damagedRanges: damaged))
        }
    }

    /// Compares the size and the strongest checksum, and returns the reason for a difference or the proof.
    ///
    /// Returns neither if the pieces must be compared.
    private func compare(
        _ file: borrowing OpenFile,
        _ onProgress: (_ bytes: Int64, _ size: Int64) -> Void
    ) async throws -> (Difference.Reason?, Proof?) {
        let size = file.status.size
        if let expectedSize, size != expectedSize { return (.size(found: size, expected: expectedSize), nil) }
        guard let expected = checksums.strongest else { return (nil, pieceHashes == nil ? .size(size) : nil) }
        let found = try await file.checksum(expected.algorithm, of: 0..<size) { onProgress($0, size) }
        return found == expected ? (nil, .checksum(found)) : (.checksum(found: found, expected: expected), nil)
    }
}

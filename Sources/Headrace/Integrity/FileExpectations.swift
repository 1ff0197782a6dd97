import HeadracePlatform

/// The checksums, piece hashes and size that a request requires of its file.
struct FileExpectations: Sendable, Hashable {
    var checksums: [Checksum] = []
    var pieces: PieceHashes?
    /// The size in bytes; `nil` if any size is accepted.
    var size: Int64?

    var isEmpty: Bool { checksums.isEmpty && pieces == nil && size == nil }

    /// Returns whether these expectations contain anything that `other` lacks or contradicts.
    func addInformation(than other: FileExpectations) -> Bool {
        checksums.contains { !other.checksums.contains($0) } || pieces != nil && pieces != other.pieces
            || size != nil && size != other.size
    }

    /// Returns the combination of these expectations and `others`; the piece hashes of `others` take precedence.
    ///
    /// Throws `invalidRequest`, with `url` in its message, if the expectations contradict each other.
    func adding(_ others: FileExpectations, of url: URL) throws(DownloadError) -> FileExpectations {
        var all = self
        for other in others.checksums {
            guard let known = all.checksums.last(where: { $0.algorithm == other.algorithm }) else {
                all.checksums.append(other)
                continue
            }
            guard known == other else {
                throw Self.contradiction("\(known.algorithm) checksum", known.hexadecimal, other.hexadecimal, of: url)
            }
        }
        all.pieces = others.pieces ?? pieces
        all.size = size ?? pieces?.fileSize ?? others.size
        for other in [others.size, others.pieces?.fileSize] {
            guard let other, let known = size ?? pieces?.fileSize, known != other else { continue }
            throw Self.contradiction("size", "\(known) bytes", "\(other) bytes", of: url)
        }
        guard let known = all.size, let pieces = all.pieces, !pieces.fit(fileSize: known) else { return all }
        let count = "\(pieces.count) pieces of \(pieces.length) bytes"
        throw Self.contradiction("size", "\(known) bytes", count, of: url)
    }

    private static func contradiction(
        _ what: String,
        _ known: String,
        _ other: String,
        of url: URL
    ) -> DownloadError {
        DownloadError(
            .invalidRequest,
            "\(url.withoutCredentials) is already in the queue with the \(what) \(known), which contradicts \(other). "
                + "Remove that download from the queue if its \(what) is wrong."
        )
    }
}

extension DownloadRequest {
    /// The checksums, piece hashes and size that the file must have.
    var expectations: FileExpectations {
        get { FileExpectations(checksums: checksums, pieces: pieceHashes, size: expectedSize) }
        set { (checksums, pieceHashes, expectedSize) = (newValue.checksums, newValue.pieces, newValue.size) }
    }
}

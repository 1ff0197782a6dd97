/// The checksums that a download's file must match, and a digest that is computed while bytes are received.
///
/// The digest covers the bytes received in order from the start of the file. Bytes after a gap are read from disk at
/// the end.
struct Verification: Sendable {
    /// Whether the request has a checksum or piece hashes for this file, so that the server's checksum is ignored.
    ///
    /// `false` for the received bytes of a file that is decoded: the request's checksums are those of the decoded file.
    private var isRequested: Bool
    /// Whether the file is verified against the server's checksum unless ``isRequested`` is `true`.
    private let checksServer: Bool
    /// The checksum of the whole file, from the request or the server; `nil` if unknown.
    private(set) var expected: Checksum?
    private(set) var pieces: PieceHashes?
    /// Whether bytes from mirrors rely on the checksum for verification, so that only the origin server may change
    /// that checksum.
    private var isBound = false
    private var digest: Digester?
    /// The number of bytes, from the start of the file, that the digest covers.
    private var digestedBytes: Int64 = 0

    init(_ request: borrowing DownloadRequest, checksServer: Bool) {
        self.init(request.isVerifiedAtEnd ? request.expectations : FileExpectations(), checksServer: checksServer)
    }

    /// Creates the verification of a file with these expectations.
    init(_ expectations: FileExpectations, checksServer: Bool = false) {
        expected = expectations.checksums.strongest
        pieces = expectations.pieces
        isRequested = expected != nil || pieces != nil
        self.checksServer = checksServer
    }

    /// Whether there is a checksum, or there are piece hashes, to verify the file against.
    var isNeeded: Bool { expected != nil || pieces != nil }

    /// Whether the checksum, if there is one, is the server's.
    var isFromServer: Bool { !isRequested }

    /// Adopts the request's current checksums and piece hashes; other requests for the same file may have added some.
    mutating func takeOver(_ request: borrowing DownloadRequest) {
        isRequested = request.isVerifiedAtEnd
        pieces = isRequested ? request.pieceHashes : nil
        // With piece hashes alone, the server's checksum is discarded: the pieces decide.
        if isRequested { expected = request.checksums.strongest }
    }

    /// Restores the server's checksum from the resume record of an earlier run; does nothing if a checksum is already
    /// known or the server's checksums are not used.
    ///
    /// Since some of the received bytes may be from mirrors, only the origin server may change this checksum.
    mutating func resume(with checksum: Checksum?) {
        guard checksServer, !isRequested, expected == nil, let checksum else { return }
        expected = checksum
        isBound = true
    }

    /// Adopts the server's checksum from an accepted response, and prepares the digest.
    ///
    /// Ignores the response's checksum if the system does not support its hash function, or if the response is from a
    /// mirror (`isOrigin` is `false`) and received bytes from mirrors already rely on a checksum. If `held`, the set of
    /// received ranges, is not empty, the server's earlier checksum stays until one that is at least as strong arrives.
    ///
    /// Throws `digestUnavailable` if the system does not support the hash function of the request's checksum.
    /// `digester` creates the digester of a hash function.
    mutating func begin(
        _ head: ResponseHead,
        ofOrigin isOrigin: Bool,
        beside held: ByteRangeSet,
        with digester: (Checksum.Algorithm) throws(DownloadError) -> Digester = Digester.init
    ) throws(DownloadError) {
        if checksServer, !isRequested, isOrigin || !isBound {
            if held.isEmpty { expected = nil }
            if let sent = DigestFields(of: head).ofFile(head), sent.algorithm >= expected?.algorithm ?? sent.algorithm,
                (try? digester(sent.algorithm)) != nil
            {
                expected = sent
            }
        }
        guard let expected else {
            digest = nil
            isBound = false
            return
        }
        guard digest?.algorithm != expected.algorithm || digestedBytes > held.prefixCount else { return }
        discardDigest()
        do throws(DownloadError) {
            digest = try digester(expected.algorithm)
        } catch {
            guard !isRequested else { throw error }
            // The resume record of an earlier run may contain any checksum.
            self.expected = nil
        }
    }

    /// Records that the checksum must also verify bytes from mirrors.
    mutating func bind() {
        isBound = true
    }

    /// Adds bytes at a position in the file to the digest; ignores bytes that do not directly follow the digested ones.
    mutating func update(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
        guard let digest, offset == digestedBytes else { return }
        digest.update(bytes)
        digestedBytes += Int64(bytes.count)
    }

    /// Discards the digest, so that all bytes of the file are read from disk to verify it.
    mutating func discardDigest() {
        (digest, digestedBytes) = (nil, 0)
    }

    /// Removes and returns the digest, with the offset of the first byte that it does not cover.
    ///
    /// Returns a new digest and offset 0 if there is no digest of this algorithm, or if it covers more than `heldBytes`
    /// bytes. Throws `digestUnavailable` if the system does not support the algorithm.
    mutating func takeDigest(
        _ algorithm: Checksum.Algorithm,
        ofFirst heldBytes: Int64
    ) throws(DownloadError) -> (Digester, from: Int64) {
        defer { digestedBytes = 0 }
        guard let digest = digest.take(), digest.algorithm == algorithm, digestedBytes <= heldBytes else {
            return (try Digester(algorithm), 0)
        }
        return (digest, digestedBytes)
    }
}

extension DigestFields {
    /// Returns the strongest checksum of the whole file in a response; `nil` if there is none.
    ///
    /// Checksums of the content count only in a 200 response with the whole file (RFC 9110, section 15.3.1).
    fileprivate func ofFile(_ head: ResponseHead) -> Checksum? {
        // Status 203 means that a proxy modified the file (RFC 9110, section 15.3.4), so the checksums do not match.
        guard head.status != 203 else { return nil }
        let content = head.status == 200 && !head.isPartial ? content : []
        return (representation + content).strongest
    }
}

extension DownloadRequest {
    /// Whether the request has a checksum or piece hashes.
    var hasChecksums: Bool { !checksums.isEmpty || pieceHashes != nil }

    /// Whether the request has a checksum or piece hashes that verify the received bytes, even if these came from
    /// several sources.
    ///
    /// `false` if the file is decoded, because its checksums do not verify the bytes from which it is decoded.
    var isVerifiedAtEnd: Bool { hasChecksums && !decodesContent }

    /// The required number of received bytes; `nil` if unknown.
    var receivedSize: Int64? { decodesContent ? nil : expectedSize }
}

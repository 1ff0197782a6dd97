/// What a download's file has to hash to, and the digest of its first bytes as they came.
///
/// Bytes that come in order from the file's start need not be read again; those behind a gap are, at the end.
struct Verification: Sendable {
    /// Whether the request tells what the file has to be; then nobody asks the server.
    private var isRequested: Bool
    private let checksServer: Bool
    /// What the file has to hash to as a whole, as far as anybody has told.
    private(set) var expected: Checksum?
    private(set) var pieces: PieceHashes?
    /// Whether the checksum is one by which bytes of other sources are taken, so that only the origin may tell another one.
    private var isBound = false
    private var digest: Digester?
    /// How many of the file's first bytes are in the digest.
    private var digestedBytes: Int64 = 0

    init(_ request: borrowing DownloadRequest, checksServer: Bool) {
        expected = request.checksums.strongest
        pieces = request.pieceHashes
        isRequested = request.isVerifiedAtEnd
        self.checksServer = checksServer
    }

    /// Whether there is anything to compare a file with.
    var isNeeded: Bool { expected != nil || pieces != nil }

    /// Whether the checksum is the server's own.
    var isFromServer: Bool { !isRequested }

    /// Takes over what the request tells by now: others of the same file may have told more.
    mutating func takeOver(_ request: borrowing DownloadRequest) {
        isRequested = request.isVerifiedAtEnd
        pieces = request.pieceHashes
        if let checksum = request.checksums.strongest { expected = checksum }
    }

    /// Bytes are held that came under this checksum of their server's, and perhaps from others: only the origin may tell
    /// another one.
    mutating func goOn(with checksum: Checksum?) {
        guard checksServer, !isRequested, expected == nil, let checksum else { return }
        expected = checksum
        isBound = true
    }

    /// An answer is taken, whose bytes go beside those that are held, if any.
    ///
    /// What a server tells of a file is forgotten with the file. Throws `digestUnavailable` where the system does not compute
    /// what the request tells; what only the server tells is passed over then.
    mutating func begin(
        _ head: ResponseHead,
        ofOrigin isOrigin: Bool,
        beside held: ByteRangeSet
    ) throws(DownloadError) {
        if checksServer, !isRequested, isOrigin || !isBound {
            expected = DigestFields(of: head).ofFile(head) ?? (held.isEmpty ? nil : expected)
        }
        guard let expected else {
            digest = nil
            isBound = false
            return
        }
        guard digest?.algorithm != expected.algorithm || digestedBytes > held.prefixCount else { return }
        digestedBytes = 0
        do {
            digest = try Digester(expected.algorithm)
        } catch {
            guard !isRequested else { throw error }
            self.expected = nil
        }
    }

    /// The checksum is to prove bytes of other sources as well.
    mutating func bind() {
        isBound = true
    }

    /// Bytes come for this place in the file.
    mutating func update(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
        guard let digest, offset == digestedBytes else { return }
        digest.update(bytes)
        digestedBytes += Int64(bytes.count)
    }

    /// Forgets the digest of the bytes as they came, so that all of them are read from the disk.
    mutating func discardDigest() {
        (digest, digestedBytes) = (nil, 0)
    }

    /// The digest, for all bytes from the offset on to be added to.
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
    /// The strongest checksum of the whole file; the content of a 200 is the whole (RFC 9110, section 15.3.1), unless it says
    /// otherwise.
    fileprivate func ofFile(_ head: ResponseHead) -> Checksum? {
        // What a proxy has made of the file (section 15.3.4) has none of the server's.
        guard head.status != 203 else { return nil }
        let content = head.status == 200 && !head.isPartial ? content : []
        return (representation + content).strongest
    }
}

extension DownloadRequest {
    /// Whether it tells what the file has to be, whatever came from where.
    var isVerifiedAtEnd: Bool { !checksums.isEmpty || pieceHashes != nil }
}

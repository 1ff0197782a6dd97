import HeadracePlatform

/// Compares a file with its expected size and checksums, and publishes the progress while it reads the file.
struct FileVerifier {
    typealias Source = (Range<Int64>, (UnsafeRawBufferPointer) throws -> Void) async throws -> Void

    private let record: DownloadRecord
    private let clock: AnyClock
    private var progress: DownloadProgress
    private var hasPublished = false
    private var lastReport: Duration

    init(_ record: DownloadRecord, _ clock: AnyClock, _ progress: DownloadProgress) {
        self.record = record
        self.clock = clock
        self.progress = progress
        lastReport = clock.now()
    }

    /// Compares the complete partial file with the expected size and checksums; returns the mismatch, or `nil` if there
    /// is none.
    mutating func mismatch(
        of partial: PartialDownload,
        _ path: String,
        _ expectedSize: Int64?,
        _ verification: inout Verification
    ) async throws -> Mismatch? {
        let size = partial.heldBytes
        if let expected = expectedSize, size != expected {
            // If the length is unknown, receiving stops after the expected size, so the file may not be whole.
            let isWhole = size < expected || partial.representation?.totalBytes == size
            return Mismatch(error: Mismatch.wrongSize(of: path, size, expected: expected), isWhole: isWhole)
        }
        guard verification.isNeeded else { return nil }
        let mismatch: Mismatch
        if let expected = verification.expected {
            let (digest, start) = try verification.takeDigest(expected.algorithm, ofFirst: size)
            try await read(start..<size, into: digest, from: partial.read)
            let found = try digest.finalize()
            guard found != expected else {
                record.status.publish(.verified(found))
                return nil
            }
            let isFromServer = verification.isFromServer
            let error = Mismatch.wrongChecksum(of: path, expected, found: found, isFromServer: isFromServer)
            mismatch = Mismatch(error: error, found: found)
        } else {
            let what = "\(path) is wrong: some of its pieces do not match their checksums."
            mismatch = Mismatch(error: DownloadError(.checksum, what))
        }
        guard let pieces = verification.pieces, pieces.fit(fileSize: size) else {
            if verification.expected == nil {
                let count = verification.pieces?.count ?? 0
                let what = "\(path) has \(size) bytes, which do not match the \(count) expected pieces."
                return Mismatch(error: DownloadError(.checksum, what))
            }
            return try await locate(mismatch, byReceivedPiecesOf: partial)
        }
        let found = try await checksums(of: pieces, fileSize: size, from: partial.read)
        let bad = pieces.badRanges(found: found, fileSize: size)
        if bad.isEmpty, verification.expected == nil {
            record.status.publish(.piecesVerified(count: found.count))
            return nil
        }
        // If only the checksum of the whole file is wrong, one of the two expectations is wrong, and it is unknown
        // which.
        guard !bad.isEmpty, bad.count < size else { return mismatch }
        return mismatch.limited(to: bad, pieces: pieces.wrongPieces(found: found).count)
    }

    /// Returns the mismatch, limited to the pieces that changed on the disk after they were received.
    ///
    /// If no digests of received pieces are stored, or if no piece or every piece has changed, returns the mismatch as
    /// it is.
    private mutating func locate(
        _ mismatch: Mismatch,
        byReceivedPiecesOf partial: PartialDownload
    ) async throws -> Mismatch {
        let size = partial.heldBytes
        guard let pieces = partial.pieces, pieces.fileSize == size else { return mismatch }
        var changed: [Range<Int64>] = []
        for (index, value) in pieces.known {
            let digest = try Digester(ReceivedPieces.algorithm)
            try await read(pieces.range(index), into: digest, from: partial.read)
            if ReceivedPieces.digest(try digest.finalize()) != value { changed.append(pieces.range(index)) }
        }
        let ranges = ByteRangeSet(changed)
        guard !changed.isEmpty, ranges.count < size else { return mismatch }
        return mismatch.limited(to: ranges, pieces: changed.count, isDiskFailure: true)
    }

    /// Computes the checksums of the pieces that begin within the file; the last checksum covers only the bytes that
    /// exist.
    mutating func checksums(of pieces: PieceHashes, fileSize: Int64, from source: Source) async throws -> [Checksum] {
        var found: [Checksum] = []
        for range in pieces.ranges(fileSize: fileSize) {
            let digest = try Digester(pieces.algorithm)
            try await read(range, into: digest, from: source)
            found.append(try digest.finalize())
        }
        return found
    }

    private mutating func read(_ range: Range<Int64>, into digest: Digester, from source: Source) async throws {
        guard !range.isEmpty else { return }
        if !hasPublished { record.status.publish(.verifying) }
        hasPublished = true
        progress.bytesVerified = range.lowerBound
        (progress.bytesPerSecond, progress.timeRemaining) = (0, nil)
        try await source(range) { bytes in
            digest.update(bytes)
            progress.bytesVerified? += Int64(bytes.count)
            let now = clock.now()
            guard now - lastReport >= ProgressMeter.interval else { return }
            lastReport = now
            record.status.publish(progress)
        }
    }
}

import HeadracePlatform

/// Verifies a complete file and acts on the result.
extension DownloadTransfer {
    /// Returns the reason why the received bytes must be downloaded again, whatever the server responds; `nil` if they
    /// may be resumed.
    ///
    /// The reasons are: the bytes are unverified and nothing will verify the complete file, another requester
    /// downloaded the bytes, or they exceed or contradict the expected size.
    func restartReason(_ session: PartialDownload, _ attempts: TransferState) -> RestartReason? {
        if session.representation?.isUnverified == true, !attempts.verification.isNeeded { return .unverified }
        if let known = session.representation,
            known.requesterFingerprint ?? session.requesterFingerprint != session.requesterFingerprint,
            !attempts.verification.isNeeded
        {
            // If the file is complete, no further response can verify it.
            guard case .strong? = EntityValidator(of: known), known.totalBytes != session.heldBytes else {
                return .differentRequester
            }
        }
        guard let size = expectedSize, session.isOfOtherSize(than: size) else { return nil }
        return .wrongSize(expected: size)
    }

    /// Adopts the expected checksum from an accepted response and, if the origin sent it, the mirrors in the response
    /// (RFC 6249).
    ///
    /// Mirrors are used only if a checksum verifies the file. For an https response, mirrors over http are used only if
    /// the configuration allows it.
    func expect(
        _ head: ResponseHead,
        _ session: inout PartialDownload,
        _ attempts: inout TransferState,
        _ path: String
    ) throws(DownloadError) {
        let isOrigin = attempts.sources.isOrigin
        try attempts.verification.begin(head, ofOrigin: isOrigin, beside: session.held)
        let verification = attempts.verification
        session.keepPieces(verification.expected != nil && verification.pieces == nil)
        session.keepChecksum(verification.isFromServer ? verification.expected : nil)
        if attempts.resume.isUnverified, verification.isNeeded { session.markUnverified() }
        guard isOrigin else { return }
        guard verification.expected != nil else { return attempts.sources.forgetAdvertised() }
        let mirrors = MirrorLink.urls(of: head, allowsInsecure: environment.configuration.allowsInsecureRedirects)
        guard !mirrors.isEmpty else { return }
        attempts.originPath = path
        attempts.verification.bind()
        attempts.sources.join(mirrors)
    }

    /// Returns whether a response can verify that the received bytes, whose HTTP/2 body had no length, are the whole
    /// file.
    ///
    /// If not, switches the next request to the other version of HTTP; throws if both versions have been tried.
    func canVerifyEnd(_ verdict: ResponseVerdict, _ attempts: inout TransferState) throws(DownloadError) -> Bool {
        switch verdict {
        case .accept(let body) where body.endsWithStream, .restartFromThisBody(_, let body) where body.endsWithStream:
            guard attempts.resume.changeVersion() else { throw .unverifiedEnd }
            return false
        case .restart:
            attempts.resume.needsWholeForEnd()
            return true
        default: return true
        }
    }

    /// Verifies the complete file and renames it to its final name.
    ///
    /// Returns `nil` if bytes are wrong or missing and must be requested again.
    ///
    /// Throws `checksum` if the file is wrong and the current source is not used again.
    func complete(
        _ session: inout PartialDownload,
        _ attempts: inout TransferState,
        _ path: String,
        _ framing: BodyFraming?
    ) async throws -> FinishedFile? {
        guard try isIntact(&session, &attempts) else { return nil }
        var evaluated: FileExpectations
        repeat {
            evaluated = record.requested { request in
                attempts.verification.takeOver(request)
                return request.expectations
            }
            if let mismatch = try await mismatch(session, &attempts, path, evaluated.size) {
                if framing == .stream, evaluated.size == nil {
                    // The bytes so far may be correct, and the file merely incomplete.
                    attempts.resume.mustVerifyEnd(announcesRanges: false)
                    return nil
                }
                try await prepareRepair(mismatch, &session, &attempts, path)
                return nil
            }
        } while !record.seal(after: evaluated)
        return try await finish(&session, &attempts, path, framing)
    }

    /// Returns whether the file on the disk still has all bytes that were written to it.
    ///
    /// If not, marks the lost bytes as missing, so that they are downloaded again.
    ///
    /// Throws `fileSystem` if bytes were lost too often.
    private func isIntact(
        _ session: inout PartialDownload,
        _ attempts: inout TransferState
    ) throws(DownloadError) -> Bool {
        let lost = try session.releaseLostBytes()
        guard lost > 0 else { return true }
        attempts.meter.correct(to: session.held.count)
        guard attempts.mayRepairDisk() else {
            throw DownloadError(
                .fileSystem,
                "Another program truncated \(session.path), or the disk lost a part of it, for the third time: "
                    + "\(lost.inBytes). Start again."
            )
        }
        publish(.notice(.fileTruncated(path: session.path, bytesLost: lost)))
        return false
    }

    /// Compares the file with the expected size and checksums; returns the mismatch, or `nil` if there is none.
    private func mismatch(
        _ session: PartialDownload,
        _ attempts: inout TransferState,
        _ path: String,
        _ expectedSize: Int64?
    ) async throws -> Mismatch? {
        let size = session.heldBytes
        if let expected = expectedSize, size != expected {
            // A body of unknown length is not read beyond the expected size.
            let isWhole = size < expected || session.representation?.totalBytes == size
            return Mismatch(error: .wrongSize(of: path, size, expected: expected), isWhole: isWhole)
        }
        guard attempts.verification.isNeeded else { return nil }
        var reading = Reading(of: self, attempts.meter.progress(at: environment.clock.now()))
        let pieces = attempts.verification.pieces.flatMap { $0.fit(fileSize: size) ? $0 : nil }
        let mismatch: Mismatch
        if let expected = attempts.verification.expected {
            let (digest, start) = try attempts.verification.takeDigest(expected.algorithm, ofFirst: size)
            try await reading.read(start..<size, into: digest, from: session.read)
            let found = try digest.finalize()
            guard found != expected else {
                publish(.verified(found))
                return nil
            }
            let isFromServer = attempts.verification.isFromServer
            mismatch = Mismatch(
                error: .checksum(of: path, expected, found: found, isFromServer: isFromServer),
                found: found
            )
        } else if pieces == nil {
            let count = attempts.verification.pieces?.count ?? 0
            let what = "\(path) has \(size) bytes, which do not match the \(count) expected pieces."
            return Mismatch(error: DownloadError(.checksum, what))
        } else {
            mismatch = Mismatch(
                error: DownloadError(.checksum, "\(path) is wrong: some of its pieces do not match their checksums.")
            )
        }
        guard let pieces else {
            let changed = try await reading.changed(session.pieces, fileSize: size, from: session.read)
            let ranges = ByteRangeSet(changed)
            guard !changed.isEmpty, ranges.count < size else { return mismatch }
            return mismatch.limited(to: ranges, pieces: changed.count, isDiskFailure: true)
        }
        let found = try await reading.checksums(of: pieces, fileSize: size, from: session.read)
        let bad = pieces.badRanges(found: found, fileSize: size)
        if bad.isEmpty, attempts.verification.expected == nil {
            publish(.piecesVerified(count: found.count))
            return nil
        }
        // If only the checksum of the whole file is wrong, one of the two expectations is wrong, and it is unknown which.
        guard !bad.isEmpty, bad.count < size else { return mismatch }
        return mismatch.limited(to: bad, pieces: pieces.wrongPieces(found: found).count)
    }

    /// Copies the correct pieces of an existing file into the partial file, so that only the other pieces are
    /// downloaded.
    ///
    /// Returns `true` if the existing file is the result: all pieces match, and the request has no other checksum.
    func takeOver(
        _ path: String,
        _ session: inout PartialDownload,
        _ attempts: inout TransferState
    ) async throws -> Bool {
        guard record.requested({ $0.refetchPolicy == .ifChanged }), let pieces = request.pieceHashes,
            let file = try? OpenFile(path, followingLinks: false, calls: environment.files)
        else { return false }
        let size = min(file.status.size, pieces.maxBytes)
        var reading = Reading(of: self, attempts.meter.progress(at: environment.clock.now()))
        let found = try await reading.checksums(of: pieces, fileSize: size) { try await file.read($0, $1) }
        let bad = pieces.badRanges(found: found, fileSize: size)
        if bad.isEmpty, pieces.fit(fileSize: file.status.size), expectedSize ?? size == size {
            guard request.checksums.isEmpty else { return false }
            try file.checkUnchanged()
            publish(.piecesVerified(count: found.count))
            return true
        }
        var right = ByteRangeSet(pieces.ranges(fileSize: size))
        for range in bad.ranges { right.remove(range) }
        guard !right.isEmpty else { return false }
        let wrong = pieces.wrongPieces(found: found)
        // If the last piece matches, the file ends with it.
        let hasEnd = found.count == pieces.count && wrong.last != pieces.count - 1
        let missing = (hasEnd ? size : pieces.maxBytes) - right.count
        try await session.takeOver(right, of: file, for: path, isWhole: missing == 0)
        let count = pieces.count - found.count + wrong.count
        let excess = file.status.size - size
        publish(.repairing(pieces: count, bytesWasted: missing > 0 ? missing : excess))
        return false
    }
}

/// Reads a file to verify it, and publishes the progress of the verification.
private struct Reading {
    private let transfer: DownloadTransfer
    private var progress: DownloadProgress
    private var hasPublished = false
    private var lastReport: Duration

    init(of transfer: DownloadTransfer, _ progress: DownloadProgress) {
        self.transfer = transfer
        self.progress = progress
        lastReport = transfer.environment.clock.now()
    }

    typealias Source = (Range<Int64>, (UnsafeRawBufferPointer) throws -> Void) async throws -> Void

    /// Computes the checksums of the pieces that begin within the file; the last checksum covers only the bytes that
    /// exist.
    mutating func checksums(of pieces: PieceHashes, fileSize: Int64, from read: Source) async throws -> [Checksum] {
        var found: [Checksum] = []
        for range in pieces.ranges(fileSize: fileSize) {
            let digest = try Digester(pieces.algorithm)
            try await self.read(range, into: digest, from: read)
            found.append(try digest.finalize())
        }
        return found
    }

    /// Reads the received pieces, and returns the ranges of those that have changed on the disk since their arrival.
    mutating func changed(
        _ pieces: ReceivedPieces?,
        fileSize: Int64,
        from read: Source
    ) async throws -> [Range<Int64>] {
        guard let pieces, pieces.fileSize == fileSize else { return [] }
        var changed: [Range<Int64>] = []
        for (index, value) in pieces.known {
            let digest = try Digester(ReceivedPieces.algorithm)
            try await self.read(pieces.range(index), into: digest, from: read)
            if ReceivedPieces.digest(try digest.finalize()) != value { changed.append(pieces.range(index)) }
        }
        return changed
    }

    mutating func read(_ range: Range<Int64>, into digest: Digester, from read: Source) async throws {
        guard !range.isEmpty else { return }
        if !hasPublished { transfer.publish(.verifying) }
        hasPublished = true
        progress.bytesVerified = range.lowerBound
        (progress.bytesPerSecond, progress.timeRemaining) = (0, nil)
        try await read(range) { bytes in
            digest.update(bytes)
            progress.bytesVerified? += Int64(bytes.count)
            let now = transfer.environment.clock.now()
            guard now - lastReport >= ProgressMeter.interval else { return }
            lastReport = now
            transfer.publish(progress)
        }
    }
}

import HeadracePlatform

/// Verifies a complete file, repairs a wrong one, and gives a right one its final name.
extension DownloadTransfer {
    /// Verifies the complete file and renames it to its final name.
    ///
    /// Throws `checksum` if the file is wrong and the current source is not used again.
    mutating func complete(_ path: String, _ framing: BodyFraming? = nil) async throws -> Step {
        guard try isIntact() else { return .again }
        var expected: FileExpectations
        repeat {
            expected = record.requested { request in
                state.verification.takeOver(request)
                return request.expectations
            }
            let progress = state.meter.progress(at: environment.clock.now())
            var verifier = FileVerifier(record, environment.clock, progress)
            if let mismatch = try await verifier.mismatch(of: partial, path, expected.size, &state.verification) {
                if framing == .stream, expected.size == nil {
                    // The bytes so far may be correct, and the file merely incomplete.
                    state.resume.mustVerifyEnd(announcesRanges: false)
                } else {
                    try await prepareRepair(mismatch, for: path)
                }
                return .again
            }
        } while !record.seal(after: expected)
        return try await finish(as: path, framing)
    }

    /// Returns whether the file on the disk still has all bytes that were written to it.
    ///
    /// If not, marks the lost bytes as missing, so that they are downloaded again.
    ///
    /// Throws `fileSystem` if bytes were lost too often.
    private mutating func isIntact() throws(DownloadError) -> Bool {
        let lost = try partial.releaseLostBytes()
        guard lost > 0 else { return true }
        correctMeter()
        guard state.mayRepairDisk() else {
            throw DownloadError(
                .fileSystem,
                "Another program truncated \(partial.path), or the disk lost a part of it, for the third time: "
                    + "\(lost.inBytes). Start again."
            )
        }
        publish(.notice(.fileTruncated(path: partial.path, bytesLost: lost)))
        return false
    }

    /// Marks the wrong bytes of a file as missing, so that they are downloaded again.
    ///
    /// Throws the mismatch's error if another source must be used or the download must fail.
    ///
    /// If the download fails, the partial file keeps the correct bytes. If no bytes are known to be correct, the file
    /// is saved under another name or deleted.
    private mutating func prepareRepair(_ mismatch: Mismatch, for path: String) async throws {
        let isDiskFailure = mismatch.isDiskFailure
        let next = state.mismatched(partial.composition, keepsBytes: mismatch.bad != nil, isDiskFailure: isDiskFailure)
        let wasted = mismatch.bad?.ranges.count ?? partial.held.count
        if let bad = mismatch.bad {
            try partial.release(bad.ranges)
            correctMeter()
            if next == .fail {
                throw mismatch.error.followed(
                    by: "The correct bytes are kept as \(partial.path). Start again to download only the others."
                )
            }
            publish(.repairing(pieces: bad.pieces, bytesWasted: wasted))
        } else {
            if next == .fail { throw try await partial.save(mismatch, for: path) }
            try partial.discard()
            correctMeter()
            publish(.restarted(reason: .mismatch(mismatch.error), bytesWasted: wasted))
        }
        if next == .otherSource { throw mismatch.error }
    }

    /// Copies the correct pieces of an existing file into the partial file, so that only the other pieces are
    /// downloaded.
    ///
    /// Returns `true` if the existing file is the result: all pieces match, and the request has no other checksum.
    mutating func copyPieces(of path: String) async throws -> Bool {
        guard record.requested({ $0.refetchPolicy == .ifChanged }), let pieces = request.pieceHashes,
            let file = try? OpenFile(path, followingLinks: false, calls: environment.files)
        else { return false }
        let size = min(file.status.size, pieces.maxBytes)
        var verifier = FileVerifier(record, environment.clock, state.meter.progress(at: environment.clock.now()))
        let found = try await verifier.checksums(of: pieces, fileSize: size) { try await file.read($0, $1) }
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
        try await partial.takeOver(right, of: file, for: path, isWhole: missing == 0)
        let count = pieces.count - found.count + wrong.count
        let excess = file.status.size - size
        publish(.repairing(pieces: count, bytesWasted: missing > 0 ? missing : excess))
        return false
    }

    /// Gives the complete file its final name.
    private mutating func finish(as path: String, _ framing: BodyFraming?) async throws(DownloadError) -> Step {
        let size = partial.heldBytes
        try reserve(path)
        let final: (path: String, stamp: FileStamp)
        var present: String?
        do {
            let (existing, environment, id, source) = (existingFiles, environment, record.id, state.sources.current)
            var representation = partial.representation
            representation?.totalBytes = size
            let requester = partial.requester
            final = try await partial.finish(as: path, from: source) { name, stamp throws(DownloadError) in
                // Another process may have downloaded the same file meanwhile.
                if name != path, let representation, let requester,
                    let same = existing.current(path, representation, from: source, for: requester),
                    // A damaged resume record may name the partial file itself.
                    let inode = try? environment.files.status(same.path)?.inode, inode != stamp.inode
                {
                    present = same.path
                    throw DownloadError(.fileExists, "\(same.path) exists already.")
                }
                try await environment.willRename(id, name, stamp)
            }
        } catch {
            if let present { return unchanged(present) }
            guard error.code == .fileExists, record.requested({ $0.replacement == .skip }) else { throw error }
            // The file appeared during the download; it is treated as if it had existed before.
            guard try destination.isSatisfied(by: path) else { throw error }
            return skipped(path)
        }
        // Compared as bytes, since equal strings may name different files.
        let reported = state.reportedFile.flatMap { $0.path.utf8.elementsEqual(final.path.utf8) ? $0.url : nil }
        let file = reported ?? URL(filePath: final.path, directoryHint: .notDirectory)
        let now = environment.clock.now()
        state.meter.totalBytes = size
        publish(state.meter.progress(at: now))
        publish(
            .finished(
                DownloadSummary(
                    file: file,
                    fileSize: size,
                    bytesFetched: state.fetchedBytes,
                    duration: now - state.start,
                    isLengthVerified: framing != .unverified || expectedSize != nil
                )
            )
        )
        return .finished(FinishedFile(url: file, stamp: final.stamp))
    }
}

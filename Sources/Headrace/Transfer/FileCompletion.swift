import HeadracePlatform

/// Verifies a complete file, repairs a wrong one, and gives a right one its final name.
struct FileCompletion {
    typealias Step = DownloadTransfer.Step

    /// The final path.
    let path: String
    /// The framing of the body that completed the file; `nil` if no body did, because all bytes were already received.
    let framing: BodyFraming?

    /// Verifies the complete file, removes its content coding if the request demands that, and renames the file to its
    /// final name; returns `.again` if bytes must be downloaded again, or the end of the file must be verified.
    ///
    /// Throws `checksum` or `contentCoding` if the file is wrong and the current source must be abandoned: the caller
    /// tries another source, if there is one. Also throws the errors of reading, syncing and renaming the file.
    func complete(_ transfer: inout DownloadTransfer) async throws -> Step {
        guard try isIntact(&transfer) else { return .again }
        do {
            return try await completeIntact(&transfer)
        } catch {
            transfer.partial.discardOutput()
            throw error
        }
    }

    private func completeIntact(_ transfer: inout DownloadTransfer) async throws -> Step {
        guard transfer.record.requested(\.decodesContent) else { return try await completeDecoded(&transfer) }
        // The request's own checksums and size are those of the decoded file.
        let coding = transfer.partial.coding
        if var mismatch = try await mismatch(ofReceived: nil, &transfer) {
            guard framing != .stream else { return verifyEnd(&transfer) }
            try doubtEnd(after: mismatch, &transfer)
            // Encoded bytes are not saved, because they are not the file.
            if coding != nil { mismatch.isWhole = false }
            try await prepareRepair(mismatch, &transfer)
            return .again
        }
        if let coding, let step = try await decode(coding, &transfer) { return step }
        return try await completeDecoded(&transfer)
    }

    /// Removes the content coding; returns the next step if the encoded bytes are wrong or may be incomplete.
    private func decode(_ coding: ContentCoding, _ transfer: inout DownloadTransfer) async throws -> Step? {
        let size = transfer.partial.heldBytes
        // A complete empty body is not decoded: servers may send `Content-Encoding` with it.
        guard size > 0 || framing == .stream || framing == .unverified else { return nil }
        // A run that continues after an interruption then knows that the file is complete.
        if framing == .delimited { transfer.partial.ledger.recordSize(size) }
        let maxBytes = transfer.environment.configuration.maxFileSize
        switch try await transfer.partial.decode(coding, upTo: SizeLimit(decoding: size, maxBytes: maxBytes)) {
        case .maybeMore where framing == .stream:
            transfer.partial.discardOutput()
            return verifyEnd(&transfer)
        case .complete, .maybeMore: return nil
        case .truncated where framing == .stream: return verifyEnd(&transfer)
        case .truncated(let error) where framing == .unverified:
            throw DownloadError(.connectionLost, error.message)
        case .truncated(let error), .damaged(let error):
            try await prepareRepair(Mismatch(error: error, isWhole: false), &transfer)
            return .again
        }
    }

    /// Makes the next request verify the end of the file: the bytes so far may be correct, and the file merely
    /// incomplete.
    private func verifyEnd(_ transfer: inout DownloadTransfer) -> Step {
        transfer.state.resume.mustVerifyEnd(announcesRanges: false)
        return .again
    }

    /// Throws `connectionLost` for a wrong file whose end only the connection marked, if the failure will be retried.
    ///
    /// The file may only be incomplete; the next response shows its real end.
    private func doubtEnd(after mismatch: Mismatch, _ transfer: inout DownloadTransfer) throws(DownloadError) {
        guard framing == .unverified, !mismatch.isDiskFailure, transfer.expectedSize == nil,
            transfer.partial.hasValidator, transfer.state.mayDoubtEnd()
        else { return }
        let what = "The connection ended after \(transfer.partial.heldBytes) bytes, which are not the whole file."
        throw DownloadError(.connectionLost, what)
    }

    /// Compares the complete file, which has no content coding to remove, with the request, and renames it to its final
    /// name.
    private func completeDecoded(_ transfer: inout DownloadTransfer) async throws -> Step {
        let (decodes, isDecoded) = (transfer.record.requested(\.decodesContent), transfer.partial.original != nil)
        var expected: FileExpectations
        repeat {
            expected = transfer.takeExpectations()
            let mismatch =
                try await decodes
                ? mismatch(ofDecoded: expected, &transfer) : mismatch(ofReceived: expected.size, &transfer)
            if let mismatch {
                if framing == .stream, expected.size == nil, !isDecoded { return verifyEnd(&transfer) }
                if !isDecoded { try doubtEnd(after: mismatch, &transfer) }
                try await prepareRepair(mismatch, &transfer)
                return .again
            }
        } while !transfer.record.seal(after: expected)
        return try await finish(&transfer, isDecoded: isDecoded)
    }

    /// Compares the file as received with the expected `size`, if given, and with the checksum or piece hashes of
    /// ``TransferState/verification``, if any; returns the mismatch, or `nil` if there is none.
    private func mismatch(ofReceived size: Int64?, _ transfer: inout DownloadTransfer) async throws -> Mismatch? {
        // Most files have neither a size nor a checksum to compare with.
        guard size != nil || transfer.state.verification.isNeeded else { return nil }
        var verifier = verifier(for: &transfer)
        return try await verifier.mismatch(of: transfer.partial, path, size, &transfer.state.verification)
    }

    /// Compares a decoded file, or one that the server sent without a coding, with the expected size, checksum and
    /// piece hashes; returns the mismatch, or `nil` if there is none.
    private func mismatch(
        ofDecoded expected: FileExpectations,
        _ transfer: inout DownloadTransfer
    ) async throws -> Mismatch? {
        var verification = Verification(expected)
        guard expected.size != nil || verification.isNeeded else { return nil }
        var verifier = verifier(for: &transfer)
        let mismatch = try await verifier.mismatch(of: transfer.partial, path, expected.size, &verification)
        // It is unknown from which encoded bytes the wrong ones were decoded, so all must be downloaded again.
        return transfer.partial.original == nil ? mismatch : mismatch.map { Mismatch(error: $0.error, found: $0.found) }
    }

    private func verifier(for transfer: inout DownloadTransfer) -> FileVerifier {
        let clock = transfer.environment.clock
        return FileVerifier(transfer.record, clock, transfer.state.meter.progress(at: clock.now()))
    }

    /// Returns whether the file on the disk still has all bytes that were written to it.
    ///
    /// If not, marks the lost bytes as missing, so that they are downloaded again.
    ///
    /// Throws `fileSystem` if bytes were lost too often.
    private func isIntact(_ transfer: inout DownloadTransfer) throws(DownloadError) -> Bool {
        let lost = try transfer.partial.releaseLostBytes()
        guard lost > 0 else { return true }
        transfer.correctMeter()
        guard transfer.state.mayRepairDisk() else {
            throw DownloadError(
                .fileSystem,
                "Another program truncated \(transfer.partial.path), or the disk lost a part of it, for the third time: "
                    + "\(lost.inBytes). Start again."
            )
        }
        transfer.publish(.notice(.fileTruncated(path: transfer.partial.path, bytesLost: lost)))
        return false
    }

    /// Marks the wrong bytes of a file as missing, so that they are downloaded again.
    ///
    /// Throws the mismatch's error if another source must be used or the download must fail.
    ///
    /// If the download fails, the partial file keeps the correct bytes. If no bytes are known to be correct, the file
    /// is saved under another name or deleted.
    private func prepareRepair(_ mismatch: Mismatch, _ transfer: inout DownloadTransfer) async throws {
        let next = transfer.state.mismatched(
            transfer.partial.composition,
            keepsBytes: mismatch.bad != nil,
            isDiskFailure: mismatch.isDiskFailure
        )
        let received = transfer.partial.original?.contents.policy.written ?? transfer.partial.held
        let wasted = mismatch.bad?.ranges.count ?? received.count
        if let bad = mismatch.bad {
            try transfer.partial.release(bad.ranges)
            transfer.correctMeter()
            if next == .fail {
                let kept = "The correct bytes are kept as \(transfer.partial.path)."
                throw mismatch.error.followed(by: kept + " Start again to download only the others.")
            }
            transfer.publish(.repairing(pieces: bad.pieces, bytesWasted: wasted))
        } else {
            if next == .fail { throw try await WrongFile(mismatch: mismatch, finalPath: path).save(&transfer.partial) }
            let reason = RestartReason.mismatch(mismatch.error)
            try transfer.partial.discard(for: reason)
            transfer.correctMeter()
            transfer.publish(.restarted(reason: reason, bytesWasted: wasted))
        }
        guard next == .otherSource else { return }
        throw mismatch.bad == nil ? mismatch.error.followed(by: "The file was deleted.") : mismatch.error
    }

    /// Gives the complete file its final name, after copying it to the destination's volume if necessary.
    ///
    /// Finishes with an existing file instead if that is the same version, or if the conflict policy is `skip`.
    private func finish(_ transfer: inout DownloadTransfer, isDecoded: Bool) async throws -> Step {
        let (size, isComplete) = (transfer.partial.heldBytes, isLengthVerified(transfer, isDecoded))
        try transfer.reserve(path)
        let final: (path: String, stamp: FileStamp)?
        var present: String?
        do throws(DownloadError) {
            let (existing, environment) = (transfer.existingFiles, transfer.environment)
            let source = transfer.state.sources.current
            let (ledger, requester) = (transfer.partial.ledger, transfer.partial.requester)
            var rename = FinalRename(finalPath: path, source: source, isComplete: isComplete)
            // Another process may have downloaded the same file meanwhile.
            rename.checkTaken = { name, stamp throws(DownloadError) in
                guard let requester, var version = ledger.read({ $0.representation }) else { return }
                version.totalBytes = size
                // A damaged resume record may name the partial file itself.
                guard existing.isCurrent(name, version, from: source, for: requester),
                    let inode = try? environment.files.status(name)?.inode, inode != stamp.inode
                else { return }
                present = name
                throw DownloadError(.fileExists, "\(name) exists already.")
            }
            final = try await rename.perform(on: &transfer.partial)
        } catch {
            if let present { return transfer.unchanged(present) }
            guard error.code == .fileExists, transfer.record.requested({ $0.replacement == .skip }) else { throw error }
            // The file appeared during the download; it is treated as if it had existed before.
            guard try transfer.destination.isSatisfied(by: path) else { throw error }
            return try await transfer.skipped(path)
        }
        guard let final else {
            if framing != .unverified { transfer.partial.ledger.recordSize(size) }
            try await transfer.partial.copyToDestination()
            return try await finish(&transfer, isDecoded: isDecoded)
        }
        // The progress counts received bytes, and the size of a decoded file is another number.
        if !isDecoded { transfer.state.meter.totalBytes = size }
        let file = report(final.path, size, isLengthVerified: isComplete, &transfer)
        return .finished(FinishedFile(url: file, stamp: final.stamp))
    }

    /// Whether the server's length, the expected size, a checksum or the end of the content coding shows that the file
    /// is complete.
    private func isLengthVerified(_ transfer: DownloadTransfer, _ isDecoded: Bool) -> Bool {
        framing != .unverified || isDecoded || transfer.state.verification.isNeeded
            || transfer.record.requested { $0.expectedSize != nil }
    }

    /// Reports that the download has finished; returns the URL of the file.
    private func report(
        _ finalPath: String,
        _ size: Int64,
        isLengthVerified: Bool,
        _ transfer: inout DownloadTransfer
    ) -> URL {
        // Compared as bytes, since equal strings may name different files.
        let reported = transfer.state.reportedFile.flatMap { $0.path.hasBytes(of: finalPath) ? $0.url : nil }
        let file = reported ?? URL(filePath: finalPath, directoryHint: .notDirectory)
        let now = transfer.environment.clock.now()
        let progress = transfer.state.meter.progress(at: now)
        transfer.publish(progress)
        let summary = DownloadSummary(
            file: file,
            fileSize: size,
            bytesFetched: transfer.state.fetchedBytes,
            duration: now - transfer.state.start,
            isLengthVerified: isLengthVerified
        )
        transfer.publish(.finished(summary))
        return file
    }
}

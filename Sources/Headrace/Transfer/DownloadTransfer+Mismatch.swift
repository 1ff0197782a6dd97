import HeadracePlatform

/// A complete file whose checksum or size is wrong.
struct Mismatch {
    /// The error that states the expected and the actual value.
    let error: DownloadError
    /// The actual checksum of the file, if it was computed.
    var found: Checksum?
    /// The ranges of the wrong bytes and the number of wrong pieces; `nil` if the wrong bytes cannot be located.
    private(set) var bad: (ranges: ByteRangeSet, pieces: Int)?
    /// Whether the bytes were correct when received and were changed on the disk later, so that no source is at fault.
    private(set) var isDiskFailure = false
    /// Whether the file has all bytes that the source sends; `false` if receiving stopped after the expected size.
    var isWhole = true

    init(error: DownloadError, found: Checksum? = nil, isWhole: Bool = true) {
        self.error = error
        self.found = found
        self.isWhole = isWhole
    }

    /// Returns a copy of the mismatch that states which bytes are wrong.
    func limited(to ranges: ByteRangeSet, pieces: Int, isDiskFailure: Bool = false) -> Mismatch {
        var mismatch = self
        mismatch.bad = (ranges, pieces)
        mismatch.isDiskFailure = isDiskFailure
        return mismatch
    }
}

/// Handles a complete file whose checksum or size is wrong.
extension DownloadTransfer {
    private static let advice = "Compare the checksum with its publisher's, or download the file from another source."

    /// Marks the wrong bytes of a file as missing, so that they are downloaded again.
    ///
    /// Throws the mismatch's error if another source must be used or the download must fail.
    ///
    /// If the download fails, the partial file keeps the correct bytes. If no bytes are known to be correct, the file
    /// is saved under another name or deleted.
    func prepareRepair(
        _ mismatch: Mismatch,
        _ session: inout PartialDownload,
        _ attempts: inout TransferState,
        _ path: String
    ) async throws {
        let next = attempts.mismatched(
            session.composition,
            keepsBytes: mismatch.bad != nil,
            isDiskFailure: mismatch.isDiskFailure
        )
        let wasted = mismatch.bad?.ranges.count ?? session.held.count
        if let bad = mismatch.bad {
            session.release(bad.ranges)
            attempts.meter.correct(to: session.held.count)
            if next == .fail {
                throw mismatch.error.followed(
                    by: "The correct bytes are kept as \(session.path). Start again to download only the others."
                )
            }
            publish(.repairing(pieces: bad.pieces, bytesWasted: wasted))
        } else {
            if next == .fail { throw try await save(mismatch, &session, path) }
            try session.discard()
            attempts.meter.correct(to: 0)
            publish(.restarted(reason: .mismatch(mismatch.error), bytesWasted: wasted))
        }
        if next == .otherSource { throw mismatch.error }
    }

    /// Saves a wrong file under another name, or deletes it; returns the mismatch's error, extended by what was done.
    private func save(
        _ mismatch: Mismatch,
        _ session: inout PartialDownload,
        _ path: String
    ) async throws -> DownloadError {
        guard request.mismatchPolicy == .keep, mismatch.isWhole, session.heldBytes > 0 else {
            try session.discard()
            return mismatch.error.followed(by: "It was deleted. \(Self.advice)")
        }
        let same = try await savedFile(mismatch, session, path)
        do throws(DownloadError) {
            let saved: String
            if let same {
                try session.discard()
                saved = same
            } else {
                saved = try session.setAside(for: path) { environment.claims.claim($0, for: record) }
            }
            var error = mismatch.error.followed(
                by: "It was saved as \(saved). Compare the checksum with its publisher's: if that is the actual one, "
                    + "rename the file; otherwise delete it, and download the file from another source."
            )
            error.savedFile = URL(filePath: saved, directoryHint: .notDirectory)
            return error
        } catch {
            let reason = "It could not be saved under another name: \(error.message)"
            return mismatch.error.followed(by: "\(reason) \(Self.advice)")
        }
    }

    /// Returns the path of an identical wrong file that an earlier download saved; `nil` if there is none.
    ///
    /// Without this check, a command that is run repeatedly would save one more wrong file each time.
    private func savedFile(_ mismatch: Mismatch, _ session: PartialDownload, _ path: String) async throws -> String? {
        guard let checksum = mismatch.found else { return nil }
        var names = MismatchNames(path, session.names)
        while let name = names.next(), let status = try? environment.files.status(name) {
            guard status.kind == .regular, status.size == session.heldBytes else { continue }
            let file = URL(filePath: name, directoryHint: .notDirectory)
            do {
                if try await Checksum.compute(checksum.algorithm, ofFileAt: file) == checksum { return name }
            } catch is DownloadError {
                // A file that cannot be read counts as different.
            }
        }
        return nil
    }
}

extension DownloadError {
    static func wrongSize(of path: String, _ size: Int64, expected: Int64) -> DownloadError {
        let found = size > expected ? "more than \(expected) bytes" : "\(size) bytes"
        return DownloadError(
            .checksum,
            "\(path) has the wrong size: it has \(found), but \(expected) are expected."
        )
    }

    static func checksum(
        of path: String,
        _ expected: Checksum,
        found: Checksum,
        isFromServer: Bool
    ) -> DownloadError {
        DownloadError(
            .checksum,
            "\(path) is complete but wrong: its \(found.algorithm) checksum is \(found.hexadecimal), but "
                + "\(expected.hexadecimal) \(isFromServer ? "is what the server sent" : "is expected")."
        )
    }

    /// Returns the error with `sentence` appended to its message.
    fileprivate func followed(by sentence: String) -> DownloadError {
        var error = self
        error.message += " \(sentence)"
        return error
    }
}

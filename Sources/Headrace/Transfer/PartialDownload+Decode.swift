/// A complete partial file with a content coding, while the file decoded from it gets the final name.
final class CodedFile: Sendable {
    let file: PartialFile
    /// The resume record, with which a later run decodes the file again.
    let record: ControlRecord
    let contents: FileLedger.Contents

    init(_ file: PartialFile, _ record: ControlRecord, _ contents: FileLedger.Contents) {
        (self.file, self.record, self.contents) = (file, record, contents)
    }
}

/// The end of a file, as its encoded bytes show it.
enum EncodedEnd {
    /// They are a complete file.
    case complete
    /// They are a complete file, but further gzip members or zstd frames may be missing.
    case maybeMore
    case truncated(DownloadError)
    case damaged(DownloadError)
}

/// Decodes the complete partial file into a second file, which then takes its place.
///
/// The partial file and its record stay until the decoded file has its final name. Thus a run after a crash decodes the
/// file again, or recognizes the decoded file by the identity in the record.
extension PartialDownload {
    /// The content coding to remove from the complete file; `nil` if there is none, or if it has been removed.
    var coding: ContentCoding? {
        ledger.read { contents in
            guard contents.representation?.isDecoded == true else { return nil }
            return contents.representation?.contentCoding.flatMap(ContentCoding.init(name:))
        }
    }

    private var decodedPath: String { path + ReservedFileNames.decodedSuffix }

    /// Decodes the complete file, which is synced before if the configuration requires it.
    ///
    /// Throws `contentCoding` if the system cannot decode the coding, `fileTooLarge` at the limit, and
    /// `CancellationError`. Then, and if the bytes are truncated or damaged, the partial file stays as it is.
    mutating func decode(_ coding: ContentCoding, upTo limit: SizeLimit) async throws -> EncodedEnd {
        let target = try opened()
        try ledger.stop(.keeping, on: target)
        let size = heldBytes
        var policy = newPolicy()
        ledger.change { [policy] contents, _ in contents.policy = policy }
        ledger.end()
        let bootID = try DownloadError.storage("\(path) could not be decoded: the boot is unknown") {
            () throws(SystemError) in
            try environment.files.bootID()
        }
        let decoder = try ContentDecoder(coding)
        let output = try PartialFile.create(decodedPath, calls: environment.sharedFiles)
        var (written, isIntact, isKept) = (Int64(0), true, false)
        defer {
            if !isKept {
                output.remove()
                output.close()
            }
        }
        try await read(0..<size) { bytes in
            guard isIntact else { return }
            isIntact = try decoder.decode(bytes) { bytes in
                try limit.check(written + Int64(bytes.count))
                try output.write(bytes, at: written)
                written += Int64(bytes.count)
            }
        }
        guard isIntact, decoder.isFinished else {
            let how = isIntact ? "truncated" : "damaged, or followed by other bytes"
            let what = "The \(coding.rawValue) data of the file in \(path) is \(how)."
            let error = DownloadError(.contentCoding, what)
            return isIntact ? .truncated(error) : .damaged(error)
        }
        isKept = true
        let contents = ledger.contents
        coded = CodedFile(target.file, contents.record(of: target, bootID: bootID), contents)
        file = output
        let now = environment.clock.now()
        policy = CheckpointPolicy(environment.configuration.durability, at: now)
        _ = policy.wrote(0..<written, isLast: true, at: now)
        // The record of the partial file.
        policy.recordWritten()
        ledger.change { [policy, written] contents, _ in
            contents.policy = policy
            contents.pieces = nil
            contents.representation?.totalBytes = written
            contents.representation?.contentCoding = nil
            contents.representation?.isDecoded = nil
        }
        return decoder.endCount > 1 ? .maybeMore : .complete
    }

    /// Returns to the partial file and its record, and removes the file that was decoded from it; does nothing if there
    /// is none.
    mutating func discardDecoded() {
        guard coded != nil else { return }
        returnToCoded()
        if let target { ledger.writeRecord(to: target) }
    }

    /// Returns to the partial file, and removes the file that was decoded from it; does nothing if there is none.
    ///
    /// The record still describes the decoded file.
    mutating func returnToCoded() {
        guard let coded = coded.take() else { return }
        file?.remove()
        file?.close()
        file = coded.file
        let (written, durable) = (coded.record.written, coded.record.durable)
        ledger.change { contents, _ in contents = coded.contents }
        let policy = newPolicy(of: written, durable: durable)
        ledger.change { contents, _ in contents.policy = policy }
    }

    /// Removes the partial file, because the file decoded from it has its final name; does nothing if there is none.
    mutating func removeCoded() {
        guard let coded = coded.take() else { return }
        coded.file.remove()
        coded.file.close()
    }

    /// Removes a decoded file that another process left; called while the partial file is locked.
    func removeDecoded() { try? environment.files.remove(decodedPath) }
}

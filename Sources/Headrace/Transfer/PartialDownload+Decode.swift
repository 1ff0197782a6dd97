import HeadracePlatform

/// A complete partial file, while the file decoded or copied from it gets the final name.
final class OriginalFile: Sendable {
    let file: PartialFile
    /// The resume record, with which a later run decodes or copies the file again.
    let record: ControlRecord
    let contents: FileLedger.Contents

    init(_ file: PartialFile, _ record: ControlRecord, _ contents: FileLedger.Contents) {
        (self.file, self.record, self.contents) = (file, record, contents)
    }
}

/// Whether the received encoded bytes are complete, as decoding them has shown.
enum EncodedEnd {
    /// The bytes are a complete file.
    case complete
    /// The bytes are several complete gzip members or zstd frames, but further ones may be missing.
    case maybeMore
    case truncated(DownloadError)
    case damaged(DownloadError)
}

/// Decodes or copies the complete partial file into a second file beside the destination, which then takes its place.
///
/// The partial file and its record stay until the second file has its final name. Thus a run after a crash writes that
/// file again, or recognizes it by the identity in the record.
extension PartialDownload {
    /// The content coding to remove from the complete file; `nil` if there is none, or if it has been removed.
    var coding: ContentCoding? {
        ledger.read { contents in
            guard contents.representation?.isDecoded == true else { return nil }
            return contents.representation?.contentCoding.flatMap(ContentCoding.init(name:))
        }
    }

    /// Decodes the complete file into a second file; first syncs the complete file if the configuration requires it.
    ///
    /// Throws `contentCoding` if the system cannot decode the coding, `fileTooLarge` at the limit, the errors of the
    /// disk, and `CancellationError`. If it throws, or if the bytes are truncated or damaged, the partial file stays as
    /// it is.
    mutating func decode(_ coding: ContentCoding, upTo limit: SizeLimit) async throws -> EncodedEnd {
        let encoded = try completed()
        let decoder = try ContentDecoder(coding)
        let output = try createOutput(ReservedFileNames.decodedSuffix)
        var (written, isIntact, isKept) = (Int64(0), true, false)
        defer {
            if !isKept {
                output.remove()
                output.close()
            }
        }
        struct Damage: Error {}
        do {
            try await read(0..<heldBytes) { bytes in
                isIntact = try decoder.decode(bytes) { bytes in
                    try limit.check(written + Int64(bytes.count))
                    try output.write(bytes, at: written)
                    written += Int64(bytes.count)
                }
                if !isIntact { throw Damage() }
            }
        } catch is Damage {}
        guard isIntact, decoder.isFinished else {
            let how = isIntact ? "truncated" : "damaged, or followed by other bytes"
            let what = "The \(coding.rawValue) data of the file in \(path) is \(how)."
            let error = DownloadError(.contentCoding, what)
            return isIntact ? .truncated(error) : .damaged(error)
        }
        isKept = true
        replace(encoded, by: output, size: written)
        ledger.change { contents, _ in
            contents.representation?.totalBytes = written
            contents.representation?.contentCoding = nil
            contents.representation?.isDecoded = nil
        }
        return decoder.endCount > 1 ? .maybeMore : .complete
    }

    /// Whether a rename failed because the partial file is on another volume than its destination; `false` if the file
    /// to rename is already a decoded file or a copy.
    func needsCopy(after error: SystemError) -> Bool { error.errno == EXDEV && original == nil }

    /// Copies the complete file to the destination's volume, on which it can be renamed to its final name.
    ///
    /// Throws `diskFull` and other errors of the disk, and `CancellationError`; the partial file stays as it is then.
    mutating func copyToDestination() async throws {
        let complete = try completed()
        let copy = try createOutput(ReservedFileNames.copySuffix)
        var (written, isKept) = (Int64(0), false)
        defer {
            if !isKept {
                copy.remove()
                copy.close()
            }
        }
        try copy.requireSpace(for: heldBytes)
        try await read(0..<heldBytes) { bytes in
            try copy.write(bytes, at: written)
            written += Int64(bytes.count)
        }
        isKept = true
        replace(complete, by: copy, size: written)
    }

    /// Throws `diskFull` if a file of this size must be copied to the destination's volume once it is complete, and has
    /// no space there.
    func requireSpaceForCopy(of size: Int64) throws(DownloadError) {
        guard path != names.partialPath, let file else { return }
        let (files, directory) = (environment.files, names.directory + "/")
        guard let device = try? files.status(directory)?.device, device != file.identity.device,
            let opened = try? files.openForReading(directory)
        else { return }
        defer { try? files.close(opened) }
        try files.requireSpace(for: size, at: names.plannedPath, opened)
    }

    /// Ends the checkpoints of the complete file, syncs it if the configuration requires it, and writes its record if
    /// it has none; returns the file and its record.
    private mutating func completed() throws(DownloadError) -> OriginalFile {
        let target = try opened()
        try ledger.stop(.keeping, on: target)
        // A file that arrived within half a second, and was about to be renamed, has none.
        if !ledger.read({ $0.policy.hasRecord }) { ledger.writeRecord(to: target) }
        renewPolicy()
        ledger.end()
        let bootID = try DownloadError.storage("\(path) could not be completed: the boot is unknown") {
            () throws(SystemError) in
            try environment.files.bootID()
        }
        let contents = ledger.contents
        return OriginalFile(target.file, contents.record(of: target, bootID: bootID), contents)
    }

    private func createOutput(_ suffix: String) throws(DownloadError) -> PartialFile {
        try PartialFile.create(names.partialPath + suffix, calls: environment.sharedFiles)
    }

    /// Lets a file that was decoded or copied from the complete file take its place.
    private mutating func replace(_ complete: OriginalFile, by output: PartialFile, size: Int64) {
        (original, file) = (complete, output)
        let now = environment.clock.now()
        var policy = CheckpointPolicy(environment.configuration.durability, at: now)
        _ = policy.wrote(0..<size, isLast: true, at: now)
        // The record of the partial file exists, and must be updated before the rename.
        policy.recordWritten()
        ledger.change { [policy] contents, _ in
            contents.policy = policy
            contents.pieces = nil
        }
    }

    /// Returns to the partial file and its record, and removes the file that was decoded or copied from it; does
    /// nothing if there is none.
    mutating func discardOutput() {
        guard original != nil else { return }
        returnToOriginal()
        if let target { ledger.writeRecord(to: target) }
    }

    /// Returns to the partial file, and removes the file that was decoded or copied from it; does nothing if there is
    /// none.
    ///
    /// Does not update the record on the disk, which may still describe the removed file.
    mutating func returnToOriginal() {
        guard let original = original.take() else { return }
        file?.remove()
        file?.close()
        file = original.file
        let (written, durable) = (original.record.written, original.record.durable)
        ledger.change { contents, _ in contents = original.contents }
        renewPolicy(of: written, durable: durable)
    }

    /// Removes the partial file, because the file decoded or copied from it has its final name; does nothing if there
    /// is none.
    mutating func removeOriginal() {
        guard let original = original.take() else { return }
        original.file.remove()
        original.file.close()
    }

    /// Removes decoded files and copies that a killed process left, unless another process is writing them; called
    /// while the partial file is locked.
    func removeOutputs() {
        let suffixes =
            (record.requested(\.decodesContent) ? [ReservedFileNames.decodedSuffix] : [])
            + (path == names.partialPath ? [] : [ReservedFileNames.copySuffix])
        for suffix in suffixes {
            let left = try? PartialFile.existing(names.partialPath + suffix, calls: environment.sharedFiles)
            left?.remove()
            left?.close()
        }
    }
}

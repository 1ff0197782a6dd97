/// Reads the received bytes and marks wrong or lost ones as missing, before the file gets its final name.
extension PartialDownload {
    /// Passes the bytes of a range to `take` in order, a buffer at a time, and yields after each buffer.
    ///
    /// Throws `CancellationError` if the task is cancelled, and a `fileSystem` error if the file is too short.
    func read(_ range: Range<Int64>, _ take: (UnsafeRawBufferPointer) throws -> Void) async throws {
        guard let file else { preconditionFailure("There is no partial file to read") }
        try await FileChunks.read(range, take) { offset, maxBytes throws(DownloadError) in
            try file.read(at: offset, maxBytes: maxBytes)
        } whenShort: {
            DownloadError(.fileSystem, "\(file.path) was changed or removed during the download. Start it again.")
        }
    }

    /// Copies ranges of another file into the partial file; if a read fails, the rest of that range stays missing.
    ///
    /// The version of the bytes is recorded as unknown. If `isWhole` is `true`, the ranges are the complete file, and
    /// their length is recorded as its size.
    mutating func takeOver(
        _ ranges: ByteRangeSet,
        of file: borrowing OpenFile,
        for finalPath: String,
        isWhole: Bool
    ) async throws {
        let target = try opened()
        try target.file.requireSpace(for: file.status.size)
        let (totalBytes, policy) = (isWhole ? ranges.count : nil, newPolicy())
        compose(of: .severalResponses)
        ledger.change { contents, readable in
            contents = FileLedger.Contents(policy: policy)
            contents.representation = RepresentationMetadata(totalBytes: totalBytes)
            contents.finalPath = finalPath
            readable.began(path, totalBytes: totalBytes)
        }
        for range in ranges.ranges {
            var offset = range.lowerBound
            try await file.readWherePossible(range) { bytes in
                try target.file.write(bytes, at: offset)
                let end = offset + Int64(bytes.count)
                if try ledger.wrote(offset..<end, at: environment.clock.now()) { try settle() }
                offset = end
            }
        }
    }

    /// Stores the checksum that the server sent for the complete file, so that later runs verify the file against it
    /// too; `nil` removes a stored one.
    func keepChecksum(_ checksum: Checksum?) {
        ledger.change { contents, _ in contents.representation?.checksum = checksum?.description }
    }

    /// Records that only a checksum of the complete file can show whether the received bytes are of one version.
    func markUnverified() { ledger.change { contents, _ in contents.representation?.isUnverified = true } }

    /// Marks as missing the bytes that the file has lost since they were written; returns the number of these bytes.
    mutating func releaseLostBytes() throws(DownloadError) -> Int64 {
        let held = held
        guard let intact = try file?.intact(held), intact != held else { return 0 }
        if intact.isEmpty { try discard() } else { keepOnly(intact) }
        return held.count - intact.count
    }

    /// Marks wrong bytes as missing, so that they are downloaded again.
    mutating func release(_ bad: ByteRangeSet) throws(DownloadError) {
        try giveName()
        var kept = held
        for range in bad.ranges { kept.remove(range) }
        keepOnly(kept)
    }
}

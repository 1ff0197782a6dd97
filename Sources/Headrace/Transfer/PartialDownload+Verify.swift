/// Verifies the complete partial file before it is named.
extension PartialDownload {
    /// Passes on bytes in order, a buffer at a time, and yields the thread in between.
    ///
    /// Throws `CancellationError` between two buffers if the task is cancelled, and an error if bytes are missing.
    func read(
        _ range: Range<Int64>,
        _ take: (UnsafeRawBufferPointer) throws -> Void
    ) async throws {
        guard let partial else { preconditionFailure("There is no partial file to read") }
        try await FileSystem.readInOrder(range, take) { offset, maxBytes throws(DownloadError) in
            try partial.read(at: offset, maxBytes: maxBytes)
        } whenShort: {
            DownloadError(.fileSystem, "\(partial.path) was changed or removed during the download. Start it again.")
        }
    }

    /// Copies ranges of another file into the partial file; their version is unknown except, with `isWhole`, its size.
    mutating func takeOver(
        _ ranges: ByteRangeSet,
        of file: borrowing OpenFile,
        for finalPath: String,
        isWhole: Bool
    ) async throws {
        let partial = try opened()
        try partial.requireSpace(for: file.status.size)
        (representation, self.finalPath) = (RepresentationMetadata(totalBytes: isWhole ? ranges.count : nil), finalPath)
        policy = newPolicy()
        compose(of: .severalResponses)
        readers.change { $0.began(path, totalBytes: isWhole ? ranges.count : nil) }
        for range in ranges.ranges {
            var offset = range.lowerBound
            try await file.read(range) { bytes in
                try partial.write(bytes, at: offset)
                let end = offset + Int64(bytes.count)
                try complete(wrote(offset..<end))
                offset = end
            }
        }
    }

    /// Stores the checksum that the server sent for the whole file, for later runs too.
    mutating func keepChecksum(_ checksum: Checksum?) {
        guard representation?.checksum != checksum?.description else { return }
        representation?.checksum = checksum?.description
        renewCheckpoint()
    }

    /// Records that only a checksum of the whole file can show that the received bytes belong together.
    mutating func markUnverified() {
        if flagUnverified() { renewCheckpoint() }
    }

    /// Like ``markUnverified()``, but returns `true` to leave ``renewCheckpoint()``, which may wait for a sync, to the caller.
    mutating func flagUnverified() -> Bool {
        guard representation?.isUnverified == nil else { return false }
        representation?.isUnverified = true
        return true
    }

    /// Releases bytes that the complete file has lost since they were written, to be downloaded again; returns how many.
    mutating func releaseLostBytes() throws(DownloadError) -> Int64 {
        let count = held.count
        guard let intact = try partial?.intact(held), intact != held else { return 0 }
        if intact.isEmpty { try discard() } else { keepOnly(intact) }
        return count - held.count
    }

    /// Discards wrong bytes, to be downloaded again.
    mutating func release(_ bad: ByteRangeSet) {
        var kept = held
        for range in bad.ranges { kept.remove(range) }
        keepOnly(kept)
    }
}

extension FileSystem {
    /// Reads bytes in order, a buffer at a time.
    static func readInOrder(
        _ range: Range<Int64>,
        _ take: (UnsafeRawBufferPointer) throws -> Void,
        reading read: (_ offset: Int64, _ maxBytes: Int) throws(DownloadError) -> [UInt8],
        whenShort failure: () -> DownloadError
    ) async throws {
        var offset = range.lowerBound
        while offset < range.upperBound {
            try Task.checkCancellation()
            let bytes = try read(offset, Int(min(Int64(readBytes), range.upperBound - offset)))
            guard !bytes.isEmpty else { throw failure() }
            try bytes.withUnsafeBytes(take)
            offset += Int64(bytes.count)
            await Task.yield()
        }
    }
}

/// The complete partial, before it gets its name.
extension PartialDownload {
    /// Hands on bytes in order, with their number so far; between two pieces the thread is others'.
    ///
    /// Throws `CancellationError` between two pieces as soon as the task is cancelled, and an error where bytes are missing.
    func read(
        _ range: Range<Int64>,
        _ take: (UnsafeRawBufferPointer) throws -> Void
    ) async throws {
        guard let partial else { preconditionFailure("There is no partial to read") }
        try await FileSystem.readInOrder(range, take) { offset, maxBytes throws(DownloadError) in
            try partial.read(at: offset, maxBytes: maxBytes)
        } whenShort: {
            DownloadError(.fileSystem, "\(partial.path) was changed or removed while it was written. Start again.")
        }
    }

    /// Copies ranges of another file, which are held from now on as of a version of which nothing is told but, where they are
    /// the whole, its size.
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

    /// Has the bytes go by what their server tells of the whole, also in a later run.
    mutating func keepChecksum(_ checksum: Checksum?) {
        guard representation?.checksum != checksum?.description else { return }
        representation?.checksum = checksum?.description
        renewCheckpoint()
    }

    /// Bytes come that only a checksum of the whole can prove to belong to those that are held.
    mutating func markUnverified() {
        if flagUnverified() { renewCheckpoint() }
    }

    /// As ``markUnverified()``, but for ``renewCheckpoint()``, which waits for a sync that runs and is left to do where this is true.
    mutating func flagUnverified() -> Bool {
        guard representation?.isUnverified == nil else { return false }
        representation?.isUnverified = true
        return true
    }

    /// Releases the bytes that the complete file has lost since they were written, to be fetched again; returns how many.
    mutating func releaseLostBytes() throws(DownloadError) -> Int64 {
        let count = held.count
        guard let intact = try partial?.intact(held), intact != held else { return 0 }
        if intact.isEmpty { try discard() } else { keepOnly(intact) }
        return count - held.count
    }

    /// Gives up bytes that are wrong, to be fetched again.
    mutating func giveUp(_ bad: ByteRangeSet) {
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

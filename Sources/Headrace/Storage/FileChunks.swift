/// Reads files in chunks.
enum FileChunks {
    /// The chunk size in bytes for reading a complete file.
    static let maxBytes = 512 << 10

    /// Passes the bytes of a range to `take` in order, a buffer at a time.
    ///
    /// Throws `CancellationError` before the next buffer if the task is cancelled. If `read` returns no bytes before
    /// the end of the range, calls `failure`: throws the error that it returns, or returns early if it returns `nil`.
    static func read(
        _ range: Range<Int64>,
        _ take: (UnsafeRawBufferPointer) throws -> Void,
        reading read: (_ offset: Int64, _ maxBytes: Int) throws(DownloadError) -> [UInt8],
        whenShort failure: () -> DownloadError?
    ) async throws {
        var offset = range.lowerBound
        while offset < range.upperBound {
            try Task.checkCancellation()
            let bytes = try read(offset, Int(min(Int64(Self.maxBytes), range.upperBound - offset)))
            guard !bytes.isEmpty else {
                if let failure = failure() { throw failure }
                return
            }
            try bytes.withUnsafeBytes(take)
            offset += Int64(bytes.count)
            // Lets other jobs of this executor run; `Task.yield()` would leave it for Swift's cooperative pool.
            await withDiscardingTaskGroup { $0.addTask {} }
        }
    }
}

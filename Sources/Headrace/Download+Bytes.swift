public import HeadracePlatform

extension Download {
    /// The bytes of the file, each as soon as it is there.
    ///
    ///     for try await bytes in download.bytes(in: 1_000_000...) { play(bytes) }
    ///
    /// While somebody reads, what is missing of the range comes before the rest of the file, where the server gives parts of
    /// it; of several readers that of the latest comes first. See <doc:Reading>.
    /// - Parameter range: The offsets to read, from zero; what is before the file's first byte or behind its last is left out.
    /// - Returns: A sequence that can be iterated more than once, each time from the start of the range.
    public func bytes(in range: some RangeExpression<Int64> = 0...) -> DownloadBytes {
        let offsets =
            switch range {
            // No file has a byte there, and no range an end behind it.
            case let range as ClosedRange<Int64> where range.upperBound == .max: range.lowerBound..<Int64.max
            case let range as PartialRangeThrough<Int64> where range.upperBound == .max: 0..<Int64.max
            default: range.relative(to: Int64.min..<Int64.max)
            }
        return DownloadBytes(download: self, range: offsets.clamped(to: 0..<Int64.max))
    }
}

/// The bytes of a download's file in order, whether they are there already or have yet to come.
///
/// Nothing is kept in memory but the chunk that was asked for: bytes are read from the partial file, and from the finished
/// one, when the next chunk is. While the download waits or is paused, so does the sequence for what is missing.
///
/// What a server has sent is handed out before any checksum of the file can be verified, which takes all its bytes: those who
/// must not use a wrong file wait for ``Download/value``.
///
/// The iteration throws the download's ``DownloadError`` when it fails or is cancelled; `resourceChanged` when bytes were
/// handed out and the download then started again with another version, which without that is what is read; `fileSystem` or
/// `permission` where the file cannot be read or was changed by somebody else; and `CancellationError` when the task that
/// iterates is cancelled, which changes nothing for the download. Each of them, as the end, takes back what was asked of the
/// download; so does letting go of the iterator.
public struct DownloadBytes: AsyncSequence, Sendable {
    let download: Download
    let range: Range<Int64>

    /// Begins to read, from the start of the range.
    /// - Returns: An iterator for one task.
    public func makeAsyncIterator() -> Iterator {
        let (manager, id) = (download.manager, download.id)
        let reader = FileReader(of: download.record, range, manager.environment.files, manager.executor) {
            manager.list.stamp(of: id)
        }
        return Iterator(reader: reader)
    }

    /// Reads the file at the pace of the one who asks.
    public struct Iterator: AsyncIteratorProtocol {
        let reader: FileReader

        /// Waits for bytes and reads them.
        /// - Returns: At most 256 KiB and at least a byte; nil at the end of the range or of the file.
        /// - Throws: What ``DownloadBytes`` says; the iteration has ended then.
        public mutating func next() async throws -> Data? {
            try await reader.next()
        }
    }
}

@available(*, unavailable)
extension DownloadBytes.Iterator: Sendable {}

public import HeadracePlatform

extension Download {
    /// Reads the file while it is being downloaded.
    ///
    ///     for try await bytes in download.bytes(in: 1_000_000...) { play(bytes) }
    ///
    /// If the download can send range requests, missing bytes of the range are downloaded before the rest of the file;
    /// otherwise the file arrives in order. With several readers, the range of the latest reader is downloaded first.
    /// See <doc:Reading>.
    /// - Parameter range: The byte offsets to read, counted from zero; offsets beyond the end of the file are ignored.
    /// - Returns: A sequence that can be iterated more than once, each time from the start of the range.
    public func bytes(in range: some RangeExpression<Int64> = 0...) -> DownloadBytes {
        let offsets =
            switch range {
            // A half-open range cannot include this offset, and no file has a byte there.
            case let range as ClosedRange<Int64> where range.upperBound == .max: range.lowerBound..<Int64.max
            case let range as PartialRangeThrough<Int64> where range.upperBound == .max: 0..<Int64.max
            default: range.relative(to: Int64.min..<Int64.max)
            }
        return DownloadBytes(download: self, range: offsets.clamped(to: 0..<Int64.max))
    }
}

/// The bytes of a download's file in order, as they arrive.
///
///     for try await bytes in download.bytes() {
///         try output.write(contentsOf: bytes)
///     }
///
/// Each chunk is read from the partial or finished file when it is requested, so a slow reader does not accumulate
/// memory. If bytes are missing, the iterator waits for them, even while the download is waiting or paused.
///
/// The bytes are delivered before the file's checksum is verified. If a wrong file would do harm, wait for
/// ``Download/value`` instead. A sequence of the whole file ends only when the file is verified and finished. With
/// ``DownloadRequest/decodesContent``, no bytes are delivered before the file is finished.
///
/// The iterator throws:
/// - the download's ``DownloadError`` when it fails or is cancelled;
/// - `resourceChanged` if the download discards bytes that the iterator has delivered, because they are wrong or of
///   another version of the file; its `cause` is the ``RestartReason``, if there is one;
/// - `fileSystem` or `permission` if the file cannot be read, or was changed by another process;
/// - `CancellationError` if the iterating task is cancelled, which does not affect the download.
///
/// When the iterator finishes, throws or is released, its range is no longer downloaded first.
public struct DownloadBytes: AsyncSequence, Sendable {
    let download: Download
    let range: Range<Int64>

    /// Creates an iterator that reads from the start of the range.
    /// - Returns: A new iterator, for use in one task.
    public func makeAsyncIterator() -> Iterator {
        let (manager, record) = (download.manager, download.record)
        let reader = FileReader(of: record, range, manager.environment.files, manager.executor) {
            record.finishedFile?.stamp
        }
        return Iterator(reader: reader)
    }

    /// An iterator that reads one chunk of the file at a time.
    public struct Iterator: AsyncIteratorProtocol {
        let reader: FileReader

        /// Waits for the next bytes and reads them.
        /// - Returns: Between 1 byte and 256 KiB; `nil` at the end of the range or of the file.
        /// - Throws: The errors that ``DownloadBytes`` describes; an error ends the iteration.
        public mutating func next() async throws -> Data? {
            try await reader.next()
        }
    }
}

@available(*, unavailable)
extension DownloadBytes.Iterator: Sendable {}

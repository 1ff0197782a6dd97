import HeadracePlatform

/// Reads a range of a download's file with its own file descriptor, even while the file is being received.
///
/// When the reader is released, its bytes are no longer requested with priority.
final class FileReader: Sendable {
    private struct OpenFile {
        let descriptor: Int32
        let generation: Int
    }

    private let files: FileSystem
    private let executor: BlockingExecutor
    /// Returns the stamp (size, modification time and inode) of the finished file; `nil` if it is unknown.
    private let finalStamp: @Sendable () -> FileStamp?
    private let ledger: FileLedger
    private let id: ReadableFile.ReaderID
    private let file = Locked<OpenFile?>(nil)

    init(
        of record: DownloadRecord,
        _ range: Range<Int64>,
        _ files: FileSystem,
        _ executor: BlockingExecutor,
        finalStamp: @escaping @Sendable () -> FileStamp?
    ) {
        self.files = files
        self.executor = executor
        self.finalStamp = finalStamp
        ledger = record.ledger()
        // Before joining, so that the state of the download is known when the new demand is evaluated.
        ledger.entered(record)
        id = ledger.join(range)
    }

    deinit {
        close()
    }

    /// Waits for the next bytes of the range and returns them; `nil` at the end.
    ///
    /// Throws `CancellationError` if the task is cancelled, and a `DownloadError` if the bytes cannot be delivered.
    func next() async throws -> Data? {
        do {
            while true {
                try Task.checkCancellation()
                switch ledger.step(of: id) {
                case .read(let read):
                    let data = try await executor.run { [self] () throws(DownloadError) in
                        try bytes(of: read)
                    }
                    if let data { return data }
                case .wait: await ledger.wait(for: id)
                case .end:
                    close()
                    return nil
                case .fail(let error): throw error
                }
            }
        } catch {
            close()
            throw error
        }
    }

    /// Withdraws the reader's demand and closes its descriptor; closing a read-only one does not wait for the disk.
    private func close() {
        ledger.leave(id)
        if let file = file.withLock({ $0.take() }) { try? files.close(file.descriptor) }
    }

    /// Returns the bytes of a read; `nil` if there are none to deliver.
    ///
    /// Bytes are not delivered if they were lost during the read, or if the file was moved.
    private func bytes(of read: ReadableFile.Read) throws(DownloadError) -> Data? {
        do throws(SystemError) {
            let file = try descriptor(for: read)
            let bytes = try files.readAt(file, read.range.lowerBound, read.range.count)
            if let stamp = stamp(for: read), FileStamp(try files.openStatus(file)) != stamp {
                throw SystemError(errno: ENOENT)
            }
            return ledger.took(bytes.count, of: read, by: id) ? Data(bytes) : nil
        } catch  where error.errno == ENOENT && read.proof != .final {
            ledger.strayed(read, by: id)
            return nil
        } catch  where error.errno == ENOENT {
            throw .fileChanged(read.path)
        } catch {
            throw .storage("\(read.path) could not be read", error)
        }
    }

    /// Returns the stamp that the file must have after the read; `nil` if a transfer has the file locked, or the stamp
    /// is unknown.
    private func stamp(for read: ReadableFile.Read) -> FileStamp? {
        switch read.proof {
        case .session: nil
        case .stamp(let stamp): stamp
        case .final: finalStamp()
        }
    }

    /// Returns the descriptor of the open file, which stays valid when the file is renamed; opens the file if
    /// necessary.
    private func descriptor(for read: ReadableFile.Read) throws(SystemError) -> Int32 {
        let stale: OpenFile? = file.withLock { file in
            file?.generation == read.generation ? nil : file.take()
        }
        if let stale { try? files.close(stale.descriptor) }
        if let file = file.withLock({ $0 }) { return file.descriptor }
        let opened = OpenFile(descriptor: try files.openForReading(read.path), generation: read.generation)
        file.withLock { $0 = opened }
        return opened.descriptor
    }
}

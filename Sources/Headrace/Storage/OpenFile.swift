/// An existing regular file, opened to verify its contents.
///
/// All calls block.
struct OpenFile: ~Copyable {
    let status: FileStatus
    private let path: String
    private let descriptor: Int32
    private let calls: FileSystem

    /// Opens a file; throws `permission` or `fileSystem` if that fails or it is not a regular file.
    init(_ path: String, followingLinks: Bool, calls: FileSystem = .system) throws(DownloadError) {
        let descriptor = try DownloadError.storage("\(path) could not be opened") { () throws(SystemError) in
            try followingLinks
                ? SystemFileCalls.openToRead(path, followingLinks: true) : calls.openForReading(path)
        }
        let status: FileStatus
        do throws(DownloadError) {
            status = try DownloadError.storage("The status of \(path) could not be read") { () throws(SystemError) in
                try calls.openStatus(descriptor)
            }
            guard status.kind == .regular else {
                throw DownloadError(.fileSystem, "\(path) is not a regular file.")
            }
        } catch {
            try? calls.close(descriptor)
            throw error
        }
        self.status = status
        self.path = path
        self.descriptor = descriptor
        self.calls = calls
    }

    deinit { try? calls.close(descriptor) }

    /// Passes the bytes of a range to `take` in order, and yields to other tasks between two buffers.
    ///
    /// Throws `CancellationError` before the next buffer if the task is cancelled, and `fileSystem` if the file has
    /// become shorter.
    func read(_ range: Range<Int64>, _ take: (UnsafeRawBufferPointer) throws -> Void) async throws {
        let (path, descriptor, calls) = (path, descriptor, calls)
        try await FileChunks.read(range, take) { offset, maxBytes throws(DownloadError) in
            try DownloadError.storage("\(path) could not be read") { () throws(SystemError) in
                try calls.readAt(descriptor, offset, maxBytes)
            }
        } whenShort: {
            DownloadError(.fileSystem, "\(path) became shorter while it was read.")
        }
    }

    /// Passes the bytes of a range to `take` like ``read(_:_:)``, but ends at bytes that cannot be read instead of
    /// throwing an error.
    func readWherePossible(_ range: Range<Int64>, _ take: (UnsafeRawBufferPointer) throws -> Void) async throws {
        let (descriptor, calls) = (descriptor, calls)
        try await FileChunks.read(range, take) { offset, maxBytes throws(DownloadError) in
            (try? calls.readAt(descriptor, offset, maxBytes)) ?? []
        } whenShort: {
            nil
        }
    }

    /// Throws `fileSystem` if the file has changed since it was opened, or has more bytes than the size that its file
    /// system reports.
    func checkUnchanged() throws(DownloadError) {
        let (now, surplus) = try DownloadError.storage("\(path) could not be read") { () throws(SystemError) in
            let surplus = try calls.readAt(descriptor, status.size, 1)
            return (try calls.openStatus(descriptor), surplus)
        }
        guard now.size == status.size, now.modified == status.modified else {
            throw DownloadError(
                .fileSystem,
                "\(path) was changed while it was read. Try again when no other program writes to it."
            )
        }
        guard surplus.isEmpty else {
            throw DownloadError(
                .fileSystem,
                "\(path) has more bytes than its file system reports (\(status.size)). Verify a copy of it instead."
            )
        }
    }
}

public import HeadracePlatform

extension Checksum {
    /// Computes the checksum of an existing file.
    ///
    /// Reads on a separate thread. If the task is cancelled, throws `CancellationError` before reading another 512 KiB.
    /// - Parameters:
    ///   - algorithm: The hash function.
    ///   - file: A file URL; symbolic links are followed.
    ///   - onProgress: Called on that thread with the number of bytes read and the size of the file; must not block.
    /// - Returns: The checksum.
    /// - Throws: `invalidRequest` if the URL names no local file, `digestUnavailable` if the system lacks the hash
    ///   function, `permission` or `fileSystem` if the file cannot be read, is not a regular file, or was changed while
    ///   it was read.
    public static func compute(
        _ algorithm: Algorithm,
        ofFileAt file: URL,
        onProgress: @escaping @Sendable (_ bytes: Int64, _ size: Int64) -> Void = { _, _ in }
    ) async throws -> Checksum {
        try await withOpenFile(file) { file throws in
            try await file.checksum(algorithm, of: 0..<file.status.size) { onProgress($0, file.status.size) }
        }
    }
}

extension PieceHashes {
    /// Compares an existing file with the checksums of its pieces.
    ///
    /// Reads on a separate thread. If the task is cancelled, throws `CancellationError` before reading another 512 KiB.
    /// - Parameters:
    ///   - file: A file URL; symbolic links are followed.
    ///   - onProgress: Called on that thread with the number of bytes read and the size of the file; must not block.
    /// - Returns: The ranges that are wrong, missing or surplus, in order; empty if all pieces match. If ``fileSize``
    ///   is `nil`, the length of the last piece is unknown: if that piece is missing, its range is only its first byte.
    /// - Throws: `invalidRequest` if the URL names no local file, `digestUnavailable` if the system lacks the hash
    ///   function, `permission` or `fileSystem` if the file cannot be read, is not a regular file, or was changed while
    ///   it was read.
    public func wrongRanges(
        ofFileAt file: URL,
        onProgress: @escaping @Sendable (_ bytes: Int64, _ size: Int64) -> Void = { _, _ in }
    ) async throws -> [Range<Int64>] {
        try await withOpenFile(file) { file throws in try await wrongRanges(of: file, onProgress) }
    }

    /// Returns the ranges of an open file that are wrong, missing or surplus.
    func wrongRanges(
        of file: borrowing OpenFile,
        _ onProgress: (_ bytes: Int64, _ size: Int64) -> Void
    ) async throws -> [Range<Int64>] {
        let size = file.status.size
        if size == 0, fileSize == nil {
            let nothing = try await file.checksum(algorithm, of: 0..<0) { _ in }
            if checksums == [nothing] { return [] }
        }
        var found: [Checksum] = []
        let comparable = min(size, maxBytes)
        for range in ranges(fileSize: comparable) {
            found.append(try await file.checksum(algorithm, of: range) { onProgress(range.lowerBound + $0, size) })
        }
        var wrong = badRanges(found: found, fileSize: comparable)
        wrong.insert(size..<max(size, minBytes))
        wrong.insert(min(size, maxBytes)..<size)
        return wrong.ranges
    }
}

/// Opens a file and passes it to `body` on a separate thread.
///
/// Throws if the URL names no file of this machine, or if the file is changed in the meantime.
func withOpenFile<Value: Sendable>(
    _ file: URL,
    _ body: @concurrent @escaping @Sendable (borrowing OpenFile) async throws -> Value
) async throws -> Value {
    if let fault = file.fileFault { throw DownloadError(.invalidRequest, "\(file.absoluteString) \(fault).") }
    let executor = try BlockingExecutor.forFiles("headrace-digest", maxThreads: 1, maxWorking: 1)
    let result = await withTaskExecutorPreference(executor) { () -> Result<Value, any Error> in
        do {
            return .success(try await open(file.filePath, body))
        } catch {
            return .failure(error)
        }
    }
    await executor.shutdown()
    return try result.get()
}

/// Opens a file, passes it to `body`, and throws if it was changed meanwhile; blocks the thread on which it runs.
@concurrent
private func open<Value: Sendable>(
    _ path: String,
    _ body: @concurrent @Sendable (borrowing OpenFile) async throws -> Value
) async throws -> Value {
    let file = try OpenFile(path, followingLinks: true)
    let value = try await body(file)
    try file.checkUnchanged()
    return value
}

extension OpenFile {
    /// Computes the checksum of the whole file; throws if the file changes meanwhile.
    func checksum(_ algorithm: Checksum.Algorithm) async throws -> Checksum {
        let found = try await checksum(algorithm, of: 0..<status.size) { _ in }
        try checkUnchanged()
        return found
    }

    /// Computes the checksum of a range of the file, and reports the number of bytes read.
    func checksum(
        _ algorithm: Checksum.Algorithm,
        of range: Range<Int64>,
        _ onProgress: (_ bytes: Int64) -> Void
    ) async throws -> Checksum {
        let digest = try Digester(algorithm)
        var done: Int64 = 0
        try await read(range) { bytes in
            digest.update(bytes)
            done += Int64(bytes.count)
            onProgress(done)
        }
        return try digest.finalize()
    }
}

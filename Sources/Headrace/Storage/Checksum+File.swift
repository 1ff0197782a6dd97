public import HeadracePlatform

extension Checksum {
    /// Computes the checksum of a file that is there.
    ///
    /// Reads on a thread of its own. Where the task is cancelled it throws `CancellationError` before the next half a mebibyte.
    /// - Parameters:
    ///   - algorithm: The hash function.
    ///   - file: A file URL; links are followed.
    ///   - onProgress: Told the number of bytes that are done, and the size, on that thread; has to return at once.
    /// - Returns: The checksum.
    /// - Throws: `digestUnavailable` where the system does not compute the function, `permission` or `fileSystem` where the
    ///   file cannot be read, is no regular file, or was changed while it was read.
    public static func compute(
        _ algorithm: Algorithm,
        ofFileAt file: URL,
        onProgress: @escaping @Sendable (_ bytes: Int64, _ size: Int64) -> Void = { _, _ in }
    ) async throws -> Checksum {
        try await reading(file) { file throws in
            try await file.checksum(algorithm, of: 0..<file.status.size) { onProgress($0, file.status.size) }
        }
    }
}

extension PieceHashes {
    /// Compares a file that is there with the checksums of its pieces.
    ///
    /// Reads on a thread of its own. Where the task is cancelled it throws `CancellationError` before the next half a mebibyte.
    /// - Parameters:
    ///   - file: A file URL; links are followed.
    ///   - onProgress: Told the number of bytes that are done, and the size, on that thread; has to return at once.
    /// - Returns: The bytes that are wrong, missing or too many, in order; none where the file is right. Without a ``fileSize``,
    ///   how much is missing is known but for the length of the last piece.
    /// - Throws: `digestUnavailable` where the system does not compute the function, `permission` or `fileSystem` where the
    ///   file cannot be read, is no regular file, or was changed while it was read.
    public func wrongRanges(
        ofFileAt file: URL,
        onProgress: @escaping @Sendable (_ bytes: Int64, _ size: Int64) -> Void = { _, _ in }
    ) async throws -> [Range<Int64>] {
        try await reading(file) { file throws in
            let size = file.status.size
            if size == 0, fileSize == nil {
                let nothing = try await file.checksum(algorithm, of: 0..<0) { _ in }
                if checksums == [nothing] { return [] }
            }
            var found: [Checksum] = []
            let comparable = min(size, mostBytes)
            for range in ranges(fileSize: comparable) {
                found.append(try await file.checksum(algorithm, of: range) { onProgress(range.lowerBound + $0, size) })
            }
            var wrong = badRanges(found: found, fileSize: comparable)
            wrong.insert(size..<max(size, leastBytes))
            wrong.insert(min(size, mostBytes)..<size)
            return wrong.ranges
        }
    }
}

/// Opens a file, and hands it on to what blocks, on a thread of its own; throws where it changes meanwhile.
private func reading<Value: Sendable>(
    _ file: URL,
    _ body: @concurrent @escaping @Sendable (borrowing OpenFile) async throws -> Value
) async throws -> Value {
    let executor = try BlockingExecutor(name: "headrace-digest", maxThreads: 1, maxWorking: 1)
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

/// Blocks, wherever it is called from, the thread of the executor.
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
    fileprivate func checksum(
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

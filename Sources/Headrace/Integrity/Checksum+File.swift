#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

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
    ///   file cannot be read or is no regular file.
    public static func compute(
        _ algorithm: Algorithm,
        ofFileAt file: URL,
        onProgress: @escaping @Sendable (_ bytes: Int64, _ size: Int64) -> Void = { _, _ in }
    ) async throws -> Checksum {
        let executor = try BlockingExecutor(name: "headrace-digest", maxThreads: 1, maxWorking: 1)
        let result = await withTaskExecutorPreference(executor) { () -> Result<Checksum, any Error> in
            do {
                return .success(try await read(file.filePath, algorithm, onProgress))
            } catch {
                return .failure(error)
            }
        }
        await executor.shutdown()
        return try result.get()
    }

    /// Blocks, wherever it is called from, the thread of the executor.
    @concurrent
    private static func read(
        _ path: String,
        _ algorithm: Algorithm,
        _ onProgress: @Sendable (_ bytes: Int64, _ size: Int64) -> Void
    ) async throws -> Checksum {
        let digest = try Digester(algorithm)
        let calls = FileCalls.system
        let file = try storage("\(path) could not be opened") { () throws(SystemError) in
            try FileCalls.openToRead(path, followingLinks: true)
        }
        defer { try? calls.close(file) }
        let status = try storage("\(path) could not be looked at") { () throws(SystemError) in
            try calls.openStatus(file)
        }
        guard status.kind == .regular else {
            throw DownloadError(.fileSystem, "\(path) is not a file with bytes.")
        }
        var done: Int64 = 0
        try await FileCalls.readInOrder(0..<status.size) { bytes in
            digest.update(bytes)
            done += Int64(bytes.count)
            onProgress(done, status.size)
        } reading: { offset, maxBytes throws(DownloadError) in
            try storage("\(path) could not be read") { () throws(SystemError) in
                try calls.readAt(file, offset, maxBytes)
            }
        } whenShort: {
            DownloadError(.fileSystem, "\(path) became shorter while it was read.")
        }
        return try digest.finalize()
    }

    private static func storage<Result>(
        _ what: String,
        _ call: () throws(SystemError) -> Result
    ) throws(DownloadError) -> Result {
        do {
            return try call()
        } catch {
            throw .storage(what, error)
        }
    }
}

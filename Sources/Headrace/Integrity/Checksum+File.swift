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
        let file = try OpenFile(path, followingLinks: true)
        let size = file.status.size
        var done: Int64 = 0
        try await file.read(0..<size) { bytes in
            digest.update(bytes)
            done += Int64(bytes.count)
            onProgress(done, size)
        }
        return try digest.finalize()
    }
}

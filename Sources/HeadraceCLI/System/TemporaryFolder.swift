import Headrace
import HeadracePlatform

/// Creates a temporary folder at the path, runs the body, and deletes the folder when the body has ended.
///
/// A stop signal cancels the body; once the body has ended, the function throws `Signals.Stop`.
func withTemporaryFolder<Result: Sendable>(
    _ path: String,
    _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await Signals.cancelling {
        do throws(SystemError) {
            try FileSystem.system.createDirectory(path, 0o700)
        } catch {
            let problem = "the temporary folder \(path) could not be created: \(error); set TMPDIR"
            throw DownloadError(.fileSystem, problem)
        }
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try await body()
    }
}

extension Signals {
    /// Runs the body; a stop signal cancels it, and once it has ended, the function throws ``Stop``.
    static func cancelling<Result: Sendable>(
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let signals = requests()
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                for await case .stop(let signal) in signals { throw Stop(signal: signal) }
                return nil
            }
            defer { group.cancelAll() }
            while let result = try await group.next() {
                if let result { return result }
            }
            throw CancellationError()
        }
    }
}

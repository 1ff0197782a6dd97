import Headrace
import HeadracePlatform

/// Runs the body with a new temporary folder, and deletes the folder when the body has ended.
///
/// A stop signal cancels the body; once the body has ended, the function throws `Signals.Stop`.
func withTemporaryFolder<Result: Sendable>(
    _ body: @escaping @Sendable (URL) async throws -> Result
) async throws -> Result {
    try await Signals.cancelling {
        let folder = FileManager.default.temporaryDirectory.appending(path: "headrace-\(UUID().uuidString)")
        do throws(SystemError) {
            try FileSystem.system.createDirectory(folder.plainPath, 0o700)
        } catch {
            let problem = "the temporary folder \(folder.plainPath) could not be created: \(error); set TMPDIR"
            throw DownloadError(.fileSystem, problem)
        }
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await body(folder)
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

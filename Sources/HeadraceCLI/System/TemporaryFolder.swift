import HeadracePlatform

/// Runs the body with a new temporary folder, and deletes the folder when the body has ended.
///
/// A stop signal cancels the body; once the body has ended, the function throws `Signals.Stop`.
func withTemporaryFolder<Result: Sendable>(
    _ body: @escaping @Sendable (URL) async throws -> Result
) async throws -> Result {
    let signals = Signals.requests()
    let folder = FileManager.default.temporaryDirectory.appending(path: "headrace-\(UUID().uuidString)")
    try Files.makeDirectory(folder.plainPath, mode: 0o700)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await withThrowingTaskGroup(of: Result?.self) { group in
        group.addTask { try await body(folder) }
        group.addTask {
            for await case .stop(let signal) in signals { throw Signals.Stop(signal: signal) }
            return nil
        }
        defer { group.cancelAll() }
        while let result = try await group.next() {
            if let result { return result }
        }
        throw CancellationError()
    }
}

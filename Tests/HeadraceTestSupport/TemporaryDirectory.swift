package import HeadracePlatform

/// Runs the body with an empty directory of its own, and removes the directory with all its content afterwards.
/// - Parameter body: Gets the directory; its path holds no symbolic link.
/// - Returns: What the body returns.
/// - Throws: What the body throws, or what kept the directory from being made or removed.
package func withTemporaryDirectory<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
    var template = Array((FileManager.default.temporaryDirectory.path + "/headrace-XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else { throw CallFailure("mkdtemp") }
    // Darwin's temporary directory lies behind a symbolic link, and a test compares paths.
    guard let resolved = realpath(&template, nil) else { throw CallFailure("realpath") }
    defer { free(resolved) }
    let directory = URL(fileURLWithPath: String(cString: resolved), isDirectory: true)
    do {
        let result = try await body(directory)
        try FileManager.default.removeItem(at: directory)
        return result
    } catch {
        try? FileManager.default.removeItem(at: directory)
        throw error
    }
}

package import HeadracePlatform

/// Runs the body with a new, empty directory, and removes the directory and its contents afterwards.
/// - Parameter body: Receives the directory; its path contains no symbolic link.
/// - Returns: The body's result.
/// - Throws: The body's error, or the error of creating or removing the directory.
package func withTemporaryDirectory<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
    var template = Array((FileManager.default.temporaryDirectory.path + "/headrace-XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else { throw CallFailure("mkdtemp") }
    // Darwin's temporary directory is behind a symbolic link, but tests compare paths.
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

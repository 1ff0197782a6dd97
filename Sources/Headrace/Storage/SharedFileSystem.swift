/// The calls as each of many files holds them: by themselves they are two dozen references to copy.
package final class SharedFileSystem: Sendable {
    /// Those of the operating system.
    package static let system = SharedFileSystem(.system)

    /// The calls.
    package let calls: FileSystem

    /// Shares calls.
    /// - Parameter calls: The calls.
    package init(_ calls: FileSystem) {
        self.calls = calls
    }
}

// What is called for each file goes through the shared ones themselves, so that nothing is copied for it.
extension SharedFileSystem {
    func isNamed(_ path: String, _ opened: FileStatus) throws(SystemError) -> Bool {
        try calls.isNamed(path, opened)
    }

    func writeAll(_ file: Int32, _ bytes: UnsafeRawBufferPointer, _ offset: Int64) throws(SystemError) {
        try calls.writeAll(file, bytes, offset)
    }

    func setModeWherePossible(_ file: Int32, _ mode: UInt32) throws(SystemError) {
        try calls.setModeWherePossible(file, mode)
    }
}

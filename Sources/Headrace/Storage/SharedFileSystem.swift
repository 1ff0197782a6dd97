/// A shared reference to a file system, because ``FileSystem`` consists of two dozen closures that are costly to copy.
package final class SharedFileSystem: Sendable {
    /// The operating system's file system.
    package static let system = SharedFileSystem(.system)

    /// The file system's calls.
    package let calls: FileSystem

    /// Creates a shared reference.
    /// - Parameter calls: The calls to share.
    package init(_ calls: FileSystem) {
        self.calls = calls
    }
}

// Calls for each file use the shared instance directly, which avoids a copy.
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

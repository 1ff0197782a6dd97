/// A shared reference to a ``FileSystem``, whose many closures are costly to copy.
package final class SharedFileSystem: Sendable {
    /// The closures that perform the file-system calls.
    package let calls: FileSystem

    /// Wraps the file-system calls in a reference that is cheap to copy.
    /// - Parameter calls: The calls to share.
    package init(_ calls: FileSystem) {
        self.calls = calls
    }
}

// The operations that each download performs; calling them on this class does not copy the closures.
extension SharedFileSystem {
    func isNamed(_ path: String, _ opened: FileStatus) throws(SystemError) -> Bool {
        try calls.isNamed(path, opened)
    }

    func writeAll(_ file: Int32, _ bytes: UnsafeRawBufferPointer, _ offset: Int64) throws(SystemError) {
        try calls.writeAll(file, bytes, offset)
    }

    func requireSpace(for count: Int64, at path: String, _ file: Int32) throws(DownloadError) {
        try calls.requireSpace(for: count, at: path, file)
    }

    func setModeWherePossible(_ file: Int32, _ mode: UInt32) throws(SystemError) {
        try calls.setModeWherePossible(file, mode)
    }
}

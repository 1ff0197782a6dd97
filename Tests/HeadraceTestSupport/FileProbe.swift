package import HeadracePlatform

/// File system queries for tests, independent of the library under test.
package enum FileProbe {
    /// Returns the sorted names in a directory, including hidden ones.
    package static func names(in directory: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
    }

    /// Returns the contents of a file.
    package static func bytes(of file: URL) throws -> [UInt8] {
        try [UInt8](Data(contentsOf: file))
    }

    /// Returns the size of a file in bytes, or `nil` if there is none; does not follow links.
    package static func size(of file: URL) -> Int64? {
        status(of: file).map { Int64($0.st_size) }
    }

    /// Returns the permission bits of a file, such as `0o600`, or `nil` if there is none; does not follow links.
    package static func permissions(of file: URL) -> UInt16? {
        status(of: file).map { UInt16(truncatingIfNeeded: $0.st_mode) & 0o7777 }
    }

    private static func status(of file: URL) -> stat? {
        var status = stat()
        return lstat(file.path, &status) == 0 ? status : nil
    }
}

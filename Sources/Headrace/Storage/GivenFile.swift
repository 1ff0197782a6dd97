import HeadracePlatform

/// File calls for paths that the user of a program has entered.
///
/// Links are followed, and a file may be a pipe or a device.
package enum GivenFile {
    /// Reads a file to its end; blocks while a pipe is empty.
    ///
    /// Stops early once it has read more than `maxBytes` bytes, so that the caller can detect a file that is too large.
    package static func contents(of path: String, maxBytes: Int = .max) throws(SystemError) -> [UInt8] {
        let file = try checked { libraryOpen(path, O_RDONLY | O_CLOEXEC) }
        defer { _ = libraryClose(file) }
        return try contents(ofOpen: file, maxBytes: maxBytes)
    }

    /// Reads an open file from its current offset like ``contents(of:maxBytes:)``.
    package static func contents(ofOpen file: Int32, maxBytes: Int = .max) throws(SystemError) -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while all.count <= maxBytes {
            let count = try checked { read(file, &buffer, buffer.count) }
            guard count > 0 else { break }
            all += buffer[..<count]
        }
        return all
    }

    /// Returns the status of the file at a path; `nil` if nothing exists there.
    package static func status(of path: String) throws(SystemError) -> FileStatus? {
        var status = stat()
        do throws(SystemError) {
            _ = try checked { path.withCString { stat($0, &status) } }
        } catch  where error.errno == ENOENT {
            return nil
        }
        return FileStatus(status)
    }

    /// Throws unless this process can read the file.
    package static func checkReadable(_ path: String) throws(SystemError) {
        _ = try checked { access(path, R_OK) }
    }

    /// Throws if the path of the current directory cannot be determined.
    ///
    /// Throws `EILSEQ` if the path is not UTF-8, because the URL of a relative path would then name another directory.
    package static func checkCurrentDirectory() throws(SystemError) {
        guard let path = getcwd(nil, 0) else { throw SystemError(errno: errno) }
        defer { free(path) }
        guard String(validatingCString: path) != nil else { throw SystemError(errno: EILSEQ) }
    }
}

import HeadracePlatform

/// Blocking file-system calls of the tool itself.
enum Files {
    /// The system's description of a failed call.
    struct Failure: Error {
        let reason: String
        /// Whether the path does not exist (`ENOENT`); after other errors, the path may exist.
        let isMissing: Bool

        init(_ number: Int32) {
            isMissing = number == ENOENT
            reason = strerror(number).map { String(cString: $0) }?.lowercased() ?? "error \(number)"
        }
    }

    /// Reads the file, or standard input for `-`; stops after reading more than `maxBytes` bytes.
    static func read(_ path: String, maxBytes: Int = .max) throws(Failure) -> [UInt8] {
        let file = path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw Failure(errno) }
        defer { close(file) }
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            #if canImport(Glibc)
            let count = Glibc.read(file, &buffer, buffer.count)
            #elseif canImport(Musl)
            let count = Musl.read(file, &buffer, buffer.count)
            #else
            let count = Darwin.read(file, &buffer, buffer.count)
            #endif
            if count == 0 || all.count > maxBytes { return all }
            if count > 0 {
                all += buffer[..<count]
            } else if errno != EINTR {
                throw Failure(errno)
            }
        }
    }

    /// Returns why the path of the current directory cannot be determined; `nil` if it can.
    ///
    /// Relative paths are resolved against the current directory.
    static func currentDirectoryFailure() -> Failure? {
        guard let path = getcwd(nil, 0) else { return Failure(errno) }
        free(path)
        return nil
    }

    /// Creates the directory and its missing parents; `mode`, subject to the umask, does not apply to the parents.
    static func makeDirectory(_ path: String, mode: mode_t = 0o777) throws(Failure) {
        guard mkdir(path, mode) != 0 else { return }
        let number = errno
        if number == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
            let parent = String(path[..<slash])
            try makeDirectory(parent)
            // For a path that ends in a slash, the recursive call already created the directory.
            guard mkdir(path, mode) == 0 || errno == EEXIST else { throw Failure(errno) }
        } else if !isDirectory(path) {
            throw Failure(number == EEXIST ? ENOTDIR : number)
        }
    }

    /// Throws unless the file can be read.
    static func checkReadable(_ path: String) throws(Failure) {
        guard access(path, R_OK) == 0 else { throw Failure(errno) }
    }

    /// Returns whether only the file's owner can read the file; `true` if the permissions cannot be determined.
    static func isPrivate(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) != 0 || status.st_mode & (S_IRGRP | S_IROTH) == 0
    }

    /// Returns whether the path is something other than a regular file, such as a pipe or a device.
    static func isSpecial(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
    }

    /// Throws unless the path exists, following symbolic links.
    static func checkExists(_ path: String) throws(Failure) {
        guard access(path, F_OK) == 0 else { throw Failure(errno) }
    }

    static func isLink(_ path: String) -> Bool {
        var byte: CChar = 0
        return readlink(path, &byte, 1) >= 0
    }

    static func exists(_ path: String) -> Bool { (try? checkExists(path)) != nil }

    /// Returns whether the path does not exist; `false` if that cannot be determined.
    static func isMissing(_ path: String) -> Bool {
        do throws(Failure) {
            try checkExists(path)
            return false
        } catch {
            return error.isMissing
        }
    }

    /// Returns the size of a regular file in bytes; `nil` if there is no such file or it cannot be examined.
    static func size(_ path: String) -> Int64? {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG ? Int64(status.st_size) : nil
    }

    private static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}

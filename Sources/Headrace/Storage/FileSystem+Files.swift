import HeadracePlatform

/// The guarantee for an atomic replacement of a file if the power fails.
enum ReplacementSync: Sendable {
    /// None: on some file systems, an empty file may remain.
    case nothing
    /// The complete old file or the complete new one is found.
    case contents
    /// Once the replacement has returned, the complete new file is found.
    case contentsAndName
}

/// Operations that need several calls or interpret their results.
extension FileSystem {
    /// Returns whether nothing exists at a path; `false` if that cannot be determined.
    func isMissing(_ path: String) -> Bool { (try? status(path) == nil) ?? false }

    /// Returns whether a path refers to the open file that has the status `opened`.
    func isNamed(_ path: String, _ opened: FileStatus) throws(SystemError) -> Bool {
        try status(path)?.identity == opened.identity
    }

    /// Returns whether a path no longer refers to the open file; `false` if that cannot be determined.
    func hasLostName(_ path: String, _ file: Int32) -> Bool {
        (try? isNamed(path, openStatus(file))) == false
    }

    /// Writes all bytes at an offset, with as many calls as necessary.
    func writeAll(_ file: Int32, _ bytes: [UInt8], at offset: Int64 = 0) throws(SystemError) {
        // `withUnsafeBytes` would rethrow an untyped error.
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(SystemError) in try writeAll(file, bytes, offset) }
        }
        try result.get()
    }

    /// Writes all bytes at an offset, with as many calls as necessary.
    func writeAll(_ file: Int32, _ bytes: UnsafeRawBufferPointer, _ offset: Int64) throws(SystemError) {
        var rest = bytes
        var offset = offset
        while !rest.isEmpty {
            let count = try write(file, rest, offset)
            // No file system should return 0; retrying could loop forever.
            guard count > 0 else { throw SystemError(errno: EIO) }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            offset += Int64(count)
        }
    }

    /// Atomically replaces a file with a new one that contains these bytes.
    ///
    /// `newPath` is the temporary name of the new file; a file that already has this name is removed. If an error is
    /// thrown, the old file remains. The exception is a failed sync of the directory: then the new file is in place.
    func replaceFile(
        _ finalPath: String,
        by newPath: String,
        with bytes: [UInt8],
        syncing sync: ReplacementSync
    ) throws(SystemError) {
        try? remove(newPath)
        try createFile(newPath, with: bytes, syncs: sync != .nothing) { path throws(SystemError) in
            try replace(path, finalPath)
        }
        if sync == .contentsAndName { try syncNames(in: FileSystem.parent(of: finalPath)) }
    }

    /// Creates a new file that contains these bytes, and calls `rename` to give the file its final name.
    ///
    /// If `syncs` is set, the bytes are synced before `rename`. After an error, the new file is removed.
    func createFile(
        _ path: String,
        with bytes: [UInt8],
        syncs: Bool,
        renaming rename: (_ path: String) throws(SystemError) -> Void
    ) throws(SystemError) {
        let file = try create(path)
        do throws(SystemError) {
            do throws(SystemError) {
                try writeAll(file, bytes)
                if syncs { try sync(file) }
            } catch {
                try? close(file)
                throw error
            }
            // A file system may report a failed write only when the file is closed.
            try close(file)
            try rename(path)
        } catch {
            try? remove(path)
            throw error
        }
    }

    /// Throws `diskFull` if the file system of an open file or directory reports too little space for `count` more
    /// bytes.
    func requireSpace(for count: Int64, at path: String, _ file: Int32) throws(DownloadError) {
        // If the file system does not report its free space, a later write fails instead.
        guard let free = try? freeSpace(file), free < count,
            let purged = try? spaceAfterPurging(file), purged < count
        else { return }
        throw DownloadError(
            .diskFull,
            "\(path) needs \(count.inBytes) more, but the disk has only \(max(free, purged).inBytes) left. Free some space and start again."
        )
    }

    /// Opens a file for reading and writing, and creates it if it does not exist.
    func openOrCreate(_ path: String) throws(SystemError) -> Int32 {
        do throws(SystemError) {
            return try create(path)
        } catch  where error.errno == EEXIST {
            return try open(path)
        }
    }

    /// Creates a directory with a mode (less the umask), and its missing parents with the default mode; syncs the names
    /// of the new directories if `syncs` is set.
    func makeDirectories(_ path: String, mode: UInt32 = 0o777, syncs: Bool) throws(SystemError) {
        let parent = Self.parent(of: path)
        if try status(parent) == nil { try makeDirectories(parent, syncs: syncs) }
        try makeDirectory(path, mode: mode, syncs: syncs)
    }

    /// Creates a directory like ``makeDirectories(_:mode:syncs:)`` at a path that may end with slashes.
    ///
    /// Throws `ENOTDIR` if a file that is not a directory has the path.
    package func makeDirectories(given path: String, mode: UInt32 = 0o777) throws(SystemError) {
        let last = path.utf8.lastIndex { $0 != UInt8(ascii: "/") }
        let path = last.map { String(path[...$0]) } ?? "/"
        try makeDirectories(path, mode: mode, syncs: false)
        // The slash makes this fail for anything but a directory.
        _ = try status(path + "/")
    }

    /// Creates a directory, and syncs its name if `syncs` is set; does nothing if anything already exists at the path.
    func makeDirectory(_ path: String, mode: UInt32, syncs: Bool) throws(SystemError) {
        do {
            try createDirectory(path, mode)
            if syncs { try syncNames(in: Self.parent(of: path)) }
        } catch  where error.errno == EEXIST {}
    }

    static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

import HeadracePlatform

/// What takes more than one call, or a look at what it tells.
extension FileSystem {
    /// Whether nothing has a name; false where that cannot be looked up.
    func isMissing(_ path: String) -> Bool { (try? status(path) == nil) ?? false }

    /// Whether an open file is the one that has a path.
    func isNamed(_ path: String, _ opened: FileStatus) throws(SystemError) -> Bool {
        try status(path)?.identity == opened.identity
    }

    /// Whether a path leads to the open file no more; where that cannot be told, it has not been lost.
    func hasLostName(_ path: String, _ file: Int32) -> Bool {
        (try? isNamed(path, openStatus(file))) == false
    }

    /// Writes all bytes, in as many calls as it takes.
    func writeAll(_ file: Int32, _ bytes: [UInt8], at offset: Int64 = 0) throws(SystemError) {
        // The standard library's call hands on any error, this one only its own.
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(SystemError) in try writeAll(file, bytes, offset) }
        }
        try result.get()
    }

    /// Writes all bytes, in as many calls as it takes.
    func writeAll(_ file: Int32, _ bytes: UnsafeRawBufferPointer, _ offset: Int64) throws(SystemError) {
        var rest = bytes
        var offset = offset
        while !rest.isEmpty {
            let count = try write(file, rest, offset)
            // No file system should do this; to ask again would be for ever.
            guard count > 0 else { throw SystemError(errno: EIO) }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            offset += Int64(count)
        }
    }

    /// Puts a new file of these bytes in the place of one in one step; a failure leaves the old one.
    ///
    /// Where a directory is given, the bytes and then the directory are synced, to outlive a power cut.
    func replaceFile(
        _ path: String,
        by newPath: String,
        with bytes: [UInt8],
        syncing directory: String?
    ) throws(SystemError) {
        try? remove(newPath)
        let file = try create(newPath)
        do throws(SystemError) {
            try writeAll(file, bytes)
            if directory != nil { try sync(file) }
        } catch {
            try? close(file)
            try? remove(newPath)
            throw error
        }
        try close(file)
        do throws(SystemError) {
            try replace(newPath, path)
        } catch {
            try? remove(newPath)
            throw error
        }
        if let directory { try syncNames(in: directory) }
    }

    /// Opens a file for reading and writing, and makes it where it is missing.
    func openOrCreate(_ path: String) throws(SystemError) -> Int32 {
        do throws(SystemError) {
            return try create(path)
        } catch  where error.errno == EEXIST {
            return try open(path)
        }
    }

    /// Makes a directory that is missing, and those above it.
    func makeDirectories(_ path: String, syncs: Bool) throws(SystemError) {
        let parent = Self.parent(of: path)
        if try status(parent) == nil { try makeDirectories(parent, syncs: syncs) }
        try makeDirectory(path, mode: 0o777, syncs: syncs)
    }

    /// Makes a directory, unless another download or process was faster.
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

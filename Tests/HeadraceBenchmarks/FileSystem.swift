import HeadracePlatform

/// The file operations that the tool needs, with the path in every error.
enum FileSystem {
    static func exists(_ path: String) -> Bool {
        access(path, F_OK) == 0
    }

    static func isExecutable(_ path: String) -> Bool {
        access(path, X_OK) == 0 && !isDirectory(path)
    }

    static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Returns the target of a symbolic link.
    static func target(of path: String) throws -> String {
        var buffer = [CChar](repeating: 0, count: 4_096)
        let count = readlink(path, &buffer, buffer.count)
        guard count >= 0 else { throw BenchmarkError.system("cannot read \(path)") }
        return String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    static func makeDirectory(_ path: String) throws {
        guard mkdir(path, 0o755) == 0 || errno == EEXIST else {
            throw BenchmarkError.system("cannot make the directory \(path)")
        }
    }

    /// Returns the sorted names in a directory, without `.` and `..`.
    static func names(in directory: String) throws -> [String] {
        guard let handle = opendir(directory) else {
            throw BenchmarkError.system("cannot list \(directory)")
        }
        defer { closedir(handle) }
        var names: [String] = []
        while let entry = readdir(handle) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Removes a file or a directory tree, if it exists.
    static func remove(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        if status.st_mode & S_IFMT == S_IFDIR {
            for name in (try? names(in: path)) ?? [] { remove(path + "/" + name) }
            rmdir(path)
        } else {
            unlink(path)
        }
    }

    static func write(_ text: String, to path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw BenchmarkError.system("cannot create \(path)") }
        defer { close(descriptor) }
        var text = text
        let written = text.withUTF8 { writeAll(UnsafeRawBufferPointer($0), to: descriptor) }
        guard written else { throw BenchmarkError.system("cannot write \(path)") }
    }

    /// Returns the start of a text file, or an empty string if it cannot be read.
    static func text(of path: String, limit: Int = 16_384) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            while count < limit {
                let got = read(descriptor, buffer.baseAddress.map { $0 + count }, limit - count)
                guard got > 0 else { break }
                count += got
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unistdWrite(descriptor, UnsafeRawBufferPointer(rebasing: rest))
            if count < 0 {
                if errno == EINTR { continue }
                return false
            }
            rest = rest.dropFirst(count)
        }
        return true
    }

    static func freeBytes(at path: String) -> Int {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return 0 }
        return Int(clamping: UInt64(status.f_bavail) &* UInt64(status.f_frsize))
    }

    static var currentDirectory: String {
        guard let path = getcwd(nil, 0) else { return "." }
        defer { free(path) }
        return String(cString: path)
    }

    /// Returns the path from the root, without resolving links, so that a bare name is not looked up in `PATH`.
    static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : currentDirectory + "/" + path
    }

    /// The path of this executable, to find its neighbour `headrace` and to start itself as the server.
    static var ownExecutable: String {
        #if canImport(Darwin)
        let name = CommandLine.arguments.first ?? ""
        #else
        let name = "/proc/self/exe"
        #endif
        guard let path = realpath(name, nil) else { return CommandLine.arguments.first ?? "" }
        defer { free(path) }
        return String(cString: path)
    }

    /// Returns the first executable of that name in `PATH` or in the usual directories of servers.
    static func find(_ name: String) -> String? {
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        let folders =
            path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"]
        return folders.lazy.map { $0 + "/" + name }.first(where: isExecutable)
    }
}

/// The system's `write`, which ``FileSystem/write(_:to:)`` shadows inside the type.
private func unistdWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(descriptor, bytes.baseAddress, bytes.count)
}

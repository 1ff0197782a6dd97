#if os(Linux)
import CHeadrace
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The file system as the storage layer uses it: one closure a system call, so that tests can fail and record them.
///
/// All of them block and throw the call's `errno`; meaning is added by the caller, with the path.
package struct FileCalls: Sendable {
    /// Creates a file that must not exist, mode 0600, and opens it for reading and writing; links are not followed.
    package var create: @Sendable (_ path: String) throws(SystemError) -> Int32
    /// Writes at an offset; may write less than was given.
    package var write: @Sendable (Int32, UnsafeRawBufferPointer, _ offset: Int64) throws(SystemError) -> Int
    /// Sets the mode of an open file.
    package var setMode: @Sendable (Int32, _ mode: UInt32) throws(SystemError) -> Void
    /// Closes a file.
    package var close: @Sendable (Int32) throws(SystemError) -> Void
    /// Renames a file over whatever has the new name.
    package var replace: @Sendable (_ path: String, _ newPath: String) throws(SystemError) -> Void
    /// Renames a file to a name that must be free.
    package var move: @Sendable (_ path: String, _ newPath: String) throws(SystemError) -> Void
    /// Removes a file's name.
    package var remove: @Sendable (_ path: String) throws(SystemError) -> Void
    /// What has a name, and nil where nothing has; a link is not followed.
    package var kind: @Sendable (_ path: String) throws(SystemError) -> FileKind?
    /// Throws unless files can be made in the directory.
    package var checkDirectory: @Sendable (_ path: String) throws(SystemError) -> Void
    /// The bytes that this user can still write to the open file's file system.
    package var freeSpace: @Sendable (Int32) throws(SystemError) -> Int64
}

/// What a path names.
package enum FileKind: Sendable {
    /// A file with bytes.
    case regular
    /// A directory.
    case directory
    /// A link, a device, a pipe or a socket.
    case other
}

extension FileCalls {
    /// The calls of the operating system.
    package static let system = FileCalls(
        create: { path throws(SystemError) in
            try checked { open(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0o600) }
        },
        write: { file, bytes, offset throws(SystemError) in
            try checked { pwrite(file, bytes.baseAddress, bytes.count, off_t(offset)) }
        },
        setMode: { file, mode throws(SystemError) in
            _ = try checked { fchmod(file, mode_t(mode)) }
        },
        close: { file throws(SystemError) in
            #if canImport(Darwin)
            let result = Darwin.close(file)
            #elseif canImport(Musl)
            let result = Musl.close(file)
            #else
            let result = Glibc.close(file)
            #endif
            // After EINTR the descriptor is gone all the same.
            guard result == 0 || errno == EINTR else { throw SystemError(errno: errno) }
        },
        replace: { path, newPath throws(SystemError) in
            _ = try checked { rename(path, newPath) }
        },
        move: { path, newPath throws(SystemError) in
            do throws(SystemError) {
                _ = try checked { renameWithoutReplacing(path, newPath) }
            } catch  where error.errno == EINVAL || error.errno == ENOSYS || error.errno == ENOTSUP {
                // A file system without that call: a second name cannot replace either.
                _ = try checked { link(path, newPath) }
                _ = try checked { unlink(path) }
            }
        },
        remove: { path throws(SystemError) in
            _ = try checked { unlink(path) }
        },
        kind: { path throws(SystemError) in
            var status = stat()
            guard lstat(path, &status) == 0 else {
                guard errno == ENOENT else { throw SystemError(errno: errno) }
                return nil
            }
            return switch status.st_mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .directory
            default: .other
            }
        },
        checkDirectory: { path throws(SystemError) in
            // The slash makes anything but a directory an error.
            _ = try checked { access(path + "/", W_OK | X_OK) }
        },
        freeSpace: { file throws(SystemError) in
            var status = statvfs()
            _ = try checked { fstatvfs(file, &status) }
            let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
            return overflow ? .max : Int64(clamping: bytes)
        }
    )

    /// The mode of a new file by the process's mask.
    static let newFileMode = UInt32(0o666 & ~currentMask())
}

/// Repeats a call that a signal interrupted, and throws its `errno`.
private func checked<Result: SignedInteger>(_ call: () -> Result) throws(SystemError) -> Result {
    while true {
        let result = call()
        if result != -1 { return result }
        guard errno == EINTR else { throw SystemError(errno: errno) }
    }
}

#if canImport(Darwin)
private func renameWithoutReplacing(_ path: String, _ newPath: String) -> Int32 {
    renamex_np(path, newPath, UInt32(RENAME_EXCL))
}

private func currentMask() -> mode_t {
    let mask = umask(0o022)
    _ = umask(mask)
    return mask
}
#else
private func renameWithoutReplacing(_ path: String, _ newPath: String) -> Int32 {
    hr_rename_exclusive(path, newPath)
}

/// Reads the mask where it can be read; `umask` would change it for a moment under other threads.
private func currentMask() -> mode_t {
    guard let file = fopen("/proc/self/status", "re") else { return 0o022 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, Int32(line.count), file) != nil {
        let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        if text.hasPrefix("Umask:") { return mode_t(text.dropFirst(6).trimmed.dropLast(), radix: 8) ?? 0o022 }
    }
    return 0o022
}
#endif

import HeadracePlatform

#if os(Linux)
import CHeadrace
#endif

// The calls that differ between Linux and Apple platforms, under one name each.

#if canImport(Darwin)
/// Fails: only Linux has files without names.
func openUnnamed(in directory: String) -> Int32 {
    errno = ENOTSUP
    return -1
}

func linkUnnamed(_ file: Int32, _ path: String) -> Int32 { openUnnamed(in: path) }

func setModifiedTime(_ file: Int32, _ seconds: Int64) -> Int32 {
    futimens(file, [timespec(tv_sec: 0, tv_nsec: Int(UTIME_OMIT)), timespec(tv_sec: Int(seconds), tv_nsec: 0)])
}

func setExtendedAttribute(_ file: Int32, _ name: String, _ bytes: [UInt8], _ count: Int) -> Int32 {
    fsetxattr(file, name, bytes, count, 0, 0)
}

func extendedAttribute(_ path: String, _ name: String, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    getxattr(path, name, bytes, count, 0, XATTR_NOFOLLOW)
}

func syncData(_ file: Int32) -> Int32 {
    // Only F_FULLFSYNC flushes the drive's cache, but some file systems do not support it. After any other error, fsync
    // is not called: it may succeed although bytes were lost.
    let result = fcntl(file, F_FULLFSYNC)
    return result == -1 && [ENOTSUP, ENOTTY, EINVAL, ENODEV].contains(errno) ? fsync(file) : result
}

func currentMask() -> mode_t {
    let mask = umask(0o022)
    _ = umask(mask)
    return mask
}

/// Syncs the entries of a directory; the call is the same as for the data of a file.
func syncEntries(_ directory: Int32) -> Int32 { syncData(directory) }

/// Returns the block size, the number of blocks and the number of free blocks that ordinary users may use.
///
/// Calls `fstatfs`, because the numbers of `fstatvfs` have only 32 bits.
func fileSystemBlocks(_ file: Int32) throws(SystemError) -> (size: UInt64, all: UInt64, free: UInt64) {
    var status = statfs()
    _ = try checked { fstatfs(file, &status) }
    return (UInt64(status.f_bsize), UInt64(status.f_blocks), UInt64(status.f_bavail))
}

/// Returns the free space in bytes, including what the system purges on demand, such as caches and local snapshots.
func capacityAfterPurging(_ file: Int32) throws(SystemError) -> Int64 {
    #if os(tvOS) || os(watchOS)
    // These systems purge files too, but do not report how much they can purge.
    throw SystemError(errno: ENOTSUP)
    #else
    var path = [UInt8](repeating: 0, count: Int(PATH_MAX))
    _ = try checked { fcntl(file, F_GETPATH, &path) }
    let url = URL(filePath: String(decoding: path.prefix { $0 != 0 }, as: UTF8.self), directoryHint: .notDirectory)
    let values = try? url.resourceValues(forKeys: [.volumeAvailableCapacityForImportantUsageKey])
    guard let bytes = values?.volumeAvailableCapacityForImportantUsage else { throw SystemError(errno: ENOTSUP) }
    return bytes
    #endif
}

/// Returns how a volume compares names: APFS compares normal forms, and ignores case unless the volume was formatted
/// otherwise.
func volumeComparison(of directory: String) -> NameComparison {
    pathconf(directory, _PC_CASE_SENSITIVE) == 1 ? .normalForms : .ignoringCase
}
#else
func openUnnamed(in directory: String) -> Int32 { directory.withCString { hr_create_unnamed($0) } }

func linkUnnamed(_ file: Int32, _ path: String) -> Int32 { path.withCString { hr_link(file, $0) } }

func setModifiedTime(_ file: Int32, _ seconds: Int64) -> Int32 { hr_set_modified(file, seconds) }

func setExtendedAttribute(_ file: Int32, _ name: String, _ bytes: [UInt8], _ count: Int) -> Int32 {
    hr_set_attribute(file, name, bytes, count)
}

func extendedAttribute(_ path: String, _ name: String, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    hr_attribute(path, name, bytes, count)
}

func syncData(_ file: Int32) -> Int32 { fdatasync(file) }

/// Returns the umask that `/proc` reports, or else 022; calling `umask()` would briefly change it for all threads.
func currentMask() -> mode_t {
    guard let file = fopen("/proc/self/status", "re") else { return 0o022 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, Int32(line.count), file) != nil {
        let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        if text.hasPrefix("Umask:") { return mode_t(text.dropFirst(6).trimmed.dropLast(), radix: 8) ?? 0o022 }
    }
    return 0o022
}

func syncEntries(_ directory: Int32) -> Int32 { fsync(directory) }

/// Returns the block size, the number of blocks and the number of free blocks that ordinary users may use.
func fileSystemBlocks(_ file: Int32) throws(SystemError) -> (size: UInt64, all: UInt64, free: UInt64) {
    var status = statvfs()
    _ = try checked { fstatvfs(file, &status) }
    return (UInt64(status.f_frsize), UInt64(status.f_blocks), UInt64(status.f_bavail))
}

/// Returns 0, so that callers use only the free space: Linux purges nothing on demand.
func capacityAfterPurging(_ file: Int32) throws(SystemError) -> Int64 { 0 }

func volumeComparison(of directory: String) -> NameComparison { .bytes }
#endif

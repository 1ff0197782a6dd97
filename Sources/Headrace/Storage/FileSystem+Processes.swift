import HeadracePlatform

/// Finds out which process has a file open.
extension FileSystem {
    /// The system's implementation of ``isOpen``.
    static func isOpen(_ path: String, by process: Int32) -> Bool {
        guard kill(process, 0) == 0 || errno == EPERM else { return false }
        #if os(Linux)
        guard let wanted = try? system.status(path) else { return false }
        guard let folder = opendir("/proc/\(process)/fd") else { return errno == EACCES }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            var found = stat()
            let isFound = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { fstatat(dirfd(folder), $0, &found, 0) == 0 }
            }
            if isFound, UInt64(found.st_dev) == wanted.device, UInt64(found.st_ino) == wanted.inode { return true }
        }
        return false
        #else
        // If the lock is free, no process owns it; a manager that opens the registry at this moment is refused.
        guard let file = try? system.open(path) else { return false }
        defer { try? system.close(file) }
        return (try? system.lock(file)) != true
        #endif
    }
}

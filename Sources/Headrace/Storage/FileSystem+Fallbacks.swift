import HeadracePlatform

/// Fallbacks for operations that a file system does not support.
extension FileSystem {
    /// Sets the mode of an open file if its file system supports that.
    func setModeWherePossible(_ file: Int32, _ mode: UInt32) throws(SystemError) {
        do throws(SystemError) {
            try setMode(file, mode)
        } catch  where error.isUnsupported || error.errno == EPERM {
            // The mount assigns one owner and one mode to all its files.
        }
    }

    /// Locks a file; returns `false` if it is already locked, but `true` if the file system does not support locks.
    func lockWherePossible(_ file: Int32) throws(SystemError) -> Bool {
        do throws(SystemError) {
            return try lock(file)
        } catch  where error.meansNoLocks {
            // No process can lock files there, so downloading without a lock is the only option.
            return true
        }
    }

    /// Renames a file without replacing another, using the best call that the file system supports.
    /// - Parameters:
    ///   - path: The current name.
    ///   - newPath: The new name.
    ///   - renaming: Renames atomically and fails if the new name exists.
    ///   - linking: Creates a hard link and fails if the new name exists.
    /// - Throws: `EEXIST` if the new name exists, or the error of the call that failed.
    func takeFreeName(
        _ path: String,
        _ newPath: String,
        renaming: (String, String) throws(SystemError) -> Void,
        linking: (String, String) throws(SystemError) -> Void
    ) throws(SystemError) {
        do throws(SystemError) {
            return try renaming(path, newPath)
        } catch  where error.isUnsupported || error.errno == EINVAL {
            // A hard link does not replace a file either.
        }
        do throws(SystemError) {
            try linking(path, newPath)
        } catch  where error.isUnsupported || error.errno == EPERM || error.errno == EMLINK {
            // Neither call is supported: a file created between this check and the rename is replaced.
            guard try status(newPath) == nil else { throw SystemError(errno: EEXIST) }
            return try replace(path, newPath)
        }
        try remove(path)
    }

    /// Syncs the entries of a directory, if its file system supports that.
    func syncNames(in directory: String) throws(SystemError) {
        do throws(SystemError) {
            try syncDirectory(directory)
        } catch  where error.isUnsupported || error.errno == EINVAL || error.errno == EBADF {
            // The file system cannot sync a directory, so nothing more can be done.
        }
    }
}

extension SystemError {
    /// Whether the error means that the file system does not support locks, as with some NFS and Lustre mounts.
    var meansNoLocks: Bool { isUnsupported || errno == ENOLCK }
}

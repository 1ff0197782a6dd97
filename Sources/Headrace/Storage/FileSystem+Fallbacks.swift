import HeadracePlatform

/// What is done where a file system does not have what a call asks for.
extension FileSystem {
    /// The mode of what is for its owner only: partials, records and lists.
    package static let privateMode: UInt32 = 0o600

    /// Gives an open file a mode, where that can be.
    func setModeWherePossible(_ file: Int32, _ mode: UInt32) throws(SystemError) {
        do throws(SystemError) {
            try setMode(file, mode)
        } catch  where error.isUnsupported || error.errno == EPERM {
            // A mount that has one owner and one mode for all its files has chosen them for this one too.
        }
    }

    /// Locks a file, unless its file system has no locks; false where somebody has it.
    func lockWherePossible(_ file: Int32) throws(SystemError) -> Bool {
        do throws(SystemError) {
            return try lock(file)
        } catch  where error.tellsOfNoLocks {
            // There is no lock to have, for anybody, and without it nothing could be downloaded there.
            return true
        }
    }

    /// Renames a file to a name that must be free, by the first call for it that the file system has.
    /// - Parameters:
    ///   - path: The present name.
    ///   - newPath: The new name.
    ///   - renaming: Renames in one step, and not over another file.
    ///   - linking: Gives a second name, which must be free.
    /// - Throws: `EEXIST` where it is not free, or what another call answered.
    func takeFreeName(
        _ path: String,
        _ newPath: String,
        renaming: (String, String) throws(SystemError) -> Void,
        linking: (String, String) throws(SystemError) -> Void
    ) throws(SystemError) {
        do throws(SystemError) {
            return try renaming(path, newPath)
        } catch  where error.isUnsupported || error.errno == EINVAL {
            // A second name cannot replace either.
        }
        do throws(SystemError) {
            try linking(path, newPath)
        } catch  where error.isUnsupported || error.errno == EPERM || error.errno == EMLINK {
            // Without both calls nothing can look and take in one step; who takes the name in between is replaced.
            guard try status(newPath) == nil else { throw SystemError(errno: EEXIST) }
            return try replace(path, newPath)
        }
        try remove(path)
    }

    /// Waits until the names in a directory are on the disk, where its file system has a call for that.
    func syncNames(in directory: String) throws(SystemError) {
        do throws(SystemError) {
            try syncDirectory(directory)
        } catch  where error.isUnsupported || error.errno == EINVAL || error.errno == EBADF {
            // They are as safe as this file system makes them.
        }
    }
}

extension SystemError {
    /// Whether a lock was refused for want of locks, as on some mounts of NFS and Lustre.
    var tellsOfNoLocks: Bool { isUnsupported || errno == ENOLCK }
}

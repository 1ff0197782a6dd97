import HeadracePlatform

extension FileSystem {
    /// The owner that Linux reports for users that are not mapped in the process's user namespace.
    private static let unknownOwner: UInt32 = 65_534

    /// Returns whether a file belongs to a user who is not trusted, and may therefore have forged it.
    ///
    /// Anyone can forge a partial file or a resume record, because their names and formats are public. These owners are
    /// trusted: this process's user, the owner that new files in the folder get, and the folder's owner, who can
    /// replace any file in the folder anyway. ``unknownOwner`` is not trusted as the folder's owner, because it may
    /// stand for many users. Throws if the owner cannot be determined.
    func belongsToAnotherUser(_ status: FileStatus, at path: String) throws(SystemError) -> Bool {
        guard let owner = status.owner else { return false }
        // The trailing slash follows a symbolic link.
        let folder = try self.status(Self.parent(of: path) + "/")
        if owner != Self.unknownOwner, folder?.owner == owner { return false }
        return try ownerOfNew(at: path) != owner
    }

    /// Creates a file beside `path`, removes it, and returns its owner; `nil` if the owner is this user, or if creating
    /// the file is denied.
    ///
    /// The owner is another user if a file server maps users, as NFS does with root.
    private func ownerOfNew(at path: String) throws(SystemError) -> UInt32? {
        let trial = Self.parent(of: path) + "/.headrace-\(UInt64.random(in: .min ... .max).hexadecimal)"
        let file: Int32
        do {
            file = try create(trial)
        } catch  where [EACCES, EPERM, EROFS].contains(error.errno) {
            return nil
        }
        defer {
            try? remove(trial)
            try? close(file)
        }
        return try openStatus(file).owner
    }
}

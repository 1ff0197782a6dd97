import HeadracePlatform

extension FileSystem {
    /// What Linux tells in place of an owner that the process's user namespace does not know.
    private static let unknownOwner: UInt32 = 65_534

    /// Whether a file is a stranger's, who may have put it there for us to find: names and contents of ours are no secret.
    ///
    /// The owner of the folder is none, who can put anything in the place of any file; with `sudo`, and on a mount that has one
    /// owner, the files are his. Throws where it cannot be told now.
    func isStrangers(_ status: FileStatus, at path: String) throws(SystemError) -> Bool {
        guard let owner = status.owner else { return false }
        // With the slash a link is followed.
        let folder = try self.status(Self.parent(of: path) + "/")
        if owner != Self.unknownOwner, folder?.owner == owner { return false }
        return try ownerOfNew(at: path) != owner
    }

    /// Whom a file of ours gets to belong to there; nil for this user, also where there can be none.
    ///
    /// A server that maps users, as NFS does with root, gives it to another one.
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

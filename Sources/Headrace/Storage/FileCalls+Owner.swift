extension FileCalls {
    /// Whether a file is a stranger's, who may have put it there for us to find: names and contents of ours are no secret.
    ///
    /// The owner of the folder is none, who can put anything in the place of any file; with `sudo`, and on a mount that has one
    /// owner, the files are his.
    func isStrangers(_ status: FileStatus, at path: String) -> Bool {
        guard let owner = status.owner else { return false }
        // With the slash a link is followed.
        guard let folder = try? self.status(Self.parent(of: path) + "/") else { return true }
        return folder.owner != owner
    }
}

/// The size, modification time and inode of a file, which identify one version of its contents.
///
/// Writing to the file or replacing it changes the stamp, unless its modification time is set back.
struct FileStamp: Sendable, Hashable {
    /// The size in bytes.
    let size: Int64
    /// The modification time in nanoseconds since 1970.
    let modified: Int64
    /// The inode number.
    let inode: UInt64
}

extension FileStamp {
    /// Creates the stamp of a file in its current state.
    init(_ status: FileStatus) {
        self.init(size: status.size, modified: status.modified, inode: status.inode)
    }
}

extension FileStatus {
    /// Identifies the file on this machine.
    var identity: ControlRecord.FileIdentity { ControlRecord.FileIdentity(device: device, inode: inode) }
}

/// What tells a file from one that has its path later.
///
/// A file that was written after the stamp was taken, or replaced, has another one, unless somebody sets its time back.
struct FileStamp: Sendable, Hashable {
    /// The size in bytes.
    let size: Int64
    /// The time of the last change of the bytes, in nanoseconds since 1970.
    let modified: Int64
    /// The number of the file in its file system.
    let inode: UInt64
}

extension FileStamp {
    /// The stamp of a file as it is.
    init(_ status: FileStatus) {
        self.init(size: status.size, modified: status.modified, inode: status.inode)
    }
}

extension FileStatus {
    /// What tells this file from another on the machine.
    var identity: ControlRecord.FileIdentity {
        ControlRecord.FileIdentity(device: device, inode: inode)
    }
}

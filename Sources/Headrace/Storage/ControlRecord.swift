import HeadracePlatform

/// What is kept beside a partial file, so that another process can go on with it.
///
/// Pure. It claims only what its writer knew, and ``trusted(bootID:fileSize:file:)`` is how far it is believed.
struct ControlRecord: Sendable, Equatable {
    /// The URL that was asked, without user and password; the one that answered may be signed, and is not kept.
    let url: URL
    /// The name that the file is to get, one path component.
    var fileName: String
    /// What the answer told of the version that the bytes are of.
    var representation: RepresentationMetadata
    /// The whole file's length, where the server told.
    var totalBytes: Int64?
    /// The ranges whose write calls returned: true while the kernel that took them runs.
    var written = ByteRangeSet()
    /// The ranges that a sync covered from before its start to its success: true after a power cut as well.
    var durable = ByteRangeSet()
    /// The boot that ``written`` is true under; empty where the system does not tell, and then it is not believed.
    var bootID: String
    /// The partial file that the ranges are in.
    var file: FileIdentity
    var state = State.receiving
    /// Digests of the pieces as they came, where a checksum of the whole is expected.
    var pieces: ReceivedPieces?

    /// Begins the record of a file without bytes.
    init(
        url: URL,
        fileName: String,
        representation: RepresentationMetadata,
        totalBytes: Int64?,
        bootID: String,
        file: FileIdentity
    ) {
        self.url = url.identity
        self.fileName = fileName
        self.representation = representation
        self.totalBytes = totalBytes
        self.bootID = bootID
        self.file = file
    }

    /// The ranges of a file that need not be fetched again.
    /// - Parameters:
    ///   - bootID: The present boot; empty where unknown.
    ///   - fileSize: The size of the partial, which bounds the claims and proves none: it may hold zeros.
    ///   - file: The partial that was found.
    /// - Returns: The ranges; none of another file than the recorded one.
    func trusted(bootID: String, fileSize: Int64, file: FileIdentity) -> ByteRangeSet {
        guard matches(file) else { return ByteRangeSet() }
        var trusted = isSameBoot(bootID) && file.device == self.file.device ? written : durable
        trusted.truncate(to: fileSize)
        return trusted
    }

    /// Whether a file that was found is the recorded one.
    ///
    /// Another boot may give the same disk another device number, and so may its being plugged in again; the inode stays.
    func matches(_ found: FileIdentity) -> Bool { found.inode == file.inode }

    private func isSameBoot(_ bootID: String) -> Bool {
        !bootID.isEmpty && bootID == self.bootID
    }
}

extension ControlRecord {
    /// What tells one file from another on a machine.
    struct FileIdentity: Sendable, Hashable {
        var device: UInt64
        var inode: UInt64
    }

    enum State: Sendable, Hashable {
        /// Bytes are missing, or not yet checked.
        case receiving
        /// All bytes are there and checked; the file is about to get this name, or has it.
        case finalising(String)
    }
}

import HeadracePlatform

/// The resume record beside a partial file, which lets another process continue the download.
///
/// This type performs no I/O. A record claims only what its writer knew; ``trusted(bootID:fileSize:file:)`` decides
/// how much of that is still valid.
struct ControlRecord: Sendable, Equatable {
    /// The requested URL without user and password; the final URL is not stored, because it may be signed.
    let url: URL
    /// The planned name of the finished file, one path component; `State.finalising` has the final one.
    var fileName: String
    /// The validators and metadata of the response that the bytes came from.
    var representation: RepresentationMetadata
    /// The length of the complete file, if the server sent it.
    var totalBytes: Int64?
    /// The ranges whose write calls returned; they are valid until the kernel restarts.
    var written = ByteRangeSet()
    /// The ranges that were synced after all their bytes were written; they are valid after a power failure as well.
    var durable = ByteRangeSet()
    /// The boot in which ``written`` is valid; if empty, the boot is unknown and ``written`` is not trusted.
    var bootID: String
    /// The partial file that contains the ranges.
    var file: FileIdentity
    var state = State.receiving
    /// The file that was decoded or copied from ``file``, and gets the final name instead; `nil` if there is none.
    var decoded: DecodedFile?
    /// The digests of the received pieces, which show where the file has changed if its checksum is wrong.
    ///
    /// `nil` if there is no checksum or the request has piece hashes, or if the file is small or of unknown size.
    var pieces: ReceivedPieces?

    /// Creates the record of an empty partial file.
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

    /// Returns the ranges that do not have to be downloaded again.
    /// - Parameters:
    ///   - bootID: The identifier of the current boot; empty if unknown.
    ///   - fileSize: The size of the partial file; ranges beyond it are removed. Bytes that were lost before the end
    ///     of the file are not detected.
    ///   - file: The identity of the partial file that was found.
    /// - Returns: The written ranges if boot and device are the same, otherwise the durable ranges; empty if the record
    ///   belongs to another file.
    func trusted(bootID: String, fileSize: Int64, file: FileIdentity) -> ByteRangeSet {
        guard matches(file) else { return ByteRangeSet() }
        var trusted = isSameBoot(bootID) && file.device == self.file.device ? written : durable
        trusted.truncate(to: fileSize)
        return trusted
    }

    /// Returns whether a partial file is the recorded one.
    ///
    /// Only the inode is compared: a disk may get another device number after a reboot or when it is plugged in again.
    func matches(_ found: FileIdentity) -> Bool { found.inode == file.inode }

    private func isSameBoot(_ bootID: String) -> Bool { !bootID.isEmpty && bootID == self.bootID }
}

extension ControlRecord {
    /// Identifies a file on this machine.
    struct FileIdentity: Sendable, Hashable {
        var device: UInt64
        var inode: UInt64
    }

    /// A file that was decoded or copied from the partial file.
    struct DecodedFile: Sendable, Hashable, Codable {
        var device: UInt64
        var inode: UInt64
        /// The size in bytes.
        var size: Int64
        /// Whether all bytes were synced.
        var isDurable: Bool
    }

    /// The record of the file that has, or is about to get, the final name.
    ///
    /// If there is a ``decoded`` file, the record describes that file as complete; otherwise it is this record.
    var ofFinalFile: ControlRecord {
        guard let decoded else { return self }
        var record = self
        record.file = FileIdentity(device: decoded.device, inode: decoded.inode)
        record.totalBytes = decoded.size
        record.written = ByteRangeSet(CollectionOfOne(0..<decoded.size))
        record.durable = decoded.isDurable ? record.written : ByteRangeSet()
        (record.decoded, record.pieces) = (nil, nil)
        return record
    }

    enum State: Sendable, Hashable {
        /// Bytes are missing or not yet verified.
        case receiving
        /// The file is complete and verified, and has this name or is about to be renamed to it.
        case finalising(String)
    }
}

/// The file that stores a resume record; its path is the partial file's path with a suffix.
struct RecordFile: Sendable {
    static let suffix = ReservedFileNames.recordSuffixes[0]
    private static let newSuffix = ReservedFileNames.newSuffix
    /// The maximum number of bytes added to a partial file's name: the suffixes of the record and of its temporary
    /// file.
    static let longestSuffix = suffix.utf8.count + newSuffix.utf8.count

    enum Contents: Equatable {
        case none
        case record(ControlRecord)
        /// The record cannot be trusted, for the given reason.
        case unusable(RestartReason)
    }

    let path: String
    private let shared: SharedFileSystem

    init(of partialPath: String, calls: SharedFileSystem) {
        path = partialPath + Self.suffix
        shared = calls
    }

    /// Reads the record.
    ///
    /// Throws if the file cannot be read, or was written by a later release and must not be modified. Returns `none` if
    /// the file is missing or belongs to an untrusted user.
    func read() throws(DownloadError) -> Contents {
        let bytes: [UInt8]
        do throws(SystemError) {
            guard let status = try shared.calls.status(path) else { return .none }
            guard status.kind == .regular else { return .unusable(.recordNotAFile) }
            guard try !shared.calls.belongsToAnotherUser(status, at: path) else { return .none }
            bytes = try shared.calls.read(path, ControlRecord.maxBytes + 1)
        } catch {
            // The failure may be temporary, so the received bytes must not be discarded.
            throw .storage("\(path) could not be read", error)
        }
        do throws(ControlRecord.DecodingFailure) {
            return .record(try ControlRecord(decoding: bytes))
        } catch {
            switch error {
            case .tooNew(let version):
                throw DownloadError(
                    .fileSystem,
                    "\(path) was written by a later release (record version \(version)). Continue with that release, or remove the file."
                )
            case .damaged, .notARecord:
                return .unusable(.recordDamaged)
            }
        }
    }

    /// Atomically replaces the record; if the new record is too large to be encoded, the old one remains, without an
    /// error.
    ///
    /// The effect of a power cut depends on the record:
    /// - With `syncing`, the new record survives.
    /// - Without it, the old or the new record survives if the new one lists durable ranges.
    /// - Otherwise, no record may survive.
    ///
    /// If an error is thrown, the old record remains. The exception is a failed sync of the directory: then the new
    /// record is in place.
    func write(_ record: ControlRecord, syncing: Bool) throws(SystemError) {
        guard let bytes = record.encoded() else { return }
        let sync: ReplacementSync = syncing ? .contentsAndName : record.durable.isEmpty ? .nothing : .contents
        try shared.calls.replaceFile(path, by: path + Self.newSuffix, with: bytes, syncing: sync)
    }

    /// Removes the temporary file of an interrupted ``write(_:syncing:)``.
    func removeUnfinished() { try? shared.calls.remove(path + Self.newSuffix) }

    func remove() {
        try? removeIfPresent()
        // The temporary file of a process that was killed while it replaced the record.
        try? shared.calls.remove(path + Self.newSuffix)
    }

    /// Removes the record if it claims bytes outside the given ranges, or cannot be read.
    func remove(unlessWithin ranges: ByteRangeSet) {
        if case .record(let record)? = try? read(), record.written.intersection(ranges) == record.written { return }
        remove()
    }

    func removeIfPresent() throws(SystemError) {
        guard let status = try shared.calls.status(path), try !shared.calls.belongsToAnotherUser(status, at: path)
        else {
            return
        }
        try shared.calls.remove(path)
    }
}

/// Where a control record lies: beside its partial, under the partial's name with a suffix.
struct RecordFile: Sendable {
    static let suffix = ReservedFileNames.recordSuffixes[0]
    private static let newSuffix = ReservedFileNames.newSuffix
    /// What is added to a partial's name at the most, in bytes.
    static let longestSuffix = suffix.utf8.count + newSuffix.utf8.count

    enum Contents: Equatable {
        case none
        case record(ControlRecord)
        /// Not to be believed, with the reason for a person.
        case unusable(String)
    }

    let path: String
    private let shared: SharedFileSystem

    init(of partialPath: String, calls: SharedFileSystem) {
        path = partialPath + Self.suffix
        shared = calls
    }

    /// Reads the record; throws where it cannot be read, and for one of a later release, which is left untouched.
    ///
    /// That of a stranger is none.
    func read() throws(DownloadError) -> Contents {
        let bytes: [UInt8]
        do throws(SystemError) {
            guard let status = try shared.calls.status(path) else { return .none }
            guard status.kind == .regular else { return .unusable("The record of the bytes so far is no file.") }
            guard try !shared.calls.isStrangers(status, at: path) else { return .none }
            bytes = try shared.calls.read(path, ControlRecord.maxBytes + 1)
        } catch {
            // It may pass; the bytes are not to be thrown away for it.
            throw .storage("\(path) could not be read", error)
        }
        do throws(ControlRecord.DecodingFailure) {
            return .record(try ControlRecord(decoding: bytes))
        } catch {
            switch error {
            case .tooNew(let version):
                throw DownloadError(
                    .fileSystem,
                    "\(path) was written by a later release (record version \(version)). Go on with that one, or remove it."
                )
            case .damaged, .notARecord:
                return .unusable("The record of the bytes so far is damaged.")
            }
        }
    }

    /// Replaces the record in one step; a failure leaves the old one.
    ///
    /// Where a directory is given, the record's bytes and then the directory are synced, to outlive a power cut.
    func write(_ record: ControlRecord, syncing directory: String?) throws(SystemError) {
        guard let bytes = record.encoded() else { return }
        try shared.calls.replaceFile(path, by: path + Self.newSuffix, with: bytes, syncing: directory)
    }

    /// Removes what a crash in the middle of ``write(_:syncing:)`` left.
    func removeUnfinished() {
        try? shared.calls.remove(path + Self.newSuffix)
    }

    func remove() {
        try? removeIfPresent()
        // What a process left that was killed while it replaced the record.
        try? shared.calls.remove(path + Self.newSuffix)
    }

    func removeIfPresent() throws(SystemError) {
        guard let status = try shared.calls.status(path), try !shared.calls.isStrangers(status, at: path) else {
            return
        }
        try shared.calls.remove(path)
    }
}

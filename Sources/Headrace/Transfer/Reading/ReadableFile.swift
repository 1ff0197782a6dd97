import HeadracePlatform

/// Tracks which bytes of a download's file can be read, and which readers can continue after bytes were lost.
///
/// Performs no I/O. A reader receives the bytes of its range in order: ``step(of:)`` returns a range that can be read,
/// and its bytes are delivered only if ``took(_:of:by:)`` confirms that they were valid throughout the read.
///
/// Bytes are lost when the download restarts or discards parts. Readers that received any of the lost bytes fail, and
/// the others continue, so no reader receives bytes of two versions. The ``generation`` is incremented with each loss,
/// and whenever the file may become another one. Readers then open the file again.
///
/// The ``Proof`` changes with these events:
///
///     opened ──▶ session ── kept ──▶ stamp ──▶ opened
///                   └────── named ──▶ final ── waiting again ──▶ nothing
struct ReadableFile: Sendable {
    struct ReaderID: Sendable, Hashable, Comparable {
        fileprivate let number: Int

        /// Orders readers by their creation.
        static func < (lhs: ReaderID, rhs: ReaderID) -> Bool { lhs.number < rhs.number }
    }

    /// How a reader makes sure that the file at the path is the one that was downloaded.
    enum Proof: Sendable, Hashable {
        /// A transfer has the file locked.
        case session
        /// No transfer has the file open; it is unchanged as long as it has this stamp.
        case stamp(FileStamp)
        /// The file has its final name, and must have the stamp of the finished file if the stamp is known.
        case final
    }

    /// A range that a reader may read.
    struct Read: Sendable, Hashable {
        var range: Range<Int64>
        var path: String
        var proof: Proof
        /// The generation of the range; a file opened in an earlier generation may be a different one.
        var generation: Int
    }

    enum Step: Sendable, Hashable {
        case read(Read)
        case wait
        case end
        case fail(DownloadError)
    }

    private struct Reader {
        let range: Range<Int64>
        var position: Int64
        var failure: DownloadError?
        /// Whether the last read found no file at the path, or another file than the downloaded one.
        var isFileMissing = false

        /// Whether the reader reads the whole file, and ends only when the file is finished.
        var isWhole: Bool { range == 0..<Int64.max }
    }

    /// The maximum number of bytes per read.
    static let maxReadBytes: Int64 = 256 << 10

    /// Whether only the finished file can be read, because the partial file may have a content coding.
    var isReadAtEnd = false
    private(set) var held = ByteRangeSet()
    private var generation = 0
    /// The path of the file; `nil` while there is no file that can be read.
    private var path: String?
    private var proof = Proof.session
    /// The size of the complete file; `nil` until it is known.
    ///
    /// If nothing else has revealed the size, a short read of the finished file does.
    private var totalBytes: Int64?
    private var isFinished = false
    private var failure: DownloadError?
    private var readers: [ReaderID: Reader] = [:]
    private var lastNumber = 0

    // MARK: Readers

    var isRead: Bool { !readers.isEmpty && !isReadAtEnd }

    /// The ranges still to be delivered to readers, the newest reader's first; empty if only the finished file can be
    /// read.
    var demands: [Range<Int64>] {
        guard !isReadAtEnd else { return [] }
        return readers.filter { $1.failure == nil }.sorted { $0.key > $1.key }.map { _, reader in
            let end = end(of: reader)
            return min(reader.position, end)..<end
        }
    }

    mutating func join(_ range: Range<Int64>) -> ReaderID {
        lastNumber += 1
        let id = ReaderID(number: lastNumber)
        readers[id] = Reader(range: range, position: range.lowerBound, failure: failure)
        return id
    }

    mutating func leave(_ id: ReaderID) { readers[id] = nil }

    func step(of id: ReaderID) -> Step {
        guard let reader = readers[id] else { return .end }
        let end = end(of: reader)
        let hasAll = reader.position >= end
        guard !hasAll || reader.isWhole else { return .end }
        if let failure = reader.failure { return .fail(failure) }
        // Until the file is verified and renamed, the bytes may turn out to be wrong.
        guard !hasAll else { return isFinished ? .end : .wait }
        guard let path, !reader.isFileMissing, isFinished || !isReadAtEnd else { return .wait }
        let missing = isFinished ? nil : held.firstGap(from: reader.position, before: end)
        let limit = reader.position + min(Self.maxReadBytes, end - reader.position)
        let available = reader.position..<min(missing?.lowerBound ?? end, limit)
        guard !available.isEmpty else { return .wait }
        return .read(Read(range: available, path: path, proof: proof, generation: generation))
    }

    /// Records that a reader has read `count` bytes; returns whether they may be delivered.
    ///
    /// Returns `false` if there are none, or if they were lost during the read. If the read returned fewer bytes than
    /// requested, a finished file of unknown size ends there. In any other file, the reader fails.
    mutating func took(_ count: Int, of read: Read, by id: ReaderID) -> Bool {
        guard let reader = readers[id], reader.failure == nil, read.generation == generation else { return false }
        if count < read.range.count {
            guard isFinished, totalBytes == nil else {
                readers[id]?.failure = .fileChanged(read.path)
                return false
            }
            guard count > 0 || reader.position > reader.range.lowerBound || reader.position == 0 else {
                // The file ends somewhere before the range of the reader, which has nothing to read.
                readers[id]?.position = reader.range.upperBound
                return false
            }
            totalBytes = read.range.lowerBound + Int64(count)
        }
        readers[id]?.position += Int64(count)
        return count > 0
    }

    /// Records that a read found no file, or another file, at its path, because the download's file was renamed to its
    /// final name or removed.
    mutating func strayed(_ read: Read, by id: ReaderID) {
        guard read.generation == generation, read.path == path, read.proof == proof else { return }
        readers[id]?.isFileMissing = true
    }

    private func end(of reader: Reader) -> Int64 {
        min(reader.range.upperBound, isReadAtEnd && !isFinished ? .max : totalBytes ?? .max)
    }

    // MARK: The download

    /// Records that a transfer has opened the file with these received bytes.
    ///
    /// `isSame` is `true` if these are the bytes that the last transfer left; otherwise they may be of another version,
    /// so readers that have received bytes fail.
    mutating func opened(_ path: String, _ held: ByteRangeSet, totalBytes: Int64?, isSame: Bool) {
        if !isSame { lost() } else if !self.held.isSubset(of: held) { lost(keeping: held) }
        self.held = held
        began(path, totalBytes: totalBytes)
    }

    /// Records that a transfer is about to write the file at this path.
    mutating func began(_ path: String, totalBytes: Int64?) {
        self.totalBytes = totalBytes
        place(at: path, .session)
    }

    mutating func wrote(_ range: Range<Int64>) { held.insert(range) }

    /// Records that all bytes except the given ranges are lost or about to be removed.
    ///
    /// Readers that have already returned some of the lost bytes fail, because the new bytes may be of another version.
    /// The other readers wait until the bytes are received again. `reason` is the cause of the loss; `nil` if unknown.
    mutating func lost(keeping kept: ByteRangeSet = ByteRangeSet(), for reason: RestartReason? = nil) {
        generation += 1
        for (id, reader) in readers where !kept.contains(reader.range.lowerBound..<reader.position) {
            readers[id]?.failure = reader.failure ?? .changedWhileRead(reason)
        }
        held = kept
        guard kept.isEmpty else { return }
        (path, totalBytes, isFinished) = (nil, nil, false)
    }

    /// Records that a transfer has ended and left a partial file with this stamp.
    mutating func kept(_ stamp: FileStamp) { proof = .stamp(stamp) }

    /// Records that a transfer has ended; unless ``kept(_:)`` or ``named(_:)`` was called, the file cannot be read
    /// until the next transfer opens it.
    mutating func closed() {
        guard proof == .session else { return }
        generation += 1
        path = nil
    }

    /// Records that the complete file has its final name.
    ///
    /// `isCopy` is `true` if it is not the partial file, but its decoded version or a copy. Readers must then open it.
    mutating func named(_ path: String, isCopy: Bool = false) {
        if isCopy { generation += 1 }
        totalBytes = held.end
        place(at: path, .final)
    }

    /// Records that the download of this URL has entered a state; if it has failed or was cancelled, its readers fail.
    mutating func entered(_ state: DownloadState, of url: URL) {
        failure = nil
        switch state {
        case .waiting, .running, .paused:
            // The file is downloaded again.
            if isFinished { lost() }
        case .finished(let file):
            // If another download produced the file, nothing else is known about it.
            if path != file.filePath || proof != .final || isReadAtEnd && !isFinished {
                lost()
                place(at: file.filePath, .final)
            }
            isFinished = true
        case .failed(let error): failure = error
        case .cancelled: failure = .cancelled(url)
        }
        guard let failure else { return }
        for (id, reader) in readers { readers[id]?.failure = reader.failure ?? failure }
    }

    private mutating func place(at path: String, _ proof: Proof) {
        (self.path, self.proof) = (path, proof)
        for id in readers.keys { readers[id]?.isFileMissing = false }
    }
}

extension DownloadError {
    fileprivate static func changedWhileRead(_ reason: RestartReason?) -> DownloadError {
        let problem = "The download restarted with another version of the file during the read."
        return DownloadError(.resourceChanged, "\(problem) Read it again from the start.", cause: reason)
    }

    static func fileChanged(_ path: String) -> DownloadError {
        DownloadError(.fileSystem, "\(path) was changed or removed by another program. Download it again.")
    }
}

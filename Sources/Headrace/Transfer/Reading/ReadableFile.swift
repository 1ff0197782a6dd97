import HeadracePlatform

/// Which bytes of a download's file can be read, and what becomes of those who read when bytes go.
///
/// Pure. A reader is given the bytes of its range in order: ``step(of:)`` says which are there, and what was read of them is
/// handed out only if ``took(_:of:by:)`` then says that they were there all the time. Bytes may go when the download starts
/// again, or gives parts up: each time is another ``generation``, in which only those go on to whom nothing was given that is
/// gone. So nobody is given bytes of two versions.
///
///     opened ──▶ session ── kept ──▶ stamp ──▶ opened          while a session has the file, and between two of them
///                   └────── named ──▶ final ── waiting again ──▶ nothing
struct ReadableFile: Sendable {
    struct ReaderID: Sendable, Hashable, Comparable {
        fileprivate let number: Int

        /// Those who came later are the greater ones.
        static func < (lhs: ReaderID, rhs: ReaderID) -> Bool { lhs.number < rhs.number }
    }

    /// What vouches for the file that is under the path.
    enum Proof: Sendable, Hashable {
        /// A session has it locked.
        case session
        /// No session has it, and it is the same as long as it has this stamp.
        case stamp(FileStamp)
        /// It has its final name.
        case final
    }

    /// Bytes that a reader may read.
    struct Read: Sendable, Hashable {
        var range: Range<Int64>
        var path: String
        var proof: Proof
        /// A file that was opened in an earlier one may be another file.
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
        /// Nothing of use is under the path.
        var isAstray = false
    }

    /// The most bytes that are read at once.
    static let maxReadBytes: Int64 = 256 << 10

    private(set) var held = ByteRangeSet()
    private var generation = 0
    /// Nil where there are no bytes yet.
    private var path: String?
    private var proof = Proof.session
    /// Known for sure when the file is complete.
    private var totalBytes: Int64?
    private var isFinished = false
    private var failure: DownloadError?
    private var readers: [ReaderID: Reader] = [:]
    private var lastNumber = 0

    // MARK: Readers

    var isRead: Bool { !readers.isEmpty }

    /// What readers are still to be given, that of the latest first.
    var demands: [Range<Int64>] {
        readers.filter { $1.failure == nil }.sorted { $0.key > $1.key }.map { _, reader in
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

    mutating func leave(_ id: ReaderID) {
        readers[id] = nil
    }

    func step(of id: ReaderID) -> Step {
        guard let reader = readers[id] else { return .end }
        let end = end(of: reader)
        guard reader.position < end else { return .end }
        if let failure = reader.failure { return .fail(failure) }
        guard let path, !reader.isAstray else { return .wait }
        let missing = isFinished ? nil : held.firstGap(from: reader.position, before: end)
        let most = reader.position + min(Self.maxReadBytes, end - reader.position)
        let there = reader.position..<min(missing?.lowerBound ?? end, most)
        guard !there.isEmpty else { return .wait }
        return .read(Read(range: there, path: path, proof: proof, generation: generation))
    }

    /// So many bytes were read; true where they are to be handed out.
    mutating func took(_ count: Int, of read: Read, by id: ReaderID) -> Bool {
        guard let reader = readers[id], reader.failure == nil, read.generation == generation else { return false }
        if count < read.range.count {
            guard isFinished else {
                readers[id]?.failure = .fileChanged(read.path)
                return false
            }
            totalBytes = read.range.lowerBound + Int64(count)
        }
        readers[id]?.position += Int64(count)
        return count > 0
    }

    /// There was no file, or another one, where bytes were to be read: it has just got its final name, or was removed.
    mutating func strayed(_ read: Read, by id: ReaderID) {
        guard read.generation == generation, read.path == path, read.proof == proof else { return }
        readers[id]?.isAstray = true
    }

    private func end(of reader: Reader) -> Int64 { min(reader.range.upperBound, totalBytes ?? .max) }

    // MARK: The download

    /// A session has taken up a file with these bytes, which are those of the last one or of nobody knows which version.
    mutating func opened(_ path: String, _ held: ByteRangeSet, totalBytes: Int64?, isSame: Bool) {
        if !isSame { lost() } else if !self.held.isSubset(of: held) { lost(keeping: held) }
        self.held = held
        began(path, totalBytes: totalBytes)
    }

    /// A session is about to write the file at a path.
    mutating func began(_ path: String, totalBytes: Int64?) {
        self.totalBytes = totalBytes
        place(at: path, .session)
    }

    mutating func wrote(_ range: Range<Int64>) {
        held.insert(range)
    }

    /// Bytes are about to go, all but these.
    mutating func lost(keeping kept: ByteRangeSet = ByteRangeSet()) {
        generation += 1
        for (id, reader) in readers where !kept.contains(reader.range.lowerBound..<reader.position) {
            readers[id]?.failure = reader.failure ?? .changedWhileRead
        }
        held = kept
        guard kept.isEmpty else { return }
        (path, totalBytes, isFinished) = (nil, nil, false)
    }

    /// A session has ended, and leaves a file with this stamp.
    mutating func kept(_ stamp: FileStamp) {
        proof = .stamp(stamp)
    }

    /// A session has ended; what it did not keep nobody vouches for, and the next one tells what became of it.
    mutating func closed() {
        guard proof == .session else { return }
        generation += 1
        path = nil
    }

    /// The complete file has got its name.
    mutating func named(_ path: String) {
        totalBytes = held.end
        place(at: path, .final)
    }

    /// The download of a URL is in this state by now.
    mutating func entered(_ state: DownloadState, of url: URL) {
        failure = nil
        switch state {
        case .waiting, .running, .paused:
            // It is fetched again.
            if isFinished { lost() }
        case .finished(let file):
            // Where it was not this download that has made it, nothing else is known of it.
            if path != file.filePath || proof != .final {
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
        for id in readers.keys { readers[id]?.isAstray = false }
    }
}

extension DownloadError {
    fileprivate static let changedWhileRead = DownloadError(
        .resourceChanged,
        "The download started again with another version of the file while it was read. Read it again from the start."
    )

    static func fileChanged(_ path: String) -> DownloadError {
        DownloadError(.fileSystem, "\(path) was changed or removed by somebody else. Download it again.")
    }
}

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// An open journal and the list that it makes.
///
/// All calls block, and belong to one caller at a time.
struct RegistryStore: Sendable {
    /// When a journal is written anew.
    struct Compaction: Sendable {
        /// Below this size it is not worth it.
        var minBytes: Int64 = 1 << 20
        /// How many times more downloads the journal tells of than the list has.
        var factor = 2
    }

    static let fileName = "registry.journal"
    static let newSuffix = ".new"
    static let unreadSuffix = ".unread"
    private static let pieceBytes = 1 << 20

    private(set) var image = RegistryImage()
    private let directory: String
    private let path: String
    private let syncs: Bool
    private let compaction: Compaction
    private let calls: FileCalls
    private let encoder = RegistryEncoder()
    private var file: Int32?
    /// The bytes of the lines; the next ones go there.
    private var size: Int64 = 0
    /// Whether there are bytes after them, which have to be cut first.
    private var hasTail = false
    /// How many downloads the lines tell of.
    private var weight = 0
    /// Set where the kernel may have given up bytes or the name of this file: no sync of it proves anything any more.
    private var isDoubtful = false
    /// After a compaction that failed, the weight to try again at.
    private var postponedWeight = 0

    /// Opens the journal of a directory that is locked, and makes one where there is none.
    init(
        in directory: String,
        syncs: Bool,
        compaction: Compaction,
        calls: FileCalls,
        report: inout RegistryReport
    ) throws(DownloadError) {
        self.directory = directory
        self.syncs = syncs
        self.compaction = compaction
        self.calls = calls
        path = "\(directory)/\(Self.fileName)"
        do throws(DownloadError) {
            report.findings = try load()
            report.unreadCopy = try tidy(after: report.findings)
        } catch {
            close()
            throw error
        }
    }

    mutating func close() {
        if let file = file.take() { try? calls.close(file) }
    }

    // MARK: Writing

    /// Adds changes with one write, and one sync where the list syncs; they are in the image once both have succeeded.
    mutating func append(_ changes: [RegistryChange]) throws(DownloadError) {
        let lines: [UInt8]?
        do throws(RegistryEncoder.Failure) {
            lines = try encoder.lines(of: changes)
        } catch .indivisible {
            lines = nil
        } catch {
            throw .registry(error)
        }
        if lines?.isEmpty == true { return }
        guard let lines, let file, !isDoubtful else {
            var next = image
            for change in changes { next.apply(change) }
            return try replace(with: next)
        }
        try write(lines, to: file)
        size += Int64(lines.count)
        for change in changes {
            weight += change.weight
            image.apply(change)
        }
        if isCompactionDue { try? compact() }
    }

    /// Writes the journal anew unless nothing in it is dead; a failure leaves it readable, and as it was before the rename.
    mutating func compact() throws(DownloadError) {
        guard weight > image.weight || isDoubtful || hasTail else { return }
        postponedWeight = weight * 2
        try replace(with: image)
    }

    private var isCompactionDue: Bool {
        size >= compaction.minBytes && weight >= postponedWeight && weight / compaction.factor >= image.weight
    }

    private mutating func write(_ lines: [UInt8], to file: Int32) throws(DownloadError) {
        do throws(SystemError) {
            if hasTail { try calls.truncate(file, size) }
            hasTail = true
            try calls.writeAll(file, lines, at: size)
        } catch {
            cutTail(of: file)
            throw .registry("The list \(path) could not be written", error)
        }
        do throws(SystemError) {
            if syncs { try calls.sync(file) }
            hasTail = false
        } catch {
            isDoubtful = true
            cutTail(of: file)
            throw .registry("The list \(path) could not be written to the disk", error)
        }
    }

    /// Takes back what was not written as a whole, so that a later run does not read what was refused.
    private mutating func cutTail(of file: Int32) {
        if (try? calls.truncate(file, size)) != nil { hasTail = false }
    }

    /// Puts a new journal of these downloads in the place of the old one, in one step.
    private mutating func replace(with next: RegistryImage) throws(DownloadError) {
        let newPath = path + Self.newSuffix
        let new: Int32
        let newSize: Int64
        do throws(SystemError) {
            try? calls.remove(newPath)
            new = try calls.create(newPath)
        } catch {
            throw .registry("\(newPath) could not be made", error)
        }
        do throws(DownloadError) {
            newSize = try write(next, to: new, newPath)
            do throws(SystemError) {
                try calls.replace(newPath, path)
            } catch {
                throw .registry("The list \(path) could not be replaced", error)
            }
        } catch {
            try? calls.close(new)
            try? calls.remove(newPath)
            throw error
        }
        close()
        (file, size, weight, hasTail) = (new, newSize, next.weight, false)
        // After a power cut the name may lead to the old journal again, which lacks what comes from now on.
        isDoubtful = true
        do throws(SystemError) {
            try calls.syncDirectory(directory)
        } catch {
            throw .registry("The folder \(directory) could not be written to the disk", error)
        }
        isDoubtful = false
        postponedWeight = 0
        image = next
    }

    /// Writes and syncs a whole journal; returns its size.
    private func write(_ image: RegistryImage, to file: Int32, _ path: String) throws(DownloadError) -> Int64 {
        var snapshot = RegistrySnapshot(of: image)
        var size: Int64 = 0
        while true {
            let piece: [UInt8]?
            do throws(RegistryEncoder.Failure) {
                piece = try snapshot.next()
            } catch {
                throw .registry(error)
            }
            do throws(SystemError) {
                guard let piece else {
                    try calls.sync(file)
                    return size
                }
                try calls.writeAll(file, piece, at: size)
                size += Int64(piece.count)
            } catch {
                throw .registry("\(path) could not be written", error)
            }
        }
    }

    // MARK: Opening

    private mutating func load() throws(DownloadError) -> RegistryFindings {
        var reader = RegistryReader()
        do throws(SystemError) {
            guard try calls.status(path) != nil else { return reader.findings }
            file = try calls.open(path)
            // A process that was killed may have left a name that a power cut would still take back.
            if syncs { try calls.syncDirectory(directory) }
        } catch {
            throw .registry("The list \(path) could not be opened", error)
        }
        let bytes = try forEachPiece { piece throws(DownloadError) in
            do throws(RegistryReader.TooNew) {
                try reader.read(piece)
            } catch {
                throw .registry(path, error)
            }
        }
        do throws(RegistryReader.TooNew) {
            try reader.finish()
        } catch {
            throw .registry(path, error)
        }
        // What a process left that was killed while it wrote the journal anew.
        try? calls.remove(path + Self.newSuffix)
        if let file { try? calls.setMode(file, 0o600) }
        (image, size, weight, hasTail) = (reader.image, reader.goodBytes, reader.weight, bytes > reader.goodBytes)
        return reader.findings
    }

    /// Writes the journal anew where there is none, or where it is damaged or mostly dead.
    private mutating func tidy(after findings: RegistryFindings) throws(DownloadError) -> String? {
        var copy: String?
        do throws(DownloadError) {
            if findings.hasLoss { copy = try keepCopy() }
            if findings.hasLoss || size == 0 || isCompactionDue { try replace(with: image) }
        } catch  where size > 0 {
            // It can be read as it is, and added to.
        }
        return copy
    }

    /// Copies the journal, which holds something that is not understood, before it is replaced.
    private func keepCopy() throws(DownloadError) -> String {
        let copyPath = path + Self.unreadSuffix
        let copy: Int32
        do throws(SystemError) {
            try? calls.remove(copyPath)
            copy = try calls.create(copyPath)
        } catch {
            throw .registry("\(copyPath) could not be made", error)
        }
        defer { try? calls.close(copy) }
        do throws(DownloadError) {
            var offset: Int64 = 0
            _ = try forEachPiece { piece throws(DownloadError) in
                do throws(SystemError) {
                    try calls.writeAll(copy, piece, at: offset)
                } catch {
                    throw .registry("\(copyPath) could not be written", error)
                }
                offset += Int64(piece.count)
            }
            do throws(SystemError) {
                try calls.sync(copy)
            } catch {
                throw .registry("\(copyPath) could not be written to the disk", error)
            }
        } catch {
            try? calls.remove(copyPath)
            throw error
        }
        return copyPath
    }

    /// Reads the journal from its start; returns how many bytes there were.
    private func forEachPiece(_ body: ([UInt8]) throws(DownloadError) -> Void) throws(DownloadError) -> Int64 {
        guard let file else { return 0 }
        var offset: Int64 = 0
        while true {
            let piece: [UInt8]
            do throws(SystemError) {
                guard try calls.openStatus(file).kind == .regular else { throw SystemError(errno: EEXIST) }
                piece = try calls.readAt(file, offset, Self.pieceBytes)
            } catch {
                throw .registry("The list \(path) could not be read", error)
            }
            try body(piece)
            offset += Int64(piece.count)
            guard piece.count == Self.pieceBytes else { return offset }
        }
    }
}

extension RegistryImage {
    /// How many downloads a journal of this image tells of.
    fileprivate var weight: Int { entries.count + (limits.isEmpty ? 0 : 1) }
}

extension DownloadError {
    private static var maxEntrySize: String { "\(RegistryJournal.maxEntryBytes >> 10) KiB" }

    fileprivate static func registry(_ failure: RegistryEncoder.Failure) -> DownloadError {
        switch failure {
        case .tooLarge(let id):
            DownloadError(
                .invalidRequest,
                "The download \(id.hexadecimal) holds more than the \(maxEntrySize) that a list of downloads takes. "
                    + "Shorten its URL, headers, title or notes."
            )
        case .indivisible:
            DownloadError(.invalidRequest, "The limits hold more than a list of downloads takes. Set fewer of them.")
        }
    }

    fileprivate static func registry(_ path: String, _ error: RegistryReader.TooNew) -> DownloadError {
        DownloadError(
            .fileSystem,
            "\(path) was written by a later release (version \(error.version)). "
                + "Go on with that one, or give this manager another folder.",
            cause: error
        )
    }
}

/// A request of another process to the owner of the registry.
enum RegistryCommand: Sendable, Hashable {
    /// Add these downloads at the end of the queue, under the identities in the entries.
    ///
    /// If a download of the same file is active, it adopts the expected size and the hashes of the entry, and no
    /// download is added. An entry with the identity of an ended download is ignored, unless it has a further expected
    /// size or hash: then it is added under a new identity. The labels and states of entries are ignored.
    case add([RegistryEntry])
    /// Stop downloads until they are resumed.
    case pause([UInt64])
    /// Requeue paused, failed and cancelled downloads, and finished ones whose file no longer exists.
    ///
    /// Downloads that wait for a retry or for their start time may start at once.
    case resume([UInt64])
    /// Cancel downloads.
    case cancel([UInt64])
    /// Requeue failed downloads.
    case retry([UInt64])
    /// Remove downloads from the queue; with `deletingFiles`, delete their partial and finished files too, except
    /// finished files that existed before or were changed since.
    case remove([UInt64], deletingFiles: Bool)
    /// Change the position of a download.
    case move(UInt64, QueuePosition)
    /// Change the priority of a download.
    case priority(UInt64, Int)
    /// Replace the URL of a download.
    case relink(UInt64, String)

    /// The number of downloads in the command, which determines the cost of executing it.
    var recordCount: Int { ids.count }

    /// The identities of the command's downloads, including the download that a new position is relative to.
    var ids: [UInt64] {
        switch self {
        case .add(let entries): entries.map(\.id)
        case .pause(let ids), .resume(let ids), .cancel(let ids), .retry(let ids), .remove(let ids, _): ids
        case .move(let id, .before(let other)), .move(let id, .after(let other)): [id, other.rawValue]
        case .move(let id, _), .priority(let id, _), .relink(let id, _): [id]
        }
    }
}

/// A command is encoded as one line, like a change in a journal: a checksum, then an array of the kind and the values.
extension RegistryCommand {
    enum Failure: Error, Hashable {
        /// The contents are truncated or invalid, or have excess bytes.
        case damaged
        /// A part of the command is unknown to this release, so none of the command is executed.
        ///
        /// The text describes that part.
        case unknown(String)
    }

    /// The maximum size of an encoded command in bytes: room for millions of identities.
    static let maxBytes = 1 << 26

    init(decoding bytes: [UInt8]) throws(Failure) {
        guard bytes.last == RegistryJournal.newline,
            let payload = RegistryJournal.payload(of: bytes.dropLast(), maxBytes: Self.maxBytes)
        else { throw .damaged }
        var decoder = RegistryDecoder(payload)
        let command: RegistryCommand?
        do throws(RegistryScanner.Failure) {
            command = try decoder.command()
        } catch {
            throw .damaged
        }
        guard decoder.line.isAtEnd else { throw .damaged }
        if let first = decoder.unknown.first { throw .unknown(first) }
        guard let command else { throw .damaged }
        self = command
    }

    var isAddition: Bool { if case .add = self { true } else { false } }

    /// Returns the encoded command; `nil` if it has more than `maxBytes` bytes even without the piece hashes of files
    /// that checksums verify.
    func encoded(maxBytes: Int = Self.maxBytes) -> [UInt8]? {
        var payload = RegistryWriter()
        payload.write(self)
        let bytes = RegistryJournal.line(of: payload.bytes)
        return bytes.count <= maxBytes ? bytes : withoutPieces?.encoded(maxBytes: maxBytes)
    }

    /// The command without the piece hashes of files that checksums verify, used if the command is too large; `nil` if
    /// it has none.
    private var withoutPieces: RegistryCommand? {
        guard case .add(var entries) = self else { return nil }
        let omitted = entries.indices.filter { index in
            let expectations = entries[index].request.expectations
            return expectations.pieces != nil && !expectations.checksums.isEmpty
        }
        for index in omitted { entries[index].request.expectations.pieces = nil }
        return omitted.isEmpty ? nil : .add(entries)
    }
}

private enum CommandKind: String {
    case add
    case pause
    case resume
    case cancel
    case retry
    case remove
    case move
    case priority
    case relink
}

private enum PositionKind: String {
    case first
    case last
    case before
    case after
    case index
}

/// The keywords for whether the files of removed downloads are deleted.
private enum FilesKind: String {
    case keep
    case delete
}

extension RegistryWriter {
    fileprivate mutating func write(_ command: RegistryCommand) {
        beginList()
        switch command {
        case .add(let entries):
            write(CommandKind.add.rawValue)
            for entry in entries { write(entry) }
        case .pause(let ids): write(.pause, ids)
        case .resume(let ids): write(.resume, ids)
        case .cancel(let ids): write(.cancel, ids)
        case .retry(let ids): write(.retry, ids)
        case .remove(let ids, let deletingFiles):
            write(CommandKind.remove.rawValue)
            write((deletingFiles ? FilesKind.delete : .keep).rawValue)
            for id in ids { write(id: id) }
        case .move(let id, let place):
            write(CommandKind.move.rawValue)
            write(id: id)
            write(place)
        case .priority(let id, let priority):
            write(CommandKind.priority.rawValue)
            write(id: id)
            write(priority)
        case .relink(let id, let url):
            write(CommandKind.relink.rawValue)
            write(id: id)
            write(url)
        }
        endList()
    }

    private mutating func write(_ kind: CommandKind, _ ids: [UInt64]) {
        write(kind.rawValue)
        for id in ids { write(id: id) }
    }

    private mutating func write(_ place: QueuePosition) {
        switch place {
        case .first: write(PositionKind.first.rawValue)
        case .last: write(PositionKind.last.rawValue)
        case .before(let id):
            write(PositionKind.before.rawValue)
            write(id: id.rawValue)
        case .after(let id):
            write(PositionKind.after.rawValue)
            write(id: id.rawValue)
        case .index(let index):
            write(PositionKind.index.rawValue)
            write(index)
        }
    }
}

extension RegistryDecoder {
    /// Reads a command; an unknown part is described in ``unknown``, and the command must then not be executed.
    ///
    /// Returns `nil` if the rest cannot be interpreted without that part.
    fileprivate mutating func command() throws(Failure) -> RegistryCommand? {
        try line.beginList()
        let word = try line.text()
        guard let kind = CommandKind(rawValue: word) else {
            unknown.append("the command \"\(word)\"")
            try skipRest()
            return nil
        }
        let command = try command(kind)
        try skipRest(of: "a command \"\(word)\"")
        return command
    }

    private mutating func command(_ kind: CommandKind) throws(Failure) -> RegistryCommand? {
        switch kind {
        case .add:
            var entries: [RegistryEntry] = []
            while !line.isAtListEnd { entries.append(try entry()) }
            return .add(entries)
        case .pause: return .pause(try ids())
        case .resume: return .resume(try ids())
        case .cancel: return .cancel(try ids())
        case .retry: return .retry(try ids())
        case .remove:
            let word = try line.text()
            guard let files = FilesKind(rawValue: word) else {
                unknown.append("the file option \"\(word)\"")
                return nil
            }
            return .remove(try ids(), deletingFiles: files == .delete)
        case .move:
            let id = try line.id()
            return try place().map { .move(id, $0) }
        case .priority: return .priority(try line.id(), try line.integer())
        case .relink: return .relink(try line.id(), try line.text())
        }
    }

    private mutating func place() throws(Failure) -> QueuePosition? {
        let word = try line.text()
        switch PositionKind(rawValue: word) {
        case .first: return .first
        case .last: return .last
        case .before: return .before(DownloadID(rawValue: try line.id()))
        case .after: return .after(DownloadID(rawValue: try line.id()))
        case .index: return .index(try line.integer())
        case nil:
            unknown.append("the position \"\(word)\"")
            return nil
        }
    }
}

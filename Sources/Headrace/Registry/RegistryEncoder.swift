import HeadracePlatform

/// Encodes changes as journal lines.
enum RegistryEncoder {
    enum Failure: Error, Hashable {
        /// The entry or the state of the download with this identity is too long; see ``RegistryJournal/maxEntryBytes``
        /// and ``RegistryJournal/maxStateBytes``.
        case tooLarge(UInt64)
        /// A change is too long for one line, and must not be split into several lines.
        case indivisible
    }

    /// The number of bytes of encoded lines to collect before each write.
    static let pieceBytes = 64 << 10

    /// Encodes changes as lines, in order.
    static func lines(of changes: some Sequence<RegistryChange>) throws(Failure) -> [UInt8] {
        var lines = RegistryLines(of: changes, pieceBytes: .max)
        return try lines.next() ?? []
    }

    /// Encodes a complete journal that contains only the current entries.
    static func journal<Entries: Sequence<RegistryEntry>>(
        of entries: Entries,
        pieceBytes: Int = pieceBytes
    ) -> RegistryLines<LazyMapSequence<Entries, RegistryChange>> {
        RegistryLines(
            of: entries.lazy.map { .added([$0]) },
            after: RegistryJournal.header,
            maxEntryBytes: RegistryJournal.maxPayloadBytes,
            pieceBytes: pieceBytes
        )
    }

    /// The size of a request's texts and data, in bytes, up to which the request needs no ``check(_:)``.
    ///
    /// Such a request always fits into an entry, even if the encoder escapes each byte as six bytes.
    static let leastCheckedBytes = RegistryJournal.maxEntryBytes / 8

    /// Throws `invalidRequest` if a request takes more bytes than an entry may have.
    ///
    /// Piece hashes count only if no checksum verifies the file; otherwise, the encoder omits them if they do not fit.
    static func check(_ request: RegistryRequest) throws(DownloadError) {
        let (pieces, checksums) = (request.expectations.pieces, request.expectations.checksums)
        var entry = RegistryEntry(id: 0, request, label: .min, number: DownloadNumbers.greatest)
        entry.request.expectations.pieces = nil
        let length: Int
        do throws(Failure) {
            length = try lines(of: [.added([entry])]).count
        } catch {
            throw DownloadError(
                .invalidRequest,
                "The request for \(request.url.prefix(200)) takes more than the \(RegistryJournal.maxEntryBytes >> 10) KiB "
                    + "that a queue can store. Shorten its URL, headers, title or notes."
            )
        }
        guard let pieces, checksums.isEmpty, !RegistryWriter.mayWrite(pieces, after: length) else { return }
        throw DownloadError(
            .invalidRequest,
            "The piece hashes for \(request.url.prefix(200)) take more than the "
                + "\(RegistryJournal.maxEntryBytesWithPieces >> 10) KiB that a queue can store, and no checksum verifies "
                + "the file without them. Add a checksum, or download the file without a queue."
        )
    }
}

/// Encodes changes as lines, piece by piece, so that the lines of a long queue are not all in memory at once.
struct RegistryLines<Changes: Sequence<RegistryChange>> {
    private static var idsPerLine: Int { 4096 }

    /// The number of records encoded so far, which determines the cost of reading the lines.
    private(set) var recordCount = 0
    private let maxEntryBytes: Int
    private let pieceBytes: Int
    private var rest: Changes.Iterator
    private var bytes: [UInt8]
    private var payload = RegistryWriter()

    init(
        of changes: Changes,
        after start: [UInt8] = [],
        maxEntryBytes: Int = RegistryJournal.maxEntryBytes,
        pieceBytes: Int = RegistryEncoder.pieceBytes
    ) {
        rest = changes.makeIterator()
        bytes = start
        self.maxEntryBytes = maxEntryBytes
        self.pieceBytes = pieceBytes
    }

    /// Returns the next lines, at least `pieceBytes` bytes or all remaining lines; `nil` after the last line.
    mutating func next() throws(RegistryEncoder.Failure) -> [UInt8]? {
        while bytes.count < pieceBytes, let change = rest.next() { try append(change) }
        defer { bytes = [] }
        return bytes.isEmpty ? nil : bytes
    }

    private mutating func append(_ change: RegistryChange) throws(RegistryEncoder.Failure) {
        recordCount += change.recordCount
        switch change {
        case .added(let entries):
            // Each download gets its own line, so that a damaged line loses only one download.
            for entry in entries { try append(.added([entry]), maxEntryBytes, .tooLarge(entry.id)) }
        case .removed(let ids):
            for start in stride(from: 0, to: ids.count, by: Self.idsPerLine) {
                let part = Array(ids[start...].prefix(Self.idsPerLine))
                try append(.removed(part), RegistryJournal.maxPayloadBytes, .indivisible)
            }
        case .state(let id, _, _):
            try append(change, RegistryJournal.maxStateBytes, .tooLarge(id))
        case .moved, .relabelled, .priority:
            try append(change, RegistryJournal.maxPayloadBytes, .indivisible)
        }
    }

    /// Appends the line of a change; throws `failure` if its payload is longer than `maxBytes`.
    private mutating func append(
        _ change: RegistryChange,
        _ maxBytes: Int,
        _ failure: RegistryEncoder.Failure
    ) throws(RegistryEncoder.Failure) {
        payload.clear()
        payload.write(change)
        guard payload.bytes.count <= maxBytes else { throw failure }
        RegistryJournal.append(payload.bytes, to: &bytes)
    }
}

/// A change is encoded as an array: its kind, then its values.
extension RegistryWriter {
    fileprivate mutating func write(_ change: RegistryChange) {
        switch change {
        case .added(let entries):
            begin(.add)
            for entry in entries { write(entry) }
        case .state(let id, let state, let time):
            begin(.state)
            write(id: id)
            write(state)
            if let time { write(time) }
        case .moved(let id, let label):
            begin(.move)
            write(id: id)
            write(label)
        case .relabelled(let labels):
            begin(.relabel)
            write(labels.sorted { $0.key < $1.key }.lazy.map { ($0.key.hexadecimal, $0.value) })
        case .priority(let id, let priority):
            begin(.priority)
            write(id: id)
            write(priority)
        case .removed(let ids):
            begin(.remove)
            for id in ids { write(id: id) }
        }
        endList()
    }

    fileprivate mutating func begin(_ kind: RegistryKind) {
        beginList()
        write(kind.rawValue)
    }

    mutating func write(_ entry: RegistryEntry) {
        let start = bytes.count
        beginList()
        write(id: entry.id)
        write(entry.label)
        write(entry.request)
        if let pieces = entry.request.expectations.pieces, Self.mayWrite(pieces, after: bytes.count - start) {
            write(pieces)
        }
        if let number = entry.number { write(.number, number) }
        if let time = entry.added { write(.added, time) }
        if let time = entry.started { write(.started, time) }
        if let time = entry.ended { write(.ended, time) }
        if let note = entry.background {
            write(RegistryOption.background.rawValue)
            write(note)
        }
        if entry.state != .waiting {
            write(RegistryOption.state.rawValue)
            write(entry.state)
        }
        endList()
    }

    /// Writes the values that every request has, then the name and the value of each option that is not the default.
    ///
    /// All are elements of the entry's array, because an array is read faster than an object.
    private mutating func write(_ request: RegistryRequest) {
        write(request.url)
        write(request.destination.kind.rawValue)
        write(request.destination.path.description)
        if let identity = request.identity { write(.identity, identity) }
        if request.method != "GET" { write(.method, request.method) }
        switch request.body {
        case .data(let bytes): write(.body, Data(bytes).base64EncodedString())
        case .file(let path): write(.bodyFile, path.description)
        case nil: break
        }
        if request.isRepeatable { write(.repeatable, true) }
        if request.decodesContent { write(.decode, true) }
        if request.requiresPublicAddress { write(.publicAddress, true) }
        if !request.mirrors.isEmpty { write(.mirrors, request.mirrors) }
        if request.conflictPolicy != .rename { write(.conflict, request.conflictPolicy.rawValue) }
        if request.resumePolicy != .validated { write(.resume, request.resumePolicy.rawValue) }
        if let size = request.expectations.size { write(.size, size) }
        let checksums = request.expectations.checksums
        if !checksums.isEmpty { write(.checksums, checksums.map(\.description)) }
        if request.mismatchPolicy != .keep { write(.mismatch, request.mismatchPolicy.rawValue) }
        if request.refetchPolicy != .always { write(.refetch, request.refetchPolicy.rawValue) }
        if !request.headers.isEmpty { write(.headers, request.headers.flatMap { [$0.name, $0.value] }) }
        if !request.withheldHeaders.isEmpty { write(.withheld, request.withheldHeaders) }
        if request.withholdsUser { write(.withheldUser, true) }
        if let group = request.group { write(.group, group) }
        if let limit = request.rateLimit { write(.rateLimit, limit) }
        if let time = request.connectTimeout { write(.connectTimeout, time) }
        if let time = request.stallTimeout { write(.stallTimeout, time) }
        if let count = request.maxRetries { write(.retries, count) }
        if let title = request.title { write(.title, title) }
        if !request.userInfo.isEmpty {
            write(.info, request.userInfo.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] })
        }
        if let data = request.userData { write(.data, Data(data).base64EncodedString()) }
        if request.priority != 0 { write(.priority, request.priority) }
        if let time = request.earliestBegin { write(.notBefore, time) }
        if request.startsPaused { write(.paused, true) }
        if request.networkPolicy != .any { write(.network, request.networkPolicy.rawValue) }
    }

    /// Returns whether piece hashes fit into an entry that has `count` bytes so far.
    static func mayWrite(_ pieces: PieceHashes, after count: Int) -> Bool {
        // The syntax around the digests takes less than a hundred bytes.
        pieces.digests.count / 3 * 4 + 100 <= RegistryJournal.maxEntryBytesWithPieces - count
    }

    private mutating func write(_ pieces: PieceHashes) {
        write(RegistryOption.pieces.rawValue)
        beginList()
        write(pieces.length)
        write(pieces.algorithm.rawValue)
        write(Data(pieces.digests).base64EncodedString())
        if let size = pieces.fileSize { write(size) }
        endList()
    }

    private mutating func write(_ option: RegistryOption, _ text: String) {
        write(option.rawValue)
        write(text)
    }

    private mutating func write(_ option: RegistryOption, _ texts: [String]) {
        write(option.rawValue)
        write(texts)
    }

    private mutating func write(_ option: RegistryOption, _ integer: some FixedWidthInteger) {
        write(option.rawValue)
        write(integer)
    }

    private mutating func write(_ option: RegistryOption, _ flag: Bool) {
        write(option.rawValue)
        write(flag)
    }

    private mutating func write(_ note: BackgroundTaskState) {
        beginList()
        switch note {
        case .started: write(RegistryBackground.started.rawValue)
        case .resumable(let data):
            write(RegistryBackground.resume.rawValue)
            write(data.time)
            write(Data(data.bytes).base64EncodedString())
        }
        endList()
    }

    private mutating func write(_ state: RegistryEntry.State) {
        beginList()
        switch state {
        case .waiting: write(RegistryStateName.waiting.rawValue)
        case .requeued: write(RegistryStateName.requeued.rawValue)
        case .running: write(RegistryStateName.running.rawValue)
        case .paused: write(RegistryStateName.paused.rawValue)
        case .finishing(let path, let stamp): write(.finishing, path, stamp)
        case .finished(let path, let stamp): write(.finished, path, stamp)
        case .skipped(let path, let stamp): write(.skipped, path, stamp)
        case .failed(let code, let message, let status):
            write(RegistryStateName.failed.rawValue)
            write(code)
            write(message)
            if let status { write(status) }
        case .cancelled: write(RegistryStateName.cancelled.rawValue)
        }
        endList()
    }

    private mutating func write(_ name: RegistryStateName, _ path: RelocatablePath, _ stamp: FileStamp) {
        write(name.rawValue)
        write(path.description)
        write(stamp.size)
        write(stamp.modified)
        write(stamp.inode)
    }
}

extension RegistryRequest.Destination {
    fileprivate var kind: RegistryDestinationKind {
        switch self {
        case .file: .file
        case .directory: .directory
        }
    }
}

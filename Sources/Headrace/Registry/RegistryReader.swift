/// Reads a journal from its start, piece by piece, without trusting its bytes.
///
/// If a line is damaged, only its changes are lost. Takes time linear in the number of bytes.
struct RegistryReader {
    /// The journal was written by a later release and must not be changed.
    struct TooNew: Error, Hashable {
        let version: Int
    }

    private(set) var snapshot = RegistrySnapshot()
    private(set) var findings = RegistryDiagnostics()
    /// The total length of the complete lines read so far; the bytes after these lines belong to an incomplete one.
    private(set) var goodBytes: Int64 = 0
    /// The number of records in the lines read so far, including dead records, which later ones have replaced.
    private(set) var recordCount = 0

    private var bytesRead: Int64 = 0
    /// The number of the current line, from 1.
    private var number = 1
    /// The bytes read so far of the current line, at most one more than the maximum length of a line.
    private var lineStart: [UInt8] = []
    private var lineStartBytes = 0

    init() {}

    mutating func read(_ bytes: [UInt8]) throws(TooNew) {
        var rest = bytes[...]
        while let end = rest.firstIndex(of: RegistryJournal.newline) {
            let line = rest[..<end]
            if lineStartBytes == 0 {
                try process(line, length: line.count)
            } else {
                buffer(line)
                try process(lineStart[...], length: lineStartBytes)
                (lineStart, lineStartBytes) = ([], 0)
            }
            rest = rest[(end + 1)...]
            number += 1
            goodBytes = bytesRead + Int64(end + 1 - bytes.startIndex)
        }
        buffer(rest)
        bytesRead += Int64(bytes.count)
    }

    /// Finishes reading.
    ///
    /// The bytes after the last newline are processed as a line if their checksum is correct. Otherwise they are reported
    /// as torn; if the file has no newline at all, they are also reported as damaged.
    mutating func finish() throws(TooNew) {
        let rest = lineStart[...]
        let isWhole =
            number == 1 ? RegistryJournal.version(of: rest) != nil : RegistryJournal.payload(of: rest) != nil
        if isWhole || number == 1 && lineStartBytes > 0 {
            try process(rest, length: lineStartBytes)
            if isWhole { goodBytes = bytesRead }
        }
        findings.finish(tornBytes: bytesRead - goodBytes)
    }

    private mutating func buffer(_ bytes: ArraySlice<UInt8>) {
        lineStart += bytes.prefix(RegistryJournal.maxLineBytes + 1 - lineStart.count)
        lineStartBytes += bytes.count
    }

    private mutating func process(_ line: ArraySlice<UInt8>, length: Int) throws(TooNew) {
        if number == 1, let version = RegistryJournal.version(of: line) {
            guard version <= RegistryJournal.version else { throw TooNew(version: version) }
            return
        }
        let payload = RegistryJournal.payload(of: line)
        if number == 1 || payload == nil && length > 0 { findings.record(.damagedLine(number, bytes: length)) }
        guard let payload else { return }
        guard let decoded = try? RegistryPayload(payload) else {
            findings.record(.unreadableLine(number))
            return
        }
        for unknown in decoded.unknown { findings.record(unknown: unknown, line: number) }
        recordCount += max(1, decoded.change?.recordCount ?? 0)
        if let change = decoded.change { apply(change) }
    }

    private mutating func apply(_ change: RegistryChange) {
        findings.recordMissing(snapshot.apply(change))
        switch change {
        case .added(let entries): findings.forgetMissing(entries.lazy.map(\.id))
        case .removed(let ids): findings.forgetMissing(ids)
        case .state, .moved, .relabelled, .priority: break
        }
    }
}

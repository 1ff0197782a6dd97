/// Reads a journal from its start, piece by piece, and takes nothing for granted about the bytes.
///
/// A damaged line costs what it told and nothing else. The work is linear in the bytes.
struct RegistryReader {
    /// The list was written by a later release and has to be left as it is.
    struct TooNew: Error, Hashable {
        let version: Int
    }

    private(set) var image = RegistrySnapshot()
    private(set) var findings = RegistryDiagnostics()
    /// The bytes from the start that are lines; those after them belong to none.
    private(set) var goodBytes: Int64 = 0
    /// How many downloads the lines told of; what is more than the image has is dead.
    private(set) var recordCount = 0

    private var bytesRead: Int64 = 0
    /// The number of the line that is read, from 1.
    private var number = 1
    /// What there is of that line, no more than is needed to tell that it is too long.
    private var begun: [UInt8] = []
    private var begunBytes = 0

    init() {}

    mutating func read(_ bytes: [UInt8]) throws(TooNew) {
        var rest = bytes[...]
        while let end = rest.firstIndex(of: RegistryJournal.newline) {
            let line = rest[..<end]
            if begunBytes == 0 {
                try take(line, length: line.count)
            } else {
                keep(line)
                try take(begun[...], length: begunBytes)
                (begun, begunBytes) = ([], 0)
            }
            rest = rest[(end + 1)...]
            number += 1
            goodBytes = bytesRead + Int64(end + 1 - bytes.startIndex)
        }
        keep(rest)
        bytesRead += Int64(bytes.count)
    }

    /// Takes what is after the last line end: a line that lacks only that, or the torn beginning of one.
    mutating func finish() throws(TooNew) {
        let rest = begun[...]
        let isWhole =
            number == 1 ? RegistryJournal.version(of: rest) != nil : RegistryJournal.payload(of: rest) != nil
        if isWhole || number == 1 && begunBytes > 0 {
            try take(rest, length: begunBytes)
            if isWhole { goodBytes = bytesRead }
        }
        findings.finish(tornBytes: bytesRead - goodBytes)
    }

    private mutating func keep(_ bytes: ArraySlice<UInt8>) {
        begun += bytes.prefix(RegistryJournal.maxLineBytes + 1 - begun.count)
        begunBytes += bytes.count
    }

    private mutating func take(_ line: ArraySlice<UInt8>, length: Int) throws(TooNew) {
        if number == 1, let version = RegistryJournal.version(of: line) {
            guard version <= RegistryJournal.version else { throw TooNew(version: version) }
            return
        }
        let payload = RegistryJournal.payload(of: line)
        if number == 1 || payload == nil && length > 0 { findings.note(.damagedLine(number, bytes: length)) }
        guard let payload else { return }
        guard let decoded = try? RegistryPayload(payload) else {
            findings.note(.unreadableLine(number))
            return
        }
        for unknown in decoded.unknown { findings.note(unknown: unknown, line: number) }
        if decoded.invalidEntries > 0 { findings.note(.invalidEntries(line: number, count: decoded.invalidEntries)) }
        recordCount += max(1, decoded.change?.recordCount ?? 0)
        if let change = decoded.change { apply(change) }
    }

    private mutating func apply(_ change: RegistryChange) {
        findings.miss(image.apply(change))
        switch change {
        case .added(let entries): findings.settle(entries.lazy.map(\.id))
        case .removed(let ids): findings.settle(ids)
        case .state, .moved, .relabelled, .priority: break
        }
    }
}

/// Checks that the calls of a download with `--sync` have an order in which a power cut loses no recorded byte: data,
/// its sync, the record, the rename, the directory.
struct OrderCheck: Sendable {
    private static let namings: Set<String> = ["rename", "renameat", "renameat2", "link", "linkat"]

    /// The calls that write one record and rename it to its final name.
    private struct Record {
        let naming: SystemCall
        let writes: [SystemCall]
        let text: String

        /// The number of bytes from the start that the record calls durable.
        var claim: Int {
            guard let start = text.firstRange(of: "\\\"durable\\\":[[0,")?.upperBound else { return 0 }
            return Int(text[start...].prefix(while: \.isNumber)) ?? 0
        }

        var isLast: Bool { text.contains("\\\"finalName\\\":") }
    }

    private let size: Int
    private let calls: [SystemCall]
    private let naming: SystemCall?
    private let folder: String
    private let partial: String
    private(set) var violations: [String] = []
    private(set) var dataWrites = 0
    private(set) var dataSyncs = 0
    private(set) var records = 0
    /// The number of records that call a part of the file durable.
    private(set) var claims = 0

    init(_ trace: SystemCallTrace, of path: String, size: Int) {
        self.size = size
        calls = trace.calls.filter { $0.result >= 0 }
        folder = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        let names = calls.filter { Self.namings.contains($0.name) && $0.texts.last == path }
        naming = names.first
        partial = naming?.texts.first ?? ""
        guard let naming, names.count == 1 else {
            violations.append("the file was renamed \(names.count) times")
            return
        }
        checkData(before: naming)
        checkRecords(before: naming)
        checkEnd(after: naming)
    }

    private func writes(to path: String) -> [SystemCall] {
        calls.filter { $0.name.contains("write") && $0.filePath == path }
    }

    private func syncs(of path: String) -> [SystemCall] {
        calls.filter { ($0.name == "fdatasync" || $0.name == "fsync") && $0.filePath == path && $0.result == 0 }
    }

    private mutating func require(_ condition: Bool, _ violation: String) {
        if !condition { violations.append(violation) }
    }

    /// Checks that the rename follows a sync that began after the last byte was written.
    private mutating func checkData(before naming: SystemCall) {
        let writes = writes(to: partial)
        let syncs = syncs(of: partial)
        dataWrites = writes.count
        dataSyncs = syncs.count
        require(prefix(of: writes) == size, "\(prefix(of: writes)) bytes were written before the rename, not \(size)")
        let isSynced = syncs.contains { sync in sync.isBefore(naming) && writes.allSatisfy { $0.isBefore(sync) } }
        require(isSynced, "the file was renamed before all its bytes were synced")
    }

    /// Checks that each record is complete and synced before its rename, and claims only bytes synced before it.
    private mutating func checkRecords(before naming: SystemCall) {
        let path = partial + ".record"
        let namings = calls.filter { Self.namings.contains($0.name) && $0.texts.last == path }
        let recordSyncs = syncs(of: path + ".new")
        let folderSyncs = syncs(of: folder)
        let allWrites = writes(to: path + ".new")
        var last: Record?
        records = namings.count
        for (number, recordNaming) in namings.enumerated() {
            let earlier = number == 0 ? nil : namings[number - 1]
            let writes = allWrites.filter { write in write.isBefore(recordNaming) && earlier?.isBefore(write) != false }
            let record = Record(naming: recordNaming, writes: writes, text: writes.compactMap(\.texts.first).joined())
            require(!writes.isEmpty, "record \(number) was renamed without a byte")
            let isSynced = recordSyncs.contains { sync in
                sync.isBefore(recordNaming) && writes.allSatisfy { $0.isBefore(sync) }
            }
            require(isSynced, "record \(number) was renamed before it was synced")
            let next = number + 1 < namings.count ? namings[number + 1] : naming
            let isFolderSynced = folderSyncs.contains { recordNaming.isBefore($0) && $0.isBefore(next) }
            require(isFolderSynced, "the folder was not synced after the rename of record \(number)")
            let proven = provenBytes(before: record)
            require(record.claim <= proven, "record \(number) claims \(record.claim) bytes, and \(proven) were synced")
            if record.claim > 0, record.claim < size { claims += 1 }
            last = record
        }
        require(
            last?.isLast == true && last?.claim == size,
            "the record before the rename does not have the final name"
        )
        require(last?.naming.isBefore(naming) == true, "a record was renamed after the file")
        require(claims > 0, "no record claimed a part of the file: the run was too short")
    }

    /// Checks that the directory is synced after the rename, and the record removed after that.
    private mutating func checkEnd(after naming: SystemCall) {
        let sync = syncs(of: folder).first { naming.isBefore($0) }
        guard let sync else {
            violations.append("the folder was not synced after the rename of the file")
            return
        }
        let removals = calls.filter { $0.name.hasPrefix("unlink") && $0.texts.last == partial + ".record" }
        require(removals.count == 1, "the record was removed \(removals.count) times")
        require(removals.allSatisfy(sync.isBefore), "the record was removed before the folder was synced")
    }

    /// Returns the number of bytes covered by the last sync before a record's first byte.
    private func provenBytes(before record: Record) -> Int {
        guard let first = record.writes.first, let sync = syncs(of: partial).last(where: { $0.isBefore(first) }) else {
            return 0
        }
        return prefix(of: writes(to: partial).filter { $0.isBefore(sync) })
    }

    /// Returns the number of contiguous bytes from the start that were written.
    private func prefix(of writes: [SystemCall]) -> Int {
        let ranges = writes.compactMap { write in write.lastNumber.map { ($0, $0 + write.result) } }.sorted {
            $0.0 < $1.0
        }
        return ranges.reduce(0) { end, range in range.0 <= end ? max(end, range.1) : end }
    }
}

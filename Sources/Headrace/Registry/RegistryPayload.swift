import HeadracePlatform

/// A change decoded from a line; parts that later releases have added are skipped and described.
struct RegistryPayload {
    /// The change; `nil` if its kind is unknown.
    private(set) var change: RegistryChange?
    /// Descriptions of the values that were skipped because they are unknown.
    private(set) var unknown: [String] = []
    /// The number of downloads that were skipped because their values are invalid.
    private(set) var invalidEntries = 0

    init(_ bytes: ArraySlice<UInt8>) throws(RegistryScanner.Failure) {
        var line = RegistryScanner(bytes)
        try line.beginList()
        let word = try line.text()
        if let kind = RegistryKind(rawValue: word) {
            change = try change(kind, &line)
            if !line.isAtListEnd { unknown.append("more values of a change \"\(word)\"") }
        } else {
            unknown.append("the change \"\(word)\"")
        }
        while !line.isAtListEnd { try line.skip() }
        try line.endList()
        guard line.isAtEnd else { throw RegistryScanner.Failure() }
    }

    private mutating func change(
        _ kind: RegistryKind,
        _ line: inout RegistryScanner
    ) throws(RegistryScanner.Failure) -> RegistryChange? {
        switch kind {
        case .add: return .added(try entries(&line))
        case .state:
            let id = try line.id()
            return try line.state(&unknown).map { .state(id, $0) }
        case .move: return .moved(try line.id(), label: try line.integer())
        case .relabel:
            var labels: [UInt64: Int64] = [:]
            for (name, label) in try line.numbers() {
                guard let id = UInt64(hexadecimal: name.utf8) else { throw RegistryScanner.Failure() }
                labels[id] = label
            }
            return .relabelled(labels)
        case .priority: return .priority(try line.id(), try line.integer())
        case .remove:
            var ids: [UInt64] = []
            while !line.isAtListEnd { ids.append(try line.id()) }
            return .removed(ids)
        }
    }

    private mutating func entries(_ line: inout RegistryScanner) throws(RegistryScanner.Failure) -> [RegistryEntry] {
        var entries: [RegistryEntry] = []
        while !line.isAtListEnd {
            let start = line
            let known = unknown.count
            do throws(RegistryScanner.Failure) {
                entries.append(try line.entry(&unknown))
            } catch {
                line = start
                try line.skip()
                unknown.removeLast(unknown.count - known)
                invalidEntries += 1
            }
        }
        return entries
    }
}

extension RegistryScanner {
    mutating func entry(_ unknown: inout [String]) throws(Failure) -> RegistryEntry {
        try beginList()
        let id = try id()
        let label: Int64 = try integer()
        let url = try text()
        let place = RegistryDestinationKind(rawValue: try text())
        let path = try path()
        let destination: RegistryRequest.Destination
        switch place {
        case .file: destination = .file(path)
        case .directory: destination = .directory(path)
        case nil: throw Failure()
        }
        var entry = RegistryEntry(id: id, RegistryRequest(url: url, destination: destination), label: label)
        while !isAtListEnd {
            let name = try text()
            if let option = RegistryOption(rawValue: name) {
                try read(option, into: &entry, &unknown)
            } else {
                try skip()
                unknown.append("the field \"\(name)\" of a download")
            }
        }
        try endList()
        return entry
    }

    private mutating func read(
        _ option: RegistryOption,
        into entry: inout RegistryEntry,
        _ unknown: inout [String]
    ) throws(Failure) {
        switch option {
        case .mirrors: entry.request.mirrors = try texts()
        case .conflict:
            let word = try text()
            let policy = DownloadRequest.ConflictPolicy(rawValue: word)
            // An unknown policy becomes `fail`, which overwrites no file.
            entry.request.conflictPolicy = policy ?? .fail
            if policy == nil { unknown.append("the conflict policy \"\(word)\"") }
        case .resume:
            let word = try text()
            let policy = DownloadRequest.ResumePolicy(rawValue: word)
            entry.request.resumePolicy = policy ?? .validated
            if policy == nil { unknown.append("the resume policy \"\(word)\"") }
        case .size:
            let size: Int64 = try integer()
            entry.request.expectations.size = size >= 0 ? size : nil
            if size < 0 { unknown.append("the size \(size)") }
        case .pieces: entry.request.expectations.pieces = try pieces(&unknown)
        case .checksums:
            for text in try texts() {
                if let checksum = Checksum(text) {
                    entry.request.expectations.checksums.append(checksum)
                } else {
                    unknown.append("the checksum \"\(text)\"")
                }
            }
        case .mismatch:
            let word = try text()
            let policy = DownloadRequest.MismatchPolicy(rawValue: word)
            entry.request.mismatchPolicy = policy ?? .keep
            if policy == nil { unknown.append("the mismatch policy \"\(word)\"") }
        case .refetch:
            let word = try text()
            let policy = DownloadRequest.RefetchPolicy(rawValue: word)
            entry.request.refetchPolicy = policy ?? .always
            if policy == nil { unknown.append("the refetch policy \"\(word)\"") }
        case .headers: entry.request.keep(try pairs().map { HeaderField(name: $0, value: $1) })
        case .withheld: entry.request.withhold(try texts())
        case .withheldUser: if try flag() { entry.request.withholdUser() }
        case .group: entry.request.group = try text()
        case .rateLimit:
            let limit: Int64 = try integer()
            // An invalid limit is ignored, and is no reason to lose the download.
            entry.request.rateLimit = limit > 0 ? limit : nil
            if limit <= 0 { unknown.append("the rate limit \(limit)") }
        case .title: entry.request.title = try text()
        case .info: entry.request.userInfo = Dictionary(try pairs()) { $1 }
        case .priority: entry.request.priority = try integer()
        case .notBefore: entry.request.earliestBegin = try integer()
        case .paused: entry.request.startsPaused = try flag()
        case .network:
            let word = try text()
            let policy = DownloadRequest.NetworkPolicy(rawValue: word)
            // An unknown policy becomes `wifiOrWired`, which uses no mobile network.
            entry.request.networkPolicy = policy ?? .wifiOrWired
            if policy == nil { unknown.append("the network policy \"\(word)\"") }
        case .number:
            let number: Int64 = try integer()
            // If the number is invalid, the download gets a new number.
            entry.number = Int(exactly: number).flatMap { DownloadNumbers.valid.contains($0) ? $0 : nil }
            if entry.number == nil { unknown.append("the number \(number)") }
        case .background: entry.background = try background(&unknown)
        case .state: entry.state = try state(&unknown) ?? .waiting
        }
    }

    /// Reads piece hashes; returns `nil` if the hash function is unknown or the values are invalid.
    ///
    /// Without piece hashes, bytes that nothing else can verify are downloaded again.
    private mutating func pieces(_ unknown: inout [String]) throws(Failure) -> PieceHashes? {
        try beginList()
        let (length, name, text): (Int64, String, String) = (try integer(), try self.text(), try self.text())
        let fileSize: Int64? = isAtListEnd ? nil : try integer()
        let pieces = Checksum.Algorithm(rawValue: name).flatMap { algorithm in
            Data(base64Encoded: text).flatMap {
                PieceHashes(length: length, algorithm, digests: Array($0), fileSize: fileSize)
            }
        }
        if pieces == nil || !isAtListEnd { unknown.append("the \"\(name)\" piece hashes of a download") }
        while !isAtListEnd { try skip() }
        try endList()
        return pieces
    }

    /// Reads a background task's state; returns `nil` if it is unknown or invalid, so that the download starts over.
    private mutating func background(_ unknown: inout [String]) throws(Failure) -> BackgroundTaskState? {
        try beginList()
        let word = try text()
        var note: BackgroundTaskState?
        switch RegistryBackground(rawValue: word) {
        case .started: note = .started
        case .resume:
            let time: Int64 = try integer()
            let data = Data(base64Encoded: try text())
            note = data.map { .resumable(ResumeData(bytes: Array($0), time: time)) }
            if note == nil { unknown.append("invalid resume data of a background session") }
        case nil: unknown.append("the state \"\(word)\" of a background session")
        }
        while !isAtListEnd { try skip() }
        try endList()
        return note
    }

    /// Reads a state; returns `nil` if it is unknown.
    fileprivate mutating func state(_ unknown: inout [String]) throws(Failure) -> RegistryEntry.State? {
        try beginList()
        let word = try text()
        var state: RegistryEntry.State?
        switch RegistryStateName(rawValue: word) {
        case .waiting: state = .waiting
        case .requeued: state = .requeued
        case .running: state = .running
        case .paused: state = .paused
        case .finishing: state = .finishing(try path(), try stamp())
        case .finished: state = .finished(try path(), try stamp())
        case .skipped: state = .skipped(try path(), try stamp())
        case .failed:
            let (code, message) = (try text(), try text())
            state = .failed(code: code, message: message, status: isAtListEnd ? nil : try integer())
        case .cancelled: state = .cancelled
        case nil: unknown.append("the state \"\(word)\"")
        }
        if state != nil, !isAtListEnd { unknown.append("more values of the state \"\(word)\"") }
        while !isAtListEnd { try skip() }
        try endList()
        return state
    }

    private mutating func stamp() throws(Failure) -> FileStamp {
        FileStamp(size: try integer(), modified: try integer(), inode: try integer())
    }

    /// Reads an array of texts, two for each pair; throws if the number of texts is odd.
    private mutating func pairs() throws(Failure) -> [(String, String)] {
        let texts = try texts()
        guard texts.count.isMultiple(of: 2) else { throw Failure() }
        return stride(from: 0, to: texts.count, by: 2).map { (texts[$0], texts[$0 + 1]) }
    }
}

import HeadracePlatform

/// Decodes the values in a line of the journal or of a command.
///
/// Values that are unknown, because a later release has added them, are skipped and described.
struct RegistryDecoder {
    typealias Failure = RegistryScanner.Failure

    var line: RegistryScanner
    /// Descriptions of the values that were skipped because they are unknown.
    var unknown: [String] = []

    init(_ bytes: ArraySlice<UInt8>) {
        line = RegistryScanner(bytes)
    }

    /// Skips the remaining values of an array.
    ///
    /// If there are any, and `what` is not `nil`, records in ``unknown`` that `what` has more values.
    mutating func skipRest(of what: @autoclosure () -> String? = nil) throws(Failure) {
        if !line.isAtListEnd, let what = what() { unknown.append("more values of \(what)") }
        while !line.isAtListEnd { try line.skip() }
        try line.endList()
    }

    /// Reads the identities in the rest of an array.
    mutating func ids() throws(Failure) -> [UInt64] {
        var ids: [UInt64] = []
        while !line.isAtListEnd { ids.append(try line.id()) }
        return ids
    }

    /// Reads a keyword; if it is unknown, records that in ``unknown`` and returns `fallback`.
    private mutating func keyword<Keyword: RawRepresentable<String>>(
        _ what: String,
        else fallback: Keyword
    ) throws(Failure) -> Keyword {
        let word = try line.text()
        if let keyword = Keyword(rawValue: word) { return keyword }
        unknown.append("the \(what) \"\(word)\"")
        return fallback
    }

    mutating func entry() throws(Failure) -> RegistryEntry {
        try line.beginList()
        let id = try line.id()
        let label: Int64 = try line.integer()
        let url = try line.text()
        let place = RegistryDestinationKind(rawValue: try line.text())
        let path = try line.path()
        let destination: RegistryRequest.Destination
        switch place {
        case .file: destination = .file(path)
        case .directory: destination = .directory(path)
        case nil: throw Failure()
        }
        var entry = RegistryEntry(id: id, RegistryRequest(url: url, destination: destination), label: label)
        while !line.isAtListEnd {
            let name = try line.text()
            if let option = RegistryOption(rawValue: name) {
                try read(option, into: &entry)
            } else {
                try line.skip()
                unknown.append("the field \"\(name)\" of a download")
            }
        }
        try line.endList()
        return entry
    }

    private mutating func read(_ option: RegistryOption, into entry: inout RegistryEntry) throws(Failure) {
        switch option {
        case .identity: entry.request.identity = try line.text()
        case .method: entry.request.method = try line.text()
        case .body:
            guard let data = Data(base64Encoded: try line.text()) else { throw Failure() }
            entry.request.body = .data(Array(data))
        case .bodyFile: entry.request.body = .file(try line.path())
        case .repeatable: entry.request.isRepeatable = try line.flag()
        case .decode: entry.request.decodesContent = try line.flag()
        case .publicAddress: entry.request.requiresPublicAddress = try line.flag()
        case .mirrors: entry.request.mirrors = try line.texts()
        // An unknown policy becomes `fail`, which overwrites no file.
        case .conflict: entry.request.conflictPolicy = try keyword("conflict policy", else: .fail)
        case .resume: entry.request.resumePolicy = try keyword("resume policy", else: .validated)
        case .size:
            let size: Int64 = try line.integer()
            entry.request.expectations.size = size >= 0 ? size : nil
            if size < 0 { unknown.append("the size \(size)") }
        case .pieces: entry.request.expectations.pieces = try pieces()
        case .checksums: entry.request.expectations.checksums += try checksums()
        case .mismatch: entry.request.mismatchPolicy = try keyword("mismatch policy", else: .keep)
        case .refetch: entry.request.refetchPolicy = try keyword("refetch policy", else: .always)
        case .headers: entry.request.keep(try pairs().map { HeaderField(name: $0, value: $1) })
        case .withheld: entry.request.withhold(try line.texts())
        case .withheldUser: if try line.flag() { entry.request.withholdUser() }
        case .group: entry.request.group = try line.text()
        case .rateLimit: entry.request.rateLimit = try positive("rate limit")
        case .connectTimeout: entry.request.connectTimeout = try positive("connection timeout")
        case .stallTimeout: entry.request.stallTimeout = try positive("stall timeout")
        case .retries: entry.request.maxRetries = max(0, try line.integer())
        case .title: entry.request.title = try line.text()
        case .info: entry.request.userInfo = Dictionary(try pairs()) { $1 }
        case .data:
            let text = try line.text()
            entry.request.userData = Data(base64Encoded: text).map { Array($0) }
            if entry.request.userData == nil { unknown.append("invalid user data of a download") }
        case .priority: entry.request.priority = try line.integer()
        case .notBefore: entry.request.earliestBegin = try line.integer()
        case .paused: entry.request.startsPaused = try line.flag()
        // An unknown policy becomes `wifiOrWired`, which uses no mobile network.
        case .network: entry.request.networkPolicy = try keyword("network policy", else: .wifiOrWired)
        case .number:
            let number: Int64 = try line.integer()
            // If the number is invalid, the download gets a new number.
            entry.number = Int(exactly: number).flatMap { DownloadNumbers.valid.contains($0) ? $0 : nil }
            if entry.number == nil { unknown.append("the number \(number)") }
        case .added: entry.added = try line.integer()
        case .started: entry.started = try line.integer()
        case .ended: entry.ended = try line.integer()
        case .background: entry.background = try background()
        case .state: entry.state = try state() ?? .waiting
        }
    }

    /// Reads a number above zero; returns `nil` for any other number, so that only this value of the download is lost.
    private mutating func positive(_ what: String) throws(Failure) -> Int64? {
        let value: Int64 = try line.integer()
        if value <= 0 { unknown.append("the \(what) \(value)") }
        return value > 0 ? value : nil
    }

    private mutating func checksums() throws(Failure) -> [Checksum] {
        var checksums: [Checksum] = []
        for text in try line.texts() {
            if let checksum = Checksum(text) {
                checksums.append(checksum)
            } else {
                unknown.append("the checksum \"\(text)\"")
            }
        }
        return checksums
    }

    /// Reads piece hashes; returns `nil` if the hash function is unknown or the values are invalid.
    ///
    /// Without piece hashes, a damaged file may have to be downloaded again as a whole.
    private mutating func pieces() throws(Failure) -> PieceHashes? {
        try line.beginList()
        let (length, name, text): (Int64, String, String) = (try line.integer(), try line.text(), try line.text())
        let fileSize: Int64? = line.isAtListEnd ? nil : try line.integer()
        let pieces = Checksum.Algorithm(rawValue: name).flatMap { algorithm in
            Data(base64Encoded: text).flatMap {
                PieceHashes(length: length, algorithm, digests: Array($0), fileSize: fileSize)
            }
        }
        if pieces == nil || !line.isAtListEnd { unknown.append("the \"\(name)\" piece hashes of a download") }
        try skipRest()
        return pieces
    }

    /// Reads a background task's state; returns `nil` if it is unknown or invalid, so that the download starts over.
    private mutating func background() throws(Failure) -> BackgroundTaskState? {
        try line.beginList()
        let word = try line.text()
        var note: BackgroundTaskState?
        switch RegistryBackground(rawValue: word) {
        case .started: note = .started
        case .resume:
            let time: Int64 = try line.integer()
            let data = Data(base64Encoded: try line.text())
            note = data.map { .resumable(ResumeData(bytes: Array($0), time: time)) }
            if note == nil { unknown.append("invalid resume data of a background session") }
        case nil: unknown.append("the state \"\(word)\" of a background session")
        }
        try skipRest()
        return note
    }

    /// Reads a state; returns `nil` if it is unknown.
    mutating func state() throws(Failure) -> RegistryEntry.State? {
        try line.beginList()
        let word = try line.text()
        var state: RegistryEntry.State?
        switch RegistryStateName(rawValue: word) {
        case .waiting: state = .waiting
        case .requeued: state = .requeued
        case .running: state = .running
        case .paused: state = .paused
        case .finishing: state = .finishing(try line.path(), try stamp())
        case .finished: state = .finished(try line.path(), try stamp())
        case .skipped: state = .skipped(try line.path(), try stamp())
        case .failed:
            let (code, message) = (try line.text(), try line.text())
            state = .failed(code: code, message: message, status: line.isAtListEnd ? nil : try line.integer())
        case .cancelled: state = .cancelled
        case nil: unknown.append("the state \"\(word)\"")
        }
        try skipRest(of: state == nil ? nil : "the state \"\(word)\"")
        return state
    }

    private mutating func stamp() throws(Failure) -> FileStamp {
        FileStamp(size: try line.integer(), modified: try line.integer(), inode: try line.integer())
    }

    /// Reads an array of texts, two for each pair; throws if the number of texts is odd.
    private mutating func pairs() throws(Failure) -> [(String, String)] {
        let texts = try line.texts()
        guard texts.count.isMultiple(of: 2) else { throw Failure() }
        return stride(from: 0, to: texts.count, by: 2).map { (texts[$0], texts[$0 + 1]) }
    }
}

import HeadracePlatform

/// One download in a manager's list: what was asked, how it stands, and the way to stop it.
final class DownloadRecord: Sendable {
    private struct State {
        var request: DownloadRequest
        /// At most one; few downloads have it, and without it this takes a word.
        var withoutSecrets: [RegistryRequest]
        /// Whether the complete file has been compared with all that the request tells of it.
        var isSealed = false
        /// The last file that a transfer of this download has fetched.
        var fetched: FileStamp?
        var held: SuspendedPartial?
        /// At most one, for the same reason.
        var backgroundNote: [BackgroundTaskState]
        /// As long as a transfer or somebody who reads has them.
        weak var readers: FileReaders?

        /// Changes what was kept of the request of an earlier run, where there is one.
        mutating func changeKept(_ change: (inout RegistryRequest) -> Void) {
            if !withoutSecrets.isEmpty { change(&withoutSecrets[0]) }
        }

        func expectations(joinedBy others: FileExpectations) throws(DownloadError) -> FileExpectations {
            let all = try request.expectations.adding(others, of: request.url)
            guard isSealed, all != request.expectations else { return all }
            throw DownloadError(
                .invalidRequest,
                "\(request.url.withoutCredentials) has just come whole, and is not compared with anything any more. "
                    + "Add it again, or compare the file."
            )
        }
    }

    let id: DownloadID
    /// The number that the user sees, which no other download of the queue has.
    let number: Int
    let names: DestinationPaths
    let status: DownloadStatus
    private let state: Locked<State>

    init(
        id: DownloadID,
        number: Int = 1,
        request: DownloadRequest,
        names: DestinationPaths? = nil,
        withoutSecrets: RegistryRequest? = nil,
        backgroundNote: BackgroundTaskState? = nil,
        state: DownloadState = .waiting,
        progress: DownloadProgress = DownloadProgress(),
        observers: QueueObservers = QueueObservers()
    ) {
        self.id = id
        self.number = number
        self.state = Locked(
            State(
                request: request,
                withoutSecrets: withoutSecrets.map { [$0] } ?? [],
                backgroundNote: backgroundNote.map { [$0] } ?? []
            )
        )
        self.names = names ?? DestinationPaths(request)
        status = DownloadStatus(id: id, state, progress, observers: observers)
    }

    var request: DownloadRequest { state.withLock { $0.request } }

    /// A part of the request, without a copy of the two dozen others.
    func requested<Part>(_ part: (borrowing DownloadRequest) -> Part) -> Part {
        state.withLock { part($0.request) }
    }

    /// What was kept of the request of an earlier run that had secrets, which are never written to a disk.
    var withoutSecrets: RegistryRequest? { state.withLock { $0.withoutSecrets.first } }

    /// Whether there is ``withoutSecrets``, without a copy of it.
    var lacksSecrets: Bool { state.withLock { !$0.withoutSecrets.isEmpty } }

    /// Takes over the secrets of a request of the same file, where they are missing.
    func supplySecrets(of request: DownloadRequest) {
        state.withLock { state in
            guard state.withoutSecrets.popLast() != nil else { return }
            state.request.url = request.url
            state.request.headers = request.headers
        }
    }

    /// Takes over what no disk keeps of a request of the same file; the present one may be from another run of the program.
    func takeVolatile(of request: DownloadRequest) {
        guard let linkProvider = request.linkProvider else { return }
        state.withLock { $0.request.linkProvider = linkProvider }
    }

    /// Whether a request of the same file may bring what this one has failed without: secrets, or a provider of new links.
    func canContinue(with request: DownloadRequest) -> Bool {
        guard !lacksSecrets else { return true }
        guard request.linkProvider != nil, requested({ $0.linkProvider == nil }) else { return false }
        guard case .failed(let error) = status.state, let code = error.statusCode else { return false }
        return SourceList.endedStatuses.contains(code)
    }

    /// What the file would have to be by these as well; throws as ``takeExpectations(of:)`` does.
    func expectations(joinedBy others: FileExpectations) throws(DownloadError) -> FileExpectations {
        try state.withLock { state throws(DownloadError) in try state.expectations(joinedBy: others) }
    }

    /// Takes over what the file has to be by a request of the same file; returns whether that is more than before.
    ///
    /// Throws `invalidRequest` where the two contradict each other, and where the file has been compared already.
    func takeExpectations(of request: DownloadRequest) throws(DownloadError) -> Bool {
        try state.withLock { state throws(DownloadError) in
            let expectations = try state.expectations(joinedBy: request.expectations)
            guard expectations != state.request.expectations else { return false }
            state.request.expectations = expectations
            state.changeKept { $0.expectations = expectations }
            return true
        }
    }

    /// Takes note that the complete file is what was expected; false where others have told more meanwhile.
    func seal(after expectations: FileExpectations) -> Bool {
        state.withLock { state in
            state.isSealed = state.request.expectations == expectations
            return state.isSealed
        }
    }

    /// Takes note that the file is to be compared again.
    func unseal() {
        state.withLock { $0.isSealed = false }
    }

    /// The last file that a transfer of this download has fetched, as it was when it got its name.
    var fetched: FileStamp? { state.withLock { $0.fetched } }

    /// Takes note of the file of a transfer, which may be begun again.
    func finished(with file: FinishedFile) {
        if !file.wasThere { state.withLock { $0.fetched = file.stamp } }
    }

    /// Forgets the time before which the download was not to begin.
    func forgetBegin() {
        state.withLock { state in
            state.request.earliestBegin = nil
            state.changeKept { $0.earliestBegin = nil }
        }
    }

    var rateLimit: Int64? { state.withLock { $0.request.rateLimit } }

    func setRateLimit(_ bytesPerSecond: Int64?) {
        state.withLock { state in
            state.request.rateLimit = bytesPerSecond
            state.changeKept { $0.rateLimit = bytesPerSecond }
        }
    }

    /// What the system has of the download, or gave to go on with.
    var backgroundNote: BackgroundTaskState? { state.withLock { $0.backgroundNote.first } }

    /// Sets the note; false where it was the same.
    func setBackgroundNote(_ note: BackgroundTaskState?) -> Bool {
        state.withLock { state in
            guard state.backgroundNote.first != note else { return false }
            state.backgroundNote = note.map { [$0] } ?? []
            return true
        }
    }

    /// Keeps what this manager has written of the file, while no transfer has it open.
    func keep(_ held: SuspendedPartial) {
        state.withLock { $0.held = held }
    }

    /// What this manager has written of the file, which need not be read again.
    func takeSuspended() -> SuspendedPartial? {
        state.withLock { $0.held.take() }
    }
}

extension DownloadRecord {
    /// Whether something can prove the bytes that are held; nil where there are none.
    var isResumable: Bool? {
        let (request, version) = state.withLock { ($0.request, $0.held?.representation) }
        guard let version else { return nil }
        guard version.contentCoding == nil, !version.refusesRanges else { return false }
        return EntityValidator(of: version) != nil || request.isVerifiedAtEnd || request.resumePolicy == .overlap
    }

    /// Those who read the file while it arrives, and who are told of its bytes.
    func readers() -> FileReaders {
        state.withLock { state in
            if let readers = state.readers { return readers }
            let new = FileReaders(of: names.partialPath, state.held)
            state.readers = new
            return new
        }
    }

    /// Brings the record on the disk up to date where the download runs; blocks.
    func save(syncing: Bool) {
        guard let readers = state.withLock({ $0.readers }) else { return }
        readers.recordWriter.save(syncing: syncing) { readers.held }
    }

    /// Enters a state as ``DownloadStatus/enter(_:_:turn:_:)`` does, and tells those who wait for bytes.
    func enter(
        _ newState: DownloadState?,
        _ event: DownloadEvent?,
        turn: UInt64,
        _ entering: (DownloadState) -> Void
    ) {
        status.enter(newState, event, turn: turn, entering)
        state.withLock { $0.readers }?.entered(self)
    }
}

/// The bytes of a partial that no transfer has open.
final class SuspendedPartial: Sendable {
    /// The partial as it was left: what somebody else has written since has another stamp.
    let stamp: FileStamp
    let written: ByteRangeSet
    let durable: ByteRangeSet
    let representation: RepresentationMetadata
    let finalPath: String?
    let pieces: ReceivedPieces?

    init(
        stamp: FileStamp,
        written: ByteRangeSet,
        durable: ByteRangeSet,
        representation: RepresentationMetadata,
        finalPath: String?,
        pieces: ReceivedPieces?
    ) {
        self.stamp = stamp
        self.written = written
        self.durable = durable
        self.representation = representation
        self.finalPath = finalPath
        self.pieces = pieces
    }
}

extension DownloadRecord: RateLimitedDownload {
    var group: String? { requested { $0.group } }
}

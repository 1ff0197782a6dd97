import HeadracePlatform

/// One download of a manager's queue: its request, its status and, once it has finished, its file.
final class DownloadRecord: Sendable {
    private struct State {
        var request: DownloadRequest
        var names: DestinationPaths
        /// The stored request of an earlier run while its secrets are missing; an array of at most one element, because
        /// an `Optional` would reserve the space of a whole request in every record.
        var withoutSecrets: [RegistryRequest]
        /// Whether the complete file was verified against all expectations of the request, so that none can be added.
        var isSealed = false
        /// The stamp of the file that a transfer of this download completed most recently.
        var fetched: FileStamp?
        /// The file of a finished download; an array, because an empty one takes only one word.
        var finished: [FinishedFile] = []
        var held: SuspendedPartial?
        /// The state of the background task, or the data to resume it; an array, because an empty one takes only one
        /// word.
        var backgroundNote: [BackgroundTaskState]
        /// The ledger of the file, which exists while a transfer or a reader references it.
        weak var ledger: FileLedger?

        /// Replaces the URL; the path of the partial file stays the same.
        mutating func relink(to link: DownloadRequest.Link, with fields: [HeaderField]) {
            request = request.relinked(to: link, with: fields)
            names = DestinationPaths(request)
            changeStored { [request] in $0.relink(as: request) }
            // The URL has its login, if it needs one.
            if withoutSecrets.first?.withheldHeaders.isEmpty == true { withoutSecrets = [] }
            // Data to resume the system's task has the old URL.
            if case .resumable = backgroundNote.first { backgroundNote = [] }
        }

        /// Changes the stored request of an earlier run, if there is one.
        mutating func changeStored(_ change: (inout RegistryRequest) -> Void) {
            if !withoutSecrets.isEmpty { change(&withoutSecrets[0]) }
        }

        func expectations(joinedBy others: FileExpectations) throws(DownloadError) -> FileExpectations {
            let all = try request.expectations.adding(others, of: request.url)
            guard isSealed, all != request.expectations else { return all }
            throw DownloadError(
                .invalidRequest,
                "\(request.url.withoutCredentials) was just completed; this request is too late to verify it. "
                    + "Add it again, or verify the file."
            )
        }
    }

    let id: DownloadID
    /// The number shown to the user, unique within the queue.
    let number: Int
    /// The time at which the download was added, in milliseconds since 1970; `nil` if unknown.
    let added: Int64?
    /// The path that identifies the file of the download, which no change of the request affects; see
    /// ``DestinationPaths/partialPath``.
    let partialPath: String
    let status: DownloadStatus
    private let state: Locked<State>

    init(
        id: DownloadID,
        number: Int = 1,
        added: Int64? = nil,
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
        self.added = added
        let names = names ?? DestinationPaths(request)
        partialPath = names.partialPath
        self.state = Locked(
            State(
                request: request,
                names: names,
                withoutSecrets: withoutSecrets.map { [$0] } ?? [],
                backgroundNote: backgroundNote.map { [$0] } ?? []
            ),
            rank: .downloadRecord
        )
        status = DownloadStatus(id: id, state, progress, priority: request.priority, observers: observers)
    }

    var request: DownloadRequest { state.withLock { $0.request } }
    var names: DestinationPaths { state.withLock { $0.names } }

    /// Returns a property of the request, without copying the whole request.
    func requested<Part>(_ part: (borrowing DownloadRequest) -> Part) -> Part {
        state.withLock { part($0.request) }
    }

    /// The stored request of an earlier run, while the secrets that it had are missing; `nil` otherwise.
    ///
    /// Secrets are never stored, so a restored request lacks them until the caller adds the request again.
    var withoutSecrets: RegistryRequest? { state.withLock { $0.withoutSecrets.first } }

    /// Whether the secrets of the request are missing; cheaper than ``withoutSecrets``, which copies the stored
    /// request.
    var lacksSecrets: Bool { state.withLock { !$0.withoutSecrets.isEmpty } }

    /// Adopts the URL and the header fields of a request for the same file, if this download lacks its secrets.
    func supplySecrets(of request: DownloadRequest) {
        state.withLock { state in
            guard state.withoutSecrets.popLast() != nil else { return }
            (state.request.url, state.request.urlExpires) = (request.url, request.urlExpires)
            state.request.headers = request.headers
            state.names = DestinationPaths(state.request)
        }
    }

    /// Replaces the URL by another link to the same file, with the secret fields of `fields`.
    func relink(to link: DownloadRequest.Link, with fields: [HeaderField]) {
        state.withLock { $0.relink(to: link, with: fields) }
    }

    /// Whether a new request for the same file has another URL, which this download should adopt.
    ///
    /// Always `false` for a request with neither an ``DownloadRequest/identity`` nor a signed URL: its URL identifies
    /// the file, so there is no other URL to adopt.
    func isRelinked(by request: DownloadRequest) -> Bool {
        (request.identity != nil || request.key != request.url) && requested { $0.url.identity != request.url.identity }
    }

    /// Adopts the link provider of a request for the same file, if that request has one.
    ///
    /// A link provider is never stored, so a restored request lacks it.
    func takeVolatile(of request: DownloadRequest) {
        guard let linkProvider = request.linkProvider else { return }
        state.withLock { $0.request.linkProvider = linkProvider }
    }

    /// Whether this failed download can continue with the secrets, URL or link provider of a new request for the same
    /// file.
    ///
    /// That is the case if:
    /// - the download lacks its secrets, or
    /// - a server rejected the download's link, and the request has another URL, or has a link provider while the
    ///   download has none.
    ///
    /// Always `false` if the request requires a public address and this download does not.
    func canContinue(with request: DownloadRequest) -> Bool {
        guard obeysAddressRule(of: request) else { return false }
        guard !lacksSecrets else { return true }
        let hasNewProvider = request.linkProvider != nil && requested { $0.linkProvider == nil }
        guard hasNewProvider || isRelinked(by: request) else { return false }
        guard case .failed(let error) = status.state, let code = error.statusCode else { return false }
        return SourceList.endedStatuses.contains(code)
    }

    /// Whether a request with the same path of the partial file is for the same file.
    ///
    /// The name of a partial file contains only a hash of the URL or identity, so two files may get the same name.
    func isOfSameFile(as request: DownloadRequest) -> Bool {
        requested { $0.key.identity } == request.key.identity
    }

    /// Whether this download obeys the address rule of a request for the same file: the request does not require a
    /// public address, or this download requires one too.
    func obeysAddressRule(of request: DownloadRequest) -> Bool {
        !request.requiresPublicAddress || requested(\.requiresPublicAddress)
    }

    /// Returns the request's expectations and `others` combined; throws like ``takeExpectations(of:)``.
    func expectations(joinedBy others: FileExpectations) throws(DownloadError) -> FileExpectations {
        try state.withLock { state throws(DownloadError) in try state.expectations(joinedBy: others) }
    }

    /// Adds the expectations of another request for the same file; returns whether this download lacked any of them.
    ///
    /// Throws `invalidRequest` if the expectations contradict each other, or if this download lacked any of them and
    /// its file was already verified.
    func takeExpectations(of request: DownloadRequest) throws(DownloadError) -> Bool {
        try state.withLock { state throws(DownloadError) in
            let expectations = try state.expectations(joinedBy: request.expectations)
            guard expectations != state.request.expectations else { return false }
            state.request.expectations = expectations
            state.changeStored { $0.expectations = expectations }
            return true
        }
    }

    /// Records that the complete file meets these expectations; returns `false` if other expectations were added
    /// meanwhile.
    func seal(after expectations: FileExpectations) -> Bool {
        state.withLock { state in
            state.isSealed = state.request.expectations == expectations
            return state.isSealed
        }
    }

    /// Records that the file must be verified again.
    func unseal() { state.withLock { $0.isSealed = false } }

    /// The stamp of the file that a transfer of this download completed most recently, by which the next run recognizes
    /// that file; `nil` if there is none.
    ///
    /// Taken just before the file was renamed to its final name.
    var fetched: FileStamp? { state.withLock { $0.fetched } }

    /// The file of the finished download, with its stamp at the end of the transfer; `nil` if the download is not
    /// finished.
    var finishedFile: FinishedFile? { state.withLock { $0.finished.first } }

    /// Records the file of the finished download; unless the file had existed before, also records its stamp as
    /// ``fetched``.
    func finish(with file: FinishedFile) {
        state.withLock { state in
            state.finished = [file]
            if !file.wasThere { state.fetched = file.stamp }
        }
    }

    /// Sets ``finishedFile`` to `nil`, because the download is not finished.
    func forgetFinishedFile() { state.withLock { if !$0.finished.isEmpty { $0.finished = [] } } }

    /// Removes the request's earliest start time, so that the download need not wait for it.
    func removeStartTime() {
        state.withLock { state in
            state.request.earliestBegin = nil
            state.changeStored { $0.earliestBegin = nil }
        }
    }

    var rateLimit: Int64? { state.withLock { $0.request.rateLimit } }

    func setRateLimit(_ bytesPerSecond: Int64?) {
        state.withLock { state in
            state.request.rateLimit = bytesPerSecond
            state.changeStored { $0.rateLimit = bytesPerSecond }
        }
    }

    /// The state of the download's background task, or the data to resume it; `nil` if there is none.
    var backgroundNote: BackgroundTaskState? { state.withLock { $0.backgroundNote.first } }

    /// Stores the state of the background task; returns `false` if it is unchanged.
    func setBackgroundNote(_ note: BackgroundTaskState?) -> Bool {
        state.withLock { state in
            guard state.backgroundNote.first != note else { return false }
            state.backgroundNote = note.map { [$0] } ?? []
            return true
        }
    }

    /// Stores the state of the partial file while no transfer has it open.
    func keep(_ held: SuspendedPartial) { state.withLock { $0.held = held } }

    /// Removes and returns the stored state of the partial file, which is used instead of the resume record if the file
    /// still has the stored stamp; `nil` if there is none.
    func takeSuspended() -> SuspendedPartial? { state.withLock { $0.held.take() } }
}

extension DownloadRecord {
    /// Whether a later attempt can resume the received bytes; `nil` if no state of a partial file is stored, for
    /// example because a transfer has the file open.
    var isResumable: Bool? {
        let (request, version) = state.withLock { ($0.request, $0.held?.contents.representation) }
        guard let version else { return nil }
        guard !version.hasUnrequestedCoding, !version.refusesRanges else { return false }
        return EntityValidator(of: version) != nil || request.isVerifiedAtEnd || request.resumePolicy == .overlap
    }

    /// The name of the file according to the last accepted response, or else according to the request.
    var plannedName: String {
        let (names, ledger, held) = state.withLock { ($0.names, $0.ledger, $0.held) }
        let path = ledger?.read { $0.finalPath } ?? held?.contents.finalPath ?? names.plannedPath
        return names.name(of: path)
    }

    /// Returns the ledger of the file; creates it if necessary.
    func ledger() -> FileLedger {
        let (existing, held) = state.withLock { ($0.ledger, $0.held) }
        if let existing { return existing }
        let new = FileLedger(held, isDecoded: requested { $0.decodesContent })
        return state.withLock { state in
            if let ledger = state.ledger { return ledger }
            state.ledger = new
            return new
        }
    }

    /// Updates the resume record on the disk if the download is running; blocks.
    ///
    /// With `syncing`, also syncs the received bytes and the record if the durability is `full`, so that they survive a
    /// power cut.
    func save(syncing: Bool) { state.withLock { $0.ledger }?.save(syncing: syncing) }

    /// Changes the state like ``DownloadStatus/enter(_:_:)``, and notifies waiting readers.
    func enter(_ newState: DownloadState?, _ event: DownloadEvent?) {
        status.enter(newState, event)
        state.withLock { $0.ledger }?.entered(self)
    }
}

/// The state of a partial file that no transfer has open.
final class SuspendedPartial: Sendable {
    /// The path of the partial file.
    let path: String
    /// The stamp of the partial file when the transfer closed it; if the file's present stamp differs, another process
    /// has written to the file.
    let stamp: FileStamp
    let contents: FileLedger.Contents

    init(_ path: String, stamp: FileStamp, contents: FileLedger.Contents) {
        self.path = path
        self.stamp = stamp
        self.contents = contents
    }
}

extension DownloadRecord: RateLimitedDownload {
    var group: String? { requested { $0.group } }
}

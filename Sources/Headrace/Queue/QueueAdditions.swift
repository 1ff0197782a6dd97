import HeadracePlatform

/// A download to add.
struct QueueAddition {
    /// The identity that another process assigned; `nil` for an addition by this process.
    var id: DownloadID?
    var request: DownloadRequest
    /// The request as another process posted it, if its secrets are still missing; otherwise `nil`.
    var withoutSecrets: RegistryRequest?
}

/// The result of adding downloads to a queue: each is new, or is merged into the existing download of the same file.
struct QueueAdditions {
    /// For each addition passed to ``add(_:to:)``, the new download, or the existing download with the same identity or
    /// partial file.
    private(set) var records: [DownloadRecord] = []
    /// The downloads that were newly added.
    private(set) var newRecords: [DownloadRecord] = []
    /// The failed downloads that were requeued or paused, because a request supplied what they lacked.
    private(set) var revived: [DownloadID] = []
    /// The downloads that requests were merged into, although the journal does not have these downloads yet.
    private(set) var joinedUnsaved: [DownloadRecord] = []
    var effects: [QueueEffect] = []
    /// An error for each refused addition.
    ///
    /// An addition is refused if its expected size, hashes or address rule contradict another addition or download. It
    /// is also refused if its partial file would have the same name as that of another file.
    private(set) var refusals: [DownloadError]
    private let observers: QueueObservers
    private let now: Duration

    init(refusals: [DownloadError], observers: QueueObservers, at now: Duration) {
        (self.refusals, self.observers, self.now) = (refusals, observers, now)
    }

    /// The identities of the downloads that were newly added.
    var new: [DownloadID] { newRecords.map(\.id) }

    /// Adds a download to the queue, or merges it into the existing download of the same file.
    mutating func add(_ addition: QueueAddition, to queue: inout QueueState) {
        records.append(record(of: addition, in: &queue))
    }

    private mutating func record(of addition: QueueAddition, in queue: inout QueueState) -> DownloadRecord {
        let known = addition.id.flatMap { queue.records[$0] }
        if let known {
            if queue.partialFiles.isActive(known) {
                join(addition.request, to: known, in: &queue)
                return known
            }
            // The known download has ended and is not verified again, so new expectations need a new download.
            guard addition.request.expectations.addInformation(than: known.request.expectations) else { return known }
        }
        let state: DownloadState = addition.request.startsPaused ? .paused : .waiting
        let record = DownloadRecord(
            id: known == nil ? addition.id ?? queue.downloads.newID() : queue.downloads.newID(),
            number: queue.downloads.nextNumber,
            added: WallTime.milliseconds(),
            request: addition.request,
            withoutSecrets: addition.withoutSecrets,
            state: state,
            observers: observers
        )
        if known == nil, addition.withoutSecrets == nil { reviveTwin(of: record, in: &queue) }
        if let twin = queue.partialFiles.active(at: record.partialPath) {
            guard twin.isOfSameFile(as: addition.request) else {
                refusals.append(.sharedPartialFile(addition.request.url))
                return twin
            }
            // First, because `supplySecrets` replaces the URL that `join` compares.
            join(addition.request, to: twin, in: &queue)
            if addition.withoutSecrets == nil { twin.supplySecrets(of: addition.request) }
            twin.takeVolatile(of: addition.request)
            return twin
        }
        queue.insert(record)
        if state == .waiting { queue.reopen(record) } else { queue.activate(record) }
        newRecords.append(record)
        return record
    }

    /// Revives a failed download of the same file if the request of `record` supplies the secrets, link or link
    /// provider that it lacked.
    ///
    /// The download is requeued or, if the request starts paused, paused. Nothing changes if the request contradicts
    /// the expected size or hashes of the failed download.
    private mutating func reviveTwin(of record: DownloadRecord, in queue: inout QueueState) {
        guard let id = queue.partialFiles.failed(sharingFileOf: record), let twin = queue.records[id] else { return }
        let request = record.request
        guard twin.isOfSameFile(as: request), twin.canContinue(with: request),
            (try? twin.expectations(joinedBy: request.expectations)) != nil
        else { return }
        revived.append(id)
        effects += queue.revive(twin, for: request, at: now)
    }

    /// Adds the expectations of another request for the same file to those of a download.
    ///
    /// If the request has another URL, and an identity or a signed URL shows that the file is the same, the download
    /// also adopts that URL and the secret header fields meant for it.
    private mutating func join(_ request: DownloadRequest, to twin: DownloadRecord, in queue: inout QueueState) {
        if queue.scheduler.entries[twin.id]?.isSaved == false { joinedUnsaved.append(twin) }
        if twin.isRelinked(by: request) {
            effects += queue.relink(twin, to: request.link, with: request.headers, at: now)
        }
        do throws(DownloadError) {
            if try twin.takeExpectations(of: request) { queue.recordRequest(of: twin.id) }
        } catch {
            // The additions were checked before, but the file was verified meanwhile.
            refusals.append(error)
        }
    }
}

extension DownloadError {
    /// The error for a request whose partial file would have the same name as that of an active download of another
    /// file.
    static func sharedPartialFile(_ url: URL) -> DownloadError {
        let what = "The partial file has the same name as that of another active download. Use another destination."
        return DownloadError(.invalidRequest, what, url: url)
    }

    /// The error for a request that requires public addresses, if the active download of its file does not.
    static func unrestrictedTwin(of url: URL) -> DownloadError {
        DownloadError(
            .invalidRequest,
            "A download of this file that may connect to any address is active, so requiresPublicAddress would have no "
                + "effect. Use another destination, or add the file once that download has ended.",
            url: url
        )
    }
}

extension [QueueAddition] {
    /// Returns the additions without contradictions, and an error for each other addition.
    ///
    /// An addition is compared with earlier additions and the active download of the same file. Its expected size and
    /// hashes must agree with theirs. If it requires public addresses, so must they.
    ///
    /// `twin` returns the active download with the given partial-file path; `nil` if there is none.
    func divided(_ twin: (String) -> DownloadRecord?) -> (possible: Self, refusals: [DownloadError]) {
        guard contains(where: { !$0.request.expectations.isEmpty || $0.request.requiresPublicAddress }) else {
            return (self, [])
        }
        var known: [String: FileExpectations] = [:]
        // The files of additions that may connect to any address.
        var unrestricted: Set<String> = []
        let isRestricting = contains { $0.request.requiresPublicAddress }
        var refusals: [DownloadError] = []
        let possible = filter { addition in
            let request = addition.request
            var expectations = request.expectations
            guard !expectations.isEmpty || isRestricting else { return true }
            let path = DestinationPaths(request).partialPath
            do throws(DownloadError) {
                if !request.requiresPublicAddress {
                    if twin(path) == nil { unrestricted.insert(path) }
                } else if unrestricted.contains(path) || twin(path)?.obeysAddressRule(of: request) == false {
                    throw .unrestrictedTwin(of: request.url)
                }
                if let earlier = known[path] { expectations = try earlier.adding(expectations, of: request.url) }
                known[path] = try twin(path)?.expectations(joinedBy: expectations) ?? expectations
                return true
            } catch {
                refusals.append(error)
                return false
            }
        }
        return (possible, refusals)
    }
}

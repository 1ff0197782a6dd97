import HeadracePlatform

/// Adds and changes downloads.
extension QueueState {
    /// Adds downloads, or merges a request for the file of an active download into that download.
    ///
    /// A failed download is revived by a request for its file that supplies its missing secrets. If its link was
    /// rejected, a request with another URL or a link provider revives it too.
    ///
    /// If the queue has a download with the `id` of an addition, there are two cases:
    /// - The download is active: it adopts only the addition's expected size, hashes and changed URL.
    /// - The download has ended: the addition becomes a new download if it has a further expected size or hash.
    ///   Otherwise it is ignored.
    ///
    /// With `skippingInvalid`, invalid additions are skipped. Otherwise, a contradiction between requests prevents all
    /// additions. An addition may also be refused after others were added; see ``QueueAdditions/refusals``. The caller
    /// must then remove the new downloads.
    ///
    /// With a journal, new and revived downloads do not start before ``saved(_:at:)``.
    mutating func add(
        _ additions: [QueueAddition],
        skippingInvalid: Bool,
        observers: QueueObservers,
        at now: Duration
    ) -> QueueAdditions {
        var (additions, refusals) = additions.divided { partialFiles.active(at: $0) }
        if !skippingInvalid, !refusals.isEmpty { additions = [] }
        var added = QueueAdditions(refusals: refusals, observers: observers, at: now)
        scheduler.isGathering = true
        for addition in additions { added.add(addition, to: &self) }
        scheduler.isGathering = false
        let relabellings = scheduler.relabellings
        let items = added.newRecords.map { Scheduler.Item($0, at: now) }
        let actions = scheduler.add(items, isSaved: journal == nil, at: now)
        if scheduler.relabellings != relabellings { recordAllLabels() }
        if journal != nil, !added.newRecords.isEmpty {
            let members = added.new.compactMap { member($0) }
            journal?.note(added: members)
        }
        added.effects += effects(of: actions)
        return added
    }

    /// Lets added and revived downloads start, because the journal has them now.
    mutating func saved(_ ids: [DownloadID], at now: Duration) -> [QueueEffect] {
        effects(of: scheduler.saved(ids, at: now))
    }

    /// Fails a revived download again, because the journal could not be written.
    mutating func failed(_ id: DownloadID, _ error: DownloadError) -> [QueueEffect] {
        effects(of: scheduler.failUnsaved(id), .failed(error))
    }

    /// Requeues a failed download, or pauses it if the request that revives it starts paused.
    mutating func revive(_ record: DownloadRecord, for request: DownloadRequest, at now: Duration) -> [QueueEffect] {
        if journal != nil { scheduler.markUnsaved(record.id) }
        let begin = record.requested { $0.notBefore(at: now) }
        let actions = scheduler.resume(record.id, at: now, notBefore: begin)
        return effects(of: actions + (request.startsPaused ? scheduler.pause(record.id) : []))
    }

    /// Changes the priority of a download and records the change; returns `false` if the download is not in the queue.
    mutating func setPriority(_ priority: Int, of id: DownloadID, at now: Duration) -> Bool {
        guard let record = records[id] else { return false }
        record.status.priority = DownloadPriority(rawValue: priority)
        scheduler.setPriority(priority, of: id, at: now)
        journal?.note(.priority(id.rawValue, priority))
        return true
    }

    /// Removes a download's start time from its request and from the journal.
    private mutating func removeStartTime(of id: DownloadID) {
        guard let record = records[id], record.request.earliestBegin != nil else { return }
        record.removeStartTime()
        recordRequest(of: id)
    }

    /// Changes a download's rate limit in bytes per second, if the download is in the queue; `nil` for none.
    mutating func setRateLimit(_ bytesPerSecond: Int64?, of id: DownloadID) {
        guard let record = records[id] else { return }
        record.setRateLimit(bytesPerSecond)
        recordRequest(of: id)
    }

    /// Replaces the URL of a download; does nothing if the download is not in the queue, or after the shutdown.
    ///
    /// A running download continues with the new URL; it fails if its request was sent and must not be repeated. A
    /// download that failed or waits for a retry is queued again.
    ///
    /// Throws `invalidRequest` if the journal has no room for the URL, or if the URL has another origin and the body is
    /// secret.
    mutating func setURL(_ url: URL, of id: DownloadID, at now: Duration) throws(DownloadError) -> [QueueEffect] {
        guard let record = records[id], !scheduler.isShutDown else { return [] }
        let request = record.request
        guard request.body?.isSecret != true || Origin(url) == Origin(request.url) else {
            throw DownloadError(.invalidRequest, "\(url.withoutQuery) must not receive the secret body of the request.")
        }
        let link = DownloadRequest.Link(url)
        try journal?.check([request.relinked(to: link)])
        return relink(record, to: link, at: now)
    }

    /// Replaces the URL of a download like ``setURL(_:of:at:)``, but without checking the URL; also adopts the secret
    /// fields of `fields`.
    mutating func relink(
        _ record: DownloadRecord,
        to link: DownloadRequest.Link,
        with fields: [HeaderField] = [],
        at now: Duration
    ) -> [QueueEffect] {
        let id = record.id
        record.relink(to: link, with: fields)
        recordRequest(of: id)
        let (host, need) = record.requested { (HostLimiter.host(of: $0.url), NetworkRequirement($0)) }
        let effects = effects(of: scheduler.relink(id, to: host, need, at: now))
        guard discardAttempts(of: id) || scheduler.phase(of: id) == .failed else { return effects }
        return effects
            + requeue([id]) { state, id in
                state.scheduler.resume(id, at: now, notBefore: record.requested { $0.notBefore(at: now) })
            }
    }

    /// Records a changed request in the journal.
    mutating func recordRequest(of id: DownloadID) {
        if let member = member(id) { journal?.recordRequest(of: member) }
    }

    mutating func recordAllLabels() {
        guard journal != nil else { return }
        let labels = scheduler.ids.map { ($0.rawValue, scheduler.order.label(of: $0) ?? 0) }
        journal?.note(.relabelled(Dictionary(uniqueKeysWithValues: labels)))
    }

    /// Moves all downloads to the given order, and records their positions in the journal.
    mutating func reorder(_ ids: [DownloadID], at now: Duration) {
        for id in ids { scheduler.move(id, to: .last, at: now) }
        recordAllLabels()
    }

    // MARK: Operations on several downloads

    /// An operation that stops downloads.
    enum Stop: Equatable {
        case pause
        case cancel
        case remove(deletingFiles: Bool)
    }

    /// Stops the selected downloads, in one step; changes nothing after the shutdown.
    /// - Returns: The selected downloads, and the effects to perform.
    mutating func stop(
        _ selection: DownloadSelection,
        _ operation: Stop,
        skippingUnknown: Bool = false
    ) throws(DownloadError) -> (records: [DownloadRecord], effects: [QueueEffect]) {
        let ids = try ids(selection, skippingUnknown: skippingUnknown)
        let records = ids.compactMap { downloads.records[$0] }
        guard !scheduler.isShutDown else { return (records, []) }
        let actions = ids.flatMap { id in
            switch operation {
            case .pause: scheduler.pause(id)
            case .cancel: scheduler.cancel(id)
            case .remove(let deletingFiles): scheduler.remove(id, deletingFile: deletingFiles)
            }
        }
        return (records, effects(of: actions))
    }

    /// Requeues the selected downloads that are in the given phase, in one step; their start times still apply.
    ///
    /// A download whose transfer is stopping for a pause counts as paused.
    mutating func requeue(
        _ selection: DownloadSelection,
        only phase: Scheduler.Phase,
        skippingUnknown: Bool = false,
        at now: Duration
    ) throws(DownloadError) -> [QueueEffect] {
        requeue(try ids(selection, skippingUnknown: skippingUnknown)) { state, id in
            let isStopping = phase == .paused && state.scheduler.isPausing(id)
            guard state.scheduler.phase(of: id) == phase || isStopping else { return [] }
            let begin = state.records[id]?.requested { $0.notBefore(at: now) }
            return state.scheduler.resume(id, at: now, notBefore: begin)
        }
    }

    /// Removes the start times of downloads, and requeues those that have not finished, so that they may start at once.
    mutating func start(_ ids: [DownloadID], at now: Duration) -> [QueueEffect] {
        requeue(ids) { state, id in
            state.removeStartTime(of: id)
            return state.scheduler.resume(id, at: now)
        }
    }

    /// Requeues a finished download, so that its file is downloaded again.
    mutating func restart(_ id: DownloadID, at now: Duration) -> [QueueEffect] {
        requeue([id]) { $0.scheduler.restart($1, at: now) }
    }

    /// Calls `verb` to requeue each download whose file has no other active download, then starts downloads in free
    /// slots.
    ///
    /// Changes nothing after the shutdown.
    private mutating func requeue(
        _ ids: [DownloadID],
        _ verb: (inout QueueState, DownloadID) -> [Scheduler.Action]
    ) -> [QueueEffect] {
        guard !scheduler.isShutDown else { return [] }
        let wasGathering = scheduler.isGathering
        scheduler.isGathering = true
        var effects: [QueueEffect] = []
        // One at a time, because two of the downloads may use the same file.
        for id in ids {
            guard let record = records[id], partialFiles.mayActivate(record) else { continue }
            effects += self.effects(of: verb(&self, id))
        }
        scheduler.isGathering = wasGathering
        return effects + self.effects(of: scheduler.startNext())
    }

    /// Moves a download, and records the change in the journal; does nothing if the download is not in the queue.
    ///
    /// Throws `unknownDownload` if the position is an index out of range, or relative to a download not in the queue.
    /// - Returns: Whether the download was moved.
    mutating func move(_ id: DownloadID, to position: QueuePosition, at now: Duration) throws(DownloadError) -> Bool {
        guard try downloads.mayMove(id, to: position) else { return false }
        let relabellings = scheduler.relabellings
        scheduler.move(id, to: position, at: now)
        if scheduler.relabellings != relabellings {
            recordAllLabels()
        } else if let label = scheduler.order.label(of: id) {
            journal?.note(.moved(id.rawValue, label: label))
        }
        return true
    }
}

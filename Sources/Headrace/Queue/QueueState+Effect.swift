import HeadracePlatform

/// What comes into the list, and what is to be done about it.
extension QueueState {
    /// What is to be done about a decision, without the lock.
    enum Effect {
        case start(Run, StateChange)
        case stop(StopSignal, StopSignal.Reason)
        case publish(DownloadRecord, StateChange)
        /// `partial` where nobody else has it meanwhile.
        case remove(DownloadRecord, partial: Bool, FinishedFile?, StateChange)
        case alarm(Duration)
        /// Let those go on who wait for the end of the one before.
        case release([Latch])
    }

    /// A download whose turn it is.
    struct Run: Sendable {
        let record: DownloadRecord
        let stop: StopSignal
        /// What there is of earlier attempts.
        let attempts: TransferState?
    }

    /// A download that comes in.
    struct Addition {
        /// The identity that another process has given it, or nil.
        var id: DownloadID?
        var request: DownloadRequest
        /// What was kept of the request, where that is not all of it.
        var withoutSecrets: RegistryRequest?
    }

    /// A state that a download is told after what goes before it is done.
    struct StateChange: Sendable {
        var state: DownloadState?
        var event: DownloadEvent?
        /// Of two states the later one holds, whichever is told last.
        var turn: UInt64
        /// Whether the download was among those that wait or run, and is no more.
        var closes = false
    }

    /// What came of ``add(_:skippingUnknown:observers:at:)``.
    struct Added {
        /// A download for each addition.
        var records: [DownloadRecord]
        /// Those of them that were not in the list.
        var new: [DownloadID]
        var effects: [Effect]
        /// Why some of the additions cannot be.
        var refusals: [DownloadError]
    }
}

extension [QueueState.Addition] {
    /// Those that can be, and why the others cannot: what they tell of their file contradicts each other, or what is known.
    ///
    /// `twin` is the download that has not ended whose partial has a path.
    func divided(_ twin: (String) -> DownloadRecord?) -> (possible: Self, refusals: [DownloadError]) {
        var known: [String: FileExpectations] = [:]
        var refusals: [DownloadError] = []
        let possible = filter { addition in
            let request = addition.request
            var told = request.expectations
            guard !told.isEmpty else { return true }
            let path = DestinationPaths(request).partialPath
            do throws(DownloadError) {
                if let earlier = known[path] { told = try earlier.adding(told, of: request.url) }
                known[path] = try twin(path)?.expectations(joinedBy: told) ?? told
                return true
            } catch {
                refusals.append(error)
                return false
            }
        }
        return (possible, refusals)
    }
}

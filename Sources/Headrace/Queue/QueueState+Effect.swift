import HeadracePlatform

/// The inputs and results of a decision.
extension QueueState {
    /// An effect of a decision, to be performed after the lock is released.
    enum Effect {
        case start(Run, StateChange)
        case stop(StopSignal, StopSignal.Reason)
        case publish(DownloadRecord, StateChange)
        /// Remove a download; `partial` is `true` if its partial file is deleted too.
        case remove(DownloadRecord, partial: Bool, FinishedFile?, StateChange)
        case alarm(Duration)
        /// Open the latches of downloads that waited for an earlier one to stop.
        case release([Latch])
    }

    /// A download that was started.
    struct Run: Sendable {
        let record: DownloadRecord
        let stop: StopSignal
        /// The state carried over from earlier attempts; `nil` for the first attempt.
        let attempts: TransferState?
    }

    /// A download to add.
    struct Addition {
        /// The identity that another process assigned; `nil` if there is none.
        var id: DownloadID?
        var request: DownloadRequest
        /// The saved request, if its secrets are missing.
        var withoutSecrets: RegistryRequest?
    }

    /// A state change to publish after its effects are performed.
    struct StateChange: Sendable {
        var state: DownloadState?
        var event: DownloadEvent?
        /// The sequence number: the state with the highest one is final, in whatever order the states are published.
        var sequence: UInt64
        /// Whether the download is no longer waiting or running.
        var closes = false
    }

    /// The result of ``add(_:skippingUnknown:observers:at:)``.
    struct Added {
        /// For each addition, the new or the existing download.
        var records: [DownloadRecord]
        /// The downloads that were newly added.
        var new: [DownloadID]
        var effects: [Effect]
        /// The errors of the invalid additions.
        var refusals: [DownloadError]
    }
}

extension [QueueState.Addition] {
    /// Separates the valid additions from those that contradict each other or an active download in their expectations.
    ///
    /// `twin` returns the active download with the given partial-file path; `nil` if there is none.
    func divided(_ twin: (String) -> DownloadRecord?) -> (possible: Self, refusals: [DownloadError]) {
        var known: [String: FileExpectations] = [:]
        var refusals: [DownloadError] = []
        let possible = filter { addition in
            let request = addition.request
            var expectations = request.expectations
            guard !expectations.isEmpty else { return true }
            let path = DestinationPaths(request).partialPath
            do throws(DownloadError) {
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

import HeadracePlatform

/// The inputs and results of decisions about the queue.
extension QueueState {
    /// An effect of a decision, which the manager performs before it decides anything else.
    enum Effect: Sendable {
        case start(Run)
        case stop(StopSignal, StopSignal.Reason)
        case publish(DownloadRecord, StateChange)
        case remove(Removal)
        /// Call ``tick(at:)`` at this time.
        case alarm(Duration)
        /// Open the latches of downloads that waited for an earlier download of the same file to stop.
        case release([Latch])
    }

    /// A started download and the signal that stops its transfer.
    struct Run: Sendable {
        let record: DownloadRecord
        let stop: StopSignal
        /// The state carried over from earlier attempts; `nil` for the first attempt.
        let attempts: TransferState?
        /// A latch that opens when an earlier download of the same file no longer uses the partial file; `nil` if none
        /// does.
        let removal: Latch?
        /// Whether the transfer must report its first response head to the manager.
        let reportsHead: Bool
        /// Whether the transfer may share a connection with others.
        let mayShareConnection: Bool
    }

    /// The files of one removed or cancelled download to delete, and the state change to publish afterwards.
    struct Removal: Sendable {
        let record: DownloadRecord
        /// Whether the partial file is deleted; `true` only if no other download uses that file.
        let partial: Bool
        /// The finished file, if it is deleted too; otherwise `nil`.
        let file: FinishedFile?
        let stateChange: StateChange
    }

    /// A download to add.
    struct Addition {
        /// The identity that another process assigned; `nil` for an addition by this process.
        var id: DownloadID?
        var request: DownloadRequest
        /// The request as another process posted it, while secrets that it had are missing; `nil` otherwise.
        var withoutSecrets: RegistryRequest?
    }

    /// A new state or event of a download, or both.
    struct StateChange: Sendable {
        let state: DownloadState?
        let event: DownloadEvent?

        init(_ state: DownloadState?, _ event: DownloadEvent?) {
            (self.state, self.event) = (state, event)
        }
    }

    /// The result of ``add(_:skippingInvalid:observers:at:)``.
    struct Added {
        /// For each addition, the new download or the existing download of the same file.
        var records: [DownloadRecord]
        /// The downloads that were newly added.
        var new: [DownloadID]
        /// The failed downloads that were requeued, because a request supplied what they lacked.
        var revived: [DownloadID]
        var effects: [Effect]
        /// An error for each addition that was refused because its expected size or hashes contradict another download.
        var refusals: [DownloadError]
    }
}

extension [QueueState.Addition] {
    /// Returns the additions without contradictions, and an error for each addition whose expected size or hashes
    /// contradict an earlier addition or an active download.
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

/// A download in a saved queue.
struct RegistryEntry: Sendable, Hashable, Identifiable {
    /// The last recorded state of the download.
    enum State: Sendable, Hashable {
        /// Not started yet, or requeued without received bytes.
        case waiting
        /// Requeued after it had received bytes, or restored after its process had ended during the transfer.
        case requeued
        /// Running when the entry was written.
        case running
        /// Stopped until it is resumed.
        case paused
        /// Verified, and about to be renamed to this path.
        ///
        /// If the file at this path has this stamp, the rename had completed before the process ended.
        case finishing(RelocatablePath, FileStamp)
        /// Finished, with the path and the stamp of the file.
        case finished(RelocatablePath, FileStamp)
        /// Finished because the file already existed.
        case skipped(RelocatablePath, FileStamp)
        /// Failed, with the name of the error code, the message and, if the server rejected the request, the HTTP
        /// status.
        case failed(code: String, message: String, status: Int? = nil)
        /// Cancelled.
        case cancelled

        /// Whether the download has finished, failed or been cancelled.
        var isEnded: Bool {
            switch self {
            case .finished, .skipped, .failed, .cancelled: true
            case .waiting, .requeued, .running, .paused, .finishing: false
            }
        }
    }

    /// The raw value of the download's identity.
    let id: UInt64
    /// The request.
    var request: RegistryRequest
    /// The last recorded state.
    var state: State
    /// The position in the queue: entries are ordered by label, then by identity.
    var label: Int64
    /// The number that the user sees; `nil` in commands, and if the journal has no valid one, as in earlier releases.
    var number: Int?
    /// The time at which the download was added, in milliseconds since 1970; `nil` in commands, or if unknown.
    var added: Int64?
    /// The time of the last start, in milliseconds since 1970; `nil` if the download has not started, or if unknown.
    var started: Int64?
    /// The time of the end, in milliseconds since 1970; `nil` if the download has not ended, or if unknown.
    var ended: Int64?
    /// The state of the system's background task; `nil` if the download has none.
    var background: BackgroundTaskState?

    /// Creates an entry.
    init(id: UInt64, _ request: RegistryRequest, state: State = .waiting, label: Int64, number: Int? = nil) {
        self.id = id
        self.request = request
        self.state = state
        self.label = label
        self.number = number
    }

    /// Changes the state and the time of the start or of the end; see ``RegistryChange/state(_:_:at:)``.
    mutating func enter(_ state: State, at time: Int64?) {
        self.state = state
        dropUnneededPieces()
        if state == .running, let time { started = time }
        ended = state.isEnded ? time : nil
    }

    /// Removes the piece hashes of a finished or cancelled download if it has a checksum.
    ///
    /// There may be thousands of hashes. If the download is run again, the checksum is enough to verify the file.
    mutating func dropUnneededPieces() {
        switch state {
        case .finished, .skipped, .cancelled:
            if !request.expectations.checksums.isEmpty { request.expectations.pieces = nil }
        case .waiting, .requeued, .running, .paused, .finishing, .failed: break
        }
    }
}

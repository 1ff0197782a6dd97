/// A download in a list that outlives the process.
struct RegistryEntry: Sendable, Hashable, Identifiable {
    /// Where the download stood.
    enum State: Sendable, Hashable {
        /// Not begun, or with no bytes yet.
        case waiting
        /// To be gone on with when its turn comes.
        case requeued
        /// Being fetched when this was written.
        case running
        /// Stopped until it is resumed.
        case paused
        /// About to be renamed to this path, with all checks passed: the file there is this one where it has the stamp.
        case finishing(RelocatablePath, FileStamp)
        /// Complete, with the file's place.
        case finished(RelocatablePath, FileStamp)
        /// Complete by a file that was there before, with its place.
        case skipped(RelocatablePath, FileStamp)
        /// Ended by an error, with the code's name, the message, and the HTTP status where the server refused.
        case failed(code: String, message: String, status: Int? = nil)
        /// Ended by being cancelled.
        case cancelled

        /// Whether nothing is fetched any more, for which the checksums of pieces, which are thousands, would be kept.
        var needsNoPieces: Bool {
            switch self {
            case .finished, .skipped, .cancelled: true
            case .waiting, .requeued, .running, .paused, .finishing, .failed: false
            }
        }
    }

    /// The number behind the download's identity.
    let id: UInt64
    /// What was asked for.
    var request: RegistryRequest
    /// Where the download stood.
    var state: State
    /// The place in the list: lower labels come first, and of the same labels lower identities.
    var label: Int64
    /// The number that its user sees; `nil` in commands, and in the journal of an earlier release.
    var number: Int?
    /// What the system has of the download, or gave to go on with.
    var background: BackgroundTaskState?

    /// Creates an entry.
    init(id: UInt64, _ request: RegistryRequest, state: State = .waiting, label: Int64, number: Int? = nil) {
        self.id = id
        self.request = request
        self.state = state
        self.label = label
        self.number = number
    }
}

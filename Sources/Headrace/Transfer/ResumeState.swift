/// What one download asks next, and how often it may still start again; over all attempts of a run.
struct ResumeState: Sendable {
    /// How often a run may start at zero again, so that a server with another tag in each answer does not go on for ever.
    static let maxRestarts = 3

    private let policy: DownloadRequest.ResumePolicy
    private var restarts = 0
    private var sendsIfRange = true
    /// Why the held bytes cannot be continued; they are kept until an answer to use in their place is there.
    private(set) var pendingRestart: RestartReason?

    init(_ policy: DownloadRequest.ResumePolicy = .validated) {
        self.policy = policy
    }

    /// What to ask for when so many bytes from the start are held, of a version that is not complete.
    mutating func ask(heldBytes: Int64, of known: Representation?) -> RangeAsk {
        guard heldBytes > 0, let known else { return .whole }
        // To compare all that is held is to fetch all of it.
        let isCompared =
            policy == .overlap && EntityValidator(of: known) == nil && heldBytes > RangeAsk.overlapBytes
        guard let range = ByteRange(from: isCompared ? heldBytes - RangeAsk.overlapBytes : heldBytes) else {
            return .whole
        }
        // The answer is still held against what is known, so that a login page does not replace the bytes.
        let whole = RangeAsk(known: known, heldBytes: heldBytes)
        guard pendingRestart == nil else { return whole }
        do throws(RestartReason) {
            let ask = try RangeAsk(
                continuing: known,
                with: range,
                heldBytes: heldBytes,
                lateProof: isCompared ? .overlap : nil
            )
            return sendsIfRange ? ask : ask.withoutIfRange
        } catch {
            pendingRestart = error
            return whole
        }
    }

    /// An answer showed that the held bytes are of no use.
    mutating func mustRestart(_ reason: RestartReason) {
        pendingRestart = reason
    }

    /// The held bytes are given up; false when that has happened too often.
    mutating func restarted() -> Bool {
        restarts += 1
        sendsIfRange = true
        pendingRestart = nil
        return restarts <= Self.maxRestarts
    }

    mutating func stopSendingIfRange() {
        sendsIfRange = false
    }
}

/// How far a transfer on `URLSession` is, and when it has waited too long; pure.
///
/// `URLSession` does not tell when it has connected, so that before the head the two limits hold one after the other.
struct URLSessionCourse: Sendable {
    /// What is to be done with the task when bytes were delivered.
    enum Step: Equatable {
        case goOn
        case suspend
    }

    /// What a look at the time finds.
    enum Finding: Equatable {
        /// Nothing; look again then.
        case wait(until: ContinuousClock.Instant)
        case stalled(DownloadError)
    }

    private let connectTimeout: Duration
    private let stallTimeout: Duration
    private let suspends: Bool
    private let start: ContinuousClock.Instant
    private var lastActivity: ContinuousClock.Instant?
    private(set) var isSuspended = false

    init(_ request: TransportRequest, suspends: Bool, at now: ContinuousClock.Instant) {
        connectTimeout = request.connectTimeout
        stallTimeout = request.stallTimeout
        self.suspends = suspends
        start = now
    }

    /// Whether the head is there.
    var hasHead: Bool { lastActivity != nil }

    mutating func headArrived(at now: ContinuousClock.Instant) {
        lastActivity = now
    }

    mutating func bytesArrived(_ demand: ResponseStreamState.Demand, at now: ContinuousClock.Instant) -> Step {
        lastActivity = now
        // Some may come after the task was suspended.
        guard demand == .pause, suspends, !isSuspended else { return .goOn }
        isSuspended = true
        return .suspend
    }

    /// The reader has room again; true where the task has to go on.
    mutating func resumed(at now: ContinuousClock.Instant) -> Bool {
        guard isSuspended else { return false }
        isSuspended = false
        lastActivity = now
        return true
    }

    func look(at now: ContinuousClock.Instant) -> Finding {
        guard !isSuspended else { return .wait(until: now + stallTimeout) }
        let deadline = (lastActivity ?? start + connectTimeout) + stallTimeout
        guard deadline <= now else { return .wait(until: deadline) }
        return .stalled(
            DownloadError(
                .stalled,
                hasHead
                    ? "No byte came from the server for \(stallTimeout.inSeconds)."
                    : "The server did not answer within \((connectTimeout + stallTimeout).inSeconds), "
                        + "the time to connect included."
            )
        )
    }
}

/// How far a transfer on `URLSession` is, and when it has waited too long; pure.
///
/// `URLSession` does not tell when it has connected, so that before the head the two limits hold one after the other. The clock
/// does not run while the machine sleeps, when no byte can come.
struct URLSessionTransferState: Sendable {
    /// What is to be done with the task when bytes were delivered.
    enum Step: Equatable {
        case proceed
        case suspend
    }

    /// What a look at the time finds.
    enum Finding: Equatable {
        /// Nothing; look again then.
        case wait(until: SuspendingClock.Instant)
        case stalled(DownloadError)
    }

    private let request: TransportRequest
    private let suspends: Bool
    /// Whether servers are evaluated by authorities that the system does not have.
    private let hasOwnAuthorities: Bool
    private let start: SuspendingClock.Instant
    private var lastActivity: SuspendingClock.Instant?
    private(set) var isSuspended = false
    /// Whether only the end of a TLS connection tells the end of the body.
    private var endsWithTLS = false

    init(
        _ request: TransportRequest,
        suspends: Bool,
        hasOwnAuthorities: Bool = false,
        at now: SuspendingClock.Instant
    ) {
        self.request = request
        self.hasOwnAuthorities = hasOwnAuthorities
        self.suspends = suspends
        start = now
    }

    /// Whether the head is there.
    var hasHead: Bool { lastActivity != nil }

    mutating func headArrived(_ head: ResponseHead, at now: SuspendingClock.Instant) {
        lastActivity = now
        endsWithTLS = head.endsWithTLSConnection
    }

    /// The protocol of the answer is known, as in `h2`, whose streams mark their own end.
    mutating func isProtocol(_ name: String) {
        if !name.hasPrefix("http/1") { endsWithTLS = false }
    }

    mutating func bytesArrived(_ demand: ResponseStreamState.Demand, at now: SuspendingClock.Instant) -> Step {
        lastActivity = now
        // Some may come after the task was suspended.
        guard demand == .pause, suspends, !isSuspended else { return .proceed }
        isSuspended = true
        return .suspend
    }

    /// The reader has room again; true where the task has to go on.
    mutating func resumed(at now: SuspendingClock.Instant) -> Bool {
        guard isSuspended else { return false }
        isSuspended = false
        lastActivity = now
        return true
    }

    func check(at now: SuspendingClock.Instant) -> Finding {
        guard !isSuspended else { return .wait(until: now + request.stallTimeout) }
        let deadline = (lastActivity ?? start + request.connectTimeout) + request.stallTimeout
        guard deadline <= now else { return .wait(until: deadline) }
        return .stalled(
            DownloadError(
                .stalled,
                hasHead
                    ? "No byte came from the server for \(request.stallTimeout.inSeconds)."
                    : "The server did not answer within \((request.connectTimeout + request.stallTimeout).inSeconds), "
                        + "the time to connect included."
            )
        )
    }

    /// What a task that has ended with this error, or with none, has failed of; nil where all of the body is there.
    func failure(_ error: (code: Int, detail: String)?, isShutDown: Bool = false) -> DownloadError? {
        if error != nil || !hasHead {
            let (code, detail) = error ?? (-1, "it had no answer")
            let failure = URLSessionFailure(
                code: code,
                detail: detail,
                hasHead: hasHead,
                isShutDown: isShutDown,
                hasOwnAuthorities: hasOwnAuthorities
            )
            return failure.error(for: request)
        }
        guard endsWithTLS else { return nil }
        return DownloadError(
            .protocolViolation,
            "Only the end of the TLS connection tells the end of the file, and URLSession does not tell whether it was cut. "
                + "Take another transport for this server."
        )
    }
}

/// The state of a `URLSession` transfer, including stall detection; performs no I/O.
///
/// `URLSession` does not report when it has connected, so the head must arrive within the sum of the connect and stall
/// timeouts.
struct URLSessionTransferState: Sendable {
    /// Whether the task continues or must be suspended after a delivery.
    enum Step: Equatable {
        case proceed
        case suspend
    }

    /// The result of a stall check.
    enum Finding: Equatable {
        /// The transfer has not stalled; check again at this time.
        case wait(until: SuspendingClock.Instant)
        case stalled(DownloadError)
    }

    private let request: TransportRequest
    private let suspends: Bool
    /// Whether the configuration replaces the system's certificate authorities.
    private let hasOwnAuthorities: Bool
    private let start: SuspendingClock.Instant
    private var lastActivity: SuspendingClock.Instant?
    private(set) var isSuspended = false
    /// Whether the end of the TLS connection is the only sign that the body is complete.
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

    /// Whether the head has arrived.
    var hasHead: Bool { lastActivity != nil }

    mutating func headArrived(_ head: ResponseHead, at now: SuspendingClock.Instant) {
        lastActivity = now
        endsWithTLS = head.endsWithTLSConnection
    }

    /// Records the name of the response's protocol; from HTTP/2 on, the protocol itself marks the end of a body.
    mutating func receivedProtocol(_ name: String) {
        if !name.hasPrefix("http/1") { endsWithTLS = false }
    }

    mutating func bytesArrived(_ demand: ResponseStreamState.Demand, at now: SuspendingClock.Instant) -> Step {
        lastActivity = now
        // More bytes may arrive after the task was suspended.
        guard demand == .pause, suspends, !isSuspended else { return .proceed }
        isSuspended = true
        return .suspend
    }

    /// Records that the reader has room again; returns `true` if the task must be resumed.
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
                    ? "No data was received from the server for \(request.stallTimeout.inSeconds)."
                    : "The server did not respond within \((request.connectTimeout + request.stallTimeout).inSeconds), "
                        + "including the time to connect."
            )
        )
    }

    /// Returns the failure of a task that completed with or without an error; `nil` if the body is complete.
    func failure(_ error: (code: Int, detail: String)?, isShutDown: Bool = false) -> DownloadError? {
        if error != nil || !hasHead {
            let (code, detail) = error ?? (-1, "no response was received")
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
            "Only the end of the TLS connection marks the end of the file, and URLSession does not report a truncation. "
                + "Use another transport for this server."
        )
    }
}

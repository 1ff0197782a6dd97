#if os(Linux)
import HeadracePlatform

/// Decides whether a request may reuse an idle connection.
///
/// A connection can die silently: a NAT entry is lost, a route changes, or a server hangs. If one connection stalls,
/// all idle connections to the same server are suspect; otherwise each of them would cost another timeout. This type
/// performs no I/O: libcurl, which owns the connections, gets a limit on their idle time.
struct ConnectionReuse: Sendable {
    /// The endpoint of a connection; libcurl reuses a connection only for requests with the same endpoint.
    struct Server: Sendable, Hashable {
        var isHTTPS: Bool
        var address: String
        var proxy: String?

        init(_ request: TransportRequest) {
            isHTTPS = request.url.isHTTPS
            address = request.url.server
            proxy = request.proxy?.address
        }
    }

    /// The connections that a request may reuse.
    enum Rule: Sendable, Hashable {
        case any
        /// The request may reuse connections that were used within the last `atMostSeconds` seconds, at least 1.
        case idle(atMostSeconds: Int)
        /// The request must open a connection of its own.
        case none
    }

    /// libcurl's default limit on the idle time of reused connections (CURLOPT_MAXAGE_CONN).
    static let longestIdleTime: Duration = .seconds(118)
    /// The number of seconds by which the permitted idle time is shorter than the time since the suspicion.
    ///
    /// A margin is necessary, because libcurl counts idle time in whole seconds of its own clock.
    private static let margin = 2

    /// The time at which each server was last suspected to have dropped idle connections.
    ///
    /// Uses a suspending clock, because libcurl's idle time also stops while the machine sleeps.
    private var suspicions: [Server: SuspendingClock.Instant] = [:]
    /// The cutoff for all servers: a connection that was last used before this time is not reused.
    ///
    /// `nil` until a connection stalls or ``suspectAll(at:)`` is called.
    private var otherServersCutoff: SuspendingClock.Instant?

    /// Marks all connections to a server as suspect that have been idle since `time`.
    mutating func suspect(_ server: Server, at time: SuspendingClock.Instant) {
        suspicions = suspicions.filter { time - $0.value < Self.longestIdleTime }
        suspicions[server] = max(suspicions[server] ?? time, time)
    }

    /// Records that a connection has stalled, after it received no data for the time `silence`.
    ///
    /// Idle connections to other servers become suspect too, if they were last used before the stall began. Connections
    /// that were used later have worked since.
    mutating func stalled(_ server: Server, for silence: Duration, at now: SuspendingClock.Instant) {
        suspect(server, at: now)
        suspectAll(at: now.advanced(by: .zero - silence))
    }

    /// Marks all connections as suspect that have been idle since `time`, for example because the network changed then.
    mutating func suspectAll(at time: SuspendingClock.Instant) {
        otherServersCutoff = max(otherServersCutoff ?? time, time)
    }

    /// Returns the connections that a request to a server may reuse.
    func rule(for server: @autoclosure () -> Server, at now: SuspendingClock.Instant) -> Rule {
        // Returns early if nothing is suspect, because computing the server would cost more than the rest.
        guard !suspicions.isEmpty || otherServersCutoff != nil else { return .any }
        let server = server()
        guard let time = [suspicions[server], otherServersCutoff].compactMap(\.self).max() else { return .any }
        let elapsed = now - time
        guard elapsed < Self.longestIdleTime else { return .any }
        let seconds = Int(elapsed.components.seconds) - Self.margin
        return seconds >= 1 ? .idle(atMostSeconds: seconds) : .none
    }
}
#endif

#if os(Linux)
import HeadracePlatform

/// Decides whether a request may take a connection that an earlier one left.
///
/// A connection can die without a sign of it: a NAT entry is lost, a route changes, a peer hangs. One that stalls is evidence
/// against all idle connections to the same server, so that these cost no time-out each. Pure; libcurl, which owns the
/// connections, is given a bound on their idle time.
struct ConnectionReuse: Sendable {
    /// The end of a connection, as far as libcurl tells connections apart by the request.
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

    /// The connections that a request may take.
    enum Rule: Sendable, Hashable {
        case any
        /// Those that were in use in the last seconds; at least 1.
        case idle(atMostSeconds: Int)
        /// None: the request makes a connection of its own.
        case none
    }

    /// libcurl's own bound on the idle time of a connection that is reused (CURLOPT_MAXAGE_CONN).
    static let longestIdleTime: Duration = .seconds(118)
    /// How far the bound stays below the time since a stall, since libcurl counts idle time in whole seconds by its own clock.
    private static let margin = 2

    /// When each server was last suspected.
    ///
    /// Idle time does not pass in libcurl while the machine sleeps, so neither does it here.
    private var suspicions: [Server: SuspendingClock.Instant] = [:]
    /// Connections to any server that were last used before this time are not reused.
    private var othersBefore: SuspendingClock.Instant?

    /// Suspects every connection to a server that is idle at the time.
    mutating func suspect(_ server: Server, at now: SuspendingClock.Instant) {
        suspicions = suspicions.filter { now - $0.value < Self.longestIdleTime }
        suspicions[server] = now
    }

    /// Suspects, after a stall of this length, also the connections to other servers that were not used since it began.
    ///
    /// Those that were used since have worked while the stalled one did not.
    mutating func stalled(_ server: Server, for silence: Duration, at now: SuspendingClock.Instant) {
        suspect(server, at: now)
        let start = now.advanced(by: .zero - silence)
        othersBefore = max(othersBefore ?? start, start)
    }

    /// The connections that a request to a server may take.
    func rule(for server: Server, at now: SuspendingClock.Instant) -> Rule {
        guard let time = [suspicions[server], othersBefore].compactMap(\.self).max() else { return .any }
        let elapsed = now - time
        guard elapsed < Self.longestIdleTime else { return .any }
        let seconds = Int(elapsed.components.seconds) - Self.margin
        return seconds >= 1 ? .idle(atMostSeconds: seconds) : .none
    }
}
#endif

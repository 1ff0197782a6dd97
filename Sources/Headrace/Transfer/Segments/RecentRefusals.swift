/// The connections that hosts recently refused without a response: a host may be down, or limit its connections.
struct RecentRefusals: Sendable {
    private struct Refusal {
        var host: Int
        var time: Duration
    }

    /// The time after a refused connection during which arriving bytes may have been sent before the refusal.
    private static let transitTime = Duration.milliseconds(200)

    private var refusals: [Refusal] = []

    mutating func add(_ host: Int, at now: Duration) { refusals.append(Refusal(host: host, time: now)) }

    /// Removes the refusals that show that a host limits its connections; returns these hosts, each with the number of
    /// connections that it seems to accept.
    ///
    /// A refusal shows this if the same host later sent bytes for a segment that was requested earlier, or requested on
    /// an idle connection. Until it refuses another one, a host seems to accept all connections that were opened
    /// before, even if they have not delivered bytes yet. Refusals older than ``SegmentPlanner/timeout`` are removed,
    /// but not returned.
    mutating func take(provenBy segments: [Segment], of sources: [SourceStats], at now: Duration) -> [Int: Int] {
        refusals.removeAll { now - $0.time > SegmentPlanner.timeout }
        let isProven = { (refusal: Refusal) in
            segments.contains {
                sources[$0.source].host == refusal.host && ($0.opened < refusal.time || $0.earlierRate != nil)
                    && $0.lastByte ?? .zero >= refusal.time + Self.transitTime
            }
        }
        defer { refusals.removeAll(where: isProven) }
        return refusals.filter(isProven).reduce(into: [:]) { counts, refusal in
            counts[refusal.host] = segments.count {
                sources[$0.source].host == refusal.host && ($0.opened < refusal.time || $0.hasReceived)
            }
        }
    }
}

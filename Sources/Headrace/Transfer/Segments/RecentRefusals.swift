/// The connections that hosts recently refused without a response: a host may be down, or limit its connections.
struct RecentRefusals: Sendable {
    private struct Refusal {
        var source: Int
        var time: Duration
    }

    /// The time after a refused connection during which arriving bytes may have been sent before the refusal.
    private static let transitTime = Duration.milliseconds(200)

    private var refusals: [Refusal] = []

    mutating func add(_ source: Int, at now: Duration) { refusals.append(Refusal(source: source, time: now)) }

    /// Removes the refusals that show that a host limits its connections; returns the sources of these refusals, each
    /// with the number of its connections that deliver bytes.
    ///
    /// A refusal shows this if the same source later sent bytes for a segment that was requested earlier, or requested
    /// on an idle connection. Refusals older than ``SegmentPlanner/timeout`` are removed, but not returned.
    mutating func take(provenBy segments: [Segment], at now: Duration) -> [Int: Int] {
        refusals.removeAll { now - $0.time > SegmentPlanner.timeout }
        let isProven = { (refusal: Refusal) in
            segments.contains {
                $0.source == refusal.source && ($0.opened < refusal.time || $0.earlierRate != nil)
                    && $0.lastByte ?? .zero >= refusal.time + Self.transitTime
            }
        }
        defer { refusals.removeAll(where: isProven) }
        return refusals.filter(isProven).reduce(into: [:]) { counts, refusal in
            counts[refusal.source] = segments.count { $0.source == refusal.source && $0.lastByte != nil }
        }
    }
}

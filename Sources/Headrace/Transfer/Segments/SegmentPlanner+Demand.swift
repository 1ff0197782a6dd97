/// Opens connections for the bytes that a reader waits for, before any other bytes.
extension SegmentPlanner {
    /// The expected delay of demanded bytes above which a new connection is opened for them.
    ///
    /// If a new connection would take longer than this to respond, its response time is the limit instead.
    static let maxDemandDelay = Duration.milliseconds(500)

    /// Sets the demanded ranges, the most urgent first, until the next call; returns the resulting actions.
    ///
    /// The first missing byte of each range should arrive soon. If no segment will reach it soon enough, a new segment
    /// begins there, even if another connection would otherwise not be worthwhile. If the limits allow no further
    /// connection, the new segment's connection replaces the one whose bytes are needed last.
    ///
    /// A segment that contains the byte already is shortened to end before it. The new segment takes over the bytes from
    /// there, up to the next one that is received or belongs to another segment.
    mutating func want(_ ranges: [Range<Int64>], at now: Duration) -> [Action] {
        wanted = ranges
        return plan(at: now)
    }

    /// Opens segments for demanded bytes that would otherwise arrive late.
    mutating func serve(at now: Duration) -> [Action] {
        let bytes = wanted.compactMap { range in
            list.held.firstGap(from: range.lowerBound, before: min(range.upperBound, list.totalBytes))?.lowerBound
        }
        let lackedConnection = lacksConnection
        lacksConnection = false
        var actions: [Action] = []
        // The connections that serve more urgent demands; they are never displaced for a less urgent one.
        var serving: Set<SegmentID> = []
        for byte in bytes {
            if let server = server(of: byte, at: now) {
                serving.insert(server)
                continue
            }
            let mayJoin = segments.count < controller.maximum && sources.contains { !$0.isRetired }
            var place =
                mayJoin ? pool.newcomer(at: now, beside: segments.map(\.source), measuredBy: segments) : nil
            // Before a connection is displaced, ``wantedConnections`` requests one more from the host.
            if place == nil, lackedConnection || !mayJoin,
                let displaced = leastUrgent(beside: serving, for: bytes, at: now)
            {
                place = pool.replacement(of: displaced, among: segments, at: now)
                actions += stop(displaced.id, because: .readerDemand, at: now)
                list.reclaimUnassigned()
            }
            guard let place else {
                lacksConnection = lacksConnection || mayJoin
                continue
            }
            pool.sources[place.source].opened(at: now)
            actions.append(open(list.split(at: byte), by: place, at: now))
            if let newest = segments.last { serving.insert(newest.id) }
        }
        return actions
    }

    /// Returns the segment that will deliver a demanded byte soon enough; `nil` if there is none.
    private func server(of byte: Int64, at now: Duration) -> SegmentID? {
        let newcomer = pool.newcomer(at: now, beside: [], measuredBy: segments)
        let latest = max(Self.maxDemandDelay / .seconds(1), newcomer?.delay ?? 0)
        return segments.first { segment in
            guard segment.rest.contains(byte) else { return false }
            // If the segment's next byte does not arrive, the planner replaces the connection after a timeout.
            let distance = Double(byte - segment.position)
            guard distance > 0 else { return true }
            let delay = pool.delay(of: segment, at: now)
            let rate = segment.rate(at: now) ?? newcomer?.rate ?? SourcePool.assumedRate
            return delay / .seconds(1) + distance / rate <= latest
        }?.id
    }

    /// Returns the segment that the readers need last; `nil` if there is none.
    ///
    /// `bytes` contains the offsets at which readers wait. Ignores the segments in `serving`, and the segments whose
    /// connection no new connection could replace.
    private func leastUrgent(beside serving: Set<SegmentID>, for bytes: [Int64], at now: Duration) -> Segment? {
        // Readers do not need bytes before their demanded positions at all.
        let distance = { (segment: Segment) in
            bytes.map { segment.position < $0 ? .max : segment.position - $0 }.min() ?? .max
        }
        return segments.filter { !serving.contains($0.id) && pool.replacement(of: $0, among: segments, at: now) != nil }
            .max { (distance($0), $0.rest.count) < (distance($1), $1.rest.count) }
    }
}

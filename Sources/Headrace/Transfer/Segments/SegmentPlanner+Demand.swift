/// Fetches first the bytes that a reader waits for.
extension SegmentPlanner {
    /// The acceptable delay of demanded bytes over an open connection, unless a new connection would take longer to
    /// respond.
    static let maxDemandDelay = Duration.milliseconds(500)

    /// Sets the demanded ranges, the most urgent first; they apply until the next call.
    ///
    /// The first missing byte of each range should arrive soon. If no segment will reach it soon enough, a new segment
    /// begins there: on another connection, even if that would otherwise not be worthwhile, or at the maximum, in place
    /// of the connection whose bytes are needed last. The new segment ends at the next byte already received or
    /// assigned; the remaining ranges are rebalanced as usual.
    mutating func want(_ ranges: [Range<Int64>], at now: Duration) -> [Action] {
        wanted = ranges
        return plan(at: now)
    }

    /// Opens segments for demanded bytes that would otherwise arrive late.
    mutating func serve(at now: Duration) -> [Action] {
        let bytes = wanted.compactMap { range in
            held.firstGap(from: range.lowerBound, before: min(range.upperBound, totalBytes))?.lowerBound
        }
        let lackedConnection = lacksConnection
        lacksConnection = false
        var actions: [Action] = []
        // An older demand is never served at the cost of a newer one.
        var serving: Set<SegmentID> = []
        for byte in bytes {
            if let server = server(of: byte, at: now) {
                serving.insert(server)
                continue
            }
            let mayJoin = segments.count < controller.maximum && sources.contains { !$0.isRetired }
            var place =
                mayJoin ? newcomer(at: now, beside: segments.map(\.source), measuredBy: segments) : nil
            // Before a connection is stopped, the source is asked for one more.
            if place == nil, lackedConnection || !mayJoin,
                let displaced = leastUrgent(beside: serving, for: bytes, at: now)
            {
                place = replacement(of: displaced, at: now)
                actions += [.displace(displaced.id)] + close(displaced.id, at: now)
                reclaimUnassigned()
            }
            guard let place else {
                lacksConnection = lacksConnection || mayJoin
                continue
            }
            sources[place.source].opened(at: now)
            actions.append(begin(at: byte, by: place, at: now))
            if let newest = segments.last { serving.insert(newest.id) }
        }
        return actions
    }

    /// Returns the segment that will deliver a byte soon enough; `nil` if there is none.
    private func server(of byte: Int64, at now: Duration) -> SegmentID? {
        let newcomer = newcomer(at: now, beside: [], measuredBy: segments)
        let latest = max(Self.maxDemandDelay / .seconds(1), newcomer?.delay ?? 0)
        return segments.first { segment in
            guard segment.rest.contains(byte) else { return false }
            // A segment that is silent at this byte is left to the timeout of the plan.
            let distance = Double(byte - segment.position)
            guard distance > 0 else { return true }
            let delay = segment.delay(at: now, latency: sources[segment.source].latency ?? .zero)
            let rate = segment.rate(at: now) ?? newcomer?.rate ?? Self.assumedRate
            return delay / .seconds(1) + distance / rate <= latest
        }?.id
    }

    /// Returns the segment whose bytes are needed last, of those that may be replaced.
    private func leastUrgent(beside serving: Set<SegmentID>, for bytes: [Int64], at now: Duration) -> Segment? {
        // Bytes before all demanded ones are not needed at all.
        let distance = { (segment: Segment) in
            bytes.map { segment.position < $0 ? .max : segment.position - $0 }.min() ?? .max
        }
        return segments.filter { !serving.contains($0.id) && replacement(of: $0, at: now) != nil }
            .max { (distance($0), $0.rest.count) < (distance($1), $1.rest.count) }
    }

    /// Begins a segment at a missing byte; a segment that contains the byte is shortened to end there.
    private mutating func begin(at byte: Int64, by worker: SegmentPart.Worker, at now: Duration) -> Action {
        for index in segments.indices where segments[index].rest.contains(byte) { segments[index].end = byte }
        guard let gap = unassigned.first(where: { $0.contains(byte) }) else {
            preconditionFailure("The byte \(byte) is neither missing nor assigned")
        }
        return open(byte..<gap.upperBound, by: worker, at: now)
    }
}

/// How bytes that somebody waits for come first.
extension SegmentPlanner {
    /// How long such bytes may take to come over a connection that is open, where another one does not take longer to answer.
    static let promptness = Duration.milliseconds(500)

    /// Says what somebody waits for, the most urgent first; that holds until it is said again.
    ///
    /// The first missing byte of each range is to come soon. Where no segment is close enough to it, one of its own begins
    /// there: over one more connection, beyond those that are worth it otherwise too, and where there may be none, in the
    /// place of the one whose bytes are needed last. It goes on to the next byte that is held or another segment's, and what
    /// was left of the others is divided as ever.
    mutating func want(_ ranges: [Range<Int64>], at now: Duration) -> [Action] {
        wanted = ranges
        return plan(at: now)
    }

    /// Opens a segment where bytes that are waited for would come late.
    mutating func serve(at now: Duration) -> [Action] {
        let bytes = wanted.compactMap { range in
            held.firstGap(from: range.lowerBound, before: min(range.upperBound, totalBytes))?.lowerBound
        }
        let hadLack = lacksConnection
        lacksConnection = false
        var actions: [Action] = []
        // An older demand is never served at the cost of a later one.
        var serving: Set<SegmentID> = []
        for byte in bytes {
            if let server = server(of: byte, at: now) {
                serving.insert(server)
                continue
            }
            let mayJoin = segments.count < controller.maximum && sources.contains { !$0.isRetired }
            var place =
                mayJoin ? newcomer(at: now, beside: segments.map(\.source), measuredBy: segments) : nil
            // Before one is stopped, the source is asked for one more.
            if place == nil, hadLack || !mayJoin, let victim = leastWanted(beside: serving, for: bytes, at: now) {
                place = replacement(of: victim, at: now)
                actions += [.displace(victim.id)] + close(victim.id, at: now)
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

    /// The segment that brings a byte soon enough.
    private func server(of byte: Int64, at now: Duration) -> SegmentID? {
        let newcomer = newcomer(at: now, beside: [], measuredBy: segments)
        let latest = max(Self.promptness / .seconds(1), newcomer?.delay ?? 0)
        return segments.first { segment in
            guard segment.rest.contains(byte) else { return false }
            // One that is silent where it is needed is the business of the plan's patience.
            let distance = Double(byte - segment.position)
            guard distance > 0 else { return true }
            let delay = segment.delay(at: now, latency: sources[segment.source].latency ?? .zero)
            let rate = segment.rate(at: now) ?? newcomer?.rate ?? Self.assumedRate
            return delay / .seconds(1) + distance / rate <= latest
        }?.id
    }

    /// The segment whose bytes are needed last of all whose connection can be replaced.
    private func leastWanted(beside serving: Set<SegmentID>, for bytes: [Int64], at now: Duration) -> Segment? {
        // Bytes before those that are waited for are not needed at all.
        let distance = { (segment: Segment) in
            bytes.map { segment.position < $0 ? .max : segment.position - $0 }.min() ?? .max
        }
        return segments.filter { !serving.contains($0.id) && replacement(of: $0, at: now) != nil }
            .max { (distance($0), $0.rest.count) < (distance($1), $1.rest.count) }
    }

    /// Begins a segment at a missing byte, where that ends which had it so far.
    private mutating func begin(at byte: Int64, by worker: SegmentPart.Worker, at now: Duration) -> Action {
        for index in segments.indices where segments[index].rest.contains(byte) { segments[index].end = byte }
        guard let gap = unassigned.first(where: { $0.contains(byte) }) else {
            preconditionFailure("The byte \(byte) is neither missing nor anybody's")
        }
        return open(byte..<gap.upperBound, by: worker, at: now)
    }
}

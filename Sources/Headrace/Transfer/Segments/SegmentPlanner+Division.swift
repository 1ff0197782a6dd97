/// Divides the missing bytes among connections.
extension SegmentPlanner {
    /// The speed in bytes per second that is assumed before any measurement, the same for every connection.
    static let assumedRate = Double(1 << 20)
    /// The minimum expected speed of a new connection in bytes per second, even if all open connections are silent.
    private static let minRate = 1024.0

    /// The missing bytes that are in no segment.
    var unassigned: [Range<Int64>] {
        var assigned = held
        for segment in segments { assigned.insert(segment.rest) }
        return assigned.gaps(in: 0..<totalBytes)
    }

    /// Extends a segment that has reached its end into the next segment, if the next segment has received no bytes yet.
    ///
    /// Until the next segment's connection has responded, it may still fail: the server may not support ranges.
    mutating func borrowNext(_ index: Int) {
        let end = segments[index].end
        guard segments[index].limit > end,
            let next = segments.first(where: { $0.position == end && $0.lastByte == nil && $0.end > end })
        else { return }
        segments[index].end = min(segments[index].limit, next.end)
        segments[index].borrowed = next.id
    }

    /// Ends the segments that borrowed the range of the segment `id`, because that segment's own connection now
    /// delivers it.
    mutating func returnBorrowed(to id: SegmentID) {
        for index in segments.indices where segments[index].borrowed == id {
            segments[index].end = min(segments[index].position, segments[index].end)
            segments[index].borrowed = nil
        }
    }

    /// Whether another segment fetches some of the remaining bytes of this segment.
    func isShared(_ index: Int) -> Bool {
        segments.indices.contains { $0 != index && segments[$0].rest.overlaps(segments[index].rest) }
    }

    /// Opens segments where a connection helps most: first to sources without a connection, then up to the number of
    /// connections that the controller wants.
    mutating func divide(at now: Duration) -> [Action] {
        let mayTry = isWorthJoining(at: now)
        let free = controller.maximum - segments.count
        let lack = advisedConnections - segments.count { !$0.isExtra }
        guard free > 0, lack > 0 || mayTry && possibleExtras > 0 else { return [] }
        var parts = parts(at: now)
        var open = segments.map(\.source)
        let newcomers = mayTry ? Array(extraWorkers(at: now).prefix(free)) : []
        let extras = newcomers.count
        for number in 0..<min(free, extras + max(0, lack)) {
            let newcomer =
                number < extras ? newcomers[number] : newcomer(at: now, beside: open, measuredBy: segments)
            guard let newcomer else { break }
            let late = parts.indices.filter { parts[$0].isWorthDividing(for: newcomer) }
            let last = parts.indices.filter { parts[$0].isWorthHedging(by: newcomer) }
            if let part = late.max(by: { parts[$0] < parts[$1] }) {
                parts[part].workers.append(newcomer)
            } else if let part = last.max(by: { parts[$0] < parts[$1] }) {
                parts[part].hedge = newcomer
            } else {
                break
            }
            open.append(newcomer.source)
            sources[newcomer.source].opened(at: now)
        }
        return parts.flatMap { perform($0, at: now) }
    }

    /// Returns the fastest connection that may be opened to replace the connection of a segment; `nil` if none may.
    func replacement(of segment: Segment, at now: Duration) -> SegmentPart.Worker? {
        let others = segments.filter { $0.id != segment.id }
        return newcomer(at: now, beside: others.map(\.source), measuredBy: others)
    }

    /// Returns the fastest connection that may be opened, or `nil` if none may; `open` contains the source of each
    /// connection that stays open.
    func newcomer(at now: Duration, beside open: [Int], measuredBy segments: [Segment]) -> SegmentPart.Worker? {
        let rates = rates(at: now, measuredBy: segments)
        var best: (worker: SegmentPart.Worker, isComparable: Bool, share: Double)?
        for index in sources.indices {
            let count = open.count { $0 == index }
            // One connection is enough to try a source.
            guard mayOpen(index, beside: open, at: now), count == 0 || sources[index].isTried else { continue }
            let worker = worker(index, rates)
            let isComparable = sources[index].isTried && !isInferior(index, rates)
            // Each further connection to a source is expected to get a smaller share of its bandwidth.
            let share = worker.rate / Double(count + 1)
            let isBetter = best.map { (isComparable ? 1 : 0, share) > ($0.isComparable ? 1 : 0, $0.share) } ?? true
            if isBetter { best = (worker, isComparable, share) }
        }
        return best?.worker
    }

    /// Whether a source and its host allow another connection; `open` contains the source of each open one.
    func mayOpen(_ index: Int, beside open: [Int], at now: Duration) -> Bool {
        let source = sources[index]
        return open.count { sources[$0].host == source.host } < source.allowance
            && source.mayOpen(beside: open.count { $0 == index }, at: now)
    }

    /// Returns the speed of one connection to each source in bytes per second; `nil` for a source of unknown speed.
    func rates(at now: Duration, measuredBy segments: [Segment]) -> [Double?] {
        // A high quantile: slow connections are replaced soon, but a low estimate would keep fast ones from being
        // opened.
        sources.indices.map { source in
            let live = segments.filter { $0.source == source }.compactMap { $0.rate(at: now) }
            return (live + sources[source].rates).quantile(0.75)
        }
    }

    func worker(_ source: Int, _ rates: [Double?]) -> SegmentPart.Worker {
        // A source of unknown speed is expected to be as fast as the best.
        let unknown = rates.compactMap(\.self).max() ?? Self.assumedRate
        return SegmentPart.Worker(
            source: source,
            rate: max(rates[source] ?? unknown, Self.minRate),
            delay: sources[source].latency.map { $0 / .seconds(1) } ?? 0
        )
    }

    private func parts(at now: Duration) -> [SegmentPart] {
        let typical = newcomer(at: now, beside: [], measuredBy: segments)?.rate ?? Self.assumedRate
        var parts = unassigned.map { SegmentPart(range: $0) }
        for (index, segment) in segments.enumerated() where !isShared(index) {
            guard let gap = held.firstGap(from: segment.rest.lowerBound, before: segment.end) else { continue }
            var part = SegmentPart(range: gap.lowerBound..<segment.end, holder: index)
            let delay = segment.delay(at: now, latency: sources[segment.source].latency ?? .zero)
            part.workers = [
                SegmentPart.Worker(
                    source: segment.source,
                    rate: segment.rate(at: now) ?? typical * headStart,
                    delay: delay / .seconds(1)
                )
            ]
            parts.append(part)
        }
        return parts
    }

    private mutating func perform(_ part: SegmentPart, at now: Duration) -> [Action] {
        if let hedge = part.hedge { return [open(part.range, by: hedge, at: now)] }
        var ranges = part.ranges[...]
        guard part.holder == nil || ranges.count > 1 else { return [] }
        var workers = part.workers[...]
        if let holder = part.holder, let kept = ranges.popFirst() {
            segments[holder].end = kept.upperBound
            workers.removeFirst()
        }
        return zip(ranges, workers).map { open($0, by: $1, at: now) }
    }

    mutating func open(_ range: Range<Int64>, by worker: SegmentPart.Worker, at now: Duration) -> Action {
        let id = add(range, limit: range.upperBound, source: worker.source, opened: now)
        return .open(id, range, source: worker.source)
    }
}

extension [Double] {
    /// Returns the quantile for a fraction between 0 and 1, rounded up to one of the values; `nil` if there are no
    /// values.
    func quantile(_ part: Double) -> Double? {
        isEmpty ? nil : sorted()[Swift.min(count - 1, Int(Double(count) * part))]
    }
}

/// Tries the mirrors beside the source that the download relies on, without slowing it down.
///
/// The advisor decides on the connections to the main source, as if there were no other. The first connection to each other
/// source comes on top of these, as far as the maximum permits: it neither counts as a connection nor do its bytes count as
/// a gain, so that a mirror that fails, or is slow, cannot end the growth. If the maximum is reached, such a connection is
/// displaced when it turns out to be slower than another one to the main source would be.
extension SegmentPlanner {
    /// How long a source is measured before it is compared.
    static let trial = Duration.milliseconds(750)
    /// The part of the main source's speed below which a connection is better opened to the main source.
    private static let leastSpeed = 0.8
    /// How long the first byte of a source may take while its connection is needed elsewhere.
    private static let firstByteWait = Duration.seconds(1)

    /// The number of connections there may be beside those that the advisor wants.
    ///
    /// A source is tried as soon as the advisor wants a second connection, and used whatever the advisor wants.
    var possibleExtras: Int {
        guard sources.count > 1 else { return 0 }
        let useful = sources.indices.count { index in
            let source = sources[index]
            return index != mainSource && !source.isRetired && !source.isSuspended
                && (source.isTried || advisedConnections > 1)
        }
        return min(useful, controller.maximum / 2)
    }

    /// Whether a source has delivered nothing and shares its host with the main source, so that its errors say nothing
    /// about the host.
    func isUnverifiedTwin(_ source: Int) -> Bool {
        source != mainSource && sources[source].host == sources[mainSource].host && !sources[source].hasDelivered
    }

    /// Finds the main source and the connections that the advisor does not count, and ends trials.
    mutating func compareSources(at now: Duration) {
        guard sources.count > 1 else { return }
        for segment in segments where !sources[segment.source].isTried {
            guard let first = segment.firstByte, segment.isMeasured, !segment.wouldBeFailure else { continue }
            let least = max(Self.trial, (sources[segment.source].latency ?? .zero) * 3)
            if now - first >= least { sources[segment.source].tried() }
        }
        let counts = sources.indices.map { source in
            segments.count { $0.source == source && $0.lastByte != nil && sources[source].isTried }
        }
        if let most = counts.indices.max(by: { counts[$0] < counts[$1] }), counts[most] > counts[mainSource] {
            mainSource = most
        }
        var seen: Set = [mainSource]
        for index in segments.indices { segments[index].isExtra = seen.insert(segments[index].source).inserted }
    }

    /// Whether a connection to the main source would be faster.
    func isInferior(_ source: Int, _ rates: [Double?]) -> Bool {
        guard source != mainSource, let rate = rates[source], let main = rates[mainSource] else { return false }
        return rate < main * Self.leastSpeed
    }

    /// The connections to open to sources that have none and may be worth one.
    func extraWorkers(at now: Duration) -> [SegmentPart.Worker] {
        let rates = rates(at: now, measuredBy: segments)
        var open = segments.map(\.source)
        var workers: [SegmentPart.Worker] = []
        for index in sources.indices where index != mainSource && !open.contains(index) && !isInferior(index, rates) {
            guard sources[index].isTried || advisedConnections > 1 else { continue }
            guard segments.count(where: \.isExtra) + workers.count < possibleExtras else { break }
            guard mayOpen(index, beside: open, at: now) else { continue }
            workers.append(worker(index, rates))
            open.append(index)
        }
        return workers
    }

    /// Stops extra connections in whose place a better one can be opened that the advisor wants.
    mutating func displaceExtras(at now: Duration) -> [Action] {
        var actions: [Action] = []
        for segment in segments where segment.isExtra {
            guard advisedConnections > segments.count(where: { !$0.isExtra }) else { break }
            let rates = rates(at: now, measuredBy: segments)
            let wait = max(Self.firstByteWait, (sources[mainSource].latency ?? .zero) * 4)
            let isSilent = segment.lastByte == nil && segment.silence(at: now) >= wait
            let isSlow = sources[segment.source].isTried && isInferior(segment.source, rates)
            let others = segments.filter { $0.id != segment.id }.map(\.source)
            guard isSilent || isSlow, needsRoom(at: now), mayOpen(mainSource, beside: others, at: now) else { continue }
            if isSlow { sources[segment.source].suspend() }
            lost(segment, .broken, at: now)
            actions += stop(segment.id, at: now)
        }
        return actions
    }

    /// Whether no connection to the main source may be opened beside all that are open.
    private func needsRoom(at now: Duration) -> Bool {
        segments.count >= controller.maximum || !mayOpen(mainSource, beside: segments.map(\.source), at: now)
    }
}

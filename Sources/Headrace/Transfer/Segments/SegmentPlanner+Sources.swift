/// Tries the mirrors besides the main source, without slowing the download down.
///
/// The main source is the one with the most connections. The first connection to each other source is an extra
/// connection, opened if the maximum permits. The controller counts neither extra connections nor their bytes, so a
/// mirror that fails or is slow does not keep it from adding connections. At the maximum, an extra connection is
/// displaced if another connection to the main source would be faster.
extension SegmentPlanner {
    /// The minimum time for which a source is measured before it is compared with the main source.
    static let trial = Duration.milliseconds(750)
    /// The fraction of the main source's speed below which another source is inferior; see ``isInferior(_:_:)``.
    private static let minSpeed = 0.8
    /// The minimum wait for the first byte of an extra connection before it is stopped to make room for a wanted one.
    private static let firstByteWait = Duration.seconds(1)

    /// The maximum number of extra connections, in addition to the number that the controller wants.
    ///
    /// An extra connection is opened once the controller wants a second connection; then it stays open, even if the
    /// controller wants fewer.
    var possibleExtras: Int {
        guard sources.count > 1 else { return 0 }
        let useful = sources.indices.count { index in
            let source = sources[index]
            return index != mainSource && !source.isRetired && !source.isSuspended
                && (source.isTried || advisedConnections > 1)
        }
        return min(useful, controller.maximum / 2)
    }

    /// Whether a source has delivered nothing and shares the main source's host, so that its refusals do not count
    /// against the host.
    func isUnverifiedTwin(_ source: Int) -> Bool {
        source != mainSource && sources[source].host == sources[mainSource].host && !sources[source].hasDelivered
    }

    /// Determines the main source and the extra connections, and ends the trials of sources measured for long enough.
    mutating func compareSources(at now: Duration) {
        guard sources.count > 1 else { return }
        for segment in segments where !sources[segment.source].isTried {
            guard let first = segment.firstByte, segment.isMeasured, !segment.wouldBeFailure else { continue }
            let minTime = max(Self.trial, (sources[segment.source].latency ?? .zero) * 3)
            if now - first >= minTime { sources[segment.source].tried() }
        }
        let counts = sources.indices.map { source in
            segments.count { $0.source == source && $0.lastByte != nil && sources[source].isTried }
        }
        if let largest = counts.indices.max(by: { counts[$0] < counts[$1] }), counts[largest] > counts[mainSource] {
            mainSource = largest
        }
        var seen: Set = [mainSource]
        for index in segments.indices { segments[index].isExtra = seen.insert(segments[index].source).inserted }
    }

    /// Whether the speed of a source is less than ``minSpeed`` of the main source's; `false` if either speed is
    /// unknown.
    func isInferior(_ source: Int, _ rates: [Double?]) -> Bool {
        guard source != mainSource, let rate = rates[source], let main = rates[mainSource] else { return false }
        return rate < main * Self.minSpeed
    }

    /// Returns the extra connections that should be opened to sources without a connection.
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

    /// Closes the connections that exceed the number that the controller wants, the youngest first, whose bytes return
    /// to older ones.
    mutating func dropSurplus(at now: Duration) -> [Action] {
        let counted = segments.filter { !$0.isExtra }
        let youngest = counted.filter { $0.id != .first }.sorted { $0.id.number > $1.id.number }
        return youngest.prefix(max(0, counted.count - controller.count)).flatMap {
            [.drop($0.id)] + close($0.id, at: now)
        }
    }

    /// Stops slow or silent extra connections if they keep wanted connections to the main source from being opened.
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

    /// Whether a connection must be closed before another one to the main source may be opened.
    private func needsRoom(at now: Duration) -> Bool {
        segments.count >= controller.maximum || !mayOpen(mainSource, beside: segments.map(\.source), at: now)
    }
}

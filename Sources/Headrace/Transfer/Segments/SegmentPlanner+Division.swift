/// Divides the missing bytes among connections, and tries the mirrors without slowing the download down.
///
/// The controller counts neither extra connections (see ``SourcePool``) nor their bytes, so a mirror that fails or is
/// slow does not keep the controller from adding connections. At the maximum, an extra connection is displaced if
/// another connection to the main source would be faster.
extension SegmentPlanner {
    /// The minimum wait for the first byte of an extra connection before it is stopped to make room for a wanted one.
    private static let firstByteWait = Duration.seconds(1)
    /// The least that ``maxBytes(for:at:)`` returns for a new connection, whose speed is unknown.
    private static let minFirstBytes = 256.0 * 1024
    /// The least that ``maxBytes(for:at:)`` returns for an idle connection.
    private static let minNextBytes = 128.0 * 1024
    /// The minimum duration in seconds of a request on an idle connection.
    private static let minTime = 0.25
    /// The minimum duration in round trips of a request on an idle connection; one of them passes before the response.
    private static let minRoundTrips = 2.0
    /// The minimum fraction of the file that all connections together request next; it limits the number of requests.
    private static let minFraction = 1.0 / 64

    /// Opens segments where a connection helps most: first to sources without a connection, then up to the number of
    /// connections that the controller wants.
    mutating func divide(at now: Duration) -> [Action] {
        let mayTry = isWorthJoining(at: now)
        let free = controller.maximum - segments.count
        let lack = advisedConnections - segments.count { !$0.isExtra }
        guard free > 0, lack > 0 || mayTry && possibleExtras > 0 else { return [] }
        var parts = parts(at: now)
        var open = segments.map(\.source)
        let newcomers = mayTry ? extraWorkers(free, at: now) : []
        let extras = newcomers.count
        for number in 0..<min(free, extras + max(0, lack)) {
            let newcomer =
                number < extras ? newcomers[number] : pool.newcomer(at: now, beside: open, measuredBy: segments)
            guard var newcomer else { break }
            newcomer.maxBytes = maxBytes(for: newcomer, at: now)
            let late = parts.indices.filter { parts[$0].isWorthDividing(for: newcomer) }
            let last = parts.indices.filter { parts[$0].isWorthHedging(by: newcomer) }
            if let part = late.max(by: { parts[$0].isShorter(than: parts[$1]) }) {
                parts[part].workers.append(newcomer)
            } else if let part = last.max(by: { parts[$0].isShorter(than: parts[$1]) }) {
                parts[part].hedge = newcomer
            } else {
                break
            }
            open.append(newcomer.source)
            pool.sources[newcomer.source].opened(at: now)
        }
        return parts.flatMap { perform($0, at: now) }
    }

    private func parts(at now: Duration) -> [SegmentPart] {
        let typical = pool.newcomer(at: now, beside: [], measuredBy: segments)?.rate ?? SourcePool.assumedRate
        var parts = list.unassigned.map { SegmentPart(range: $0) }
        for (index, segment) in segments.enumerated() where !list.isShared(index) {
            guard let gap = list.held.firstGap(from: segment.rest.lowerBound, before: segment.end) else { continue }
            var part = SegmentPart(range: gap.lowerBound..<segment.end, holder: index)
            let rate = segment.rate(at: now) ?? segment.earlierRate ?? typical
            let delay = pool.delay(of: segment, at: now)
            part.workers = [SegmentPart.Worker(source: segment.source, rate: rate, delay: delay / .seconds(1))]
            parts.append(part)
        }
        return parts
    }

    /// Returns the maximum number of bytes that a connection should request.
    ///
    /// The limit keeps connections open: after a whole response, a connection can be used for the next request. If
    /// other connections take over the end of a request, its connection has to be closed, and a new one is slow at
    /// first. The limit depends on the connection:
    /// - A new connection requests a quarter of its share of the missing bytes.
    /// - An idle connection requests the bytes that it delivers in half of the expected remaining time.
    ///
    /// The first connection of a part may exceed the limit: it also requests the bytes that no other one requests.
    private func maxBytes(for worker: SegmentPart.Worker, at now: Duration) -> Double {
        let (missing, connections) = (Double(list.missingBytes), Double(max(advisedConnections, segments.count + 1)))
        // A new connection may become much slower than the others, and must finish its first request all the same.
        guard worker.isReused else { return max(missing / connections / 4, Self.minFirstBytes) }
        let rates = segments.compactMap { $0.rate(at: now) ?? $0.earlierRate }
        let average = rates.isEmpty ? worker.rate : rates.reduce(0, +) / Double(rates.count)
        let bytes = max(missing / 2, Double(list.totalBytes) * Self.minFraction)
        let minTime = max(Self.minTime, controller.roundTrip / .seconds(1) * Self.minRoundTrips)
        return max(worker.rate * max(bytes / connections / average, minTime), Self.minNextBytes)
    }

    private mutating func perform(_ part: SegmentPart, at now: Duration) -> [Action] {
        if let hedge = part.hedge { return [open(part.range, by: hedge, at: now)] }
        var ranges = part.ranges[...]
        guard part.holder == nil || ranges.count > 1 else { return [] }
        var workers = part.workers[...]
        if let holder = part.holder, let kept = ranges.popFirst() {
            list.segments[holder].end = kept.upperBound
            workers.removeFirst()
        }
        return zip(ranges, workers).map { open($0, by: $1, at: now) }
    }

    mutating func open(_ range: Range<Int64>, by worker: SegmentPart.Worker, at now: Duration) -> Action {
        let (source, earlierRate) = (worker.source, worker.isReused ? worker.rate : nil)
        let id = list.add {
            Segment($0, range, limit: range.upperBound, source: source, opened: now, earlierRate: earlierRate)
        }
        return .open(id, range, source: source)
    }

    /// Returns the number of connections that would be useful now to a host, regardless of its limit.
    ///
    /// `host` is the index of the first source with this host. For the host of a mirror, this is at most one more than
    /// are open, so that other downloads can use the rest: the mirror may turn out to be slow, or to have no such file.
    func wantedConnections(to host: Int, at now: Duration) -> Int {
        guard host > 0 else { return wantedConnections }
        let open = segments.count { sources[$0.source].host == host }
        let lacksMain =
            sources[pool.main].isFailing || advisedConnections > segments.count { !$0.isExtra } && !mayOpenMain(at: now)
        let isUseful = sources.indices.contains { source in
            guard sources[source].host == host, !sources[source].isRetired else { return false }
            return lacksMain || source == pool.main || pool.deservesExtra(source, triesNew: advisedConnections > 1)
        }
        return isUseful ? min(open + 1, wantedConnections) : open
    }

    // MARK: Extra connections

    /// The maximum number of extra connections, in addition to the number that the controller wants.
    ///
    /// A source is first tried when the controller wants a second connection. After that, the source keeps its extra
    /// connection, even if the controller wants only one.
    var possibleExtras: Int {
        guard sources.count > 1 else { return 0 }
        return min(pool.extraCount(triesNew: advisedConnections > 1), controller.maximum / 2)
    }

    /// Returns up to `count` extra connections that should be opened.
    func extraWorkers(_ count: Int, at now: Duration) -> [SegmentPart.Worker] {
        let count = min(count, possibleExtras - segments.count(where: \.isExtra))
        return pool.extras(count, triesNew: advisedConnections > 1, beside: segments, at: now)
    }

    /// Closes the connections in excess of the number that the controller wants, those with the newest requests first.
    ///
    /// Other connections take over their bytes.
    mutating func dropSurplus(at now: Duration) -> [Action] {
        let counted = segments.filter { !$0.isExtra }
        let youngest = counted.filter { $0.id != .first }.sorted { $0.id.number > $1.id.number }
        return youngest.prefix(max(0, counted.count - controller.count)).flatMap {
            stop($0.id, because: .surplus, at: now)
        }
    }

    /// Stops slow or silent extra connections if they keep wanted connections to the main source from being opened.
    mutating func displaceExtras(at now: Duration) -> [Action] {
        var actions: [Action] = []
        for segment in segments where segment.isExtra {
            guard advisedConnections > segments.count(where: { !$0.isExtra }) else { break }
            let rates = pool.rates(at: now, measuredBy: segments)
            let wait = max(Self.firstByteWait, (sources[pool.main].latency ?? .zero) * 4)
            let isSilent = segment.lastByte == nil && segment.silence(at: now) >= wait
            let isSlow = sources[segment.source].isTried && pool.isInferior(segment.source, rates)
            let others = segments.filter { $0.id != segment.id }.map(\.source)
            guard isSilent || isSlow, needsRoom(at: now) else { continue }
            guard pool.mayOpen(pool.main, beside: others, at: now) else { continue }
            if isSlow { pool.sources[segment.source].suspend() }
            lost(segment, .broken, at: now)
            actions += stop(segment.id, at: now)
        }
        return actions
    }

    /// Whether a connection must be closed before another one to the main source may be opened.
    private func needsRoom(at now: Duration) -> Bool {
        segments.count >= controller.maximum || !mayOpenMain(at: now)
    }

    private func mayOpenMain(at now: Duration) -> Bool {
        pool.mayOpen(pool.main, beside: segments.map(\.source), at: now)
    }
}

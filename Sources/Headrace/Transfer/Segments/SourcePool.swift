import HeadracePlatform

/// The sources of a file with their measurements; chooses the source of a further connection.
///
/// The main source is the one with the most connections. The first connection to each other source is an extra
/// connection, which tries the source without slowing the download down.
struct SourcePool: Sendable {
    /// The minimum time for which an open connection is measured before its source is compared with the main source.
    static let trial = Duration.milliseconds(750)
    /// The speed in bytes per second that is assumed before any measurement, the same for every connection.
    static let assumedRate = Double(1 << 20)
    /// The minimum expected speed of a new connection in bytes per second, even if all open connections are silent.
    private static let minRate = 1024.0
    /// The fraction of the main source's speed below which another source is inferior; see ``isInferior(_:_:)``.
    private static let minSpeed = 0.8
    /// The number of bytes that TCP sends in the first round trip (RFC 6928).
    private static let firstWindow = 14_600.0

    var sources: [SourceStats]
    /// The index of the source with the most connections; the other sources are compared with it.
    private(set) var main = 0
    /// The round-trip time: the time from sending a packet to receiving its acknowledgment.
    var roundTrip = Duration.zero

    /// - Parameters:
    ///   - allowances: The maximum number of connections to the host of each source.
    ///   - hosts: For each source, the index of the first source with the same host.
    init(allowances: [Int], hosts: [Int]) {
        sources = zip(allowances, hosts).map { SourceStats(allowance: $0, host: $1) }
    }

    /// Sets the maximum number of connections to the host of a source.
    mutating func allow(_ allowance: Int, on source: Int) {
        for index in sources.indices where sources[index].host == sources[source].host {
            sources[index].allowance = allowance
        }
    }

    // MARK: Comparing

    /// Whether a source has delivered nothing and shares the main source's host.
    ///
    /// Refusals of such a source do not count against the host.
    func isUnverifiedTwin(_ source: Int) -> Bool {
        source != main && sources[source].host == sources[main].host && !sources[source].hasDelivered
    }

    /// Determines the main source and the extra connections, and ends the trials of sources measured for long enough.
    mutating func compare(_ segments: inout [Segment], at now: Duration) {
        guard sources.count > 1 else { return }
        for segment in segments where !sources[segment.source].isTried {
            guard let first = segment.firstByte, segment.isMeasured, !segment.wouldBeFailure else { continue }
            let minTime = max(Self.trial, (sources[segment.source].latency ?? .zero) * 3)
            if now - first >= minTime { sources[segment.source].tried() }
        }
        let counts = sources.indices.map { source in
            segments.count { $0.source == source && $0.hasReceived && sources[source].isTried }
        }
        if let largest = counts.indices.max(by: { counts[$0] < counts[$1] }), counts[largest] > counts[main] {
            main = largest
        }
        var seen: Set = [main]
        for index in segments.indices { segments[index].isExtra = seen.insert(segments[index].source).inserted }
    }

    /// Whether the speed of a source is less than ``minSpeed`` of the main source's; `false` if either speed is
    /// unknown.
    func isInferior(_ source: Int, _ rates: [Double?]) -> Bool {
        guard source != main, let rate = rates[source], let main = rates[main] else { return false }
        return rate < main * Self.minSpeed
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

    /// Returns the expected time until the next byte of a segment.
    func delay(of segment: Segment, at now: Duration) -> Duration {
        segment.delay(at: now, latency: sources[segment.source].latency(isReused: segment.earlierRate != nil))
    }

    // MARK: Choosing

    /// Returns the fastest connection that may be opened to replace the connection of a segment; `nil` if none may.
    func replacement(of segment: Segment, among segments: [Segment], at now: Duration) -> SegmentPart.Worker? {
        let others = segments.filter { $0.id != segment.id }
        return newcomer(at: now, beside: others.map(\.source), measuredBy: others)
    }

    /// Returns the connection, among those that may be opened, that is expected to be the fastest; `nil` if none may.
    ///
    /// Prefers sources that have been tried and are not inferior. `open` contains the source of each connection that
    /// stays open; the speeds are measured by `segments`.
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

    /// Returns the number of sources for which ``deservesExtra(_:triesNew:)`` is `true`.
    func extraCount(triesNew: Bool) -> Int {
        sources.indices.count { deservesExtra($0, triesNew: triesNew) }
    }

    /// Whether a source deserves an extra connection.
    ///
    /// The main source and retired or suspended sources do not. An untried source does only if `triesNew` is set.
    func deservesExtra(_ index: Int, triesNew: Bool) -> Bool {
        let source = sources[index]
        return index != main && !source.isRetired && !source.isSuspended && (source.isTried || triesNew)
    }

    /// Returns up to `count` extra connections to sources without a connection; untried ones only if `triesNew` is set.
    func extras(_ count: Int, triesNew: Bool, beside segments: [Segment], at now: Duration) -> [SegmentPart.Worker] {
        let rates = rates(at: now, measuredBy: segments)
        var open = segments.map(\.source)
        var workers: [SegmentPart.Worker] = []
        for index in sources.indices where deservesExtra(index, triesNew: triesNew) && !open.contains(index) {
            guard workers.count < count else { break }
            guard !isInferior(index, rates), mayOpen(index, beside: open, at: now) else { continue }
            workers.append(worker(index, rates))
            open.append(index)
        }
        return workers
    }

    private func worker(_ source: Int, _ rates: [Double?]) -> SegmentPart.Worker {
        // A source of unknown speed is expected to be as fast as the best.
        let unknown = rates.compactMap(\.self).max() ?? Self.assumedRate
        let earlier = sources[source].idleRates.last
        let rate = max(earlier ?? rates[source] ?? unknown, Self.minRate)
        let latency = sources[source].latency(isReused: earlier != nil) / .seconds(1)
        return SegmentPart.Worker(
            source: source,
            rate: rate,
            delay: latency + (earlier == nil && rates[source] != nil ? slowStart(to: rate) : 0),
            isReused: earlier != nil
        )
    }

    /// Returns the time in seconds that a new connection loses until it is as fast as `rate`: TCP begins with a few
    /// packets, and doubles the speed in each round trip.
    private func slowStart(to rate: Double) -> Double {
        let roundTrip = roundTrip / .seconds(1)
        return roundTrip * max(0, log2(rate * roundTrip / Self.firstWindow) - 1)
    }
}

extension [Double] {
    /// Returns the quantile for a fraction between 0 and 1, rounded up to one of the values; `nil` if there are no
    /// values.
    func quantile(_ part: Double) -> Double? {
        isEmpty ? nil : sorted()[Swift.min(count - 1, Int(Double(count) * part))]
    }
}

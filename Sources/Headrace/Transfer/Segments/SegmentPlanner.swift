/// Decides which connection fetches which bytes of a file, so that all of them finish at the same time.
///
/// Performs no I/O. A fetch begins with one request for the first missing bytes, ``SegmentID/first``. Once the response
/// shows that ranges can be requested, other connections join. A free connection goes to the part that would finish
/// last at the measured speeds, and requests some bytes at its end; see ``maxBytes(for:at:)``. The requests become
/// smaller, so that all connections finish together. So the other connections take over the bytes of one that is slow,
/// silent or broken. A late part that is too small to divide is fetched by a second connection as well, and the first
/// copy of each byte is written.
///
///     a connection ended, failed, was stopped, or may join ──▶ plan
///     plan:  1. connections without remaining bytes are stopped; if no bytes are missing: finished
///            2. unassigned bytes return to the segment before them, if its request covers them
///            3. demanded bytes that would arrive late get a connection: see ``want(_:at:)``
///            4. free connections get unassigned bytes, then the parts that finish last, then last pieces a second time
///               (hedging: see ``SegmentPart``)
///            5. no segments are left, but bytes are missing: exhausted
///
/// The state is the ``SegmentList`` and the ``SourcePool``.
///
/// The caller calls ``headArrived(_:latency:roundTrip:at:)`` once, and ``tick(at:)`` every ``tickInterval``. For each
/// segment, it calls ``accept(_:for:at:)`` with all received bytes before it writes them, and finally
/// ``ended(_:staysOpen:at:)`` or ``failed(_:_:allowing:at:)``. It performs the returned actions in order. Late calls
/// for a stopped segment change nothing.
struct SegmentPlanner: Sendable {
    enum Action: Sendable, Equatable {
        /// Request these bytes from a source, on an idle connection if there is one.
        case open(SegmentID, Range<Int64>, source: Int)
        /// Close a connection; the caller need not report its end.
        ///
        /// If the reason is `nil`, the connection is closed for the reason of the event that led to this action.
        case stop(SegmentID, because: ConnectionEndReason? = nil)
        /// A closed connection had received this many bytes that were not written, because another connection delivers
        /// them.
        case wasted(Int64)
        /// All missing bytes were handed out for writing; the file is complete once they are written.
        case finished
        /// Bytes are missing, and no connection is open or may be opened; the fetch ends incomplete.
        case exhausted
    }

    /// The reason why a connection was lost.
    enum Failure: Sendable, Hashable {
        /// The connection was lost, silent or slow, or the response was an error.
        case broken
        /// The host requested that the client slow down (429, 503).
        case refused
        /// The response does not contain the requested range, for example because its status is 200.
        case unusable
    }

    /// The bytes of a received chunk to write, and whether the connection has delivered all that is needed from it.
    struct Acceptance: Sendable, Hashable {
        /// The range of the file to write; `nil` if none of the bytes are needed.
        var range: Range<Int64>?
        /// Whether no further bytes of the connection are needed, so that the caller stops reading its body.
        var isDone: Bool
    }

    /// The interval at which the caller must call ``tick(at:)``.
    static let tickInterval = Duration.milliseconds(50)
    /// The minimum number of missing bytes per connection; with fewer, another connection is not worthwhile, unless the
    /// open ones are slow.
    static let minShareBytes: Int64 = 1 << 20
    /// The minimum number of missing bytes per connection if the open connections are slow.
    private static let minSlowShareBytes: Int64 = 1 << 16
    /// The time that a connection should take at least for its share of the missing bytes.
    private static let minShareTime = Duration.seconds(2)
    /// The minimum remaining time of the download; with less, another connection is not worthwhile.
    private static let minJoiningTime = Duration.milliseconds(400)
    /// The same minimum in round trips, used if it is longer: a new connection needs several round trips to open and
    /// become fast.
    private static let minJoiningRoundTrips = 8
    /// The minimum time for which a connection must be silent or slow before it is replaced.
    static let timeout = Duration.seconds(3)

    var list: SegmentList
    var pool: SourcePool
    /// The demanded ranges, the most urgent first.
    var wanted: [Range<Int64>]
    /// Whether demanded bytes need one more connection than the limits of the sources allow.
    var lacksConnection = false
    private(set) var controller: ConcurrencyController
    /// The highest number of connections that ``isWorthJoining(at:)`` has found worthwhile; it never decreases.
    private var joined = 1
    /// The number of received bytes from which the ``controller`` measures the speed.
    ///
    /// Excludes duplicates and the bytes of extra connections; see ``Segment/isExtra``.
    private var advisedBytes: Int64 = 0
    /// The connections that hosts recently refused without a response.
    private var refusals = RecentRefusals()
    /// Whether the plan is finished or exhausted.
    private(set) var isOver = false

    /// Creates a plan; the first request uses the first source.
    init(_ list: SegmentList, _ pool: SourcePool, _ controller: ConcurrencyController, wanted: [Range<Int64>] = []) {
        self.list = list
        self.pool = pool
        self.controller = controller
        self.wanted = wanted
    }

    var segments: [Segment] { list.segments }
    var sources: [SourceStats] { pool.sources }

    /// The number of connections that the download has settled on, and their speed.
    ///
    /// `nil` until it has settled, and always if the number is fixed or the file has several sources.
    var experience: HostExperience? { sources.count == 1 ? controller.experience : nil }

    /// The number of connections that would be useful now, regardless of the limits of sources.
    var wantedConnections: Int {
        let urgent = lacksConnection ? min(segments.count + 1, controller.maximum) : 0
        return max(segments.count, urgent, min(controller.maximum, advisedConnections + possibleExtras))
    }

    /// Lowers the maximum number of connections to what `share` returns for the configured maximum.
    mutating func limitConnections(_ share: (Int) -> Int) { controller.limit(share) }

    // MARK: Events

    /// Handles the first response, with the range of its body and its latency; from now on, further connections may be
    /// opened.
    ///
    /// `roundTrip` is the round-trip time of the connection; by default, it is the latency.
    mutating func headArrived(
        _ body: Range<Int64>,
        latency: Duration,
        roundTrip: Duration? = nil,
        at now: Duration
    ) -> [Action] {
        list.lastByte = now
        pool.roundTrip = roundTrip ?? latency
        controller.begin(missingBytes: list.missingBytes, roundTrip: roundTrip ?? latency)
        pool.sources[0].headReceived(after: latency)
        pool.sources[0].progressed(openedAt: now, isReused: false)
        pool.sources[0].tried()
        if let gap = list.held.firstGap(from: body.lowerBound, before: body.upperBound) {
            let range = body.lowerBound..<gap.upperBound
            list.add { Segment($0, range, limit: body.upperBound, source: 0, opened: now - latency) }
        }
        return plan(at: now)
    }

    /// Records the round-trip time of another connection.
    mutating func measured(roundTrip: Duration) {
        pool.roundTrip = roundTrip
        controller.measured(roundTrip: roundTrip)
    }

    /// Records that the next `count` bytes of a segment have arrived; returns which of them the caller must write, each
    /// byte only once.
    mutating func accept(_ count: Int, for id: SegmentID, at now: Duration) -> Acceptance {
        guard let index = list.index(of: id) else { return Acceptance(range: nil, isDone: true) }
        let coming = list.next(count, of: index)
        let (source, wasFailure) = (list.segments[index].source, list.segments[index].wouldBeFailure)
        let latency = list.received(count, by: index, at: now)
        if let latency {
            let isReused = list.segments[index].earlierRate != nil
            pool.sources[source].headReceived(after: latency, isReused: isReused)
        }
        if wasFailure, !list.segments[index].wouldBeFailure {
            let segment = list.segments[index]
            pool.sources[source].progressed(openedAt: segment.opened, isReused: segment.earlierRate != nil)
        }
        let new = list.handOut(coming)
        let newCount = new.map { $0.upperBound - $0.lowerBound } ?? 0
        if !list.segments[index].isExtra { advisedBytes += newCount }
        list.segments[index].wastedBytes += Int64(count) - newCount
        return Acceptance(range: new, isDone: list.held.contains(list.segments[index].rest))
    }

    /// Handles the end of a body.
    ///
    /// If the connection has delivered its whole request, and `staysOpen` is `true`, it can be used for another one. If
    /// bytes of the segment are missing, because the server sent only a part of them, the connection counts as lost.
    mutating func ended(_ id: SegmentID, staysOpen: Bool = true, at now: Duration) -> [Action] {
        if staysOpen, let segment = segments.first(where: { $0.id == id }), segment.position >= segment.limit {
            let rate = segment.rate(at: now) ?? segment.earlierRate ?? segment.averageRate(at: now)
            pool.sources[segment.source].becameIdle(rate)
        }
        return failed(id, .broken, at: now)
    }

    /// Handles a lost connection; `allowance` is the new maximum number of connections to its host, if it has changed.
    mutating func failed(
        _ id: SegmentID,
        _ failure: Failure,
        allowing allowance: Int? = nil,
        at now: Duration
    ) -> [Action] {
        guard let index = list.index(of: id) else { return [] }
        if let allowance { pool.allow(allowance, on: segments[index].source) }
        lost(segments[index], failure, at: now)
        return close(id, at: now) + plan(at: now)
    }

    /// Records that the host refused a connection without a response: it is down, or limits connections.
    mutating func refused(_ id: SegmentID, at now: Duration) {
        guard let index = list.index(of: id) else { return }
        refusals.add(sources[segments[index].source].host, at: now)
    }

    /// Whether a connection to the source of this one, other than this one, has delivered bytes.
    func isDelivering(besides id: SegmentID) -> Bool {
        guard let index = list.index(of: id) else { return false }
        return segments.contains { $0.id != id && $0.source == segments[index].source && $0.hasReceived }
    }

    /// Returns the hosts that evidently limit connections, each with the number that it seems to accept: they refused a
    /// connection, but later sent bytes over an older one.
    ///
    /// Forgets these refusals.
    mutating func takeRefusals(at now: Duration) -> [Int: Int] {
        refusals.take(provenBy: segments, of: sources, at: now)
    }

    /// Records that a source has another version of the file, so that no further connection to it is opened.
    mutating func retire(_ source: Int) { pool.sources[source].retire() }

    /// Sets the maximum number of connections to the host of each source; surplus connections are stopped, the slowest
    /// first.
    mutating func allow(_ allowances: [Int], at now: Duration) -> [Action] {
        var actions: [Action] = []
        for (source, allowance) in allowances.enumerated() where sources[source].host == source {
            pool.allow(allowance, on: source)
            let open = segments.filter { sources[$0.source].host == source }
            let slowest = open.sorted { ($0.rate(at: now) ?? 0) < ($1.rate(at: now) ?? 0) }
            actions += slowest.prefix(max(0, open.count - allowance)).flatMap { stop($0.id, at: now) }
        }
        return actions + plan(at: now)
    }

    /// Updates the measurements and the plan; returns the resulting actions.
    mutating func tick(at now: Duration) -> [Action] {
        pool.compare(&list.segments, at: now)
        let earlier = controller.count
        controller.measured(advisedBytes, on: segments.count { $0.hasReceived && !$0.isExtra }, at: now)
        let dropped = controller.count < earlier ? dropSurplus(at: now) : []
        return dropped + stopUnderperforming(at: now) + displaceExtras(at: now) + plan(at: now)
    }

    // MARK: Planning

    mutating func plan(at now: Duration) -> [Action] {
        guard !isOver else { return [] }
        // Connections without missing bytes: these or other connections have delivered all of them.
        let done = segments.filter { list.held.contains($0.rest) }
        var actions = done.flatMap { stop($0.id, because: .delivered, at: now) }
        list.reclaimUnassigned()
        actions += serve(at: now)
        pool.compare(&list.segments, at: now)
        actions += divide(at: now)
        if segments.isEmpty {
            isOver = true
            actions.append(list.held.contains(0..<list.totalBytes) ? .finished : .exhausted)
        }
        return actions
    }

    /// The number of connections that the controller wants, limited to the worthwhile ones.
    var advisedConnections: Int { min(joined, controller.count) }

    /// Returns whether another connection would have enough bytes and time left to be worthwhile; updates `joined`.
    mutating func isWorthJoining(at now: Duration) -> Bool {
        let missing = list.missingBytes
        let rates = segments.compactMap { $0.rate(at: now) }
        let rate = rates.reduce(0, +)
        // Before any measurement, the remaining time is unknown and does not count.
        let minTime = max(Self.minJoiningTime, controller.roundTrip * Self.minJoiningRoundTrips)
        let isWorthIt = rate == 0 || Double(missing) / rate > minTime / .seconds(1)
        let minShare = Self.minShare(at: rate / Double(max(rates.count, 1)))
        while isWorthIt, joined < controller.count, missing / Int64(joined + 1) >= minShare { joined += 1 }
        return isWorthIt && missing / Int64(segments.count + 1) >= minShare
    }

    /// Returns the minimum number of missing bytes per connection if a connection receives `rate` bytes per second.
    ///
    /// A `rate` of 0 means that it is unknown.
    private static func minShare(at rate: Double) -> Int64 {
        guard rate > 0 else { return minShareBytes }
        return Int64(min(max(rate * (minShareTime / .seconds(1)), Double(minSlowShareBytes)), Double(minShareBytes)))
    }

    /// Stops connections that have been silent or slow for a while, if better ones can be opened.
    private mutating func stopUnderperforming(at now: Duration) -> [Action] {
        var actions: [Action] = []
        for segment in segments {
            let replacement = pool.replacement(of: segment, among: segments, at: now)
            let isSlow = list.isSlow(segment, comparedTo: replacement, at: now)
            let source = sources[segment.source]
            guard replacement != nil, isSlow || list.isStalled(segment, of: source, at: now) else { continue }
            if isSlow, segment.isExtra { pool.sources[segment.source].suspend() }
            if segment.firstByte == nil { pool.sources[segment.source].closedUnanswered() }
            lost(segment, .broken, at: now)
            actions += stop(segment.id, at: now)
        }
        return actions
    }

    // MARK: Segments

    /// Counts the loss of a connection as a failure of its source if ``Segment/wouldBeFailure`` is `true` and bytes of
    /// its range are still missing.
    mutating func lost(_ segment: Segment, _ failure: Failure, at now: Duration) {
        guard segment.wouldBeFailure, !list.held.contains(segment.rest) else { return }
        let isAlone = segments.count { $0.source == segment.source } == 1
        pool.sources[segment.source].failed(failure, openedAt: segment.opened, isAlone: isAlone, at: now)
    }

    mutating func stop(_ id: SegmentID, because reason: ConnectionEndReason? = nil, at now: Duration) -> [Action] {
        [.stop(id, because: reason)] + close(id, at: now)
    }

    mutating func close(_ id: SegmentID, at now: Duration) -> [Action] {
        guard let index = list.index(of: id) else { return [] }
        let segment = list.segments.remove(at: index)
        if let rate = segment.rate(at: now) { pool.sources[segment.source].ended(with: rate) }
        return segment.wastedBytes > 0 ? [.wasted(segment.wastedBytes)] : []
    }
}

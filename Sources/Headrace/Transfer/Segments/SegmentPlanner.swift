/// Decides which connection fetches which bytes of a file, so that all of them end at the same time.
///
/// Pure. A download begins as one request for all that is missing, ``SegmentID/first``. When its head has proven that
/// parts can be had, others join at the far parts, and from then on there is one rule: a connection that is free goes to
/// the part that would end last, by the measured speeds, and the part is cut so that all who work on it end together. So
/// a connection that is slow, or silent, or has broken, loses what others do sooner. What is too small to be cut, and
/// late, is fetched by a second connection as well: whoever brings a byte first has it written.
///
///     a connection ended, failed, was stopped, or may join ──▶ plan
///     plan:  1. who has nothing left to do is stopped; where nothing is missing: finished
///            2. parts that nobody has go back to the segment before them, where its request reaches that far
///            3. bytes that somebody waits for, and that nobody will bring soon, get a connection: see ``want(_:at:)``
///            4. free connections go to parts that nobody has, to those that end last, to last pieces a second time
///            5. where bytes are missing, nobody fetches, and nobody may: exhausted
///
/// There are two lists: the bytes that were given out to be written, and the segments. A missing byte that is in no
/// segment is one that nobody has, so nothing has to be handed back when a connection is lost.
///
/// A driver calls ``headArrived(_:latency:at:)`` once; for each segment ``accept(_:for:at:)`` with all bytes that come,
/// before it writes them, and at its end ``ended(_:at:)`` or ``failed(_:_:allowing:at:)``; and every ``tickInterval``
/// ``tick(at:)``. It performs the actions in order. What is late, of a segment that the plan has stopped, changes
/// nothing. Where an answer is of another version of the file, the plan is void, and the driver drops it.
struct SegmentPlanner: Sendable {
    enum Action: Sendable, Equatable {
        /// Ask a source for these bytes, on a connection of its own.
        case open(SegmentID, Range<Int64>, source: Int)
        /// End a connection, whose bytes are of no more use; no verb has to follow.
        case stop(SegmentID)
        /// As ``stop(_:)``, of a connection that is of use, for the sake of bytes that somebody waits for.
        case displace(SegmentID)
        /// So many bytes of a connection that has ended were not written: another one brings them, or had them first.
        case wasted(Int64)
        /// All bytes were given out: the file is complete when the writes that run have ended.
        case finished
        /// Bytes are missing, and no connection may be opened now: to be gone on with as after any failure.
        case exhausted
    }

    /// Why a connection is lost.
    enum Failure: Sendable, Hashable {
        /// Cut, timed out, or answered with an error.
        case broken
        /// The host asked for fewer requests (429, 503).
        case refused
        /// The answer was not the range that was asked for: 200, or another place in the file.
        case unusable
    }

    /// What to do with bytes that came.
    struct Acceptance: Sendable, Hashable {
        /// Those to write; nil for none.
        var range: Range<Int64>?
        /// Whether the connection is to be ended.
        var isDone: Bool
    }

    private struct Rejection {
        var source: Int
        var time: Duration
    }

    /// How often a driver calls ``tick(at:)``.
    static let tickInterval = Duration.milliseconds(50)
    /// What each connection has to do at least, for one more to be worth it.
    static let leastShare: Int64 = 1 << 20
    /// The time left from which one more is worth it.
    static let leastTimeLeft = 1.0
    /// How long a connection has to be silent, or slow, to be replaced.
    static let timeout = Duration.seconds(3)
    /// After that time what comes was not on its way already when a connection was refused.
    private static let proofInterval = Duration.milliseconds(200)

    let totalBytes: Int64
    /// The bytes that were given out to be written, and those that were held before.
    private(set) var held: ByteRangeSet
    var segments: [Segment] = []
    var sources: [SourceStats]
    /// The source with the most connections, which the others are compared with.
    var mainSource = 0
    /// What somebody waits for, the most urgent first.
    var wanted: [Range<Int64>]
    /// Whether one more connection would bring what somebody waits for.
    var lacksConnection = false
    private(set) var controller: ConcurrencyController
    /// How many connections have been worth it so far.
    private var joined = 1
    /// The bytes received over connections that the advisor counts.
    private var advisedBytes: Int64 = 0
    private var lastByte = Duration.zero
    private var nextNumber = 0
    /// Connections that were refused without a word a moment ago.
    private var refusals: [Rejection] = []
    /// Finished or exhausted.
    private(set) var isOver = false

    /// - Parameters:
    ///   - totalBytes: The size of the file.
    ///   - held: The bytes that are there already.
    ///   - allowances: How many connections the host of each source may have; the first is that of the first request.
    ///   - hosts: For each source, the first one of the same host; by default each has a host of its own.
    ///   - connections: How many there are to be in all.
    ///   - wanted: What somebody waits for, the most urgent first.
    init(
        totalBytes: Int64,
        held: ByteRangeSet,
        allowances: [Int],
        hosts: [Int]? = nil,
        connections: ConcurrencyController,
        wanted: [Range<Int64>] = []
    ) {
        self.totalBytes = totalBytes
        self.held = held
        self.wanted = wanted
        sources = zip(allowances, hosts ?? Array(allowances.indices)).map { SourceStats(allowance: $0, host: $1) }
        controller = connections
    }

    /// How many connections are of use now, whatever the sources allow.
    var wantedConnections: Int {
        let urgent = lacksConnection ? min(segments.count + 1, controller.maximum) : 0
        return max(segments.count, urgent, min(controller.maximum, advisedConnections + possibleExtras))
    }

    /// Sets how many connections there may be, from the most that could be of use.
    mutating func limitConnections(_ share: (Int) -> Int) {
        controller.limit(share)
    }

    // MARK: Verbs

    /// The first request was answered, after a time, with a body of these bytes, so that others may join it.
    mutating func headArrived(_ body: Range<Int64>, latency: Duration, at now: Duration) -> [Action] {
        lastByte = now
        sources[0].headReceived(after: latency)
        sources[0].progressed()
        sources[0].tried()
        if let gap = held.firstGap(from: body.lowerBound, before: body.upperBound) {
            add(body.lowerBound..<gap.upperBound, limit: body.upperBound, source: 0, opened: now - latency)
        }
        return plan(at: now)
    }

    /// Says which of the bytes that came next for a segment are to be written; no byte is given out twice.
    mutating func accept(_ count: Int, for id: SegmentID, at now: Duration) -> Acceptance {
        guard let index = index(of: id) else { return Acceptance(range: nil, isDone: true) }
        if segments[index].lastByte == nil { returnBorrowed(to: id) }
        while count >= segments[index].rest.count, extendIfPossible(index) {}
        let coming = segments[index].rest.prefix(count)
        let source = segments[index].source
        let wasFailure = segments[index].wouldBeFailure
        if let latency = segments[index].received(count, at: now) { sources[source].headReceived(after: latency) }
        if wasFailure, !segments[index].wouldBeFailure { sources[source].progressed() }
        lastByte = now
        let new = held.firstGap(from: coming.lowerBound, before: coming.upperBound)
        if let new { held.insert(new) }
        let newCount = new.map { $0.upperBound - $0.lowerBound } ?? 0
        if !segments[index].isExtra { advisedBytes += newCount }
        segments[index].wastedBytes += Int64(count) - newCount
        return Acceptance(range: new, isDone: held.contains(segments[index].rest))
    }

    /// A body has ended, or was ended as it was done; where bytes are left, it was cut, or the server gave a part.
    mutating func ended(_ id: SegmentID, at now: Duration) -> [Action] {
        failed(id, .broken, at: now)
    }

    /// A connection is lost; where the host gives fewer of them from now on, `allowance` says how many.
    mutating func failed(
        _ id: SegmentID,
        _ failure: Failure,
        allowing allowance: Int? = nil,
        at now: Duration
    ) -> [Action] {
        guard let index = index(of: id) else { return [] }
        if let allowance { set(allowance, on: segments[index].source) }
        lost(segments[index], failure, at: now)
        return close(id, at: now) + plan(at: now)
    }

    /// A connection was refused without a word, by a host that has enough of them, or by one that is down.
    mutating func refused(_ id: SegmentID, at now: Duration) {
        guard let index = index(of: id) else { return }
        refusals.append(Rejection(source: segments[index].source, time: now))
    }

    /// The sources whose hosts have enough connections, once for each that was refused: another one goes on, which was open then.
    mutating func takeRefusals(at now: Duration) -> [Int] {
        refusals.removeAll { now - $0.time > Self.timeout }
        let isLimitRefusal = { [segments] (refusal: Rejection) in
            segments.contains {
                $0.source == refusal.source && $0.opened < refusal.time
                    && $0.lastByte ?? .zero >= refusal.time + Self.proofInterval
            }
        }
        defer { refusals.removeAll(where: isLimitRefusal) }
        return refusals.filter(isLimitRefusal).map(\.source)
    }

    /// A source has another version of the file by now: those that are open go on, and no further one is opened.
    mutating func retire(_ source: Int) {
        sources[source].retire()
    }

    /// The hosts of the sources may have other numbers of connections; those above them are stopped, the slowest first.
    mutating func allow(_ allowances: [Int], at now: Duration) -> [Action] {
        var actions: [Action] = []
        for (source, allowance) in allowances.enumerated() where sources[source].host == source {
            set(allowance, on: source)
            let open = segments.filter { sources[$0.source].host == source }
            let slowest = open.sorted { ($0.rate(at: now) ?? 0) < ($1.rate(at: now) ?? 0) }
            actions += slowest.prefix(max(0, open.count - allowance)).flatMap { stop($0.id, at: now) }
        }
        return actions + plan(at: now)
    }

    /// The same for the host of one source.
    mutating func allow(_ connections: Int, on source: Int, at now: Duration) -> [Action] {
        set(connections, on: source)
        return allow(sources.map(\.allowance), at: now)
    }

    private mutating func set(_ allowance: Int, on source: Int) {
        for index in sources.indices where sources[index].host == sources[source].host {
            sources[index].allowance = allowance
        }
    }

    /// Time has passed.
    mutating func tick(at now: Duration) -> [Action] {
        compareSources(at: now)
        controller.measured(advisedBytes, on: segments.count { $0.lastByte != nil && !$0.isExtra }, at: now)
        return stopUnderperforming(at: now) + displaceExtras(at: now) + plan(at: now)
    }

    // MARK: The plan

    mutating func plan(at now: Duration) -> [Action] {
        guard !isOver else { return [] }
        // Whoever lost the race for a piece that two had.
        var actions = segments.filter { held.contains($0.rest) }.flatMap { stop($0.id, at: now) }
        reclaimUnassigned()
        actions += serve(at: now)
        compareSources(at: now)
        actions += divide(at: now)
        if segments.isEmpty {
            isOver = true
            actions.append(held.contains(0..<totalBytes) ? .finished : .exhausted)
        }
        return actions
    }

    /// How many connections the advisor wants, as far as they are worth it.
    var advisedConnections: Int { min(joined, controller.count) }

    /// Whether one more connection would have enough to fetch.
    mutating func isWorthJoining(at now: Duration) -> Bool {
        let missing = totalBytes - held.count
        let rate = segments.compactMap { $0.rate(at: now) }.reduce(0, +)
        // Before anything was measured, the number that was asked for is right.
        let isWorthIt = rate == 0 || Double(missing) / rate > Self.leastTimeLeft
        while isWorthIt, joined < controller.count, missing / Int64(joined + 1) >= Self.leastShare { joined += 1 }
        return isWorthIt && missing / Int64(segments.count + 1) >= Self.leastShare
    }

    /// Lets a segment that reaches its end go on with what is behind it, where nobody else is known to bring that.
    private mutating func extendIfPossible(_ index: Int) -> Bool {
        let end = segments[index].end
        guard segments[index].limit > end else { return false }
        reclaimUnassigned()
        borrowNext(index)
        return segments[index].end > end
    }

    /// Gives bytes that nobody has back to the segment before them, if its request reaches that far.
    mutating func reclaimUnassigned() {
        for gap in unassigned {
            guard let index = segments.firstIndex(where: { $0.end == gap.lowerBound && $0.limit > $0.end }) else {
                continue
            }
            segments[index].end = min(segments[index].limit, gap.upperBound)
        }
    }

    /// Ends the connections that are silent or slow for a while, where better ones can be had.
    private mutating func stopUnderperforming(at now: Duration) -> [Action] {
        var actions: [Action] = []
        for segment in segments {
            let isSlow = isSlow(segment, at: now)
            guard isSlow || isStalled(segment, at: now), replacement(of: segment, at: now) != nil else { continue }
            if isSlow, segment.isExtra { sources[segment.source].suspend() }
            lost(segment, .broken, at: now)
            actions += stop(segment.id, at: now)
        }
        return actions
    }

    /// Where others had bytes meanwhile, a silence is that of the connection; else it may be that of the network.
    private func isStalled(_ segment: Segment, at now: Duration) -> Bool {
        let silence = segment.silence(at: now)
        let timeout = max(Self.timeout, (sources[segment.source].latency ?? .zero) * 3)
        return silence >= timeout && lastByte >= now - silence + .seconds(1)
    }

    /// Whether a connection has been below a third of what the others have, and another would have, for a while.
    private mutating func isSlow(_ segment: Segment, at now: Duration) -> Bool {
        guard let index = index(of: segment.id) else { return false }
        let others = segments.filter { $0.id != segment.id }.compactMap { $0.rate(at: now) }
        guard let rate = segment.rate(at: now), let median = others.quantile(0.5),
            let other = replacement(of: segment, at: now), rate < min(median, other.rate) / 3
        else {
            segments[index].slowSince = nil
            return false
        }
        let since = segment.slowSince ?? now
        segments[index].slowSince = since
        return now - since >= Self.timeout && Double(segment.rest.count) > rate * Self.leastTimeLeft
    }

    // MARK: Segments

    private func index(of id: SegmentID) -> Int? { segments.firstIndex { $0.id == id } }

    /// Begins a segment; returns its name.
    @discardableResult
    mutating func add(_ range: Range<Int64>, limit: Int64, source: Int, opened: Duration) -> SegmentID {
        let id = SegmentID(number: nextNumber)
        nextNumber += 1
        segments.append(Segment(id, range, limit: limit, source: source, opened: opened))
        return id
    }

    /// Tells the source of a connection that ends with bytes left, unless it has brought enough to be worth another one.
    mutating func lost(_ segment: Segment, _ failure: Failure, at now: Duration) {
        guard segment.wouldBeFailure, !held.contains(segment.rest) else { return }
        let isAlone = segments.count { $0.source == segment.source } == 1
        sources[segment.source].failed(failure, openedAt: segment.opened, isAlone: isAlone, at: now)
    }

    mutating func stop(_ id: SegmentID, at now: Duration) -> [Action] {
        [.stop(id)] + close(id, at: now)
    }

    mutating func close(_ id: SegmentID, at now: Duration) -> [Action] {
        guard let index = index(of: id) else { return [] }
        let segment = segments.remove(at: index)
        if let rate = segment.rate(at: now) { sources[segment.source].ended(with: rate) }
        return segment.wastedBytes > 0 ? [.wasted(segment.wastedBytes)] : []
    }
}

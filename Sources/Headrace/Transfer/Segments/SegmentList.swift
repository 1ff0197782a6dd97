/// The segments of a file, each with a connection, and the bytes that were handed out for writing.
///
/// A missing byte that is in no segment is unassigned. Therefore the bytes of a lost connection can be reassigned as
/// soon as its segment is removed.
struct SegmentList: Sendable {
    /// The minimum remaining time of a slow connection in seconds; with less, another connection is not worthwhile.
    private static let minTimeLeft = 1.0

    let totalBytes: Int64
    /// The ranges received before the plan began, and the ranges handed out for writing since then.
    private(set) var held: ByteRangeSet
    var segments: [Segment] = []
    /// The time at which a byte last arrived over any connection; initially the time of the first response.
    var lastByte = Duration.zero
    private var nextNumber = 0

    init(totalBytes: Int64, held: ByteRangeSet) {
        self.totalBytes = totalBytes
        self.held = held
    }

    var missingBytes: Int64 { totalBytes - held.count }

    /// The missing bytes that are in no segment.
    var unassigned: [Range<Int64>] {
        var assigned = held
        for segment in segments { assigned.insert(segment.rest) }
        return assigned.gaps(in: 0..<totalBytes)
    }

    func index(of id: SegmentID) -> Int? { segments.firstIndex { $0.id == id } }

    /// Whether another segment fetches some of the remaining bytes of this segment.
    func isShared(_ index: Int) -> Bool {
        segments.indices.contains { $0 != index && segments[$0].rest.overlaps(segments[index].rest) }
    }

    /// Adds the segment that `make` returns for a new identifier; returns the identifier.
    @discardableResult
    mutating func add(_ make: (SegmentID) -> Segment) -> SegmentID {
        let id = SegmentID(number: nextNumber)
        nextNumber += 1
        segments.append(make(id))
        return id
    }

    // MARK: Receiving

    /// Returns the range of the file that the next `count` bytes of a segment cover, without bytes past its end.
    ///
    /// If the bytes reach the planned end, first extends the segment, if possible. If they are the segment's first
    /// bytes, also ends the segments that have borrowed its range.
    mutating func next(_ count: Int, of index: Int) -> Range<Int64> {
        if segments[index].lastByte == nil { returnBorrowed(to: segments[index].id) }
        while count >= segments[index].rest.count, extendIfPossible(index) {}
        return segments[index].rest.prefix(count)
    }

    /// Records bytes that a connection has received; see ``Segment/received(_:at:)``.
    mutating func received(_ count: Int, by index: Int, at now: Duration) -> Duration? {
        lastByte = now
        return segments[index].received(count, at: now)
    }

    /// Hands out the first missing bytes of a range for writing, up to the next byte that is not missing; returns their
    /// range, or `nil` if no byte is missing.
    mutating func handOut(_ range: Range<Int64>) -> Range<Int64>? {
        let new = held.firstGap(from: range.lowerBound, before: range.upperBound)
        if let new { held.insert(new) }
        return new
    }

    // MARK: Comparing

    /// Whether a connection has been silent for too long while others were not; if all are silent, the network may be
    /// at fault.
    func isStalled(_ segment: Segment, of source: SourceStats, at now: Duration) -> Bool {
        let silence = segment.silence(at: now)
        let timeout = segment.firstByte == nil ? source.patience : SegmentPlanner.timeout
        return silence >= max(timeout, (source.latency ?? .zero) * 3) && lastByte >= now - silence + .seconds(1)
    }

    /// Returns whether a connection has been slow for long enough to be replaced; records since when it has been slow.
    ///
    /// `other` is the best new connection; `nil` if none may be opened. The connection must have been slow for at least
    /// ``SegmentPlanner/timeout``. It is slow if it has less than a third of the other connections' median speed, and
    /// less than a third of the expected speed of `other`. A connection that is about to finish is not replaced.
    ///
    /// Returns `false` if `other` is `nil`, or if one of the speeds is unknown.
    mutating func isSlow(_ segment: Segment, comparedTo other: SegmentPart.Worker?, at now: Duration) -> Bool {
        guard let index = index(of: segment.id) else { return false }
        let others = segments.filter { $0.id != segment.id }.compactMap { $0.rate(at: now) }
        guard let rate = segment.rate(at: now), let median = others.quantile(0.5), let other,
            rate < min(median, other.rate) / 3
        else {
            segments[index].slowSince = nil
            return false
        }
        let since = segment.slowSince ?? now
        segments[index].slowSince = since
        return now - since >= SegmentPlanner.timeout && Double(segment.rest.count) > rate * Self.minTimeLeft
    }

    // MARK: Changing the ends

    /// Extends a segment that has reached its planned end, if no other connection is known to deliver the following
    /// bytes; returns whether the segment was extended.
    private mutating func extendIfPossible(_ index: Int) -> Bool {
        let end = segments[index].end
        guard segments[index].limit > end else { return false }
        reclaimUnassigned()
        borrowNext(index)
        return segments[index].end > end
    }

    /// Adds unassigned bytes to the preceding segment, as far as the request of that segment covers the bytes.
    mutating func reclaimUnassigned() {
        for gap in unassigned {
            guard let index = segments.firstIndex(where: { $0.end == gap.lowerBound && $0.limit > $0.end }) else {
                continue
            }
            segments[index].end = min(segments[index].limit, gap.upperBound)
        }
    }

    /// Extends a segment that has reached its end into the next segment, if the next segment has received no bytes yet.
    ///
    /// Until the next segment's connection has responded, it may still fail: the server may not support ranges.
    private mutating func borrowNext(_ index: Int) {
        let end = segments[index].end
        guard segments[index].limit > end,
            let next = segments.first(where: { $0.position == end && $0.lastByte == nil && $0.end > end })
        else { return }
        segments[index].end = min(segments[index].limit, next.end)
        segments[index].borrowed = next.id
    }

    /// Ends the segments that borrowed the range of the segment `id`, because that segment's own connection now
    /// delivers it.
    private mutating func returnBorrowed(to id: SegmentID) {
        for index in segments.indices where segments[index].borrowed == id {
            segments[index].end = min(segments[index].position, segments[index].end)
            segments[index].borrowed = nil
        }
    }

    /// Shortens the segments that contain a missing byte, so that they end before the byte; returns the unassigned
    /// range that now begins at the byte.
    mutating func split(at byte: Int64) -> Range<Int64> {
        for index in segments.indices where segments[index].rest.contains(byte) { segments[index].end = byte }
        guard let gap = unassigned.first(where: { $0.contains(byte) }) else {
            preconditionFailure("The byte \(byte) is neither missing nor assigned")
        }
        return byte..<gap.upperBound
    }
}

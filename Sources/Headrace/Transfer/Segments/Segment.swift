/// Identifies a segment; a ``SegmentPlanner`` never uses an identifier twice.
struct SegmentID: Sendable, Hashable {
    let number: Int

    /// The segment of the request whose response began the fetch.
    static let first = SegmentID(number: 0)
}

/// The range of the file that one connection has to deliver.
struct Segment: Sendable {
    let id: SegmentID
    let source: Int
    /// The end of the range that the connection requested; the segment may be extended up to this offset.
    let limit: Int64
    /// The planned end; when the connection reaches this offset, the planner extends the segment or, if it cannot, the
    /// segment is complete.
    var end: Int64
    /// The following segment whose range this segment fetches too; `nil` if there is none.
    ///
    /// A range is borrowed in this way if its own connection has not delivered any bytes yet.
    var borrowed: SegmentID?
    /// The position in the file of the next byte to be received.
    private(set) var position: Int64
    private var receivedBytes: Int64 = 0
    /// The number of received bytes that were not written, because another connection delivers them.
    var wastedBytes: Int64 = 0
    /// Whether this is an extra connection, which the controller does not count; see
    /// ``SourcePool/compare(_:at:)``.
    var isExtra = false
    /// The time since which the connection has been slow, as ``SegmentList/isSlow(_:comparedTo:at:)`` defines it; `nil`
    /// if it is not slow or cannot be compared.
    var slowSince: Duration?
    /// The time of the request for the segment, even if the connection is older.
    let opened: Duration
    /// The speed of the connection during its previous segment; `nil` if the connection is new.
    let earlierRate: Double?
    private(set) var firstByte: Duration?
    private(set) var lastByte: Duration?
    private var meter: SmoothedSpeed
    /// Whether bytes have arrived after the first ones, so that the speed can be measured.
    private(set) var isMeasured = false

    /// The minimum time after the first byte before the speed of a connection can be measured.
    private static let minMeasuringTime = Duration.milliseconds(50)

    init(
        _ id: SegmentID,
        _ range: Range<Int64>,
        limit: Int64,
        source: Int,
        opened: Duration,
        earlierRate: Double? = nil
    ) {
        self.id = id
        self.source = source
        self.limit = limit
        self.opened = opened
        self.earlierRate = earlierRate
        end = range.upperBound
        position = range.lowerBound
        meter = SmoothedSpeed(start: opened)
    }

    /// The range that the connection still has to deliver; empty if the position is past the planned end.
    var rest: Range<Int64> { min(position, end)..<end }

    /// Whether a loss of the connection now would count as a failure.
    ///
    /// This is the case if fewer than ``SegmentPart/minPieceBytes`` bytes of the segment have arrived.
    var wouldBeFailure: Bool { receivedBytes < SegmentPart.minPieceBytes }

    /// Records received bytes; for the first bytes, returns the latency since the request, else `nil`.
    mutating func received(_ count: Int, at now: Duration) -> Duration? {
        position += Int64(count)
        receivedBytes += Int64(count)
        lastByte = now
        guard firstByte == nil else {
            meter.add(count, at: now)
            isMeasured = true
            return nil
        }
        // The first bytes were already in transit and say nothing about the speed.
        firstByte = now
        meter = SmoothedSpeed(start: now)
        return now - opened
    }

    /// Returns the speed in bytes per second; `nil` if it cannot be measured yet.
    func rate(at now: Duration) -> Double? {
        // A pause after the first bytes counts as latency; the speed of the following bytes is still unknown.
        guard let firstByte, isMeasured, now - firstByte >= Self.minMeasuringTime else { return nil }
        var meter = meter
        return meter.bytesPerSecond(at: now)
    }

    /// Returns the number of bytes per second since the request.
    func averageRate(at now: Duration) -> Double {
        Double(receivedBytes) / (max(now - opened, Self.minMeasuringTime) / .seconds(1))
    }

    /// Whether the connection has received bytes, of this segment or an earlier one.
    var hasReceived: Bool { lastByte != nil || earlierRate != nil }

    /// Returns the time since the last byte arrived or, if none has, since the request.
    func silence(at now: Duration) -> Duration { now - (lastByte ?? opened) }

    /// Returns the expected time until the next byte.
    ///
    /// An overdue byte is expected to take as long again as it has been overdue. The first byte is due after `latency`,
    /// and each later byte immediately after the previous one.
    func delay(at now: Duration, latency: Duration) -> Duration {
        let silence = silence(at: now)
        return lastByte != nil ? silence : max(silence - latency, latency - silence)
    }
}

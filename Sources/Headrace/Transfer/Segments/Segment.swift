/// Identifies one segment of a plan; never reused.
struct SegmentID: Sendable, Hashable {
    let number: Int

    /// The segment of the request with which the download begins.
    static let first = SegmentID(number: 0)
}

/// The range of the file that one connection still has to deliver.
struct Segment: Sendable {
    let id: SegmentID
    let source: Int
    /// The end of the requested range, up to which the segment may be extended.
    let limit: Int64
    /// The planned end; the connection learns of it when it has received the bytes before it.
    var end: Int64
    /// The next segment, if it had no bytes when this one reached it and took over its range.
    var borrowed: SegmentID?
    /// The position in the file of the next byte to arrive.
    private(set) var position: Int64
    private var receivedBytes: Int64 = 0
    /// The number of received bytes that were not written.
    var wastedBytes: Int64 = 0
    /// Whether the ``ConcurrencyController`` does not count it; see ``SegmentPlanner/compareSources(at:)``.
    var isExtra = false
    /// The time since which the connection is much slower than a new one would be.
    var slowSince: Duration?
    let opened: Duration
    private(set) var firstByte: Duration?
    private(set) var lastByte: Duration?
    private var meter: SpeedMeter
    /// Whether bytes arrived after the first ones.
    private(set) var isMeasured = false

    /// The time after its first byte from which the speed of a connection is known.
    private static let minMeasuringTime = Duration.milliseconds(50)

    init(_ id: SegmentID, _ range: Range<Int64>, limit: Int64, source: Int, opened: Duration) {
        self.id = id
        self.source = source
        self.limit = limit
        self.opened = opened
        end = range.upperBound
        position = range.lowerBound
        meter = SpeedMeter(start: opened)
    }

    /// The range that the connection still has to deliver; empty if it went past its end.
    var rest: Range<Int64> { min(position, end)..<end }

    /// Whether the connection would count as failed if it ended now, since it delivered too little.
    var wouldBeFailure: Bool { receivedBytes < SegmentPart.minPieceBytes }

    /// Records received bytes; returns the latency if they are the first ones.
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
        meter = SpeedMeter(start: now)
        return now - opened
    }

    /// The speed in bytes per second; `nil` while too little is known.
    func rate(at now: Duration) -> Double? {
        // A pause after the first bytes is latency; the speed of those that follow is unknown.
        guard let firstByte, isMeasured, now - firstByte >= Self.minMeasuringTime else { return nil }
        var meter = meter
        return meter.bytesPerSecond(at: now)
    }

    /// The time since the last byte arrived, or since the connection was opened.
    func silence(at now: Duration) -> Duration { now - (lastByte ?? opened) }

    /// The expected time until the next byte: a late byte is expected to take as long again.
    func delay(at now: Duration, latency: Duration) -> Duration {
        let silence = silence(at: now)
        return lastByte != nil ? silence : max(silence - latency, latency - silence)
    }
}

/// Names one segment of a plan; none is used a second time.
struct SegmentID: Sendable, Hashable {
    let number: Int

    /// That of the request that the download begins with.
    static let first = SegmentID(number: 0)
}

/// The part of the file that one connection fetches: from the byte it is at to the one where it stops.
struct Segment: Sendable {
    let id: SegmentID
    let source: Int
    /// Where the request ends, up to which the segment may grow again.
    let limit: Int64
    /// Where the segment stops, by plan; the connection learns it with the bytes that reach it.
    var end: Int64
    /// The segment behind this one that has brought nothing when this one met it, and whose bytes it goes on with.
    var borrowed: SegmentID?
    /// Where the next byte that comes belongs.
    private(set) var position: Int64
    private var receivedBytes: Int64 = 0
    /// Of those, the ones that were not to be written.
    var wastedBytes: Int64 = 0
    /// Whether the advisor does not count it; see ``SegmentPlanner/compareSources(at:)``.
    var isExtra = false
    /// Since when the connection is much slower than another one would be.
    var slowSince: Duration?
    let opened: Duration
    private(set) var firstByte: Duration?
    private(set) var lastByte: Duration?
    private var meter: SpeedMeter
    /// Whether bytes came after the first ones.
    private(set) var isMeasured = false

    /// The time after its first byte from which a connection has a speed.
    private static let leastMeasure = Duration.milliseconds(50)

    init(_ id: SegmentID, _ range: Range<Int64>, limit: Int64, source: Int, opened: Duration) {
        self.id = id
        self.source = source
        self.limit = limit
        self.opened = opened
        end = range.upperBound
        position = range.lowerBound
        meter = SpeedMeter(start: opened)
    }

    /// What the connection is still to deliver; empty where it came beyond its end.
    var rest: Range<Int64> { min(position, end)..<end }

    /// Whether too little has come for the connection to have been worth it, should it end now.
    var wouldBeFailure: Bool { receivedBytes < SegmentPart.leastPiece }

    /// Takes note of bytes that came; returns the time to the first byte, when this is it.
    mutating func received(_ count: Int, at now: Duration) -> Duration? {
        position += Int64(count)
        receivedBytes += Int64(count)
        lastByte = now
        guard firstByte == nil else {
            meter.add(count, at: now)
            isMeasured = true
            return nil
        }
        // What comes first was on its way already, and says nothing of the speed.
        firstByte = now
        meter = SpeedMeter(start: now)
        return now - opened
    }

    /// Bytes per second; nil as long as there is too little to tell.
    func rate(at now: Duration) -> Double? {
        // A pause after the first bytes is a delay; how fast those come that follow it is not known.
        guard let firstByte, isMeasured, now - firstByte >= Self.leastMeasure else { return nil }
        var meter = meter
        return meter.bytesPerSecond(at: now)
    }

    /// How long no byte has come, or not even the first one.
    func silence(at now: Duration) -> Duration { now - (lastByte ?? opened) }

    /// How long the next byte is likely to take: as long again as it is late.
    func delay(at now: Duration, latency: Duration) -> Duration {
        let silence = silence(at: now)
        return lastByte != nil ? silence : max(silence - latency, latency - silence)
    }
}

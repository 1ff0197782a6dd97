/// Bytes in transit in one direction, each piece with its arrival time.
///
/// Pure: the caller passes the time, measured from any fixed moment.
struct DelayLine {
    /// The most bytes in transit, so that a slow client slows the server down.
    private static let capacity = 256 * 1024

    private let latency: Duration
    private let bytesPerSecond: Int64?
    private var pieces: [(bytes: ArraySlice<UInt8>, due: Duration)] = []
    private var count = 0
    /// When the last byte of the last piece passes the rate limit.
    private var lastDeparture = Duration.zero

    init(latency: Duration, bytesPerSecond: Int64? = nil) {
        self.latency = latency
        self.bytesPerSecond = bytesPerSecond
    }

    var isEmpty: Bool { pieces.isEmpty }
    var isFull: Bool { count >= Self.capacity }

    /// When the next piece arrives; `nil` if none is in transit.
    var nextArrival: Duration? { pieces.first?.due }

    mutating func send(_ bytes: ArraySlice<UInt8>, at now: Duration) {
        let time = bytesPerSecond.map { Duration.seconds(Double(bytes.count) / Double($0)) } ?? .zero
        lastDeparture = max(lastDeparture, now) + time
        pieces.append((bytes, lastDeparture + latency))
        count += bytes.count
    }

    /// Removes and returns the next piece, if it has arrived.
    mutating func receive(at now: Duration) -> ArraySlice<UInt8>? {
        guard let first = pieces.first, first.due <= now else { return nil }
        pieces.removeFirst()
        count -= first.bytes.count
        return first.bytes
    }
}

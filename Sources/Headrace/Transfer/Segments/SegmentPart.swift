/// A contiguous range of missing bytes, and the connections planned to fetch it.
struct SegmentPart {
    /// A connection with its speed in bytes per second, and the delay until its next byte in seconds.
    struct Worker {
        var source: Int
        var rate: Double
        var delay: Double
        /// Whether the connection is an idle one, whose speed is known.
        var isReused = false
        /// The maximum number of bytes that the connection should request; see ``SegmentPlanner/maxBytes(for:at:)``.
        var maxBytes = Double.infinity
    }

    /// The approximate minimum size, in bytes, of the ranges into which a part is divided.
    static let minPieceBytes: Int64 = 16 << 10
    /// The minimum time in seconds that another connection must save for a part; otherwise it is not opened.
    static let minGain = 0.02

    let range: Range<Int64>
    /// The index of the segment whose connection fetches the range now; `nil` if the range is unassigned.
    var holder: Int?
    /// The connections that share the range: that of the ``holder``, if any, and the connections that join it.
    var workers: [Worker] = []
    /// The new connection that fetches the whole range a second time; `nil` if none does.
    var hedge: Worker?

    private var bytes: Double { Double(range.upperBound - range.lowerBound) }

    /// Returns the time in seconds in which the workers fetch the range, if it is divided so that all finish together.
    func timeLeft(_ workers: [Worker]) -> Double {
        var (rate, late, time) = (0.0, 0.0, Double.infinity)
        // A worker whose first byte would arrive after the others finish does not help.
        for worker in workers.sorted(by: { $0.delay < $1.delay }) where worker.delay < time {
            rate += worker.rate
            late += worker.rate * worker.delay
            time = rate > 0 ? (bytes + late) / rate : .infinity
        }
        return time
    }

    /// The subrange that each worker should fetch, in the order of ``workers``.
    ///
    /// The ranges are chosen so that all workers finish together. If another worker's range would exceed its maximum,
    /// the first worker fetches the excess bytes.
    var ranges: [Range<Int64>] {
        let time = timeLeft(workers)
        let minimum = Double(Self.minPieceBytes)
        var shares = workers.map { max(minimum, $0.rate * (time - $0.delay)) }
        let scale = bytes / shares.reduce(0, +)
        for (index, worker) in workers.enumerated() { shares[index] = min(shares[index] * scale, worker.maxBytes) }
        if !shares.isEmpty { shares[0] = bytes - shares.dropFirst().reduce(0, +) }
        var (ranges, lower, given) = ([Range<Int64>](), range.lowerBound, 0.0)
        for share in shares.dropLast() {
            given += share
            let upper = range.lowerBound + Int64(given)
            ranges.append(lower..<upper)
            lower = upper
        }
        return workers.isEmpty ? [] : ranges + [lower..<range.upperBound]
    }

    var isDivisible: Bool {
        workers.isEmpty || range.upperBound - range.lowerBound >= Self.minPieceBytes * Int64(workers.count + 1)
    }

    func isWorthDividing(for newcomer: Worker) -> Bool {
        isDivisible && hedge == nil && timeLeft(workers) - timeLeft(workers + [newcomer]) >= Self.minGain
    }

    /// Whether the other part takes longer than this one or, at equal times, has more bytes; a part without workers
    /// takes infinitely long.
    func isShorter(than other: SegmentPart) -> Bool {
        (timeLeft(workers), bytes) < (other.timeLeft(other.workers), other.bytes)
    }
}

/// A contiguous range of missing bytes and the connections that fetch it.
struct SegmentPart: Comparable {
    /// The speed and the delay of a connection: bytes per second, after a delay in seconds.
    struct Worker {
        var source: Int
        var rate: Double
        var delay: Double
    }

    /// The minimum size of a requested range, unless the gap of missing bytes is smaller.
    static let minPieceBytes: Int64 = 16 << 10
    /// The minimum time in seconds by which a connection must shorten the download to be worth a request.
    static let minGain = 0.02

    let range: Range<Int64>
    /// The index of the segment that the range belongs to; `nil` if it is in no segment.
    var holder: Int?
    /// The connections that fetch the range: that of the holder, if any, and those that join it.
    var workers: [Worker] = []
    /// The connection that fetches the whole range a second time.
    var hedge: Worker?

    private var bytes: Double { Double(range.upperBound - range.lowerBound) }

    /// Returns the time in seconds until these workers finish, if all finish together.
    func timeLeft(_ workers: [Worker]) -> Double {
        var (rate, late, time) = (0.0, 0.0, Double.infinity)
        // A worker whose first byte would arrive after that does not help.
        for worker in workers.sorted(by: { $0.delay < $1.delay }) where worker.delay < time {
            rate += worker.rate
            late += worker.rate * worker.delay
            time = rate > 0 ? (bytes + late) / rate : .infinity
        }
        return time
    }

    /// The range of each worker, in the order of the file.
    var ranges: [Range<Int64>] {
        let time = timeLeft(workers)
        let minimum = Double(Self.minPieceBytes)
        let shares = workers.map { max(minimum, $0.rate * (time - $0.delay)) }
        let sum = shares.reduce(0, +)
        var (ranges, lower, given) = ([Range<Int64>](), range.lowerBound, 0.0)
        for share in shares.dropLast() {
            given += share
            let upper = range.lowerBound + Int64(bytes * given / sum)
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

    /// Orders parts by their remaining time; those without workers by length.
    static func < (lhs: SegmentPart, rhs: SegmentPart) -> Bool {
        (lhs.timeLeft(lhs.workers), lhs.bytes) < (rhs.timeLeft(rhs.workers), rhs.bytes)
    }

    static func == (lhs: SegmentPart, rhs: SegmentPart) -> Bool { !(lhs < rhs) && !(rhs < lhs) }
}

/// Missing bytes in a row, and the connections that fetch them.
struct SegmentPart: Comparable {
    /// A connection as the division sees it: bytes per second, after a delay in seconds.
    struct Worker {
        var source: Int
        var rate: Double
        var delay: Double
    }

    /// The smallest piece that a request is made for, unless no more is missing at its place.
    static let leastPiece: Int64 = 16 << 10
    /// By how many seconds a connection must hasten the end to be worth its request.
    private static let leastGain = 0.02
    /// How many times as late as its replacement the holder of the last piece has to be for it to be fetched twice.
    private static let hedgeFactor = 2.0

    let range: Range<Int64>
    /// The index of the segment that has them.
    var holder: Int?
    /// The holder, if any, and those that join.
    var workers: [Worker] = []
    /// The one that fetches all of it a second time.
    var hedge: Worker?

    private var bytes: Double { Double(range.upperBound - range.lowerBound) }

    /// The time until all workers have ended, if they do so together.
    private func timeLeft(_ workers: [Worker]) -> Double {
        var (rate, late, time) = (0.0, 0.0, Double.infinity)
        // One whose first byte would come after the end is of no help.
        for worker in workers.sorted(by: { $0.delay < $1.delay }) where worker.delay < time {
            rate += worker.rate
            late += worker.rate * worker.delay
            time = rate > 0 ? (bytes + late) / rate : .infinity
        }
        return time
    }

    /// What each worker gets, in the order of the file.
    var ranges: [Range<Int64>] {
        let time = timeLeft(workers)
        let least = Double(Self.leastPiece)
        let shares = workers.map { max(least, $0.rate * (time - $0.delay)) }
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

    private var canBeCut: Bool {
        workers.isEmpty || range.upperBound - range.lowerBound >= Self.leastPiece * Int64(workers.count + 1)
    }

    func isWorthCutting(for newcomer: Worker) -> Bool {
        canBeCut && hedge == nil && timeLeft(workers) - timeLeft(workers + [newcomer]) >= Self.leastGain
    }

    func isWorthHedging(by newcomer: Worker) -> Bool {
        guard !canBeCut, hedge == nil, holder != nil, workers.count == 1 else { return false }
        let (alone, other) = (timeLeft(workers), timeLeft([newcomer]))
        return alone - other >= Self.leastGain && alone >= other * Self.hedgeFactor
    }

    /// Ascending by the end; of those without one, by length.
    static func < (lhs: SegmentPart, rhs: SegmentPart) -> Bool {
        (lhs.timeLeft(lhs.workers), lhs.bytes) < (rhs.timeLeft(rhs.workers), rhs.bytes)
    }

    static func == (lhs: SegmentPart, rhs: SegmentPart) -> Bool { !(lhs < rhs) && !(rhs < lhs) }
}

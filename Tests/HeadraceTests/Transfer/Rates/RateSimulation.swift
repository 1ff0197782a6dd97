import HeadraceTestSupport
import Testing

@testable import Headrace

/// Simulated connections that read as fast as a limiter lets them, on a simulated clock.
struct RateSimulation {
    /// A connection and the rate of its network.
    struct Line {
        let connection: RateLimiter.Connection
        let download: Download.ID
        let group: String?
        /// Bytes per second.
        let network: Double
        /// The bytes of the current chunk that have not been read yet.
        var rest = 0
        /// The size of the next chunk, which is in transit, and its arrival time.
        var next = 0
        var arrival = Duration.zero
        var isOpen = true
    }

    private static let binsPerSecond = 100

    var limiter = RateLimiter()
    private(set) var now = Duration.zero
    private(set) var lines: [Line] = []
    /// The time of each line's next action.
    private var times: [Duration] = []
    /// How often a line had to sleep.
    private(set) var sleeps = 0
    /// The different times at which sleeping lines were due to wake; many lines share a time.
    private(set) var turns: Set<Duration> = []
    /// The bytes that each line read in each hundredth of a second.
    private var bins: [[Int]] = []
    private var random: SeededRandom
    /// The maximum delay with which a sleeper wakes.
    private let lateness: Duration

    init(seed: UInt64 = 1, lateness: Duration = .milliseconds(10)) {
        random = SeededRandom(seed: seed)
        self.lateness = lateness
    }

    mutating func setLimit(_ bytesPerSecond: Int64?, for scope: RateLimiter.Scope = .all) {
        limiter.setLimit(bytesPerSecond, for: scope, at: now)
    }

    /// Adds connections of one download.
    mutating func add(_ download: UInt64, group: String? = nil, connections: Int = 1, network: Double = .infinity) {
        for _ in 0..<connections {
            let id = Download.ID(rawValue: download)
            let connection = limiter.connect(id, group: group, at: now)
            let start = now + .microseconds(Int.random(in: 0..<100_000, using: &random))
            lines.append(Line(connection: connection, download: id, group: group, network: network))
            times.append(start)
            bins.append([])
        }
    }

    /// Closes a connection, whatever it is waiting for.
    mutating func close(_ line: Int) {
        guard lines[line].isOpen else { return }
        lines[line].isOpen = false
        times[line] = .seconds(Int64.max)
        limiter.disconnect(lines[line].connection, at: now)
    }

    mutating func run(for duration: Duration) {
        let end = now + duration
        while let next = nextLine, times[next] < end {
            now = max(now, times[next])
            step(next)
        }
        now = end
    }

    /// A plain loop, because other code is slow in a build without optimization.
    private var nextLine: Int? {
        var next: Int?
        for line in times.indices where times[line] < next.map({ times[$0] }) ?? .seconds(Int64.max) { next = line }
        return next
    }

    private mutating func step(_ index: Int) {
        var line = lines[index]
        defer { lines[index] = line }
        guard line.rest > 0 else {
            guard line.arrival <= now else { return times[index] = line.arrival }
            line.rest = line.next
            line.next = Int.random(in: 4 << 10...256 << 10, using: &random)
            line.arrival = now + .seconds(Double(line.next) / line.network)
            return
        }
        switch limiter.take(line.rest, for: line.connection, at: now) {
        case .bytes(let count):
            #expect(count > 0 && count <= line.rest)
            line.rest -= count
            note(count, of: index)
            times[index] = now + .microseconds(20)
        case .wait(let time):
            #expect(time > now && time <= now + RateLimiter.longestWait)
            sleeps += 1
            turns.insert(time)
            times[index] = time + lateness * Double.random(in: 0..<1, using: &random)
        }
    }

    private mutating func note(_ count: Int, of line: Int) {
        let bin = Int(now / .seconds(1) * Double(Self.binsPerSecond))
        let missing = bin + 1 - bins[line].count
        if missing > 0 { bins[line] += [Int](repeating: 0, count: missing) }
        bins[line][bin] += count
    }

    // MARK: Results

    /// Returns the bytes per second that the selected lines read between two times.
    func rate(from start: Double, to end: Double, of isCounted: (Line) -> Bool = { _ in true }) -> Double {
        let range = Self.bin(start)..<Self.bin(end)
        let bytes = zip(lines, bins).filter { isCounted($0.0) }.reduce(0) { $0 + $1.1[clamped: range].reduce(0, +) }
        return Double(bytes) / (end - start)
    }

    func rate(of download: UInt64, from start: Double, to end: Double) -> Double {
        rate(from: start, to: end) { $0.download.rawValue == download }
    }

    /// Returns the lowest and highest total rate in any window of this many seconds between two times.
    func extremes(from start: Double, to end: Double, window: Double = 5) -> ClosedRange<Double> {
        var sums = [0]
        for bin in 0..<Self.bin(end) { sums.append(bins.reduce(sums[bin]) { $0 + ($1.count > bin ? $1[bin] : 0) }) }
        let length = Self.bin(window)
        let rates = (Self.bin(start)...Self.bin(end) - length).map { Double(sums[$0 + length] - sums[$0]) / window }
        return (rates.min() ?? 0)...(rates.max() ?? 0)
    }

    private static func bin(_ seconds: Double) -> Int { Int((seconds * Double(binsPerSecond)).rounded()) }
}

extension Array {
    /// The elements whose indices are in both the range and the array.
    fileprivate subscript(clamped range: Range<Int>) -> ArraySlice<Element> {
        self[range.clamped(to: 0..<count)]
    }
}

extension Double {
    /// Whether the number differs from another one by at most this percentage.
    func isWithin(_ percent: Double, of other: some BinaryInteger) -> Bool {
        abs(self - Double(other)) <= Double(other) * percent / 100
    }
}

extension ClosedRange<Double> {
    func isWithin(_ percent: Double, of other: Int64) -> Bool {
        lowerBound.isWithin(percent, of: other) && upperBound.isWithin(percent, of: other)
    }
}

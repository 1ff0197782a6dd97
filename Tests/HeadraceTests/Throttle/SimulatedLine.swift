import HeadracePlatform
import HeadraceTestSupport

@testable import Headrace

/// A line to a server, on which downloads run in virtual time.
///
/// Each connection starts slowly and doubles its window with each round trip; the line carries the bodies one after the
/// other. A lost packet costs a round trip, or a timeout.
struct SimulatedLine: Sendable, CustomStringConvertible {
    var bytesPerSecond = 25_000_000.0
    var roundTrip = 0.1
    var loss = 0.0
    /// The time in which the server prepares a response.
    var preparation = 0.0
    /// The number of simultaneous downloads above which the server responds with 503; `nil` for none.
    var serverLimit: Int?
    var isMultiplexed = false
    var sizes: [Int64] = []

    var description: String {
        let mean = sizes.isEmpty ? 0 : sizes.reduce(0, +) / Int64(sizes.count)
        return "\(Int(bytesPerSecond * 8 / 1000)) kbit/s, \(Int(roundTrip * 1000)) ms, \(loss * 100) % lost, server "
            + "\(Int(preparation * 1000)) ms, limit \(serverLimit ?? 0), \(isMultiplexed ? "HTTP/2" : "HTTP/1.1"), "
            + "\(sizes.count) files of \(mean) bytes"
    }

    /// A line, a server and files, all random.
    init(using random: inout SeededRandom) {
        func spread(_ low: Double, _ high: Double) -> Double {
            low * exp(Double.random(in: 0...log(high / low), using: &random))
        }
        bytesPerSecond = spread(250_000, 125_000_000)
        roundTrip = spread(0.005, 0.4)
        loss = Bool.random(using: &random) ? 0 : spread(0.0001, 0.01)
        preparation = Bool.random(using: &random) ? 0 : spread(0.001, 0.2)
        serverLimit = Int.random(in: 0..<5, using: &random) == 0 ? Int.random(in: 2...24, using: &random) : nil
        isMultiplexed = Bool.random(using: &random)
        let mean = spread(4000, 4_000_000)
        let count = Int.random(in: 150...400, using: &random)
        sizes = (0..<count).map { _ in Int64(mean * Double.random(in: 0.2...1.8, using: &random)) }
    }

    init() {}

    /// The result of downloading all files.
    struct Result {
        var seconds = 0.0
        var mostRunning = 0
        var refusals = 0
        var limits: [Int] = []
        var problem: String?
    }

    private struct Running {
        var index: Int
        var start: Double
        var head: Double
        var end: Double
        var isRefused: Bool
        var reportsHead: Bool
    }

    /// Downloads all files, with a fixed number at once or with as many as the controller allows.
    func run(fixed: Int? = nil, _ controller: DownloadConcurrency? = nil, seed: UInt64 = 1) -> Result {
        var random = SeededRandom(seed: seed)
        var controller = controller
        var result = Result()
        var (now, lineFree, next) = (0.0, 0.0, 0)
        var running: [Running] = []
        var retries: [(time: Double, index: Int)] = []
        var idle: [Double] = []
        var connections = 0
        var done = 0
        while done < sizes.count {
            let limit = controller.map { min($0.limit, $0.limit(of: "h")) } ?? fixed ?? 1
            while running.count < limit {
                let index: Int
                if let retry = retries.first, retry.time <= now {
                    index = retry.index
                    retries.removeFirst()
                } else if next < sizes.count {
                    index = next
                    next += 1
                } else {
                    break
                }
                let accepted = running.count { !$0.isRefused }
                var window = 14_600.0
                var setup = 0.0
                if isMultiplexed, connections >= 1 + running.count / 8, connections > 0 {
                    window = 60_000
                } else if let warm = idle.popLast() {
                    window = warm
                } else {
                    setup = 2 * roundTrip
                    connections += 1
                }
                let head = now + setup + roundTrip + preparation
                let isRefused = serverLimit.map { accepted >= $0 } ?? false
                var end = head
                if !isRefused {
                    let size = Double(sizes[index])
                    var rounds = 0.0
                    var sent = window
                    while sent < size, window < bytesPerSecond * roundTrip {
                        window *= 2
                        sent += window
                        rounds += 1
                    }
                    end += rounds * roundTrip
                    for _ in 0..<Int(size * loss / 1460 + Double.random(in: 0..<1, using: &random)) {
                        end += Int.random(in: 0..<5, using: &random) == 0 ? max(0.2, 2 * roundTrip) : roundTrip / 2
                    }
                    lineFree = max(lineFree, head) + size / bytesPerSecond
                    end = max(end, lineFree)
                }
                if !isMultiplexed { idle.append(window) }
                let reports = controller?.needsHeads ?? false
                running.append(
                    Running(index: index, start: now, head: head, end: end, isRefused: isRefused, reportsHead: reports)
                )
                result.mostRunning = max(result.mostRunning, running.count)
            }
            // Idle connections are those beyond the running ones.
            var event = Double.infinity
            var position = -1
            var isHead = false
            for (index, item) in running.enumerated() {
                if item.reportsHead, !item.isRefused, item.head < event {
                    (event, position, isHead) = (item.head, index, true)
                }
                if item.end < event { (event, position, isHead) = (item.end, index, false) }
            }
            if let retry = retries.first, retry.time < event, running.count < limit {
                now = max(now, retry.time)
                continue
            }
            guard position >= 0 else {
                result.problem = "nothing runs"
                return result
            }
            now = event
            if isHead {
                running[position].reportsHead = false
                controller?.received(headOf: sizes[running[position].index], from: "h", isMultiplexed: isMultiplexed)
                continue
            }
            let isLimited = running.count >= (controller?.limit ?? 0)
            let item = running.remove(at: position)
            var measurement = TransferMeasurement(start: .seconds(item.start))
            measurement.latency = .seconds(item.head - item.start)
            measurement.isMultiplexed = isMultiplexed
            if item.isRefused {
                measurement.isRefused = true
                result.refusals += 1
                retries.append((now + 1, item.index))
            } else {
                measurement.bytes = sizes[item.index]
                done += 1
            }
            controller?.ended(
                measurement,
                from: "h",
                load: (running.count, isLimited),
                at: .seconds(now)
            )
            if let controller { result.limits.append(min(controller.limit, controller.limit(of: "h"))) }
        }
        result.seconds = now
        return result
    }
}

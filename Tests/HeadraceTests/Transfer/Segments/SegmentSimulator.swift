@testable import Headrace

/// Runs a plan with simulated connections in simulated time.
struct SegmentSimulator {
    /// The behavior of a connection in one step.
    enum Behaviour {
        /// Bytes per second; zero for a stall.
        case flows(Double)
        case fails(SegmentPlanner.Failure)
    }

    /// One request on a connection, as the network sees it.
    struct Connection {
        /// The number of connections opened before this one; the next request on the same connection has it too.
        let number: Int
        let id: SegmentID
        let source: Int
        let range: Range<Int64>
        let opened: Duration
        var deliveredBytes = 0.0
    }

    struct Result {
        var duration: Duration
        var isFinished: Bool
        /// The requests to each source.
        var requests: [Int]
        /// The number of connections that were opened.
        var connectionCount = 1
        /// The bytes that each source sent.
        var sentBytes: [Int]
        /// The most connections that were open at once.
        var most = 1
        var wastedBytes: Int64 = 0
        /// The time until each of the wanted bytes arrived.
        var waits: [Duration] = []

        var seconds: Double { duration / .seconds(1) }
        var requestCount: Int { requests.reduce(0, +) }
    }

    var size: Int64
    var mode: ConcurrencyController.Mode
    var allowances = [Int.max]
    /// For each source, the first source on the same host; `nil` if each has its own host.
    var hosts: [Int]?
    /// The time from a request to its body.
    var latency = Duration.milliseconds(2)
    var step = Duration.milliseconds(1)
    /// Bytes per second of all connections together.
    var capacity = Double.infinity
    /// Bytes per second of all connections to one source together.
    var sourceCapacity = Double.infinity
    var timeLimit = Duration.seconds(600)
    /// The times from which a reader wants the bytes from `byte` on, in order.
    var wants: [(time: Duration, byte: Int64)] = []
    var behaviour: (Connection, Duration) -> Behaviour

    func run() -> Result {
        var planner = SegmentPlanner(
            totalBytes: size,
            held: ByteRangeSet(),
            allowances: allowances,
            hosts: hosts,
            connections: ConcurrencyController(mode)
        )
        let none = allowances.map { _ in 0 }
        var result = Result(duration: .zero, isFinished: false, requests: none, sentBytes: none)
        result.requests[0] = 1
        var connections = [Connection(number: 0, id: .first, source: 0, range: 0..<size, opened: .zero)]
        var (now, nextTick) = (latency, latency)
        var (coming, wanted) = (wants[...], wants[..<0])
        // The numbers of the connections to each source that have delivered their whole requests.
        var idle = allowances.map { _ in [Int]() }

        func perform(_ actions: [SegmentPlanner.Action]) {
            for action in actions {
                switch action {
                case .open(let id, let range, let source):
                    let number = idle[source].popLast() ?? result.connectionCount
                    result.connectionCount = max(result.connectionCount, number + 1)
                    result.requests[source] += 1
                    connections.append(Connection(number: number, id: id, source: source, range: range, opened: now))
                case .stop(let id, _): connections.removeAll { $0.id == id }
                case .wasted(let count): result.wastedBytes += count
                case .finished: result.isFinished = true
                case .exhausted: break
                }
            }
            result.most = max(result.most, connections.count)
        }

        perform(planner.headArrived(0..<size, latency: latency, at: now))
        while !planner.isOver, now < timeLimit {
            now += step
            if now >= nextTick {
                nextTick += SegmentPlanner.tickInterval
                perform(planner.tick(at: now))
            }
            while let want = coming.first, now >= want.time {
                wanted.append(coming.removeFirst())
                perform(planner.want([want.byte..<size], at: now))
            }
            wanted.removeAll { want in
                guard planner.list.held.contains(want.byte..<want.byte + 1) else { return false }
                result.waits.append(now - want.time)
                return true
            }
            let flowing = connections.filter { now >= $0.opened + latency }
            let wishes = flowing.map { behaviour($0, now) }
            let sum = wishes.reduce(0) { if case .flows(let rate) = $1 { $0 + rate } else { $0 } }
            for (connection, wish) in zip(flowing, wishes) {
                guard let index = connections.firstIndex(where: { $0.id == connection.id }) else { continue }
                switch wish {
                case .fails(let failure):
                    connections.remove(at: index)
                    perform(planner.failed(connection.id, failure, at: now))
                case .flows(let rate):
                    let before = connection.deliveredBytes
                    let share = sourceCapacity / Double(flowing.count { $0.source == connection.source })
                    let after = before + min(rate, share) * min(1, capacity / sum) * (step / .seconds(1))
                    connections[index].deliveredBytes = after
                    let count = min(Int(after), connection.range.count) - Int(before)
                    guard count > 0 else { continue }
                    result.sentBytes[connection.source] += count
                    let isDone = planner.accept(count, for: connection.id, at: now).isDone
                    guard isDone || Int(after) >= connection.range.count else { continue }
                    connections.remove(at: index)
                    if Int(after) >= connection.range.count { idle[connection.source].append(connection.number) }
                    perform(planner.ended(connection.id, at: now))
                }
            }
        }
        result.duration = now
        return result
    }
}

extension SegmentPlanner {
    /// - Parameters:
    ///   - totalBytes: The size of the file.
    ///   - held: The ranges that were already received.
    ///   - allowances: The maximum number of connections to the host of each source.
    ///   - hosts: For each source, the index of the first source with the same host; by default, all hosts differ.
    ///   - connections: The controller of the total number of connections.
    ///   - wanted: The demanded ranges, the most urgent first.
    init(
        totalBytes: Int64,
        held: ByteRangeSet,
        allowances: [Int],
        hosts: [Int]? = nil,
        connections: ConcurrencyController,
        wanted: [Range<Int64>] = []
    ) {
        let pool = SourcePool(allowances: allowances, hosts: hosts ?? Array(allowances.indices))
        self.init(SegmentList(totalBytes: totalBytes, held: held), pool, connections, wanted: wanted)
    }

    /// Sets the maximum number of connections to the host of one source.
    mutating func allow(_ connections: Int, on source: Int, at now: Duration) -> [Action] {
        var changed = pool
        changed.allow(connections, on: source)
        return allow(changed.sources.map(\.allowance), at: now)
    }
}

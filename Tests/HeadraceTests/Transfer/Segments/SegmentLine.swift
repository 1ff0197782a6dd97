import HeadracePlatform
import HeadraceTestSupport

@testable import Headrace

/// A line and a server at its far end, whose speed is computed from the ages of the connections.
struct SegmentLine {
    /// The speed of all connections together, in bytes per second.
    var capacity: Double
    /// The speed of a single connection, as lost packets, windows or the server limit it, in bytes per second.
    var connectionRate: Double
    var roundTrip: Duration
    /// The number of round trips from a request on a new connection to the first byte of its body.
    var openingRoundTrips = 3.0
    /// The number of connections that the server serves at once.
    var served = Int.max
    /// The largest relative deviation of the speed.
    var noise = 0.0

    /// A line whose single connection is between as fast as the line and 1/32 as fast.
    init(using random: inout SeededRandom) {
        capacity = pow(10, Double.random(in: 5.7...8.1, using: &random))
        connectionRate = capacity / exp2(Double.random(in: 0...5, using: &random))
        roundTrip = .microseconds(Int(pow(10, Double.random(in: 2...5.5, using: &random))))
        openingRoundTrips = Bool.random(using: &random) ? 2 : 3
        noise = Double.random(in: 0...0.1, using: &random)
    }

    /// The speed with up to `connections` connections at full speed.
    func rate(_ connections: Int) -> Double { min(capacity, connectionRate * Double(min(connections, served))) }
}

/// A download over a simulated line, with the number of connections that a controller wants.
struct SimulatedDownload {
    /// The bytes that TCP sends in the first round trip.
    private static let firstWindow = 14_600.0
    private static let step = SegmentPlanner.tickInterval

    var line: SegmentLine
    private(set) var controller: ConcurrencyController
    private(set) var time = Duration.zero
    private(set) var bytes = 0.0
    /// The time at which each connection was opened.
    private var opened: [Duration]

    init(_ mode: ConcurrencyController.Mode, over line: SegmentLine, missingBytes: Double) {
        self.line = line
        controller = ConcurrencyController(mode)
        controller.begin(missingBytes: Int64(missingBytes), roundTrip: line.roundTrip)
        // The first response has arrived.
        opened = [.zero - line.roundTrip * line.openingRoundTrips]
    }

    var openConnections: Int { opened.count }

    /// Limits the number of connections, as a host or the descriptors of the process do.
    mutating func limit(to maximum: Int) {
        controller.limit { min($0, maximum) }
    }

    mutating func step(using random: inout SeededRandom) {
        let wanted = min(controller.count, controller.maximum, line.served)
        while opened.count < wanted { opened.append(time) }
        opened.removeLast(opened.count - wanted)
        let roundTrip = line.roundTrip / .seconds(1)
        let ages = opened.map { (time - $0) / .seconds(1) - line.openingRoundTrips * roundTrip }.filter { $0 >= 0 }
        let sum = ages.reduce(0) { sum, age in
            sum + min(line.connectionRate, Self.firstWindow * exp2(min(40, age / roundTrip)) / roundTrip)
        }
        let deviation = line.noise > 0 ? Double.random(in: -line.noise...line.noise, using: &random) : 0
        bytes += min(sum, line.capacity) * (1 + deviation) * (Self.step / .seconds(1))
        time += Self.step
        controller.measured(Int64(bytes), on: ages.count, at: time)
    }
}

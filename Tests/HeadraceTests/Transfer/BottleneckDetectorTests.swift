import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct BottleneckDetectorTests {
    private typealias Connections = BottleneckDetector.Connections
    private typealias Scaling = ConcurrencyController.Scaling

    /// The activity of a connection in the first part of each tenth of a second.
    private struct Share {
        var receiving = 0
        var throttled = 0
        var writing = 0
        var hashing = 0
    }

    /// Runs a number of equal connections, and returns what is reported, with the second of each report.
    ///
    /// They change their phases in cycles of a tenth of a second; the shares are in milliseconds.
    private func reports(
        _ share: Share,
        count: Int = 1,
        seconds: Range<Int> = 0..<10,
        _ connections: Connections? = nil,
        of detector: inout BottleneckDetector
    ) -> [Int: DownloadEvent.Bottleneck?] {
        var reports: [Int: DownloadEvent.Bottleneck?] = [:]
        var time = Duration.seconds(seconds.lowerBound)
        for second in seconds {
            for _ in 0..<10 {
                for _ in 0..<count { detector.moved(from: nil, to: .receiving, at: time) }
                time += .milliseconds(share.receiving)
                for _ in 0..<count { detector.moved(from: .receiving, to: .throttled, at: time) }
                time += .milliseconds(share.throttled)
                for _ in 0..<count {
                    detector.moved(from: .throttled, to: .handling, at: time)
                    detector.beginWrite(at: time)
                }
                time += .milliseconds(share.writing)
                for _ in 0..<count { detector.endWrite(at: time) }
                time += .milliseconds(share.hashing)
                for _ in 0..<count { detector.moved(from: .handling, to: nil, at: time) }
                time += .milliseconds(100 - share.receiving - share.throttled - share.writing - share.hashing)
            }
            guard detector.isDue(at: time) else { continue }
            if case .some(let report) = detector.evaluate(connections, at: time) { reports[second + 1] = report }
        }
        return reports
    }

    @Test(
        arguments: [
            (Share(receiving: 5, writing: 90, hashing: 5), .disk),
            (Share(receiving: 30, writing: 65, hashing: 5), nil),
            // A slow checksum is not the disk.
            (Share(receiving: 5, writing: 25, hashing: 70), nil),
            (Share(receiving: 5, throttled: 95), .rateLimit),
            (Share(receiving: 40, throttled: 50, writing: 10), .rateLimit),
            // A limit that is hardly below the speed of the line.
            (Share(receiving: 70, throttled: 30), nil),
            (Share(throttled: 15, writing: 85), nil),
            // With one connection, the network and the server cannot be distinguished.
            (Share(receiving: 100), nil),
            (Share(), nil),
            (Share(writing: 20), nil),
        ] as [(Share, DownloadEvent.Bottleneck?)]
    )
    private func `a bottleneck is reported once, after two seconds`(
        _ share: Share,
        _ expected: DownloadEvent.Bottleneck?
    ) {
        for count in [1, 4] {
            var detector = BottleneckDetector(at: .zero)
            #expect(reports(share, count: count, of: &detector) == (expected.map { [2: $0] } ?? [:]))
        }
    }

    @Test func `a change is reported when it has lasted, and nil when the bottleneck is no longer known`() {
        var detector = BottleneckDetector(at: .zero)
        let (disk, limit) = (Share(writing: 100), Share(throttled: 100))
        #expect(reports(disk, seconds: 0..<5, of: &detector) == [2: .disk])
        #expect(reports(limit, seconds: 5..<6, of: &detector) == [:])
        #expect(reports(disk, seconds: 6..<7, of: &detector) == [:])
        #expect(reports(limit, seconds: 7..<9, of: &detector) == [9: .rateLimit])
        #expect(reports(Share(receiving: 100), seconds: 9..<12, of: &detector) == [11: nil])
    }

    @Test func `a write that takes seconds counts while it lasts`() {
        var detector = BottleneckDetector(at: .zero)
        detector.moved(from: nil, to: .handling, at: .zero)
        detector.beginWrite(at: .zero)
        #expect(detector.evaluate(nil, at: .seconds(1)) == nil)
        #expect(detector.evaluate(nil, at: .seconds(2)) == .some(.disk))
    }

    private static func connections(
        _ scaling: Scaling?,
        _ cap: Connections.Cap? = nil,
        roundTrip: Int = 1,
        rates: [Double],
        isSettled: Bool = true
    ) -> Connections {
        Connections(
            scaling: scaling,
            cap: cap,
            roundTrip: .milliseconds(roundTrip),
            rates: rates,
            isSettled: isSettled
        )
    }

    private static let even = [Double](repeating: 1e6, count: 16)
    private static let uneven = (0..<16).map { $0 < 8 ? 0.7e6 : 1.3e6 }
    private static let clear = Scaling(isClear: true, connections: 8, rate: 8e6)
    private static let none = Scaling(isClear: false, connections: 4, rate: 4e6)

    @Test(
        arguments: [
            (connections(nil, .maximum, rates: even), nil),
            (connections(none, rates: [1e6, 1e6, 1e6, 1e6]), .line),
            (connections(none, .limit, rates: [1e6, 1e6, 1e6, 1e6]), .line),
            // The speed has changed since the measurement.
            (connections(none, rates: [1e6, 1e6]), nil),
            (connections(none, rates: [2e6, 2e6, 2e6, 2e6]), nil),
            (connections(none, rates: []), nil),
            (connections(clear, rates: even), nil),
            (connections(clear, .limit, rates: even), .connectionLimit),
            (connections(clear, .refused, rates: even), .refusedConnections),
            // As many connections as before, and more that brought too little.
            (connections(clear, .refused, rates: Array(even.prefix(8))), nil),
            (connections(clear, .refused, rates: even.map { $0 * 0.85 }), nil),
            (connections(clear, .maximum, rates: even), .connectionRate),
            (connections(clear, .maximum, rates: uneven), .connectionRate),
            // More bytes in transit than the initial window.
            (connections(clear, .maximum, roundTrip: 50, rates: even), .connectionRate),
            (connections(clear, .maximum, roundTrip: 50, rates: uneven), .congestionWindow),
            (connections(clear, .maximum, roundTrip: 50, rates: uneven, isSettled: false), nil),
            (connections(clear, .maximum, roundTrip: 15, rates: uneven), nil),
            (connections(clear, .maximum, roundTrip: 500, rates: even), nil),
        ] as [(Connections, DownloadEvent.Bottleneck?)]
    )
    private func `the effect of more connections tells the line and the server apart`(
        _ connections: Connections,
        _ expected: DownloadEvent.Bottleneck?
    ) {
        var detector = BottleneckDetector(at: .zero)
        let found = reports(Share(receiving: 100), count: 4, connections, of: &detector)
        #expect(found == (expected.map { [2: $0] } ?? [:]))
    }

    /// A download over a random line, from a server that serves a random number of connections.
    @Test(arguments: 0..<10)
    func `on random lines, whatever is reported is the bottleneck`(_ part: Int) {
        var found: Set<DownloadEvent.Bottleneck> = []
        for seed in part * 20..<part * 20 + 20 {
            var random = SeededRandom(seed: UInt64(seed))
            var line = SegmentLine(using: &random)
            if Bool.random(using: &random) { line.served = Int.random(in: 1...16, using: &random) }
            var download = SimulatedDownload(.automatic(max: 16), over: line, missingBytes: 1e12)
            var detector = BottleneckDetector(at: .zero)
            detector.moved(from: nil, to: .receiving, at: .zero)
            var bytes = 0.0
            for _ in 0..<1800 {
                download.step(using: &random)
                guard detector.isDue(at: download.time) else { continue }
                let count = download.openConnections
                let rates = [Double](repeating: (download.bytes - bytes) / Double(count), count: count)
                bytes = download.bytes
                let connections = Connections(
                    scaling: download.controller.scaling,
                    cap: line.served < download.controller.count ? .refused : count == 16 ? .maximum : nil,
                    roundTrip: line.roundTrip,
                    rates: rates,
                    isSettled: true
                )
                guard case .some(let report?) = detector.evaluate(connections, at: download.time) else { continue }
                found.insert(report)
                // The speed before the last connections were added may have been measured too low by the noise.
                let isPerConnection =
                    line.capacity >= 0.9 * (1 - line.noise) * Double(count) * line.connectionRate
                let isRight =
                    switch report {
                    // More connections would be hardly faster; a trial of fewer may be running.
                    case .line: line.capacity <= 1.2 * line.rate(max(count, connections.scaling?.connections ?? 0))
                    case .refusedConnections: count == line.served && isPerConnection
                    case .connectionRate: count == 16 && isPerConnection
                    default: false
                    }
                #expect(isRight, "\(seed): \(report) on \(count) connections of \(line)")
            }
        }
        #expect(found.contains(.line) && found.count > 1)
    }
}

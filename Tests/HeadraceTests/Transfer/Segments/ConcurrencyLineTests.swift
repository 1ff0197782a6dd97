import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)), .computing)
struct ConcurrencyLineTests {
    private static let maximum = 16

    private func duration(
        _ mode: ConcurrencyController.Mode,
        _ line: SegmentLine,
        _ size: Double,
        _ random: inout SeededRandom
    ) -> Duration {
        var download = SimulatedDownload(mode, over: line, missingBytes: size)
        while download.bytes < size { download.step(using: &random) }
        return download.time
    }

    @Test(arguments: 0..<5)
    func `on random lines the automatic number is nearly as fast as the best fixed one`(_ part: Int) {
        var ratios: [Double] = []
        for seed in part * 50..<part * 50 + 50 {
            var random = SeededRandom(seed: UInt64(seed))
            let line = SegmentLine(using: &random)
            let size = line.rate(Self.maximum) * Double.random(in: 12...25, using: &random)
            let best = [1, 2, 4, 8, 12, 16].map { duration(.fixed($0), line, size, &random) }.min() ?? .zero
            let ratio = duration(.automatic(max: Self.maximum), line, size, &random) / best
            #expect(ratio <= 1.15, "\(line)")
            ratios.append(ratio)
        }
        #expect(ratios.reduce(0, +) / Double(ratios.count) <= 1.04)
    }

    @Test(arguments: 0..<12)
    func `on lines that change, limits are kept and the number converges`(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var line = SegmentLine(using: &random)
        line.noise /= 4
        let maximum = Int.random(in: 1...Self.maximum, using: &random)
        var download = SimulatedDownload(.automatic(max: maximum), over: line, missingBytes: 1e12)
        var granted = maximum
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            switch Int.random(in: 0..<4, using: &random) {
            case 0: download.line.capacity *= Double.random(in: 0.3...3, using: &random)
            case 1: download.line.connectionRate *= Double.random(in: 0.3...3, using: &random)
            // A server that refuses further connections: its limit is found by the host's, not by the controller.
            case 2: download.line.served = Int.random(in: 1...maximum, using: &random)
            default:
                granted = Int.random(in: 1...maximum, using: &random)
                download.limit(to: granted)
            }
            for _ in 0..<Int.random(in: 1...600, using: &random) {
                download.step(using: &random)
                #expect(1...maximum ~= download.controller.count)
                #expect(download.openConnections <= min(granted, download.line.served))
            }
        }
        // Once nothing changes any more, the number changes rarely, and the line is used.
        download.line.served = .max
        download.limit(to: maximum)
        for _ in 0..<30_000 { download.step(using: &random) }
        let start = download.bytes
        var (changes, count) = (0, download.controller.count)
        for _ in 0..<12_000 {
            download.step(using: &random)
            if download.controller.count != count { (changes, count) = (changes + 1, download.controller.count) }
        }
        #expect(changes <= 4)
        #expect(download.bytes - start >= 600 * download.line.rate(maximum) * 0.85)
    }
}

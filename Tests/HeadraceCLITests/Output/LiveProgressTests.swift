import Headrace
import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct LiveProgressTests {
    private func draw(
        _ running: [DisplayedDownload],
        of totals: RunTotals? = nil,
        width: Int = 80,
        height: Int = 24
    ) -> [String] {
        LiveProgress(running: running, totals: totals ?? RunTotals(open: running.count)).draw(
            width: width,
            height: height,
            .ascii
        )
    }

    @Test
    func `without a running download there is nothing to draw`() {
        #expect(draw([]).isEmpty)
        #expect(draw([], of: RunTotals(open: 3)).isEmpty)
    }

    @Test
    func `a log has one line for the only download or for all`() {
        #expect(LiveProgress(running: [], totals: RunTotals(open: 1)).line == nil)
        let one = LiveProgress(running: [.running(.half)], totals: RunTotals(open: 1))
        #expect(one.line == "a.bin: 50%, 50.0 MiB/100 MiB, 10.0 MiB/s, 0:05 left")
        let unknown = LiveProgress(running: [.connecting()], totals: RunTotals(open: 1))
        #expect(unknown.line == "a.bin: 0 B, 0 B/s")
        var totals = RunTotals(open: 2)
        totals.addFinished(100 << 20, fetched: 0)
        totals.failures[Download.ID(rawValue: 9)] = .network
        let two = LiveProgress(running: [.running(.half), .running(.half)], totals: totals)
        #expect(two.line == "1/4 done, 1 failed: 66%, 200 MiB/300 MiB, 20.0 MiB/s, 0:05 left")
    }

    @Test(arguments: [
        (1, "~"),
        (10, "a.bin"),
        (20, "a.bin           50%"),
        (40, "a.bin                   50%  10.0 MiB/s"),
        (60, "a.bin          50%   50.0 MiB/100 MiB  10.0 MiB/s      0:05"),
        (80, "a.bin         [########--------]   50%   50.0 MiB/100 MiB  10.0 MiB/s      0:05"),
        (
            200,
            "a.bin         [#########################-------------------------]   50%   50.0 MiB/100 MiB  10.0 MiB/s"
                + "      0:05"
        ),
    ])
    func `a line shows what fits`(_ width: Int, line: String) {
        #expect(draw([.running(.half)], width: width) == [line])
    }

    @Test(arguments: 1...250)
    func `no line is as wide as the terminal`(_ width: Int) {
        let names = ["a", String(repeating: "日本", count: 90), String(repeating: "long-", count: 50)]
        let running = names.map { DisplayedDownload.running(.half, named: $0) } + [.connecting()]
        let lines = draw(running, width: width)
        #expect(lines.count == 5)
        #expect(lines.allSatisfy { $0.displayWidth < max(2, width) })
    }

    @Test
    func `before the response the line says connecting, and an unknown size has no percentage`() {
        #expect(
            draw([.connecting(), .running(DownloadProgress(bytesReceived: 2048, bytesPerSecond: 1024), named: "b")])
                == [
                    "a.bin         [----------------]               connecting",
                    "b             [----------------]                 2.00 KiB  1.00 KiB/s",
                    "0/2 done      [----------------]    0%           2.00 KiB  1.00 KiB/s",
                ]
        )
    }

    @Test
    func `a long name shrinks the bar, then is shortened in the middle`() {
        let lines = draw([
            .running(.half, named: "twenty-letters.tar.x"),
            .running(.half, named: "ubuntu-24.04.3-live-server-amd64.iso"),
        ])
        #expect(
            lines == [
                "twenty-letters.tar.x  [####----]   50%   50.0 MiB/100 MiB  10.0 MiB/s      0:05",
                "ubuntu-24.~amd64.iso  [####----]   50%   50.0 MiB/100 MiB  10.0 MiB/s      0:05",
                "0/2 done              [####----]   50%    100 MiB/200 MiB  20.0 MiB/s      0:05",
            ]
        )
    }

    @Test
    func `control characters in names are not drawn`() {
        #expect(draw([.running(.half, named: "\u{1B}[2J\n.bin")], width: 20) == ["\u{FFFD}[2J\u{FFFD}.bin       50%"])
    }

    @Test
    func `the total counts bytes if all sizes are known`() {
        var totals = RunTotals(open: 1)
        totals.addFinished(50 << 20, fetched: 50 << 20)
        totals.failures[.sample] = .network
        #expect(
            draw([.running(.half)], of: totals) == [
                "a.bin               [#####-----]   50%   50.0 MiB/100 MiB  10.0 MiB/s      0:05",
                "1/3 done, 1 failed  [######----]   66%    100 MiB/150 MiB  10.0 MiB/s      0:05",
            ]
        )
    }

    @Test
    func `the total counts downloads while a size is unknown`() {
        var totals = RunTotals(open: 3)
        totals.addFinished(1, fetched: 1)
        #expect(
            draw([.running(.half)], of: totals).last
                == "1/4 done      [######----------]   37%           50.0 MiB  10.0 MiB/s"
        )
    }

    @Test
    func `impossible sizes do no harm`() {
        var huge = DownloadProgress(bytesReceived: 1, totalBytes: .max, bytesPerSecond: .nan)
        huge.timeRemaining = .seconds(1)
        let lines = draw([.running(huge), .running(huge)])
        #expect(lines.count == 3)
        #expect(lines.first == "a.bin         [----------------]    0%       1 B/7.99 EiB       0 B/s      0:01")
    }

    @Test
    func `downloads that do not fit the height are counted`() {
        let running = (0..<20).map { DisplayedDownload.connecting("\($0).bin") }
        #expect(draw(running, width: 20, height: 22).count == 21)
        let lines = draw(running, width: 20, height: 6)
        #expect(lines == ["0.bin", "1.bin", "2.bin", "~ and 17 more", "0/20 done        0%"])
        #expect(draw(running, width: 20, height: 2) == ["0/20 done        0%"])
        #expect(draw(running, width: 20, height: 1) == ["0/20 done        0%"])
    }
}

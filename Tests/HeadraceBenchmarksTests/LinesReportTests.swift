import Testing

@testable import HeadraceBenchmarks

@Suite("The table of lines of the benchmark", .timeLimit(.minutes(1)))
struct LinesReportTests {
    private static func entry(_ name: String, _ walls: [Double], failure: String? = nil) -> LinesReport.Entry {
        let contender = Contender(name: name, executable: "/\(name)", version: "1", isSubject: false) { _ in .run([]) }
        return LinesReport.Entry(
            contender: LineContender(contender: contender, variant: LineVariant()),
            command: Command(executable: "/\(name)"),
            failure: failure,
            samples: walls.map { Measurement(wall: $0, cpu: 0.5, peakMemory: 20 << 20) }
        )
    }

    @Test
    func `a table has a column of multiples for each protocol, and names what failed`() throws {
        let workspace = try Workspace(in: "/tmp")
        defer { workspace.remove() }
        let line = try Line("200mbit,120ms,0")
        let http = LineScene(work: .small, scheme: .http)
        let http2 = LineScene(work: .small, scheme: .http2)
        var report = LinesReport(runs: 3, contenders: [], missingPeers: [])
        // The line alone needs 1.44 and 1.56 s.
        report.results = [
            .init(
                line: line,
                scene: http,
                entries: [Self.entry("a", [2.88, 9, 1]), Self.entry("b", [])],
                workspace: workspace
            ),
            .init(
                line: line,
                scene: http2,
                entries: [Self.entry("a", [3.12]), Self.entry("b", [], failure: "exit status 7")],
                workspace: workspace
            ),
        ]
        let table = report.table(of: .small, on: line)
        #expect(table[1] == "200 Mbit/s, 120 ms: 600 files of 50 kB; the line alone: 1.44, 1.56 s")
        #expect(table[2].split(separator: " ").prefix(2) == ["http", "h2"])
        #expect(table[3].split(separator: " ") == ["a", "2.00", "2.00", "0.50", "0.50", "20", "20"])
        #expect(table[4].split(separator: " ") == ["b", "-", "failed", "-", "-", "-", "-"])
        #expect(report.table(of: .large, on: line).isEmpty)
        #expect(report.violations == ["200 Mbit/s, 120 ms, small-h2: b: exit status 7"])
    }
}

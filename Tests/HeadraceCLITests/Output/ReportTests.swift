import Headrace
import Testing

@testable import HeadraceCLI

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite(.timeLimit(.minutes(4)))
struct ReportTests {
    private let file = URL(filePath: "/d/a.bin")
    private let lost = DownloadError(.connectionLost, "Gone.")

    private func report(_ style: Report.Style, count: Int = 1) -> Report {
        var report = Report(style: style, verbosity: .normal, count: count)
        for index in 0..<count { report.add(.connecting(), at: index) }
        return report
    }

    @Test
    func `a download is running until it ends`() {
        var report = report(.plain, count: 4)
        let summary = DownloadSummary(
            file: file,
            fileSize: 5,
            bytesFetched: 5,
            duration: .seconds(1),
            isLengthVerified: true
        )
        #expect(report.running == [0, 1, 2, 3])
        _ = report.record(.started, of: 2)
        _ = report.record(.finished(summary), of: 1)
        _ = report.record(.failed(lost), of: 0)
        _ = report.record(.skipped(file), of: 3)
        #expect(report.running == [2])
        #expect(report.tally.finished == 2)
        #expect(report.tally.finishedBytes == 5)
        #expect(report.tally.status == .network)
    }

    @Test
    func `what comes after the end changes nothing`() {
        var report = report(.plain)
        _ = report.record(.skipped(file), of: 0)
        #expect(report.record(.failed(lost), of: 0).isEmpty)
        #expect(report.close(.failed(lost), of: 0).isEmpty)
        report.update(.half, of: 0)
        #expect(report.snapshot == Snapshot(running: [], tally: report.tally))
        #expect(report.tally.status == .success)
    }

    @Test
    func `a last event that is missing is made up from the state`() {
        var report = report(.plain, count: 2)
        #expect(report.close(.failed(lost), of: 0) == [.error("headrace: a.bin: Gone (http://h/x)")])
        #expect(!report.close(.finished(file), of: 1).isEmpty)
        #expect(report.tally.ended == 2)
    }

    @Test
    func `JSON goes to standard output, and failures to standard error too`() throws {
        var report = report(.json)
        #expect(report.record(.started, of: 0) == [.output(JSONLines.line(for: .started, of: .connecting()))])
        let lines = report.record(.failed(lost), of: 0)
        #expect(lines.last == .error("headrace: a.bin: Gone (http://h/x)"))
        #expect(lines.count == 2)
    }

    @Test
    func `progress in JSON begins with the answer`() {
        var report = report(.json)
        report.update(.half, of: 0)
        #expect(report.progressLines.isEmpty)
        _ = report.record(.responded(status: 200, totalBytes: 9, file: file), of: 0)
        #expect(report.progressLines.count == 1)
    }

    @Test
    func `the announced size outlives a progress that has none yet`() {
        var report = report(.live)
        _ = report.record(.responded(status: 200, totalBytes: 9, file: file), of: 0)
        report.update(DownloadProgress(bytesReceived: 3), of: 0)
        #expect(report.snapshot.running.first?.progress.totalBytes == 9)
    }

    @Test(arguments: [
        ([], "headrace: interrupted. Run"),
        (["a"], "headrace: interrupted; what came is kept in a. Run"),
        (["a", "b", "c"], "headrace: interrupted; what came is kept in a, b, c. Run"),
        (["a", "b", "c", "d", "e"], "headrace: interrupted; what came is kept in a, b, c and 2 more. Run"),
    ])
    func `an interruption tells what is kept`(_ kept: [String], message: String) {
        #expect(Interruption.message(kept: kept) == message + " the same command again to go on.")
    }
}

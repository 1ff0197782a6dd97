import Headrace
import HeadracePlatform
import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct ReportTests {
    private let file = URL(filePath: "/d/a.bin")
    private let lost = DownloadError(.connectionLost, "Gone.")

    private let ids = (1...4).map { Download.ID(rawValue: $0) }
    private let request = DownloadRequest(makeURL("http://h/x"), to: .file(URL(filePath: "/d/a.bin")))

    /// A report on so many downloads that have started.
    private func report(_ style: Report.Style, count: Int = 1) -> Report {
        var report = Report(style: style, verbosity: .normal)
        for id in ids.prefix(count) {
            report.note(.running, of: id)
            _ = report.record(.started, of: id, request)
        }
        return report
    }

    private func item(_ id: Download.ID) -> Item { Item(id: id.description, request: request) }

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
        #expect(report.snapshot.running.map(\.id) == ids.map(\.description))
        _ = report.record(.finished(summary), of: ids[1], request)
        _ = report.record(.failed(lost), of: ids[0], request)
        _ = report.record(.skipped(file), of: ids[3], request)
        #expect(report.snapshot.running.map(\.id) == [ids[2].description])
        #expect(report.tally.finished == 2)
        #expect(report.tally.finishedBytes == 5)
        #expect(report.tally.count == 4)
        #expect(report.tally.status == .network)
    }

    @Test
    func `who follows a download that has ended is told nothing twice`() {
        var report = report(.plain)
        _ = report.record(.skipped(file), of: ids[0], request)
        #expect(report.leave(.failed(lost), of: ids[0], request).isEmpty)
        report.update(.half, of: ids[0], isRunning: true)
        #expect(report.snapshot == Snapshot(running: [], tally: report.tally))
        #expect(report.tally.status == .success)
    }

    @Test
    func `a last event that is missing is made up from the state`() {
        var report = report(.plain, count: 2)
        #expect(report.leave(.failed(lost), of: ids[0], request) == [.error("headrace: a.bin: Gone (http://h/x)")])
        #expect(!report.leave(.finished(file), of: ids[1], request).isEmpty)
        #expect(report.tally.ended == 2)
    }

    @Test
    func `a failure counts until the download is tried again`() {
        var report = report(.plain, count: 2)
        _ = report.record(.failed(lost), of: ids[0], request)
        #expect(report.tally.status == .network)
        report.note(.waiting, of: ids[0])
        _ = report.record(.started, of: ids[0], request)
        #expect(report.tally.status == .success)
        #expect(report.tally.count == 2)
        #expect(report.snapshot.running.count == 2)
    }

    @Test(arguments: [DownloadEvent.paused, .cancelled, .removed, .failed(DownloadError(.shutDown, "Stopped."))])
    func `what somebody stopped is neither left nor failed`(_ event: DownloadEvent) {
        var report = report(.plain, count: 2)
        _ = report.record(event, of: ids[0], request)
        #expect(report.tally.count == 1)
        #expect(report.tally.status == .success)
        #expect(report.snapshot.running.map(\.id) == [ids[1].description])
    }

    @Test(arguments: [Report.Style.quiet, .plain, .live, .json])
    func `an interruption is not told once for each download`(_ style: Report.Style) {
        var report = report(style, count: 2)
        #expect(report.record(.failed(DownloadError(.shutDown, "Stopped.")), of: ids[0], request) == [])
    }

    @Test
    func `one that waits for another attempt leaves the live area`() {
        var report = report(.plain)
        report.update(.half, of: ids[0], isRunning: false)
        #expect(report.snapshot.running.isEmpty)
        report.update(.half, of: ids[0], isRunning: true)
        #expect(report.snapshot.running.count == 1)
    }

    @Test
    func `a download that was paused starts anew for the reader`() {
        var report = report(.plain)
        #expect(report.record(.paused, of: ids[0], request) == [.error("a.bin: paused")])
        #expect(report.record(.started, of: ids[0], request) == [.error("a.bin: started (http://h/x)")])
    }

    @Test
    func `JSON goes to standard output, and failures to standard error too`() throws {
        var report = Report(style: .json, verbosity: .normal)
        let line = JSONLines.line(for: .started, of: item(ids[0]))
        #expect(report.record(.started, of: ids[0], request) == [.output(line)])
        let lines = report.record(.failed(lost), of: ids[0], request)
        #expect(lines.last == .error("headrace: a.bin: Gone (http://h/x)"))
        #expect(lines.count == 2)
    }

    @Test
    func `progress in JSON begins with the response`() {
        var report = report(.json)
        report.update(.half, of: ids[0], isRunning: true)
        #expect(report.progressLines.isEmpty)
        _ = report.record(.responded(status: 200, totalBytes: 9, file: file), of: ids[0], request)
        #expect(report.progressLines.count == 1)
    }

    @Test
    func `the announced size outlives a progress that has none yet`() {
        var report = report(.live)
        _ = report.record(.responded(status: 200, totalBytes: 9, file: file), of: ids[0], request)
        report.update(DownloadProgress(bytesReceived: 3), of: ids[0], isRunning: true)
        #expect(report.snapshot.running.first?.progress.totalBytes == 9)
    }

    @Test(arguments: [
        (Interruption.Rest(), "headrace: interrupted. Run the same command again to go on."),
        (.init(kept: ["a"]), "headrace: interrupted; what came is kept in a. Run the same command again to go on."),
        (
            .init(kept: ["a", "b", "c", "d", "e"]),
            "headrace: interrupted; what came is kept in a, b, c and 2 more. Run the same command again to go on."
        ),
        (
            .init(kept: ["a"], isAbandoned: true),
            "headrace: interrupted; what came is kept in a. Without --no-resume, the same command goes on."
        ),
        (
            .init(lost: ["x"]),
            "headrace: interrupted. Run the same command again to go on. x begins again, since its server tells no version."
        ),
        (
            .init(kept: ["a"], lost: ["x", "y"], finished: .fetches),
            "headrace: interrupted; what came is kept in a. Run the same command again to go on. x, y begin again, since "
                + "their servers tell no version. With --if-exists skip what is finished is not fetched again."
        ),
        (
            .init(finished: .asks),
            "headrace: interrupted. Run the same command again to go on. What is finished stays, if its server tells the "
                + "version; with --if-exists skip in any case."
        ),
        (.init(finished: .skips), "headrace: interrupted. Run the same command again to go on."),
    ])
    func `an interruption tells what is kept, and what the same command does`(
        _ rest: Interruption.Rest,
        message: String
    ) {
        #expect(rest.message == message)
    }

    @Test
    func `what is paused is counted until it waits again`() {
        var report = Report(style: .plain, verbosity: .normal)
        report.note(.paused, of: ids[0])
        report.note(.paused, of: ids[1])
        #expect(report.tally.paused == 2 && report.tally.count == 0)
        report.note(.waiting, of: ids[0])
        report.forget(ids[1])
        #expect(report.tally.paused == 0 && report.tally.count == 1)
    }
}

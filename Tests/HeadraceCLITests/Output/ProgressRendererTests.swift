import Headrace
import HeadracePlatform
import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct ProgressRendererTests {
    private let file = URL(filePath: "/d/a.bin")
    private let lost = DownloadError(.connectionLost, "Gone.")

    private let ids = (1...4).map { Download.ID(rawValue: $0) }
    private let request = DownloadRequest(makeURL("http://h/x"), to: .file(URL(filePath: "/d/a.bin")))

    /// A renderer with `count` started downloads.
    private func renderer(_ style: ProgressRenderer.Style, count: Int = 1) -> ProgressRenderer {
        var renderer = ProgressRenderer(style: style, verbosity: .normal)
        for id in ids.prefix(count) {
            renderer.setState(.running, of: id)
            _ = renderer.record(.started, of: id, request)
        }
        return renderer
    }

    private func item(_ id: Download.ID) -> DisplayedDownload {
        DisplayedDownload(id: id.description, request: request)
    }

    @Test
    func `a download is running until it ends`() {
        var renderer = renderer(.plain, count: 4)
        let summary = DownloadSummary(
            file: file,
            fileSize: 5,
            bytesFetched: 5,
            duration: .seconds(1),
            isLengthVerified: true
        )
        #expect(renderer.liveProgress.running.map(\.id) == ids.map(\.description))
        _ = renderer.record(.finished(summary), of: ids[1], request)
        _ = renderer.record(.failed(lost), of: ids[0], request)
        _ = renderer.record(.skipped(file), of: ids[3], request)
        #expect(renderer.liveProgress.running.map(\.id) == [ids[2].description])
        #expect(renderer.totals.finished == 2)
        #expect(renderer.totals.finishedBytes == 5)
        #expect(renderer.totals.count == 4)
        #expect(renderer.totals.status == .network)
    }

    @Test
    func `without a terminal, lines are due every ten seconds, and every minute in a long run`() {
        var renderer = renderer(.plain)
        renderer.update(.half, of: ids[0], isRunning: true)
        var due: [Int] = []
        for second in 0...1000 where renderer.isLogDue(after: .seconds(second)) {
            due.append(second)
            let line = "a.bin: 50%, 50.0 MiB/100 MiB, 10.0 MiB/s, 0:05 left"
            #expect(renderer.logLines(after: .seconds(second)) == [.error(line)])
        }
        #expect(due.prefix(4) == [10, 20, 30, 40])
        let gaps = zip(due.dropFirst(), due).map { $0 - $1 }
        #expect(gaps.min() == 10 && gaps.last == 60 && gaps == gaps.sorted())
    }

    @Test
    func `an ended download is not reported twice`() {
        var renderer = renderer(.plain)
        _ = renderer.record(.skipped(file), of: ids[0], request)
        #expect(renderer.stopFollowing(.failed(lost), of: ids[0], request).isEmpty)
        renderer.update(.half, of: ids[0], isRunning: true)
        #expect(renderer.liveProgress == LiveProgress(running: [], totals: renderer.totals))
        #expect(renderer.totals.status == .success)
    }

    @Test
    func `a missing final event is recreated from the state`() {
        var renderer = renderer(.plain, count: 2)
        #expect(
            renderer.stopFollowing(.failed(lost), of: ids[0], request) == [.error("headrace: a.bin: Gone (http://h/x)")]
        )
        #expect(!renderer.stopFollowing(.finished(file), of: ids[1], request).isEmpty)
        #expect(renderer.totals.ended == 2)
    }

    @Test
    func `a failure counts until the download is retried`() {
        var renderer = renderer(.plain, count: 2)
        _ = renderer.record(.failed(lost), of: ids[0], request)
        #expect(renderer.totals.status == .network)
        renderer.setState(.waiting, of: ids[0])
        _ = renderer.record(.started, of: ids[0], request)
        #expect(renderer.totals.status == .success)
        #expect(renderer.totals.count == 2)
        #expect(renderer.liveProgress.running.count == 2)
    }

    @Test(arguments: [DownloadEvent.paused, .cancelled, .removed, .failed(DownloadError(.shutDown, "Stopped."))])
    func `a stopped download counts as neither open nor failed`(_ event: DownloadEvent) {
        var renderer = renderer(.plain, count: 2)
        _ = renderer.record(event, of: ids[0], request)
        #expect(renderer.totals.count == 1)
        #expect(renderer.totals.status == .success)
        #expect(renderer.liveProgress.running.map(\.id) == [ids[1].description])
    }

    @Test(arguments: [ProgressRenderer.Style.quiet, .plain, .live, .json])
    func `an interruption is not reported for each download`(_ style: ProgressRenderer.Style) {
        var renderer = renderer(style, count: 2)
        #expect(renderer.record(.failed(DownloadError(.shutDown, "Stopped.")), of: ids[0], request) == [])
    }

    @Test
    func `a download that waits for a retry leaves the status area`() {
        var renderer = renderer(.plain)
        renderer.update(.half, of: ids[0], isRunning: false)
        #expect(renderer.liveProgress.running.isEmpty)
        renderer.update(.half, of: ids[0], isRunning: true)
        #expect(renderer.liveProgress.running.count == 1)
    }

    @Test
    func `a resumed download is reported as started again`() {
        var renderer = renderer(.plain)
        #expect(renderer.record(.paused, of: ids[0], request) == [.error("a.bin: paused")])
        #expect(renderer.record(.started, of: ids[0], request) == [.error("a.bin: started (http://h/x)")])
        var relinked = request
        relinked.url = makeURL("http://h/new")
        #expect(renderer.record(.started, of: ids[0], relinked) == [.error("a.bin: started (http://h/new)")])
    }

    @Test
    func `JSON goes to standard output, and failures to standard error too`() throws {
        var renderer = ProgressRenderer(style: .json, verbosity: .normal)
        let line = JSONLines.line(for: .started, of: item(ids[0]))
        #expect(renderer.record(.started, of: ids[0], request) == [.output(line)])
        let lines = renderer.record(.failed(lost), of: ids[0], request)
        #expect(lines.last == .error("headrace: a.bin: Gone (http://h/x)"))
        #expect(lines.count == 2)
    }

    @Test
    func `JSON progress starts with the response`() {
        var renderer = renderer(.json)
        renderer.update(.half, of: ids[0], isRunning: true)
        #expect(renderer.progressLines.isEmpty)
        _ = renderer.record(.responded(status: 200, totalBytes: 9, file: file), of: ids[0], request)
        #expect(renderer.progressLines.count == 1)
    }

    @Test
    func `the advertised size is kept if the progress has none yet`() {
        var renderer = renderer(.live)
        _ = renderer.record(.responded(status: 200, totalBytes: 9, file: file), of: ids[0], request)
        renderer.update(DownloadProgress(bytesReceived: 3), of: ids[0], isRunning: true)
        #expect(renderer.liveProgress.running.first?.progress.totalBytes == 9)
    }

    @Test(
        arguments: [
            (Interruption(), "headrace: interrupted. Run the same command again to continue."),
            (
                .init(partialFiles: ["a"]),
                "headrace: interrupted; the received bytes are saved in a. Run the same command again to continue."
            ),
            (
                .init(partialFiles: ["a", "b", "c", "d", "e"]),
                "headrace: interrupted; the received bytes are saved in a, b, c and 2 more. Run the same command again to continue."
            ),
            (
                .init(partialFiles: ["a"], isResumeDisabled: true),
                "headrace: interrupted; the received bytes are saved in a. Run the same command without --no-resume to continue."
            ),
            (
                .init(restarting: ["x"]),
                "headrace: interrupted. Run the same command again to continue. x will start over, because its server sent no "
                    + "ETag or Last-Modified date."
            ),
            (
                .init(partialFiles: ["a"], restarting: ["x", "y"], finished: .downloads),
                "headrace: interrupted; the received bytes are saved in a. Run the same command again to continue. x, y "
                    + "will start over, because their servers sent no ETag or Last-Modified date. To skip finished files, use "
                    + "--if-exists skip."
            ),
            (
                .init(finished: .checks),
                "headrace: interrupted. Run the same command again to continue. Finished files are not downloaded again "
                    + "if the server sent an ETag or Last-Modified date; to skip all of them, add --if-exists skip."
            ),
        ] as [(Interruption, String)]
    )
    func `an interruption lists the partial files and what the same command will do`(
        _ interruption: Interruption,
        message: String
    ) {
        #expect(interruption.message == message)
    }

    @Test
    func `a paused download is counted until it waits again`() {
        var renderer = ProgressRenderer(style: .plain, verbosity: .normal)
        renderer.setState(.paused, of: ids[0])
        renderer.setState(.paused, of: ids[1])
        #expect(renderer.totals.paused.count == 2 && renderer.totals.count == 0)
        renderer.setState(.waiting, of: ids[0])
        renderer.forget(ids[1])
        #expect(renderer.totals.paused.count == 0 && renderer.totals.count == 1)
    }

    @Test(arguments: [DownloadState.paused, .failed(DownloadError(.tls, "No."))])
    func `a cancelled download is no longer counted as paused or failed`(_ earlier: DownloadState) {
        var renderer = ProgressRenderer(style: .plain, verbosity: .normal)
        renderer.setState(earlier, of: ids[0])
        #expect(renderer.totals.paused.count + renderer.totals.failedEarlier.count == 1)
        renderer.setState(.cancelled, of: ids[0])
        #expect(renderer.totals.paused.count + renderer.totals.failedEarlier.count == 0)
    }

    @Test
    func `a paused download remains paused when the end of the run interrupts it`() {
        var renderer = ProgressRenderer(style: .plain, verbosity: .normal)
        renderer.setState(.paused, of: ids[0])
        renderer.setState(.failed(.init(.shutDown, "Shut down.")), of: ids[0])
        #expect(renderer.totals.paused.count == 1 && renderer.totals.failedEarlier.count == 0)
    }
}

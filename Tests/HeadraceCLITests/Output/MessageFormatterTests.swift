import Headrace
import HeadracePlatform
import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct MessageFormatterTests {
    private static let file = URL(filePath: "/d/a (1).bin")

    private func line(
        _ event: DownloadEvent,
        _ verbosity: GetOptions.Verbosity = .normal,
        isLive: Bool = false,
        item: DisplayedDownload = .connecting()
    ) -> String? {
        MessageFormatter(verbosity: verbosity, isLive: isLive).line(for: event, of: item)
    }

    private func finished(verified: Bool = true, seconds: Double = 2, fetched: Int64 = 3 << 20) -> DownloadEvent {
        .finished(
            DownloadSummary(
                file: Self.file,
                fileSize: 3 << 20,
                bytesFetched: fetched,
                duration: .seconds(seconds),
                isLengthVerified: verified
            )
        )
    }

    @Test
    func `a start is printed without the password, and not if there is a progress line`() {
        #expect(line(.started) == "a.bin: started (http://h/x)")
        #expect(line(.started, isLive: true) == nil)
        #expect(line(.started, .verbose, isLive: true) == "a.bin: started (http://h/x)")
        #expect(line(.started, .quiet) == nil)
    }

    @Test(arguments: [
        ("http://h/a/x.bin?y", "x.bin"), ("http://h/caf%C3%A9.txt", "café.txt"), ("http://h/caf%e9.txt", "caf%e9.txt"),
        ("http://h/", "h"), ("http://h", "h"),
    ])
    func `before the response a download has the name in its URL`(_ url: String, name: String) {
        let request = DownloadRequest(makeURL(url), to: .directory(URL(filePath: "/d/")))
        #expect(DisplayedDownload(id: "00ff", request: request).name == name)
    }

    @Test
    func `the final line has the name, the size, the time and the speed`() {
        #expect(line(finished()) == "a.bin: finished as a (1).bin, 3.00 MiB in 2.0 s, 1.50 MiB/s")
        #expect(line(finished(seconds: 0)) == "a.bin: finished as a (1).bin, 3.00 MiB in 1 ms")
        let known = DisplayedDownload.connecting("a (1).bin")
        #expect(line(finished(), item: known) == "a (1).bin: finished, 3.00 MiB in 2.0 s, 1.50 MiB/s")
        #expect(
            line(finished(verified: false))?.hasSuffix("; the server did not send its length, so it may be incomplete")
                == true
        )
        #expect(line(finished(), .quiet) == nil)
        #expect(line(.unchanged(Self.file)) == "a (1).bin: already downloaded, not changed on the server")
        #expect(line(.skipped(Self.file)) == "a.bin: already exists, skipped")
    }

    @Test
    func `what limits the speed is printed with --verbose, and again in the final line`() {
        #expect(line(.limited(by: .disk), .verbose) == "a.bin: limited by the disk")
        #expect(line(.limited(by: .disk)) == nil)
        #expect(line(.limited(by: nil), .verbose) == nil)
        var item = DisplayedDownload.connecting("a (1).bin")
        for bottleneck in [.disk, nil, .rateLimit, .disk] as [DownloadEvent.Bottleneck?] {
            item.apply(.limited(by: bottleneck))
        }
        #expect(
            line(finished(), .verbose, item: item)
                == "a (1).bin: finished, 3.00 MiB in 2.0 s, 1.50 MiB/s, limited by the disk, then by the rate limit"
        )
        #expect(line(finished(), item: item) == "a (1).bin: finished, 3.00 MiB in 2.0 s, 1.50 MiB/s")
        let phrases = DownloadEvent.Bottleneck.allCases.map(\.phrase)
        #expect(Set(phrases).count == phrases.count)
    }

    @Test
    func `a resumed download prints its offset, and the speed of the new bytes`() {
        var item = DisplayedDownload.connecting("a (1).bin")
        item.apply(.resumed(from: 1 << 20, bytesKept: 2 << 20, proof: .entityTag))
        let response = DownloadEvent.responded(status: 206, totalBytes: 3 << 20, file: Self.file)
        #expect(line(response, item: item) == "a (1).bin: resuming with 2.00 MiB of 3.00 MiB already downloaded")
        #expect(line(response, .quiet, item: item) == nil)
        #expect(
            line(.responded(status: 206, totalBytes: nil, file: Self.file), item: item)
                == "a (1).bin: resuming with 2.00 MiB already downloaded"
        )
        item.apply(response)
        #expect(line(response, item: item) == nil)
        #expect(
            line(finished(fetched: 1 << 20), item: item)
                == "a (1).bin: finished, 3.00 MiB (1.00 MiB downloaded) in 2.0 s, 512 KiB/s"
        )
    }

    @Test
    func `the final line names the verification`() throws {
        var item = DisplayedDownload.connecting("a (1).bin")
        item.apply(.verified(try #require(Checksum("sha256:" + String(repeating: "0a", count: 32)))))
        #expect(line(finished(), item: item)?.hasSuffix(", 1.50 MiB/s, sha256 verified") == true)
        #expect(line(.unchanged(Self.file), item: item) == "a (1).bin: already downloaded, sha256 verified")
        var pieces = DisplayedDownload.connecting("a (1).bin")
        pieces.apply(.piecesVerified(count: 7))
        #expect(line(finished(), item: pieces)?.hasSuffix(", 7 pieces verified") == true)
    }

    @Test
    func `a repair prints the number and size of damaged pieces`() {
        #expect(
            line(.repairing(pieces: 3, bytesWasted: 5 << 20))
                == "a.bin: 3 pieces are damaged or missing; downloading 5.00 MiB"
        )
        #expect(
            line(.repairing(pieces: 1, bytesWasted: 5))
                == "a.bin: 1 piece is damaged or missing; downloading 5 B"
        )
        #expect(line(.repairing(pieces: 0, bytesWasted: 5)) == "a.bin: too long; removing the last 5 B")
    }

    @Test
    func `redirects and responses are printed with --verbose`() {
        let target = makeURL("https://u:p@m/y")
        let redirect = DownloadEvent.redirected(status: 302, from: makeURL("http://h/x"), to: target)
        let response = DownloadEvent.responded(status: 200, totalBytes: 1536, file: Self.file)
        #expect(line(redirect) == nil)
        #expect(line(response) == nil)
        #expect(line(redirect, .verbose) == "a.bin: redirected with status 302 to https://m/y")
        #expect(line(response, .verbose) == "a.bin: response status 200, 1.50 KiB")
        #expect(
            line(.responded(status: 200, totalBytes: nil, file: Self.file), .verbose)
                == "a.bin: response status 200, size unknown"
        )
    }

    @Test(arguments: [GetOptions.Verbosity.quiet, .normal, .verbose])
    func `a failure always prints the reason and the URL`(_ verbosity: GetOptions.Verbosity) {
        let error = DownloadError(.httpStatus, "The server responded with status 404.", statusCode: 404)
        #expect(
            line(.failed(error), verbosity) == "headrace: a.bin: The server responded with status 404 (http://h/x)"
        )
        #expect(line(.cancelled, verbosity) == "headrace: a.bin: cancelled (http://h/x)")
    }

    @Test
    func `control characters of a server are replaced`() {
        let error = DownloadError(.protocolViolation, "It sent \"\u{1B}[2J\n\".")
        #expect(
            line(.failed(error), item: .connecting("\u{1B}c.bin"))
                == "headrace: \u{FFFD}c.bin: It sent \"\u{FFFD}[2J\u{FFFD}\" (http://h/x)"
        )
    }

    @Test
    func `several downloads get a summary line`() {
        var totals = RunTotals()
        let text = MessageFormatter(verbosity: .normal, isLive: false)
        totals.addFinished(1 << 20, fetched: 1 << 20)
        totals.addFinished(1 << 20, fetched: 1 << 20)
        totals.failures[.sample] = .network
        #expect(text.summary(totals, elapsed: .seconds(4)) == "2 of 3 finished, 1 failed: 2.00 MiB in 4.0 s, 512 KiB/s")
        #expect(text.summary(RunTotals(open: 1), elapsed: .seconds(4)) == nil)
        #expect(text.summary(RunTotals(), elapsed: .seconds(4)) == "no download is waiting")
        var paused = RunTotals()
        paused.paused = .sample(2)
        let hint = "no download is waiting; 2 are paused: resume with headrace queue resume --state paused"
        #expect(text.summary(paused, elapsed: .seconds(4)) == hint)
        let other = MessageFormatter(verbosity: .normal, isLive: false, queueWords: " --registry other")
        #expect(other.summary(paused, elapsed: .seconds(4)) == hint + " --registry other")
        var failed = RunTotals()
        failed.failedEarlier = .sample(1)
        #expect(
            text.summary(failed, elapsed: .seconds(4))
                == "no download is waiting; 1 has failed: retry with headrace queue retry --state failed"
        )
        var there = RunTotals()
        there.addFinished(0, fetched: 0)
        there.addFinished(0, fetched: 0)
        #expect(text.summary(there, elapsed: .seconds(4)) == "2 of 2 finished in 4.0 s")
        there.addFinished(3 << 20, fetched: 1 << 20)
        #expect(
            text.summary(there, elapsed: .seconds(4))
                == "3 of 3 finished: 3.00 MiB (1.00 MiB downloaded) in 4.0 s, 256 KiB/s"
        )
        #expect(MessageFormatter(verbosity: .quiet, isLive: false).summary(totals, elapsed: .seconds(4)) == nil)
    }
}

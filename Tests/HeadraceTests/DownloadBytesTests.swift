import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Reading the bytes of a download while it runs and afterwards.
@Suite(.timeLimit(.minutes(4)))
struct DownloadBytesTests {
    private static let size = SegmentFixture.size
    private var size: Int64 { Self.size }
    private let file = SegmentFixture.file
    private let mebibyte: Int64 = 1 << 20

    /// A player starts at the beginning, then seeks ahead and back, while no connection receives more than it needs.
    @Test(arguments: [nil, 4, 1])
    func `a reader that seeks is served first, and the file is complete in the end`(_ connections: Int?) async throws {
        let gate = try Gate()
        // With several connections, the later ones are not held: a reader may wait for bytes behind a held one.
        let response = Response.answering { [file] request in
            connections == 4 && request.index >= 4
                ? .file(file).limited(bytesPerSecond: 2 << 20) : .file(file).held(after: 400_000, until: gate)
        }
        try await withPausedDownload(of: response) {
            $0.maxConnectionsPerDownload = connections
        } _: { download, server, target in
            var start = Player(download)
            await download.resume()
            let read = try await start.play(1)
            #expect(read > 0)
            for place in [4 * mebibyte + 7, 2 * mebibyte + 5] {
                var seek = Player(download, from: place)
                let read = try await seek.play(300_000)
                #expect(read >= 300_000)
                // With several connections, one may already be there.
                if connections != 4 {
                    #expect(server.requests.contains { $0.rangeStart == place }, "a request of its own")
                    #expect(server.traffic.bodyBytesSent < size, "what lies between is not there")
                }
            }
            gate.open()
            try await start.play()
            #expect(start.position == size)
            _ = try await download.value
            #expect(file.body.difference(fromFileAt: target) == nil)
        }
    }

    @Test func `the only connection is moved to a reader that comes later`() async throws {
        let response = Response.answering { [file] request in
            request.index == 0 ? .file(file).dripping(bytes: 64, every: .milliseconds(10)) : .file(file)
        }
        try await withPausedDownload(of: response) {
            $0.maxConnectionsPerDownload = 1
        } _: { download, server, target in
            await download.resume()
            for await progress in download.progress where progress.bytesReceived > 0 { break }
            var player = Player(download, from: 5 * mebibyte)
            let read = try await player.play()
            #expect(read == mebibyte)
            #expect(server.requests[1].rangeStart == 5 * mebibyte)
            _ = try await download.value
            #expect(file.body.difference(fromFileAt: target) == nil)
        }
    }

    @Test func `without range support, a seeking reader receives its bytes in file order`() async throws {
        var file = file
        file.acceptRanges = nil
        file.supportsRanges = false
        try await withPausedDownload(of: .file(file)) { download, server, _ in
            var player = Player(download, from: 4 * mebibyte)
            await download.resume()
            let read = try await player.play()
            #expect(read == 2 * mebibyte)
            #expect(server.requests.count == 1)
        }
    }

    @Test func `two readers each receive all of their bytes`() async throws {
        try await withPausedDownload(of: SegmentFixture.paced) { download, _, target in
            await download.resume()
            let ends = try await withThrowingTaskGroup { group in
                for start in [0, 3 * mebibyte] {
                    group.addTask {
                        var player = Player(download, from: start)
                        try await player.play()
                        return player.position
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(ends == [size, size])
            _ = try await download.value
            #expect(file.body.difference(fromFileAt: target) == nil)
        }
    }

    @Test(
        arguments: [
            (0..<size, size), (100..<200, 100), (size - 10..<Int64.max, 10), (size..<size + 10, 0),
            (1 << 40..<1 << 41, 0),
        ] as [(Range<Int64>, Int64)]
    )
    func `a finished file is read like a running download`(_ range: Range<Int64>, _ count: Int64) async throws {
        try await withPausedDownload(of: .file(file)) { download, _, _ in
            var player = Player(download, from: range.lowerBound, to: range.upperBound)
            await download.resume()
            let early = try await player.play()
            #expect(early == count)
            _ = try await download.value
            player = Player(download, from: range.lowerBound, to: range.upperBound)
            let late = try await player.play()
            #expect(late == count)
        }
    }

    @Test func `a reader continues after the rename and does not see a file that replaces it`() async throws {
        try await withPausedDownload(of: .file(file)) { download, _, target in
            var player = Player(download)
            await download.resume()
            try await player.play(1)
            _ = try await download.value
            var late = Player(download)
            try await late.play(1)
            try FileManager.default.removeItem(at: target)
            try Data("another".utf8).write(to: target)
            try await player.play()
            #expect(player.position == size)
            var other = Player(download)
            let code = try await other.failure()?.code
            #expect(code == .fileSystem)
        }
    }

    @Test func `a file of unknown length is read to its end`() async throws {
        try await withPausedDownload(of: .file(file).chunked()) { download, _, _ in
            var player = Player(download)
            await download.resume()
            let read = try await player.play()
            #expect(read == size)
        }
    }

    @Test func `an empty file has no bytes`() async throws {
        try await withPausedDownload(of: .ok("")) { download, _, _ in
            var player = Player(download)
            await download.resume()
            let read = try await player.play()
            #expect(read == 0)
        }
    }

    @Test func `a range beyond the largest file size is clamped`() async throws {
        try await withPausedDownload(of: .file(file)) { download, _, _ in
            let most = Int64.max
            #expect(download.bytes(in: 5...most).range == 5..<most)
            #expect(download.bytes(in: ...most).range == 0..<most)
            #expect(download.bytes(in: most...).range.isEmpty)
            #expect(download.bytes(in: -5...(-1)).range.isEmpty)
            #expect(download.bytes(in: ..<(-1)).range.isEmpty)
            #expect(download.bytes(in: -5..<7).range == 0..<7)
            #expect(download.bytes(in: (-5)...).range == 0..<most)
            #expect(download.bytes(in: 3...4).range == 3..<5)
        }
    }

    // MARK: The end of a read

    @Test func `cancelling the reading task ends the wait, and the download continues`() async throws {
        let gate = try Gate()
        try await withPausedDownload(of: .file(file).held(after: 100_000, until: gate)) {
            $0.maxConnectionsPerDownload = 1
        } _: { download, server, target in
            await download.resume()
            let readers = download.record.ledger()
            await withThrowingTaskGroup { group in
                let (started, start) = AsyncStream.makeStream(of: Never.self)
                group.addTask {
                    var player = Player(download)
                    try await player.play(100_000)
                    start.finish()
                    try await player.play()
                }
                for await _ in started {}
                #expect(readers.isRead)
                group.cancelAll()
                await #expect(throws: CancellationError.self) { try await group.next() }
            }
            #expect(!readers.isRead, "nothing is wanted any more")
            gate.open()
            _ = try await download.value
            #expect(server.requests.count == 1)
            #expect(file.body.difference(fromFileAt: target) == nil)
        }
    }

    @Test func `a released iterator no longer demands bytes`() async throws {
        try await withPausedDownload(of: .file(file)) { download, _, _ in
            let readers = download.record.ledger()
            var player: Player? = Player(download)
            #expect(readers.demands == [0..<Int64.max])
            player = nil
            #expect(player == nil && !readers.isRead)
        }
    }

    @Test func `a failure of the download is thrown to the reader`() async throws {
        try await withPausedDownload(of: .file(file).truncated(after: 300_000)) { download, _, _ in
            var player = Player(download)
            await download.resume()
            let error = try await player.failure()
            #expect(error?.code == .connectionLost)
            for await state in download.states where state.isEnded { #expect(state == error.map { .failed($0) }) }
            let read = try await player.play()
            #expect(read == 0, "an iteration that failed has ended")
        }
    }

    @Test func `a cancellation of the download is thrown to the reader`() async throws {
        try await withPausedDownload(of: .file(file).stalled(after: 300_000)) { download, _, _ in
            var player = Player(download)
            await download.resume()
            try await player.play(300_000)
            await download.cancel()
            let code = try await player.failure()?.code
            #expect(code == .cancelled)
        }
    }

    @Test func `received bytes can be read while the download is paused, and the rest after it resumes`() async throws {
        let response = Response.sequence([.file(file).stalled(after: 300_000)], then: .file(file))
        try await withPausedDownload(of: response) { download, _, target in
            var player = Player(download)
            await download.resume()
            try await player.play(100_000)
            await download.pause()
            var late = Player(download)
            let read = try await late.play(player.position)
            #expect(read >= player.position)
            await download.resume()
            try await player.play()
            try await late.play()
            #expect(player.position == size && late.position == size)
            _ = try await download.value
            #expect(file.body.difference(fromFileAt: target) == nil)
        }
    }

    @Test func `no reader receives bytes of two versions`() async throws {
        let gate = try Gate()
        let response = Response.sequence(
            [.file(file).held(after: 200_000, until: gate).truncated(after: 300_000)],
            then: .file(SegmentFixture.other)
        )
        try await withPausedDownload(of: response) {
            $0.retryPolicy.maxFailures = 3
        } _: { download, _, target in
            var player = Player(download)
            var waiting = Player(download, seed: 4, from: mebibyte)
            await download.resume()
            try await player.play(1)
            gate.open()
            let failure = try await player.failure()
            #expect(failure?.code == .resourceChanged)
            #expect(failure?.cause as? RestartReason == .changedEntityTag)
            // This reader has received no bytes yet, so it reads the new version.
            let read = try await waiting.play()
            #expect(read == size - mebibyte)
            _ = try await download.value
            #expect(SegmentFixture.other.body.difference(fromFileAt: target) == nil)
        }
    }
}

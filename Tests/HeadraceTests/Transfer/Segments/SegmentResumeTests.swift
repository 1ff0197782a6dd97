import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Downloads over several connections that are stopped and resumed.
@Suite(.timeLimit(.minutes(4)))
struct SegmentResumeTests {
    private typealias Fixture = SegmentFixture

    /// The bytes that each connection delivers before it falls silent: fewer than each of them requests.
    private static let piece: Int64 = 300_000

    private static let configuration = DownloadConfiguration {
        $0.maxConnectionsPerDownload = 4
        // On a busy machine, silence must not count as a stall.
        $0.stallTimeout = .seconds(3600)
    }

    /// Runs a download whose connections each deliver a piece and fall silent; after the stop, `later` is sent.
    ///
    /// `stop` must stop the download; `body` receives the number of bytes downloaded by then.
    private func withHeldPieces(
        then later: Response = Fixture.paced,
        _ stop: (DownloadManager, Download) async throws -> Void,
        _ body: (FaultServer, DownloadManager, Download, URL, Int64) async throws -> Void
    ) async throws {
        let isStopped = Locked(false)
        let response = Response.answering { _ in
            isStopped.withLock { $0 } ? later : Fixture.paced.stalled(after: Self.piece)
        }
        try await withTemporaryDirectory { folder in
            try await withFaultServer(response) { server in
                try await withDownloadManager(Self.configuration) { manager in
                    let download = try await manager.download(
                        DownloadRequest(server.url("/file.bin"), to: .directory(folder))
                    )
                    for await progress in download.progress where progress.bytesReceived >= 4 * Self.piece { break }
                    try await stop(manager, download)
                    var held: Int64 = 0
                    for await progress in download.progress {
                        held = progress.bytesReceived
                        break
                    }
                    isStopped.withLock { $0 = true }
                    try await body(server, manager, download, folder, held)
                }
            }
        }
    }

    /// Up to one piece at the end of each connection's part may be downloaded twice.
    private func isClose(_ bytes: Int64?, to expected: Int64) -> Bool {
        bytes.map { $0 >= expected && $0 <= expected + 3 << 20 / 2 } ?? false
    }

    @Test(arguments: [1, 4])
    func `X01 a second run downloads the gaps between the pieces`(_ connections: Int) async throws {
        try await withHeldPieces { manager, _ in
            await manager.shutdown()
        } _: { server, _, _, folder, held in
            let outcome = try await ResumeFixture.run(from: server, in: folder, expecting: Fixture.file) {
                $0.maxConnectionsPerDownload = connections
            }
            #expect(outcome.isExact)
            // On a busy machine, a silent connection may have been replaced.
            #expect(outcome.resumes.count == 1)
            #expect(outcome.resumes.allSatisfy { $0 >= Self.piece })
            #expect(outcome.restarts.isEmpty)
            #expect(isClose(outcome.bytesFetched, to: Fixture.size - held))
        }
    }

    @Test func `a pause keeps all pieces, and resuming continues them`() async throws {
        try await withHeldPieces { _, download in
            await download.pause()
            for await state in download.states where state == .paused { break }
        } _: { server, _, download, folder, held in
            try await server.waitUntil { $0.openConnections == 0 }
            let before = server.traffic.bodyBytesSent
            await download.resume()
            let file = try await download.value
            #expect(Fixture.file.body.difference(fromFileAt: file) == nil)
            #expect(isClose(server.traffic.bodyBytesSent - before, to: Fixture.size - held))
            let names = try FileProbe.names(in: folder)
            #expect(names == ["file.bin"])
        }
    }

    @Test func `a server that now ignores ranges wastes only the pieces after the first gap`() async throws {
        try await withHeldPieces(then: .whole(Fixture.file)) { manager, _ in
            await manager.shutdown()
        } _: { server, _, _, folder, held in
            let before = server.requests.count
            let outcome = try await ResumeFixture.run(from: server, in: folder, expecting: Fixture.file)
            #expect(outcome.isExact)
            #expect(outcome.restarts.isEmpty)
            // Once with If-Range and once without it.
            #expect(server.requests.count - before == 2)
        }
    }

    @Test func `R27 pieces of an outdated version are discarded for the new one`() async throws {
        try await withHeldPieces(then: .file(Fixture.other)) { manager, _ in
            await manager.shutdown()
        } _: { server, _, _, folder, held in
            let outcome = try await ResumeFixture.run(from: server, in: folder, expecting: Fixture.other)
            #expect(outcome.isExact)
            #expect(outcome.restarts.map(\.bytes) == [held])
        }
    }

    @Test func `discarded bytes of an earlier run are counted without the gaps`() async throws {
        try await withHeldPieces { manager, _ in
            await manager.shutdown()
        } _: { server, _, _, folder, held in
            let outcome = try await ResumeFixture.run(from: server, in: folder, expecting: Fixture.file) {
                $0.resumesPartialDownloads = false
            }
            #expect(outcome.isExact)
            #expect(outcome.restarts.map(\.bytes) == [held])
        }
    }
}

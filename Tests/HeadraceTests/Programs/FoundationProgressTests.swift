import Foundation
import Headrace
import HeadraceTestSupport
import Testing

@testable import HeadraceFoundation

/// A `Progress` object that mirrors and controls a download.
@Suite(.timeLimit(.minutes(4)))
struct FoundationProgressTests {
    private let body = Response.Body.pattern(size: 300_000)
    private let configuration = DownloadConfiguration {
        $0.retryPolicy.maxFailures = 0
        $0.stallTimeout = .seconds(3600)
    }

    /// Runs `meanwhile` during the reporting, which ends with the download.
    private func reporting(
        _ response: Response,
        meanwhile: (Progress, Download, FaultServer) async throws -> Void = { _, _, _ in }
    ) async throws -> (progress: Progress, state: DownloadState) {
        try await withFaultServer(response) { server in
            try await withTemporaryDirectory { folder in
                try await withDownloadManager(configuration) { manager in
                    let request = DownloadRequest(server.url("/file.bin"), to: .directory(folder))
                    let download = try await manager.download(request)
                    let progress = Progress(totalUnitCount: 0)
                    async let reported: Void = download.report(to: progress)
                    try await meanwhile(progress, download, server)
                    await reported
                    return (progress, download.state)
                }
            }
        }
    }

    @Test func `a finished download completes its progress and the parent's share`() async throws {
        let parent = Progress(totalUnitCount: 2)
        let (progress, state) = try await reporting(.ok(body)) { progress, _, _ in
            parent.addChild(progress, withPendingUnitCount: 1)
        }
        #expect(progress.isFinished && progress.totalUnitCount == 300_000)
        #expect(parent.fractionCompleted == 0.5)
        #expect(progress.kind == .file)
        #expect(progress.userInfo[.fileOperationKindKey] as? Progress.FileOperationKind == .downloading)
        #expect(progress.userInfo[.throughputKey] is Int)
        #expect(state == .finished(try #require(progress.userInfo[.fileURLKey] as? URL)))
        #expect(!progress.isPausable && !progress.isCancellable)
    }

    /// Regression: progress completed before the file did, and a re-downloaded file counted twice in the parent.
    @Test(
        arguments: [
            [(0, nil), (0, 0)], [(100, nil), (100, 300), (300, 300), (0, nil), (90, 300)],
            [(10, 50), (50, 50), (0, 50), (50, 50)], [(90, 100), (100, 100), (40, 50)],
            [(60, 200), (200, nil), (50, 50)],
        ] as [[(Int64, Int64?)]]
    )
    func `progress is never complete before the download ends, even if bytes are discarded`(
        _ reports: [(Int64, Int64?)]
    ) {
        let (parent, progress) = (Progress(totalUnitCount: 4), Progress(totalUnitCount: -1))
        parent.addChild(progress, withPendingUnitCount: 1)
        for (received, total) in reports {
            progress.show(DownloadProgress(bytesReceived: received, totalBytes: total))
            #expect(progress.completedUnitCount == min(received, max(1, total ?? .max) - 1))
            #expect(progress.totalUnitCount == total.map { max(1, $0) } ?? -1)
            #expect(!progress.isFinished && parent.completedUnitCount == 0)
        }
        progress.complete(50)
        #expect(progress.isFinished && progress.totalUnitCount == 50)
        #expect(parent.completedUnitCount == 1 && parent.fractionCompleted == 0.25)
    }

    @Test func `an empty file completes its progress`() async throws {
        let (progress, _) = try await reporting(.ok(""))
        #expect(progress.isFinished && progress.fractionCompleted == 1)
    }

    @Test func `an unknown size is indeterminate until the end`() async throws {
        let gate = try Gate()
        let response = Response.ok(body).chunked().held(after: 100_000, until: gate)
        let (progress, _) = try await reporting(response) { progress, download, _ in
            for await snapshot in download.progress where snapshot.bytesReceived > 0 { break }
            while progress.completedUnitCount == 0 { try await Task.sleep(for: .milliseconds(5)) }
            #expect(progress.isIndeterminate)
            gate.open()
        }
        #expect(progress.isFinished && progress.totalUnitCount == 300_000)
    }

    @Test func `cancelling the progress cancels the download`() async throws {
        let gate = try Gate()
        let (progress, state) = try await reporting(.ok(body).held(after: 1000, until: gate)) { progress, _, server in
            try await server.waitForRequests(count: 1)
            while !progress.isCancellable { try await Task.sleep(for: .milliseconds(5)) }
            progress.cancel()
        }
        #expect(state == .cancelled)
        #expect(progress.isCancelled && !progress.isFinished)
    }

    @Test func `a cancelled download cancels its progress`() async throws {
        let gate = try Gate()
        let (progress, _) = try await reporting(.ok(body).held(after: 1000, until: gate)) { _, download, server in
            try await server.waitForRequests(count: 1)
            await download.cancel()
        }
        #expect(progress.isCancelled)
    }

    @Test func `pausing and resuming the progress pauses and resumes the download`() async throws {
        let gate = try Gate()
        let file = Response.file(Resource(size: 300_000))
        let response = Response.sequence([file.held(after: 1000, until: gate)], then: file)
        let (progress, state) = try await reporting(response) { progress, download, server in
            try await server.waitForRequests(count: 1)
            while !progress.isPausable { try await Task.sleep(for: .milliseconds(5)) }
            progress.pause()
            for await state in download.states where state == .paused { break }
            progress.resume()
        }
        #expect(state.kind == .finished)
        #expect(progress.isFinished && !progress.isPaused)
    }

    @Test func `a failure leaves the progress at the received bytes`() async throws {
        let (progress, state) = try await reporting(.ok(body).truncated(after: 1000))
        #expect(state.kind == .failed)
        #expect(progress.completedUnitCount == 1000 && progress.totalUnitCount == 300_000)
        #expect(!progress.isFinished && !progress.isCancelled)
    }
}

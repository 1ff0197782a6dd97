import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// A queue of real downloads, one at a time: A stalls in its first run and continues in the next, B waits for a gate.
struct QueueOfThree {
    static let resource = Resource(size: 2_000_000)

    let server: FaultServer
    let folder: URL
    let manager: DownloadManager
    let gate: Gate
    let a: Download
    let b: Download
    let c: Download

    var paths: [String] { server.requests.map(\.path) }

    var states: [DownloadState.Kind] { [a, b, c].map(\.state.kind) }

    /// Waits until a download has bytes.
    func received(_ download: Download) async {
        for await progress in download.progress where progress.bytesReceived > 0 { break }
    }

    func isExact(_ download: Download) async throws -> Bool {
        Self.resource.body.difference(fromFileAt: try await download.value) == nil
    }

    /// Runs the body when A has bytes or has failed.
    static func with(
        limit: Int = 1,
        failing: Bool = false,
        _ body: (QueueOfThree) async throws -> Void
    ) async throws {
        let gate = try Gate()
        defer { gate.open() }
        let file = Response.file(resource)
        let first = failing ? file.truncated(after: 1_500_000) : file.stalled(after: 1_500_000)
        let routes: [String: Response] = [
            "/a": .sequence([first], then: file),
            "/b": file.held(after: 1_000, until: gate),
            "/c": file,
        ]
        try await withFaultServer(.routes(routes)) { server in
            try await withTemporaryDirectory { folder in
                let configuration = DownloadConfiguration {
                    $0.maxConcurrentDownloads = .fixed(limit)
                    $0.stallTimeout = .seconds(3600)
                    $0.retryPolicy.maxFailures = 0
                }
                try await withDownloadManager(configuration) { manager in
                    let downloads = try await manager.download(
                        ["/a", "/b", "/c"].map { DownloadRequest(server.url($0), to: .directory(folder)) }
                    )
                    let queue = QueueOfThree(
                        server: server,
                        folder: folder,
                        manager: manager,
                        gate: gate,
                        a: downloads[0],
                        b: downloads[1],
                        c: downloads[2]
                    )
                    if failing {
                        for await _ in queue.a.states {}
                    } else {
                        await queue.received(queue.a)
                    }
                    try await body(queue)
                    gate.open()
                }
            }
        }
    }
}

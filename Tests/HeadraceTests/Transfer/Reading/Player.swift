import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Reads a download in order, and compares every chunk with the expected bytes.
struct Player {
    private let pattern: Pattern
    private var iterator: DownloadBytes.Iterator
    private(set) var position: Int64

    init(_ download: Download, seed: UInt64 = 3, from start: Int64 = 0, to end: Int64 = .max) {
        pattern = Pattern(seed: seed)
        position = start
        iterator = download.bytes(in: start..<end).makeAsyncIterator()
    }

    /// Reads at least this many bytes, or to the end, and returns the number read.
    @discardableResult
    mutating func play(_ least: Int64 = .max) async throws -> Int64 {
        let start = position
        while position - start < least, let bytes = try await iterator.next() {
            let end = position + Int64(bytes.count)
            try #require(!bytes.isEmpty && bytes.count <= 256 << 10)
            try #require(bytes == Data(pattern.bytes(in: position..<end)), "wrong bytes at \(position)")
            position = end
        }
        return position - start
    }

    /// Reads to the end, and returns the error that stopped it, if any.
    mutating func failure() async throws -> DownloadError? {
        do {
            try await play()
            return nil
        } catch let error as DownloadError {
            return error
        }
    }
}

/// Runs the body with a paused download, which the body resumes, its server, and its folder.
func withPausedDownload(
    of response: Response,
    seed: UInt64 = 3,
    _ configure: (inout DownloadConfiguration) -> Void = { _ in },
    _ body: (Download, FaultServer, URL) async throws -> Void
) async throws {
    var configuration = DownloadConfiguration {
        $0.retryPolicy.maxFailures = 0
        $0.retryPolicy.baseDelay = .zero
        // A test may wait for longer than a server may be silent by default.
        $0.stallTimeout = .seconds(3600)
    }
    configure(&configuration)
    try await withFaultServer(response) { server in
        try await withTemporaryDirectory { folder in
            try await withDownloadManager(configuration) { manager in
                var request = DownloadRequest(server.url("/file.bin"), to: .directory(folder))
                request.startsPaused = true
                try await body(try await manager.download(request), server, folder.appending(path: "file.bin"))
            }
        }
    }
}

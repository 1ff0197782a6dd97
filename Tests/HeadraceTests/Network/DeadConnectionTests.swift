import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Downloads that reuse connections which have died silently.
@Suite(.timeLimit(.minutes(4)))
struct DeadConnectionTests {
    private static let pool = 4
    private static let file = Resource(size: 100_000)

    /// The connections that have served a request.
    private final class Pool: Sendable {
        private let served = Locked<Set<Int>>([])
        private let gate: Gate

        init() throws { gate = try Gate() }

        /// The first requests are served once the pool is full; later requests on its connections are never read.
        func isDead(_ connection: Int) -> Bool {
            let (isNew, count) = served.withLock { served in
                let isNew = served.insert(connection).inserted
                return (isNew, served.count)
            }
            if count >= DeadConnectionTests.pool { gate.open() }
            return !isNew && connection < DeadConnectionTests.pool
        }

        func response(to request: RecordedRequest) -> Response {
            guard !isDead(request.connection) else { return .nothing(by: .stall) }
            return Response.file(file).held(after: 0, until: gate)
        }

        func steps(for request: RecordedRequest) -> [HTTP2Step] {
            guard !isDead(request.connection) else { return [.stall] }
            return [.wait(gate)] + HTTP2Step.file(file, for: request)
        }
    }

    private static func configuration(_ concurrent: Int) -> DownloadConfiguration {
        DownloadConfiguration {
            $0.retryPolicy.maxFailures = 1
            // The first retry after a stall does not wait.
            $0.retryPolicy.baseDelay = .seconds(300)
            $0.retryPolicy.maxDelay = .seconds(300)
            $0.retryPolicy.maxRetriesPerHostAndMinute = nil
            $0.maxConcurrentDownloads = .fixed(concurrent)
            $0.maxConnectionsPerDownload = 1
            $0.stallTimeout = .seconds(1)
        }
    }

    /// Fills the pool, then downloads files from it; returns how often each stalled, after those that filled the pool.
    private static func run(
        _ manager: DownloadManager,
        _ concurrent: Int,
        in folder: URL,
        url: (String) -> URL
    ) async throws -> (filling: Int, later: [Int]) {
        var first: [Download] = []
        for number in 0..<pool {
            first.append(
                try await manager.download(DownloadRequest(url("/first\(number)"), to: .directory(folder)))
            )
        }
        // On a busy machine, these may stall too.
        var filling = 0
        for download in first {
            filling += await download.events.reduce(into: []) { $0.append($1) }.stalls
            _ = try await download.value
        }
        try await manager.setMaxConcurrentDownloads(.fixed(concurrent))
        var later: [Download] = []
        for number in 0..<pool {
            later.append(
                try await manager.download(DownloadRequest(url("/later\(number)"), to: .directory(folder)))
            )
        }
        var stalls: [Int] = []
        for download in later {
            let events = await download.events.reduce(into: []) { $0.append($1) }
            let url = try await download.value
            #expect(file.body.difference(fromFileAt: url) == nil)
            stalls.append(events.stalls)
        }
        return (filling, stalls)
    }

    @Test(arguments: [1, 2, 4])
    func `a pool of dead connections costs one time-out over HTTP 1`(_ concurrent: Int) async throws {
        let pool = try Pool()
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.answering(pool.response)) { server in
                try await withDownloadManager(Self.configuration(Self.pool)) { manager in
                    let (filling, stalls) = try await Self.run(manager, concurrent, in: folder) { server.url($0) }
                    #expect(stalls.reduce(0, +) == concurrent, "\(stalls)")
                    #expect(stalls.allSatisfy { $0 <= 1 })
                    #expect(server.connectionCount <= Self.pool + filling + Self.pool)
                }
            }
        }
    }

    @Test(
        .enabled(if: HTTP2Server.isAvailable, "libssl or libnghttp2 could not be loaded"),
        arguments: [1, 2, 4]
    )
    func `a pool of dead connections costs one time-out over HTTP 2`(_ concurrent: Int) async throws {
        let pool = try Pool()
        try await withTemporaryDirectory { folder in
            let authority = try TestCertificate.writeAuthority(in: folder)
            try await withHTTP2Server(script: pool.steps) { server in
                var configuration = Self.configuration(Self.pool)
                configuration.certificateAuthorities = authority
                // A download that runs alone would first try HTTP/1.1, which is one more connection.
                configuration.connectionPolicy.httpVersion = .http2
                try await withDownloadManager(configuration) { manager in
                    let (filling, stalls) = try await Self.run(manager, concurrent, in: folder) { server.url($0) }
                    #expect(stalls.reduce(0, +) == concurrent, "\(stalls)")
                    #expect(stalls.allSatisfy { $0 <= 1 })
                    #expect(server.connectionCount <= Self.pool + filling + Self.pool)
                }
            }
        }
    }
}
